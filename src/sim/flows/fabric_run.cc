// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/fabric_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/flows/fabric_engine_run.h"

namespace wharf::sim {
namespace {

/// What a host's engine can carry. Refuses what no engine can be made of.
Result<engine::Capabilities> capabilities_of(const FabricRunConfig& config) {
  return visit_protocol(
      config.protocol, [&]<typename P>(std::type_identity<P>) -> Result<engine::Capabilities> {
        wire::PayloadPool payloads;
        Arena arena;
        typename P::Engines engines;
        auto engine = engines.make(std::get<typename P::Config>(config.engines), 0, payloads, arena);
        if (!engine) return engine.error();
        return engine->capabilities();
      });
}

}  // namespace

Result<void> check_flows(const Topology& topology, const workload::FlowList& flows,
                         const FabricRunConfig& config) {
  if (flows.flows.empty())
    return input_error(flows.ranks.empty()
                           ? fmt::format("{}: found no flows, expected at least one", flows.name)
                           : fmt::format("{}: found no send, expected at least one", flows.name));
  for (const workload::Flow& flow : flows.flows) {
    const std::uint32_t larger = std::max(flow.source, flow.destination);
    if (larger < topology.host_count()) continue;
    return input_error(
        fmt::format("{}: found host {} in flow {}, expected hosts from 0 to {} as the topology has them",
                    flows.place_of(flow), larger, flow.id, topology.host_count() - 1));
  }
  const auto can = capabilities_of(config);
  if (!can) return can.error();
  for (const workload::Flow& flow : flows.flows) {
    const std::uint64_t most = verbs::is_send(flow.verb) ? can->max_send_bytes : can->max_message_bytes;
    if (flow.bytes <= most) continue;
    return input_error(fmt::format(
        "{}: found a {} of {} bytes in flow {}, expected at most {} bytes in one message over {}{}",
        flows.place_of(flow), verbs::name(flow.verb), flow.bytes, flow.id, most,
        wire::key_of(config.protocol), most < can->max_message_bytes ? ", or a write" : ""));
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
