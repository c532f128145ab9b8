// SPDX-License-Identifier: Apache-2.0
// How much memory a run will take, from its keys alone: cheap enough to be asked before each run.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sim/scenario/scenario.h"

namespace wharf::sim {

/// Bytes that the process holds when the run of `config` ends: its hosts with their caches, the memory that
/// they expose, their queues and engines, the fabric and the records. Refuses what plan_world() refuses.
Result<std::uint64_t> estimate_memory(const ScenarioConfig& config);

}  // namespace wharf::sim
