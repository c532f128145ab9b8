// SPDX-License-Identifier: Apache-2.0
// Runs a scenario whose program is a recorded memory trace.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/scenario/run.h"

namespace wharf::sim {

/// Refuses replay and paging keys that contradict each other.
Result<void> check_replay(const ScenarioConfig& config);

/// Dotted names of every number of RunReport::replay.
std::vector<std::string> replay_numbers();

/// As run_scenario(), for ProgramKind::kReplay.
Result<RunReport> run_replay(const Scenario& scenario, const RunOptions& options);

}  // namespace wharf::sim
