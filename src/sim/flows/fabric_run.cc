// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/fabric_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/flows/fabric_engine_run.h"

namespace wharf::sim {

Result<void> check_flows(const Topology& topology, const workload::FlowList& flows,
                         const FabricRunConfig& config) {
  if (flows.flows.empty())
    return input_error(fmt::format("{}: found no flows, expected at least one", flows.name));
  for (const workload::Flow& flow : flows.flows) {
    const std::uint32_t larger = std::max(flow.source, flow.destination);
    if (larger < topology.host_count()) continue;
    return input_error(
        fmt::format("{}: found host {} in flow {}, expected hosts from 0 to {} as the topology has them",
                    flows.place_of(flow), larger, flow.id, topology.host_count() - 1));
  }
  WHARF_TRY(workload::check_startable(flows));
  return validate(config.fabric, topology);
}

Result<FabricReport> run_flows(const Topology& topology, const workload::FlowList& flows,
                               const FabricRunConfig& config, const FabricRunOptions& options) {
  WHARF_TRY(check_flows(topology, flows, config));
  return visit_protocol(config.protocol, [&]<typename P>(std::type_identity<P>) {
    return FabricEngineRun<P>(topology, flows, config).run(options);
  });
}

}  // namespace wharf::sim
