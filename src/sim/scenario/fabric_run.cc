// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/fabric_run.h"

#include <fmt/format.h>

#include "sim/scenario/fabric_engine_run.h"

namespace wharf::sim {

Result<FabricReport> run_flows(const Topology& topology, const workload::FlowList& flows,
                               const FabricRunConfig& config, const FabricRunOptions& options) {
  if (flows.flows.empty())
    return input_error(fmt::format("{}: found no flows, expected at least one", flows.name));
  if (flows.largest_host() >= topology.host_count()) {
    return input_error(
        fmt::format("{}: a flow names host {}, expected hosts from 0 to {} as the topology has them",
                    flows.name, flows.largest_host(), topology.host_count() - 1));
  }
  WHARF_TRY(workload::check_startable(flows));
  WHARF_TRY(validate(config.fabric, topology));
  switch (config.protocol) {
    case FabricProtocol::kUet:
      return run_uet_flows(topology, flows, config, options);
    case FabricProtocol::kUb:
      return run_ub_flows(topology, flows, config, options);
    case FabricProtocol::kRoce:
      return run_roce_flows(topology, flows, config, options);
  }
  WHARF_CHECK(false);
}

}  // namespace wharf::sim
