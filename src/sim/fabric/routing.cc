// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/routing.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sim/fabric/route_costs.h"

namespace wharf::sim {
namespace {

constexpr std::uint32_t kNoLeaf = 0xffff'ffff;

}  // namespace

RoutingTables::RoutingTables(const Topology& topology, const std::vector<bool>& usable)
    : switches_(topology.switch_count()) {
  attach_hosts(topology);
  std::vector<std::vector<std::uint16_t>> distance;
  distance.reserve(leaves_.size());
  for (const NodeId leaf : leaves_) distance.push_back(costs_to(topology, leaf, usable));

  std::vector<RouteEntry> row(leaves_.size());
  std::vector<std::pair<std::vector<PortId>, RouteEntry>> known;
  std::vector<PortId> ports;
  for (std::uint32_t index = 0; index < switches_.size(); ++index) {
    const NodeId node = topology.host_count() + index;
    known.clear();
    for (std::uint32_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      row[leaf] = {};
      if (node == leaves_[leaf] || distance[leaf][node] == kUnreachable) continue;
      ports.clear();
      for (const PortId out : topology.node(node).ports) {
        const TopologyPort& port = topology.port(out);
        if (topology.is_host(port.peer) || (!usable.empty() && !usable[out])) continue;
        if (distance[leaf][port.peer] + port.cost == distance[leaf][node]) ports.push_back(out);
      }
      auto same =
          std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == ports; });
      if (same == known.end()) {
        const RouteEntry entry =
            ports.size() == 1 ? RouteEntry{ports[0] | RouteEntry::kPortBit} : RouteEntry{group_of(ports)};
        same = known.insert(known.end(), {ports, entry});
      }
      row[leaf] = same->second;
    }
    compress(index, row);
  }
}

std::size_t RoutingTables::bytes() const {
  const auto of = [](const auto& table) { return table.size() * sizeof(table[0]); };
  return of(switches_) + of(entries_) + of(groups_) + of(group_ports_) + of(attachments_) +
         of(leaf_of_attachment_) + of(down_ports_) + of(host_attachments_) + of(leaves_);
}

void RoutingTables::attach_hosts(const Topology& topology) {
  std::vector<std::uint32_t> leaf_of(topology.nodes().size(), kNoLeaf);
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    host_attachments_.push_back({static_cast<std::uint32_t>(attachments_.size()), 0});
    for (std::uint32_t k = 0; k < topology.node(host).ports.size(); ++k) {
      const TopologyPort& up = topology.port(topology.node(host).ports[k]);
      std::uint32_t leaf = 0;
      if (!topology.is_host(up.peer)) {
        if (leaf_of[up.peer] == kNoLeaf) {
          leaf_of[up.peer] = static_cast<std::uint32_t>(leaves_.size());
          leaves_.push_back(up.peer);
          switches_[up.peer - topology.host_count()].own_leaf = leaf_of[up.peer];
        }
        leaf = leaf_of[up.peer];
      }
      attachments_.push_back({host, k, leaf, up.reverse});
      leaf_of_attachment_.push_back(static_cast<std::uint16_t>(leaf));
      down_ports_.push_back(up.reverse);
      ++host_attachments_.back().count;
    }
  }
  WHARF_CHECK(leaves_.size() < 0xffff);
}

void RoutingTables::compress(std::uint32_t switch_index, const std::vector<RouteEntry>& row) {
  SwitchRoutes& routes = switches_[switch_index];
  // The default is the entry of most leaves, found by counting; rows have few distinct entries.
  std::vector<std::pair<RouteEntry, std::uint32_t>> counts;
  for (const RouteEntry entry : row) {
    auto one = std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == entry; });
    if (one == counts.end()) one = counts.insert(counts.end(), {entry, 0});
    ++one->second;
  }
  if (counts.empty()) return;
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  routes.fallback = most->first;
  const auto uniform = [&](std::uint32_t shift) {
    for (std::size_t leaf = 0; leaf < row.size(); ++leaf) {
      if (row[leaf] != row[leaf >> shift << shift]) return false;
    }
    return true;
  };
  std::uint32_t shift = 0;
  while (std::size_t{2} << shift <= row.size() && uniform(shift + 1)) ++shift;
  const auto entry = [&](std::uint32_t block) { return row[std::size_t{block} << shift]; };
  std::uint32_t first = 0;
  std::uint32_t last = static_cast<std::uint32_t>((row.size() - 1) >> shift) + 1;
  while (first < last && entry(first) == routes.fallback) ++first;
  while (last > first && entry(last - 1) == routes.fallback) --last;
  routes.first_block = first;
  routes.block_count = last - first;
  routes.block_shift = shift;
  routes.table = static_cast<std::uint32_t>(entries_.size());
  for (std::uint32_t block = first; block < last; ++block) entries_.push_back(entry(block));
}

std::uint32_t RoutingTables::group_of(const std::vector<PortId>& ports) {
  const auto count = static_cast<std::uint32_t>(ports.size());
  const std::uint32_t stride = count > 1 && ports[1] > ports[0] ? ports[1] - ports[0] : 0;
  bool even = stride != 0;
  for (std::uint32_t i = 1; i < count; ++i) even = even && ports[i] - ports[i - 1] == stride;
  if (even) {
    groups_.push_back({ports[0], count, stride});
  } else {
    groups_.push_back({static_cast<std::uint32_t>(group_ports_.size()), count, 0});
    group_ports_.insert(group_ports_.end(), ports.begin(), ports.end());
  }
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

}  // namespace wharf::sim
