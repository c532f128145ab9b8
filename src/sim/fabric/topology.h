// SPDX-License-Identifier: Apache-2.0
// What a fabric consists of: hosts, switches and the links between them. A plain graph that builders and
// readers fill and that the simulator, the drawing and the checks read; it knows no packets.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"

namespace wharf::sim {

/// A node, numbered from 0: first all hosts (so that a host's node number is its address), then the switches.
using NodeId = std::uint32_t;
/// An output port together with the directed link that leaves it, numbered from 0 in the order of connect().
using PortId = std::uint32_t;

struct TopologyNode {
  bool is_host = true;
  std::uint8_t tier = 0;  ///< Switches: 0 next to the hosts, counting upwards. Hosts: 0.
  std::uint32_t pod = 0;  ///< For drawings, counts and partitions; switches above all pods: any value.
  TimePs latency{};       ///< Switches: from the arrival of a packet to its entry into an output queue.
  /// Output ports in the order of connect(): port k of a host is ports[k].
  std::vector<PortId> ports{};
};

/// One direction of a link.
struct TopologyPort {
  NodeId node = 0;           ///< Where it begins.
  NodeId peer = 0;           ///< Where it ends.
  PortId reverse = 0;        ///< The other direction of the same link.
  BitsPerSecond rate;        ///< Positive.
  TimePs delay;              ///< Propagation; positive.
  std::uint32_t bundle = 0;  ///< Number of this link among the parallel links between the two nodes.
  std::uint8_t cost = 1;     ///< Routes take the ways with the smallest sum; at least 1.
};

/// A link to connect two nodes with; both directions alike.
struct LinkSpec {
  BitsPerSecond rate = gigabits_per_second(100);
  TimePs delay = microseconds(1);
  std::uint8_t cost = 1;  ///< TopologyPort::cost.
};

class Topology {
 public:
  /// Hosts come first: adding a host after a switch aborts.
  NodeId add_host(std::uint32_t pod = 0);
  NodeId add_switch(std::uint8_t tier, TimePs latency, std::uint32_t pod = 0);
  /// Adds a full-duplex link. The direction from `a` gets the returned number, the other the next one.
  PortId connect(NodeId a, NodeId b, const LinkSpec& spec);

  std::uint32_t host_count() const { return host_count_; }
  std::uint32_t switch_count() const { return static_cast<std::uint32_t>(nodes_.size()) - host_count_; }
  const std::vector<TopologyNode>& nodes() const { return nodes_; }
  const std::vector<TopologyPort>& ports() const { return ports_; }
  const TopologyNode& node(NodeId id) const { return nodes_[id]; }
  const TopologyPort& port(PortId id) const { return ports_[id]; }
  bool is_host(NodeId id) const { return id < host_count_; }

  /// Ports of each host.
  std::vector<std::uint32_t> host_ports() const {
    std::vector<std::uint32_t> counts;
    for (NodeId host = 0; host < host_count_; ++host)
      counts.push_back(static_cast<std::uint32_t>(nodes_[host].ports.size()));
    return counts;
  }

  /// Refuses what cannot be simulated: no host, a host without a link, a rate or delay that is not positive,
  /// hosts that cannot reach one another.
  Result<void> validate() const;

 private:
  std::vector<TopologyNode> nodes_;
  std::vector<TopologyPort> ports_;
  std::uint32_t host_count_ = 0;
};

/// Two hosts joined by one link.
Topology back_to_back(const LinkSpec& spec);
/// `hosts` hosts around one switch.
Topology star(std::uint32_t hosts, const LinkSpec& spec, TimePs switch_latency);

}  // namespace wharf::sim
