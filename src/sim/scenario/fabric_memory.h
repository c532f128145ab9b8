// SPDX-License-Identifier: Apache-2.0
// What a run of flows between thin hosts will take of memory, before it runs.
#pragma once

#include <cstdint>

#include "sim/fabric/topology.h"
#include "sim/flows/fabric_run.h"
#include "workload/flow_list.h"

namespace wharf::sim {

/// Roughly and at once, the program itself included: what engines take in their arenas when they are
/// connected. Runs had 0.6 to 2.4 times as much in memory (7 times with one protocol, where hosts have few
/// peers). `wharf check` tells it from samples.
std::uint64_t estimate_memory(const Topology& topology, const workload::FlowList& flows,
                              const FabricRunConfig& config);

/// Connections that flows need.
std::uint64_t connections_of(const workload::FlowList& list);

}  // namespace wharf::sim
