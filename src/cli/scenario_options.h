// SPDX-License-Identifier: Apache-2.0
// The options that every command about a scenario shares: the file, --set and --profile.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/scenario/scenario.h"

namespace wharf::cli {

struct ScenarioOptions {
  std::string file;
  std::string profile;
  std::vector<std::string> overrides;

  void declare(CLI::App& app);
  /// Loads the scenario. A file that does not exist is looked for among the shipped scenarios for a nearest
  /// name.
  Result<sim::Scenario> load(const std::vector<std::string>& more_overrides = {},
                             sim::WireMode wire = sim::WireMode::kStructs) const;
};

}  // namespace wharf::cli
