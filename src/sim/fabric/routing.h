// SPDX-License-Identifier: Apache-2.0
// Which output ports of a switch lead to a destination: all those on a cheapest path (TopologyPort::cost) to
// the leaf that the destination host is attached to. Built once; switches look up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/fabric/topology.h"

namespace wharf::sim {

/// One place where a host meets the fabric: its port, and the switch (leaf) at the other end. Hosts with one
/// port have the attachment of their own number.
struct LeafAttachment {
  NodeId host = 0;
  std::uint32_t host_port = 0;
  std::uint32_t leaf = 0;  ///< Leaf number (RoutingTables::leaf_of); 0 where no switch is between.
  PortId down_port = 0;    ///< Of the leaf, toward the host.
};

/// Ports toward a destination: one port, or a group of them.
struct RouteEntry {
  std::uint32_t value = kNone;
  static constexpr std::uint32_t kNone = 0xffff'ffff;
  static constexpr std::uint32_t kPortBit = 0x8000'0000;
  bool none() const { return value == kNone; }
  bool is_port() const { return (value & kPortBit) != 0; }
  PortId port() const { return value & ~kPortBit; }
  std::uint32_t group() const { return value; }
  constexpr bool operator==(const RouteEntry&) const = default;
};

/// In regular topologies the ports of a group are evenly spaced: then no table needs to be looked at.
struct PortGroup {
  std::uint32_t first = 0;  ///< A port when there is a stride, else an index into a table of ports.
  std::uint32_t count = 0;
  std::uint32_t stride = 0;
};

/// What a switch knows: leaves from first_block on have entries of their own, all others the default one.
/// 2^block_shift neighbouring leaves (those of a pod) share an entry, which keeps the tables in the cache.
struct SwitchRoutes {
  std::uint32_t own_leaf = 0xffff'ffff;
  std::uint32_t first_block = 0;
  std::uint32_t block_count = 0;
  std::uint32_t block_shift = 0;
  std::uint32_t table = 0;
  RouteEntry fallback;
};

class RoutingTables {
 public:
  /// `usable` (by PortId; empty: all): links that routes may use.
  explicit RoutingTables(const Topology& topology, const std::vector<bool>& usable = {});

  RouteEntry lookup(const SwitchRoutes& routes, std::uint32_t leaf) const {
    const std::uint32_t at = (leaf >> routes.block_shift) - routes.first_block;
    return at < routes.block_count ? entries_[routes.table + at] : routes.fallback;
  }
  const SwitchRoutes& routes(std::uint32_t switch_index) const { return switches_[switch_index]; }
  PortGroup group(std::uint32_t id) const { return groups_[id]; }
  /// Port `choice` (below its count) of a group.
  PortId group_port(PortGroup group, std::uint32_t choice) const {
    return group.stride != 0 ? group.first + choice * group.stride : group_ports_[group.first + choice];
  }

  const LeafAttachment& attachment(std::uint32_t id) const { return attachments_[id]; }
  /// Its leaf and down_port alone, from denser tables.
  std::uint16_t leaf(std::uint32_t id) const { return leaf_of_attachment_[id]; }
  PortId down_port(std::uint32_t id) const { return down_ports_[id]; }
  std::uint32_t attachment_count() const { return static_cast<std::uint32_t>(attachments_.size()); }
  /// The attachment through which `host` is reached by a sender that uses its own port `port`: the port of
  /// the same number (modulo the host's ports). Choice: ports of the same number form a plane.
  std::uint32_t attachment_of(NodeId host, std::uint32_t port) const {
    const Span span = host_attachments_[host];
    return span.count == 1 ? span.first : span.first + port % span.count;
  }
  std::uint32_t leaf_count() const { return static_cast<std::uint32_t>(leaves_.size()); }
  /// Memory of all tables.
  std::size_t bytes() const;
  /// The switch of leaf number `leaf`.
  NodeId leaf_node(std::uint32_t leaf) const { return leaves_[leaf]; }

 private:
  struct Span {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  void attach_hosts(const Topology& topology);
  void compress(std::uint32_t switch_index, const std::vector<RouteEntry>& row);
  std::uint32_t group_of(const std::vector<PortId>& ports);

  std::vector<SwitchRoutes> switches_;
  std::vector<RouteEntry> entries_;
  std::vector<PortGroup> groups_;
  std::vector<PortId> group_ports_;
  std::vector<LeafAttachment> attachments_;
  std::vector<std::uint16_t> leaf_of_attachment_;
  std::vector<PortId> down_ports_;
  std::vector<Span> host_attachments_;
  std::vector<NodeId> leaves_;
};

}  // namespace wharf::sim
