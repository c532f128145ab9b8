// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/topology_rails.h"

#include <fmt/format.h>

#include "sim/fabric/topology_fat_tree.h"

namespace wharf::sim {

Result<Topology> rail_network(const RailShape& shape) {
  if (shape.segments == 0 || shape.servers_per_segment == 0 || shape.rails == 0 || shape.spine_bundle == 0)
    return input_error("a rail network has a count of 0, expected at least 1 of everything but spines");
  const std::uint32_t per_server = shape.hosts == RailHosts::kOnePerRail ? shape.rails : 1;
  using Wide = unsigned __int128;
  const Wide servers = Wide{shape.segments} * shape.servers_per_segment;
  const Wide links =
      servers * shape.rails + Wide{shape.segments} * shape.rails * shape.spines * shape.spine_bundle;
  if (servers * shape.rails > kTopologyHostsMax || links * 2 > kTopologyPortsMax) {
    return input_error(fmt::format("a rail network is too large, expected at most {} interfaces and {} links",
                                   kTopologyHostsMax, kTopologyPortsMax / 2));
  }
  const bool one_switch = shape.segments == 1 && shape.rails == 1;
  const bool joined = shape.hosts == RailHosts::kOnePerServer && shape.segments == 1;
  if (shape.spines == 0 && !one_switch && !joined) {
    return input_error(fmt::format("{} segments of {} rails have no spine, expected at least 1 to join them",
                                   shape.segments, shape.rails));
  }

  Topology topology;
  const auto server_count = static_cast<std::uint32_t>(servers);
  for (std::uint32_t i = 0; i < server_count * per_server; ++i)
    topology.add_host(i / per_server / shape.servers_per_segment);
  const NodeId first_rail = topology.host_count();
  for (std::uint32_t i = 0; i < shape.segments * shape.rails; ++i)
    topology.add_switch(0, shape.rail_latency, i / shape.rails);
  const NodeId first_spine = first_rail + shape.segments * shape.rails;
  for (std::uint32_t i = 0; i < shape.spines; ++i)
    topology.add_switch(1, shape.spine_latency, shape.segments);

  for (std::uint32_t server = 0; server < server_count; ++server) {
    const NodeId rails = first_rail + server / shape.servers_per_segment * shape.rails;
    for (std::uint32_t rail = 0; rail < shape.rails; ++rail) {
      const NodeId host = shape.hosts == RailHosts::kOnePerRail ? server * shape.rails + rail : server;
      topology.connect(host, rails + rail, shape.host_link);
    }
  }
  for (NodeId rail = first_rail; rail < first_spine; ++rail) {
    for (std::uint32_t spine = 0; spine < shape.spines; ++spine) {
      for (std::uint32_t i = 0; i < shape.spine_bundle; ++i)
        topology.connect(rail, first_spine + spine, shape.spine_link);
    }
  }
  WHARF_TRY(topology.validate());
  return topology;
}

}  // namespace wharf::sim
