// SPDX-License-Identifier: Apache-2.0
// Runs a scenario whose program is a recorded memory trace.
#pragma once

#include "base/result.h"
#include "sim/scenario/run.h"

namespace wharf::sim {

/// Refuses replay and paging keys that contradict each other.
Result<void> check_replay(const ScenarioConfig& config);

/// As run_scenario(), for ProgramKind::kReplay: every client replays the trace against far memory of its own
/// at its server.
Result<RunReport> run_replay(const Scenario& scenario, const RunOptions& options);

}  // namespace wharf::sim
