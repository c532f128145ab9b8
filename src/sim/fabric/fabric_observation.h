// SPDX-License-Identifier: Apache-2.0
// Fabric: what its partitions have seen, put together, and the search for deadlocks.
#pragma once

#include "sim/fabric/fabric.h"

namespace wharf::sim {

template <FabricHost Host>
std::vector<OccupancySample> Fabric<Host>::fullest() const {
  std::vector<OccupancySample> all;
  for (const auto& partition : partitions_)
    all.insert(all.end(), partition->samples().fullest().begin(), partition->samples().fullest().end());
  std::sort(all.begin(), all.end(), [](const OccupancySample& a, const OccupancySample& b) {
    return a.at != b.at ? a.at < b.at : fuller(a, b);
  });
  // Whoever is among the fullest of all is among the fullest of its partition.
  std::vector<OccupancySample> kept;
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    rank = i != 0 && all[i].at == all[i - 1].at ? rank + 1 : 0;
    if (rank < state_.config.fullest_ports) kept.push_back(all[i]);
  }
  return kept;
}

template <FabricHost Host>
std::vector<DeliverySample> Fabric<Host>::deliveries() const {
  std::vector<DeliverySample> sum = partitions_[0]->samples().deliveries();
  for (std::size_t i = 1; i < partitions_.size(); ++i) {
    const std::vector<DeliverySample>& more = partitions_[i]->samples().deliveries();
    WHARF_CHECK(more.size() == sum.size());
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k].bytes += more[k].bytes;
  }
  return sum;
}

template <FabricHost Host>
std::vector<PortId> Fabric<Host>::held_ports() const {
  std::vector<PortId> held;
  for (PortId port = 0; port < state_.topology->ports().size(); ++port) {
    if (partition_at(port).held_queues(port) != 0) held.push_back(port);
  }
  return held;
}

template <FabricHost Host>
std::vector<PortId> Fabric<Host>::waiting_cycle() const {
  const Topology& topology = *state_.topology;
  const auto links = static_cast<std::uint32_t>(topology.ports().size());
  // Port a waits for port b when both are held, and b (at the far end of a) holds what came through a.
  std::vector<std::vector<PortId>> waits(links);
  for (PortId b = 0; b < links; ++b) {
    for (const PortId a : partition_at(b).waiting_from(b)) {
      if (partition_at(a).held_queues(a) != 0) waits[a].push_back(b);
    }
  }
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> mark(links, kNew);
  std::vector<std::pair<PortId, std::size_t>> path;
  for (PortId root = 0; root < links; ++root) {
    if (mark[root] != kNew) continue;
    path.push_back({root, 0});
    mark[root] = kOpen;
    while (!path.empty()) {
      auto& [at, next] = path.back();
      if (next == waits[at].size()) {
        mark[at] = kDone;
        path.pop_back();
        continue;
      }
      const PortId to = waits[at][next++];
      if (mark[to] == kOpen) {
        std::vector<PortId> cycle;
        auto from =
            std::find_if(path.begin(), path.end(), [&](const auto& step) { return step.first == to; });
        for (; from != path.end(); ++from) cycle.push_back(from->first);
        return cycle;
      }
      if (mark[to] == kNew) {
        mark[to] = kOpen;
        path.push_back({to, 0});
      }
    }
  }
  return {};
}

}  // namespace wharf::sim
