// SPDX-License-Identifier: Apache-2.0
// What the engines of a run of flows take of memory, found by making a few of them.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sim/flows/fabric_run.h"

namespace wharf::sim {

struct EngineMemory {
  std::uint64_t host = 0;        ///< An engine that has no peer yet.
  std::uint64_t connection = 0;  ///< What two hosts have more for each connection, both together.
};
/// `flows_each`: of a connection, or of a host where one queue serves all its connections.
Result<EngineMemory> engine_memory(const FabricRunConfig& config, std::uint32_t flows_each);

}  // namespace wharf::sim
