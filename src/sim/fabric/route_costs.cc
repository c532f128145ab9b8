// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/route_costs.h"

namespace wharf::sim {

std::vector<std::uint16_t> costs_to(const Topology& topology, NodeId to, const std::vector<bool>& usable) {
  std::vector<std::uint16_t> cost(topology.nodes().size(), kUnreachable);
  // Where all links cost the same, each node comes up once; else again when a cheaper way is found.
  std::vector<NodeId> pending{to};
  cost[to] = 0;
  for (std::size_t at = 0; at < pending.size(); ++at) {
    const NodeId node = pending[at];
    if (topology.is_host(node) && node != to) continue;
    for (const PortId out : topology.node(node).ports) {
      const TopologyPort& port = topology.port(out);
      // The way leads toward `to`, so it is the reverse direction that must be usable.
      if (!usable.empty() && !usable[port.reverse]) continue;
      const int through = cost[node] + port.cost;
      if (through >= cost[port.peer]) continue;
      cost[port.peer] = static_cast<std::uint16_t>(through);
      pending.push_back(port.peer);
    }
  }
  return cost;
}

}  // namespace wharf::sim
