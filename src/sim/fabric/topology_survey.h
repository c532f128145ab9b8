// SPDX-License-Identifier: Apache-2.0
// Questions about a topology that need no simulation: how far two hosts are apart, over how many paths, how
// long an unloaded packet takes, and how much capacity each tier has. Also the drawing and the checks of it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/fabric/topology.h"

namespace wharf::sim {

/// Cheapest paths (TopologyPort::cost), which are the shortest where all links cost the same; hosts do not
/// forward. Remembers what it has computed: 2 bytes per node for every leaf asked about. `topology` outlives
/// it.
class PathSurvey {
 public:
  explicit PathSurvey(const Topology& topology);

  /// Links between two hosts on path(); 0 for a host and itself.
  std::uint32_t hops(NodeId from, NodeId to);
  /// Different sequences of links that cost as little; saturates.
  std::uint64_t paths(NodeId from, NodeId to);
  /// One of them: the directed links in order, the lowest number at each choice.
  std::vector<PortId> path(NodeId from, NodeId to);
  /// One of those that leave the host `from` by its port `near` and reach the host `to` by its port `far`;
  /// empty: there is none.
  std::vector<PortId> path(NodeId from, NodeId to, std::uint32_t near, std::uint32_t far);
  /// By node, what `bytes` take at most along its cheapest ways to the host `to` (packet_time()); from there
  /// to the node where `back` is set, as both directions of a link cost the same. Without meaning for nodes
  /// that no way leads from.
  std::vector<TimePs> longest_times(NodeId to, Bytes bytes, bool back = false);
  /// Of the cheapest ways the one that `bytes` take longest over; among equals the lowest number at each
  /// choice, as path() has it.
  std::vector<PortId> longest_path(NodeId from, NodeId to, Bytes bytes);
  /// The longest way from host to host over a third pod (detours.h), or longest_path() where no way is
  /// longer.
  std::vector<PortId> detour(NodeId from, NodeId to, Bytes bytes);

 private:
  std::uint32_t cost(NodeId node, NodeId to);
  /// Whether `port` is a step of a cheapest way to `to` from where `left` is to be paid.
  bool leads(const TopologyPort& port, NodeId to, std::uint32_t left);

  const Topology* topology_;
  bool alike_;                                     ///< All links cost 1.
  std::vector<std::vector<std::uint16_t>> known_;  ///< By node: a leaf, or a host with several ports.
};

/// The time from a packet's first bit at the sender to its last at the far end of `path`, alone in the
/// fabric with store-and-forward switches; `bytes` on every link.
TimePs packet_time(const Topology& topology, const std::vector<PortId>& path, Bytes bytes);
/// The same for a train of `count` packets of `bytes` and a last one of `last_bytes`, sent without gaps.
TimePs train_time(const Topology& topology, const std::vector<PortId>& path, std::uint64_t count, Bytes bytes,
                  Bytes last_bytes);

/// A train of `count` packets of `bytes` and a last one of `last_bytes`.
struct PacketTrain {
  std::uint64_t count = 0;
  Bytes bytes;
  Bytes last_bytes;
};
/// The same for a train whose packets are shared out among `ways`, of which there is one at least, so that
/// the last one arrives early.
TimePs spread_time(const Topology& topology, const std::vector<std::vector<PortId>>& ways,
                   const PacketTrain& train);

/// One layer of switches.
struct TierSummary {
  std::uint32_t tier = 0;
  std::uint32_t switches = 0;
  std::uint32_t ports_down_min = 0, ports_down_max = 0;  ///< Toward hosts and lower tiers, per switch.
  std::uint32_t ports_up_min = 0, ports_up_max = 0;
  std::uint64_t down_gbps = 0, up_gbps = 0;   ///< Of the whole tier, in one direction.
  TimePs link_delay_min{}, link_delay_max{};  ///< Of the links downwards.
};

struct TopologySummary {
  std::uint32_t hosts = 0, switches = 0, links = 0;
  std::uint32_t host_ports_min = 0, host_ports_max = 0;
  std::uint64_t host_gbps = 0;  ///< What all hosts can send together.
  std::vector<TierSummary> tiers{};
  std::uint32_t diameter_hops = 0;  ///< Between the farthest hosts.
  NodeId diameter_from = 0, diameter_to = 0;
  std::uint64_t diameter_paths = 0;
  /// Hosts' capacity over the capacity above the thinnest tier, in thousandths; 1000 or less: every
  /// permutation can get full speed.
  std::uint32_t oversubscription_permille = 1000;
  /// Capacity between two halves of the hosts when tiers above tier 0 share evenly: half of what the thinnest
  /// tier carries upwards, or half of the hosts' own when that is less.
  std::uint64_t bisection_gbps = 0;
};

/// For the diameter, hosts of one leaf count once.
TopologySummary survey(const Topology& topology);

/// The hosts between which `data` one way and `answer` back take longest, nothing queued, each along the
/// longest of its cheapest ways: those of the diameter unless links differ. The host with the slowest link
/// stands for its leaf; of many leaves, 64 are looked from.
std::pair<NodeId, NodeId> longest_pair(const Topology& topology, const TopologySummary& summary, Bytes data,
                                       Bytes answer);

}  // namespace wharf::sim
