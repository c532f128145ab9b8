// SPDX-License-Identifier: Apache-2.0
#include "cli/html_page.h"

#include <fmt/format.h>

#include <utility>

#include "report/plot_drawing.h"
#include "wharf/version.h"

namespace wharf::cli {

void HtmlPage::declare(Options& app) {
  app.add_option(
         "--html", file_,
         "Write one self-contained page: verdict, tables, plots, configuration and how to reproduce it")
      .type_name("FILE")
      .not_empty();
}

Result<void> HtmlPage::open() {
  if (!wanted()) return {};
  auto staged = report::StagedPage::create("--html", file_);
  if (!staged) return staged.error();
  staged_.emplace(*std::move(staged));
  return {};
}

void HtmlPage::add_plots(report::Page& page, const std::vector<report::Plot>& plots,
                         const Console& console) const {
  bool drawn = true;
  for (const report::Plot& plot : plots) {
    const std::string drawing = report::drawing_of(plot, staged_->workshop());
    drawn = drawn && !drawing.empty();
    page.plot(plot, drawing);
  }
  if (!drawn) console.remark("gnuplot did not draw: the page draws its plots in the browser");
}

Result<void> HtmlPage::finish(report::Page& page, const Console& console, bool live) {
  page.section("How to reproduce");
  page.lines(console.command_of_page);
  page.remark(live
                  ? "Live numbers differ from run to run. With --html FILE the command writes such a page."
                  : "The same version and the same files give the same numbers. With --html FILE the command "
                    "writes this page.");
  WHARF_TRY(staged_->commit(page.html(fmt::format("Made by {}.", version_text()))));
  if (!console.json) console.print(fmt::format("page in {}\n", staged_->file().string()));
  return {};
}

void add_configuration(report::Page& page, const Configuration& configuration) {
  page.section("Configuration");
  if (!configuration.profile.empty()) page.facts({{"profile", configuration.profile}});
  if (!configuration.overrides.empty()) {
    report::TextTable table({{"key of --set"}, {"value"}});
    for (const std::string& assignment : configuration.overrides) {
      const std::size_t equals = assignment.find('=');
      table.add_row({assignment.substr(0, equals),
                     equals == std::string::npos ? std::string() : assignment.substr(equals + 1)});
    }
    page.table(table);
  }
  if (configuration.effective.empty()) return;
  page.begin_details("Every key that was given, and where");
  page.lines(configuration.effective);
  page.end_details();
}

void add_verdict(report::Page& page, const std::vector<std::string>& failures, std::string_view good) {
  if (failures.empty()) return page.verdict(true, "holds", good);
  for (const std::string& failure : failures) page.verdict(false, "fails", failure);
}

}  // namespace wharf::cli
