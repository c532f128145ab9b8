// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/topology.h"

#include <fmt/format.h>

#include "base/check.h"

namespace wharf::sim {

NodeId Topology::add_host(std::uint32_t pod) {
  WHARF_CHECK(nodes_.size() == host_count_);
  ++host_count_;
  nodes_.push_back({.pod = pod});
  return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId Topology::add_switch(std::uint8_t tier, TimePs latency, std::uint32_t pod) {
  nodes_.push_back({.is_host = false, .tier = tier, .pod = pod, .latency = latency});
  return static_cast<NodeId>(nodes_.size() - 1);
}

PortId Topology::connect(NodeId a, NodeId b, const LinkSpec& spec) {
  WHARF_CHECK(a < nodes_.size() && b < nodes_.size() && a != b);
  std::uint32_t bundle = 0;
  for (const PortId port : nodes_[a].ports) bundle += ports_[port].peer == b ? 1U : 0U;
  const PortId first = static_cast<PortId>(ports_.size());
  ports_.push_back({a, b, first + 1, spec.rate, spec.delay, bundle, spec.cost});
  ports_.push_back({b, a, first, spec.rate, spec.delay, bundle, spec.cost});
  nodes_[a].ports.push_back(first);
  nodes_[b].ports.push_back(first + 1);
  return first;
}

Result<void> Topology::validate() const {
  if (host_count_ == 0) return input_error("the topology has no hosts, expected at least one");
  for (const TopologyPort& port : ports_) {
    if (port.rate.value == 0)
      return input_error(fmt::format("the link from node {} to node {} has rate 0, expected a positive rate",
                                     port.node, port.peer));
    if (port.delay <= kTimeZero || port.delay > milliseconds(4))
      return input_error(fmt::format("the link from node {} to node {} has delay {}, expected 1ps to 4ms",
                                     port.node, port.peer, format_time(port.delay)));
  }
  for (NodeId host = 0; host < host_count_; ++host) {
    if (nodes_[host].ports.empty() && nodes_.size() > 1)
      return input_error(fmt::format("host {} has no link, expected at least one", host));
  }
  // Hosts do not forward: a search from host 0 passes switches only.
  std::vector<bool> reached(nodes_.size(), false);
  std::vector<NodeId> pending{0};
  reached[0] = true;
  while (!pending.empty()) {
    const NodeId at = pending.back();
    pending.pop_back();
    if (is_host(at) && at != 0) continue;
    for (const PortId port : nodes_[at].ports) {
      const NodeId peer = ports_[port].peer;
      if (reached[peer]) continue;
      reached[peer] = true;
      pending.push_back(peer);
    }
  }
  for (NodeId host = 0; host < host_count_; ++host) {
    if (!reached[host])
      return input_error(fmt::format(
          "the graph is disconnected: host {} cannot reach host 0, expected one connected graph", host));
  }
  return {};
}

Topology back_to_back(const LinkSpec& spec) {
  Topology topology;
  const NodeId first = topology.add_host();
  const NodeId second = topology.add_host();
  topology.connect(first, second, spec);
  return topology;
}

Topology star(std::uint32_t hosts, const LinkSpec& spec, TimePs switch_latency) {
  Topology topology;
  for (std::uint32_t host = 0; host < hosts; ++host) topology.add_host();
  const NodeId center = topology.add_switch(0, switch_latency);
  for (NodeId host = 0; host < hosts; ++host) topology.connect(host, center, spec);
  return topology;
}

}  // namespace wharf::sim
