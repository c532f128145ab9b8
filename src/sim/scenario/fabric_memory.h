// SPDX-License-Identifier: Apache-2.0
// What a run of flows between thin hosts will take of memory, before it runs.
#pragma once

#include <cstdint>

#include "sim/fabric/topology.h"
#include "sim/flows/fabric_run.h"
#include "workload/flow_list.h"

namespace wharf::sim {

/// Within a factor of two, the program itself included.
std::uint64_t estimate_memory(const Topology& topology, const workload::FlowList& flows,
                              const FabricRunConfig& config);

/// What `hosts` thin hosts and `flows` between them take of that.
std::uint64_t flow_memory(const workload::FlowList& flows, std::uint64_t hosts,
                          const FabricRunConfig& config);

}  // namespace wharf::sim
