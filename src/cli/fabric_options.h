// SPDX-License-Identifier: Apache-2.0
// The options of runs of many hosts: where flows come from, topology, threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/fabric_inputs.h"
#include "cli/options.h"
#include "cli/scenario_options.h"

namespace wharf::cli {

/// Each stands for a key and wins over it.
struct FabricOptions {
  std::string matrix;
  std::string flows;
  std::string collective;
  std::string arrivals;
  std::string topology;
  std::uint32_t threads = 0;

  void declare(Options& app);
  bool given() const {
    return !matrix.empty() || !flows.empty() || !collective.empty() || !arrivals.empty() || !topology.empty();
  }
  /// Reads everything that these options, the scenario of many hosts if there is one, --profile, --set and
  /// `more_overrides` name.
  Result<FabricInputs> load(const ScenarioOptions& scenario,
                            const std::vector<std::string>& more_overrides = {}) const;
};

}  // namespace wharf::cli
