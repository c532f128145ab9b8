// SPDX-License-Identifier: Apache-2.0
// The options of runs of many hosts: where flows come from, topology, threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "cli/scenario_options.h"

namespace wharf::cli {

/// Each stands for a key and wins over it.
struct FabricOptions {
  std::string matrix;
  std::string flows;
  std::string goal;
  std::string collective;
  std::string arrivals;
  std::string topology;
  std::uint32_t threads = 0;

  void declare(Options& app);
  /// What these options ask for, beside the scenario of many hosts, if there is one.
  Result<sim::RunRequest> request(const ScenarioOptions& scenario) const;
};

}  // namespace wharf::cli
