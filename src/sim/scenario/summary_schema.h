// SPDX-License-Identifier: Apache-2.0
// Which numbers a run's summary.json can hold, known before the run: what [[expect]] may name.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/scenario/scenario.h"

namespace wharf::sim {

/// Dotted paths of every number that summary.json of a run of `config` may hold. Counters and stages that
/// stay zero are left out of the file; they are paths all the same.
std::vector<std::string> summary_paths(const ScenarioConfig& config);

/// Refuses an expectation of a value that no run of the scenario can have, naming file, line and the nearest
/// path.
Result<void> check_expectations(const Scenario& scenario);

}  // namespace wharf::sim
