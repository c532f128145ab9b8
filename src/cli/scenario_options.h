// SPDX-License-Identifier: Apache-2.0
// The options that every command about a scenario shares: the file, --set and --profile.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "sim/scenario/scenario.h"

namespace wharf::cli {

struct ScenarioOptions {
  std::string file;
  std::string profile;
  std::vector<std::string> overrides;
  bool any_memory = false;

  void declare(Options& app);
  /// For commands that run the scenario: --any-memory.
  void declare_memory(Options& app);
  /// Reads the file once, for it may be a pipe; everything below needs that. A file that does not exist is
  /// looked for among the shipped scenarios for a nearest name.
  Result<void> read();
  /// Whether it is a scenario of many hosts.
  Result<bool> many_hosts() const;
  const std::string& text() const { return text_; }
  /// Loads the scenario of two hosts; one of many is refused.
  Result<sim::Scenario> load(const std::vector<std::string>& more_overrides = {},
                             sim::WireMode wire = sim::WireMode::kStructs) const;

 private:
  std::string text_;
};

}  // namespace wharf::cli
