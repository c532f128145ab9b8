// SPDX-License-Identifier: Apache-2.0
// --html FILE: what a command has found, as one page that needs nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "cli/options.h"
#include "report/page.h"
#include "report/plot.h"
#include "report/staged_page.h"

namespace wharf::cli {

class HtmlPage {
 public:
  void declare(Options& app);
  bool wanted() const { return !file_.empty(); }
  /// Before the work: refuses a place that cannot be written. Does nothing when no page is wanted.
  Result<void> open();

  /// Draws each plot with gnuplot and puts it on the page; says when gnuplot did not draw.
  void add_plots(report::Page& page, const std::vector<report::Plot>& plots, const Console& console) const;
  /// Ends the page with the command that makes it again, and moves it into its place. `live`: another run
  /// gives other numbers.
  Result<void> finish(report::Page& page, const Console& console, bool live = false);

 private:
  std::string file_;
  std::optional<report::StagedPage> staged_;
};

/// What was asked: the keys of --set and --profile, and the configuration that they led to.
struct Configuration {
  std::string profile{};
  std::vector<std::string> overrides{};
  std::string effective{};  ///< config.effective.toml.
};
void add_configuration(report::Page& page, const Configuration& configuration);

/// How something ended: each of `failures` is a sentence.
void add_verdict(report::Page& page, const std::vector<std::string>& failures, std::string_view good);

}  // namespace wharf::cli
