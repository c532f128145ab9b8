// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/topology_cut.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace wharf::sim {

bool has_links_within_tiers(const Topology& topology) {
  return std::any_of(topology.ports().begin(), topology.ports().end(), [&](const TopologyPort& port) {
    return !topology.is_host(port.node) && !topology.is_host(port.peer) &&
           topology.node(port.node).tier == topology.node(port.peer).tier;
  });
}

std::uint64_t gbps_between_halves(const Topology& topology) {
  // Edmonds-Karp: the shortest path with room, again and again.
  const NodeId half = topology.host_count() / 2;
  std::vector<std::uint64_t> room;
  for (const TopologyPort& port : topology.ports()) room.push_back(port.rate.value);
  std::uint64_t total = 0;
  constexpr PortId kNone = std::numeric_limits<PortId>::max();
  while (true) {
    std::vector<PortId> through(topology.nodes().size(), kNone);
    std::vector<NodeId> queue;
    for (NodeId host = 0; host < half; ++host) queue.push_back(host);
    NodeId reached = topology.host_count();
    for (std::size_t next = 0; next < queue.size() && reached == topology.host_count(); ++next) {
      const NodeId node = queue[next];
      if (topology.is_host(node) && through[node] != kNone) continue;  // Hosts do not forward.
      for (const PortId port : topology.node(node).ports) {
        const NodeId peer = topology.port(port).peer;
        const bool source = topology.is_host(peer) && peer < half;
        if (room[port] == 0 || source || through[peer] != kNone) continue;
        through[peer] = port;
        queue.push_back(peer);
        if (topology.is_host(peer)) {
          reached = peer;
          break;
        }
      }
    }
    if (reached == topology.host_count()) return total / 1'000'000'000;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (NodeId node = reached; through[node] != kNone; node = topology.port(through[node]).node)
      least = std::min(least, room[through[node]]);
    for (NodeId node = reached; through[node] != kNone; node = topology.port(through[node]).node) {
      room[through[node]] -= least;
      room[topology.port(through[node]).reverse] += least;
    }
    total += least;
  }
}

}  // namespace wharf::sim
