// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/detours.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/check.h"
#include "sim/fabric/route_costs.h"

namespace wharf::sim {

Detours::Detours(const Topology& topology, const RoutingTables& routes, bool compare,
                 const std::vector<bool>& usable) {
  std::map<std::uint32_t, std::uint32_t> group_of_pod;
  std::vector<std::uint32_t> leaf_of(topology.nodes().size(), kNone);
  for (std::uint32_t leaf = 0; leaf < routes.leaf_count(); ++leaf) {
    const NodeId node = routes.leaf_node(leaf);
    leaf_of[node] = leaf;
    group_of_.push_back(
        group_of_pod.emplace(topology.node(node).pod, static_cast<std::uint32_t>(group_of_pod.size()))
            .first->second);
  }
  groups_ = static_cast<std::uint32_t>(group_of_pod.size());
  std::vector<std::vector<std::uint32_t>> ends(std::size_t{groups_} * groups_);
  for (PortId id = 0; id < topology.ports().size(); ++id) {
    const TopologyPort& port = topology.port(id);
    const std::uint32_t from = leaf_of[port.node];
    const std::uint32_t to = leaf_of[port.peer];
    if (from == kNone || to == kNone || (!usable.empty() && !usable[id])) continue;
    if (group_of_[from] != group_of_[to])
      ends[std::size_t{group_of_[from]} * groups_ + group_of_[to]].push_back(to);
  }
  for (std::uint32_t source = 0; source < groups_; ++source) {
    for (std::uint32_t far = 0; far < groups_; ++far) {
      first_.push_back(static_cast<std::uint32_t>(ends_.size()));
      const auto& some = ends[std::size_t{source} * groups_ + far];
      ends_.insert(ends_.end(), some.begin(), some.end());
    }
    first_.push_back(static_cast<std::uint32_t>(ends_.size()));
  }
  if (compare) count_links(topology, routes, usable);
}

void Detours::count_links(const Topology& topology, const RoutingTables& routes,
                          const std::vector<bool>& usable) {
  WHARF_CHECK(leaf_count() <= kComparedMax);
  links_.assign(group_of_.size() * group_of_.size(), 0);
  std::vector<NodeId> order(topology.nodes().size());
  std::vector<std::uint8_t> links(topology.nodes().size());
  for (std::uint32_t to = 0; to < leaf_count(); ++to) {
    const auto cost = costs_to(topology, routes.leaf_node(to), usable);
    std::iota(order.begin(), order.end(), NodeId{0});
    std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return cost[a] < cost[b]; });
    std::fill(links.begin(), links.end(), std::uint8_t{255});
    links[routes.leaf_node(to)] = 0;
    for (const NodeId node : order) {
      if (topology.is_host(node) || cost[node] == kUnreachable) continue;
      for (const PortId out : topology.node(node).ports) {
        const TopologyPort& port = topology.port(out);
        if (topology.is_host(port.peer) || (!usable.empty() && !usable[out]) ||
            cost[port.peer] + port.cost != cost[node])
          continue;
        links[node] = std::min<std::uint8_t>(links[node], static_cast<std::uint8_t>(links[port.peer] + 1));
      }
    }
    for (std::uint32_t from = 0; from < leaf_count(); ++from)
      links_[std::size_t{from} * leaf_count() + to] = links[routes.leaf_node(from)];
  }
}

bool Detours::any() const {
  for (std::uint32_t source = 0; source < groups_; ++source) {
    const std::uint32_t* const row = &first_[std::size_t{source} * (groups_ + 1)];
    for (std::uint32_t target = 0; target < groups_; ++target) {
      if (target != source && row[groups_] - row[0] > row[target + 1] - row[target]) return true;
    }
  }
  return false;
}

}  // namespace wharf::sim
