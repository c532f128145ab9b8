// SPDX-License-Identifier: Apache-2.0
// The state that the partitions of a fabric share, and what they hand to one another.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/time.h"
#include "sim/fabric/body_store.h"
#include "sim/fabric/detours.h"
#include "sim/fabric/fabric_config.h"
#include "sim/fabric/fabric_host.h"
#include "sim/fabric/link_retry.h"
#include "sim/fabric/notice.h"
#include "sim/fabric/port.h"
#include "sim/fabric/routing.h"

namespace wharf::sim {

/// What a switch touches for each packet, in half a cache line.
struct SwitchState {
  SwitchRoutes routes;
  std::uint32_t salt = 0;
  std::uint32_t counter = 0;  ///< Packets that had a choice, for round robin.
};
static_assert(sizeof(SwitchState) == 32);

/// What waits behind the ports of a host whose memory is slower than its links.
struct IngestState {
  std::uint64_t backlog_bytes = 0;
  TimePs as_of;
  std::uint64_t refused = 0;  ///< Packets that found the backlog full.
  bool pausing = false;       ///< Some link is paused: PortExtra::pausing of its record says which queues.
};

/// All tables are read only during a run; an element of a state vector is touched only by the partition that
/// owns its node. ports[links + l] is the far half of link l when l crosses from one partition to another.
template <typename Host>
struct FabricState {
  FabricState(const Topology& graph, FabricConfig chosen) : topology(&graph), config(std::move(chosen)) {
    add_tables({});
  }
  /// Links that routes may use, by PortId; empty: all.
  void add_tables(const std::vector<bool>& usable) {
    tables.emplace_back(*topology, usable);
    if (config.routing != Routing::kMinimal)
      detours.emplace_back(*topology, tables.back(), config.routing == Routing::kUgal, usable);
  }

  const Topology* topology;
  FabricConfig config;
  std::vector<RoutingTables> tables;  ///< One for each state of the links over time; the first is all up.
  std::vector<Detours> detours;       ///< Likewise, or none.
  std::vector<TimePs> table_from;     ///< When tables[i + 1] comes into force.
  std::vector<Port> ports;
  std::vector<PortExtra> extras;                   ///< As many as ports, or none.
  std::vector<LinkRetrySender> retry_senders;      ///< By port, or none when no link retries.
  std::vector<LinkRetryReceiver> retry_receivers;  ///< As many as ports, or none.
  std::vector<PortCounters> counters;
  std::vector<congestion::CaqmPort> caqm;  ///< By port, or none.
  std::vector<std::uint64_t> rates;        ///< Bits per second, by port.
  std::vector<std::uint64_t> slowest;      ///< The least that it ever is, by port, when links retry; or none.
  /// Under cut-through when rates change, by port, or none: 1 + the index of the change that its rate is
  /// from, 0 when that is the topology. Packets take the number along (Partition::sequences_), because a far
  /// end may not read the rate of another partition's port, and one under way is as long as it was sent.
  std::vector<std::uint32_t> rate_from;
  /// The most, where pauses end and are told again: where links lose frames, or one direction of a link is
  /// down while the other one is up. None elsewhere.
  std::vector<std::uint64_t> fastest;
  std::vector<LinkDraws> draws;  ///< By port, when each fault has a stream of its own; or none.
  std::vector<SwitchState> switches;
  std::vector<Host> hosts;
  std::vector<const void*> roots;   ///< By host: Host::root(), for hosts that have one.
  std::vector<IngestState> ingest;  ///< By host, when limited.
  /// By node: where nodes act in turns, not before then has it to act. Else by host: the earliest pending
  /// wake-up event.
  std::vector<TimePs> wake_at;
  std::vector<std::uint32_t> node_port_first;  ///< Into the two below, by node, and one past the last.
  std::vector<PortId> node_ports;              ///< What it sends through,
  std::vector<std::uint32_t> node_arrivals;    ///< and the records of the links that lead to it.
  TimePs turn;                                 ///< The longest turn of nodes; 0: they act event by event.
  std::vector<std::uint8_t> partition_of;      ///< By node.
  BodyStore<typename Host::Body> bodies;
  std::uint64_t draw_key = 0;
};

/// A packet on its way to another partition.
struct Crossing {
  std::uint32_t link = 0;
  std::uint32_t sequence = 0;  ///< Of a frame that has one; else what Partition::sequences_ says of it.
  PacketHead head;
  std::size_t payload = 0;  ///< Where its bytes begin among those that cross with it.
};

/// A packet crosses a link: for whoever accounts for its time.
struct LinkCrossing {
  PortId link = 0;
  TimePs queued;   ///< It was ready to be sent: queued in the switch, or out of the host's pipeline.
  TimePs carried;  ///< The link began with it,
  TimePs arrival;  ///< and the far end has it.
};

/// One look at one port.
struct OccupancySample {
  TimePs at;
  PortId port = 0;
  std::uint32_t queued_bytes = 0;
  std::uint64_t sent_bytes = 0;  ///< Since the start.
  std::uint8_t paused = 0;       ///< Queues that flow control holds.
};

/// Whether `a` comes before `b` among the ports of one instant, fullest first.
inline bool fuller(const OccupancySample& a, const OccupancySample& b) {
  return a.queued_bytes != b.queued_bytes ? a.queued_bytes > b.queued_bytes : a.port < b.port;
}

/// A port was told to hold one of its queues, or to go on.
struct PauseRecord {
  TimePs at;
  PortId port = 0;
  std::uint8_t queue = 0;
  bool paused = false;
};

/// What the hosts of one partition have taken in.
struct DeliverySample {
  TimePs at;
  std::uint64_t bytes = 0;  ///< Since the start.
};

/// A packet that has left a captured port; `at`: when its last byte did.
template <typename Body>
struct CapturedPacket {
  TimePs at;
  PortId link = 0;
  PacketHead head;
  Body body;
};

struct PartitionCounters {
  std::uint64_t hops = 0;     ///< Packets handled at the far end of a link.
  std::uint64_t changes = 0;  ///< Links and tables that changed.
  std::uint64_t history = 0;  ///< Hash of what arrived where and when; order does not matter.

  /// What happened. How many turns or events of the queue it took depends on the threads; this does not.
  std::uint64_t events() const { return hops + changes; }
};

/// What the hosts of one partition share when they ask for nothing else. A host's own type has at least this.
struct PartitionContext {
  std::uint64_t finished = 0;         ///< Flows that have finished, counted by the hosts.
  std::uint64_t delivered_bytes = 0;  ///< Of payload that arrived for the first time, counted by the hosts.
  /// Hosts whose deadline has come forward beside their own calls: while a host acts that host alone, while
  /// notices are heard any of the partition.
  std::vector<std::uint32_t> woken;
  std::vector<Notice> told;            ///< By hosts of this partition, in any order.
  NoticeListener* listener = nullptr;  ///< Needed when some host of any partition tells something.
};

template <typename Host>
struct ContextOf {
  using Type = PartitionContext;
};
template <typename Host>
requires requires { typename Host::Context; }
struct ContextOf<Host> {
  using Type = typename Host::Context;
};

}  // namespace wharf::sim
