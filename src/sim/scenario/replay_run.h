// SPDX-License-Identifier: Apache-2.0
// Runs a scenario whose program is a recorded memory trace.
#pragma once

#include "base/result.h"
#include "sim/scenario/run.h"

namespace wharf::sim {

/// As run_scenario(), for ProgramKind::kReplay.
Result<RunReport> run_replay(const Scenario& scenario, const RunOptions& options);

}  // namespace wharf::sim
