// SPDX-License-Identifier: Apache-2.0
// What a run of flows between thin hosts will take of memory, before it runs.
#pragma once

#include <cstdint>

#include "sim/fabric/topology.h"
#include "sim/flows/fabric_run.h"
#include "workload/flow_list.h"

namespace wharf::sim {

/// Within a factor of two, the program itself included, for runs that lose little.
std::uint64_t estimate_memory(const Topology& topology, const workload::FlowList& flows,
                              const FabricRunConfig& config);

}  // namespace wharf::sim
