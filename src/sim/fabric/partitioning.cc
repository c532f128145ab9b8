// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/partitioning.h"

#include <algorithm>

#include "base/check.h"

namespace wharf::sim {
namespace {

constexpr std::uint8_t kUnassigned = 0xff;

bool single_link(const Topology& topology, NodeId node) {
  return topology.is_host(node) && topology.node(node).ports.size() == 1;
}

}  // namespace

std::vector<std::uint8_t> divide(const Topology& topology, std::uint32_t count,
                                 std::span<const std::uint32_t> work) {
  WHARF_CHECK(count >= 1 && count < kUnassigned);
  WHARF_CHECK(work.empty() || work.size() == topology.host_count());
  const std::size_t nodes = topology.nodes().size();
  std::vector<NodeId> leaves;
  std::vector<std::uint32_t> hosts_of(nodes, 0);
  std::vector<std::uint64_t> work_of(nodes, 0);  // Of the hosts of a leaf.
  std::uint64_t all_work = 0;
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    const NodeId first =
        topology.node(host).ports.empty() ? host : topology.port(topology.node(host).ports[0]).peer;
    if (topology.is_host(first)) return std::vector<std::uint8_t>(nodes, 0);  // No switches.
    if (hosts_of[first]++ == 0) leaves.push_back(first);
    const std::uint32_t own = work.empty() ? 1 : std::max(work[host], 1U);
    work_of[first] += own;
    all_work += own;
  }
  std::sort(leaves.begin(), leaves.end());
  count = std::min(count, static_cast<std::uint32_t>(leaves.size()));
  std::vector<std::uint8_t> partition(nodes, kUnassigned);
  std::vector<std::uint64_t> load(count, 0);
  std::uint64_t seen = 0;
  for (const NodeId leaf : leaves) {
    const std::uint64_t middle = 2 * seen + work_of[leaf];
    partition[leaf] = static_cast<std::uint8_t>(middle * count / (2 * all_work));
    load[partition[leaf]] += topology.node(leaf).ports.size();
    seen += work_of[leaf];
  }
  for (NodeId host = 0; host < topology.host_count(); ++host)
    partition[host] = partition[topology.port(topology.node(host).ports[0]).peer];
  // Tier by tier upwards, so that lower neighbours are known.
  std::vector<NodeId> others;
  for (NodeId node = topology.host_count(); node < nodes; ++node) {
    if (partition[node] == kUnassigned) others.push_back(node);
  }
  std::stable_sort(others.begin(), others.end(),
                   [&](NodeId a, NodeId b) { return topology.node(a).tier < topology.node(b).tier; });
  for (const NodeId node : others) {
    std::vector<std::uint32_t> neighbours(count, 0);
    for (const PortId port : topology.node(node).ports) {
      const std::uint8_t of = partition[topology.port(port).peer];
      if (of != kUnassigned) ++neighbours[of];
    }
    std::uint32_t best = 0;
    for (std::uint32_t p = 1; p < count; ++p) {
      if (neighbours[p] > neighbours[best] || (neighbours[p] == neighbours[best] && load[p] < load[best]))
        best = p;
    }
    partition[node] = static_cast<std::uint8_t>(best);
    load[best] += topology.node(node).ports.size();
  }
  return partition;
}

TimePs window_length(const Topology& topology) {
  TimePs shortest = kNever;
  for (const TopologyPort& port : topology.ports()) {
    if (single_link(topology, port.node) || single_link(topology, port.peer)) continue;
    shortest = min(shortest, port.delay);
  }
  return shortest;
}

TimePs notice_delay(const Topology& topology) {
  const TimePs length = window_length(topology);
  return length == kNever ? kUndividedWindow : length;
}

}  // namespace wharf::sim
