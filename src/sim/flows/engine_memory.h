// SPDX-License-Identifier: Apache-2.0
// How much memory the engines of a run of flows take, found by running a few.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sim/flows/fabric_run.h"

namespace wharf::sim {

struct EngineMemory {
  std::uint64_t host = 0;        ///< A host with its engine that talks to nobody.
  std::uint64_t connection = 0;  ///< What two hosts have more for each connection, both together.
};
/// `flows_each`: of a connection, or of a host where one queue serves all its connections. `bytes`: of a
/// flow. What counts is the heap while the flows run, so that state is in it that comes with the first
/// packet.
Result<EngineMemory> engine_memory(const FabricRunConfig& config, std::uint32_t flows_each,
                                   std::uint64_t bytes);

}  // namespace wharf::sim
