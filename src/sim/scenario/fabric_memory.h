// SPDX-License-Identifier: Apache-2.0
// What a run of flows between thin hosts will take of memory, before it runs.
#pragma once

#include <cstdint>

#include "sim/fabric/topology.h"
#include "sim/flows/fabric_run.h"
#include "workload/flow_list.h"

namespace wharf::sim {

/// A lower bound, the program itself included: what engines take in their arenas when they are connected.
/// Runs took 1 to 2.4 times as much (7 times with one protocol, where hosts have few peers).
std::uint64_t estimate_memory(const Topology& topology, const workload::FlowList& flows,
                              const FabricRunConfig& config);

}  // namespace wharf::sim
