// SPDX-License-Identifier: Apache-2.0
// A part of the fabric that one thread runs: its events, its packets, its switches' ports and its hosts.
//
// One event per packet and hop. Each directed link has at most one event pending: the arrival of its first
// packet in flight at the far end. Output ports are served lazily: decisions (which packet next, is it
// marked) are taken when something looks at the port, in the order and with the outcome that they would have
// at their own times. A decision at time s sees every arrival at or before s; a port that is idle starts at
// once. A decision at s makes an arrival after s + delay, and whatever is in flight arrives before that, so
// looking when the link's first packet arrives is never too late. Hosts lag behind in the same way: what
// their interfaces send and what their timers do is computed when an arrival, or the first packet of their
// link, needs it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "sim/fabric/body_store.h"
#include "sim/fabric/fabric_config.h"
#include "sim/fabric/fabric_event.h"
#include "sim/fabric/fabric_host.h"
#include "sim/fabric/load_balancing.h"
#include "sim/fabric/port.h"
#include "sim/fabric/port_queue.h"
#include "sim/fabric/routing.h"
#include "sim/kernel/lookahead.h"

namespace wharf::sim {

/// What a switch touches for each packet, in half a cache line.
struct SwitchState {
  SwitchRoutes routes;
  std::uint32_t salt = 0;
  std::uint32_t counter = 0;  ///< Packets that had a choice: for round robin and as the count of draws.
  std::uint32_t unused = 0;
};
static_assert(sizeof(SwitchState) == 32);

/// What all partitions of a fabric share. Tables are read only during a run; an element of a state vector is
/// touched only by the partition that owns its node (ports_[links + l]: the far half of crossing link l).
template <typename Host>
struct FabricState {
  FabricState(const Topology& graph, FabricConfig chosen)
      : topology(&graph), config(std::move(chosen)), routes(graph) {}

  const Topology* topology;
  FabricConfig config;
  RoutingTables routes;
  std::vector<Port> ports;
  std::vector<PortCounters> counters;
  std::vector<SwitchState> switches;
  std::vector<Host> hosts;
  std::vector<TimePs> wake_at;                 ///< By host: the earliest pending wake-up event.
  std::vector<std::uint32_t> host_port_first;  ///< Into host_ports, by host, and one past the last.
  std::vector<PortId> host_ports;
  BodyStore<typename Host::Body> bodies;
  std::uint64_t draw_key = 0;
};

/// A packet on its way to another partition.
struct Crossing {
  std::uint32_t link = 0;
  PacketHead head;
};

struct PartitionCounters {
  std::uint64_t hops = 0;     ///< Packets handled at the far end of a link.
  std::uint64_t events = 0;   ///< Events executed.
  std::uint64_t history = 0;  ///< Hash of what arrived where and when; order does not matter.
};

template <FabricHost Host>
class Partition {
 public:
  using Body = typename Host::Body;

  explicit Partition(FabricState<Host>& state)
      : state_(state),
        ports_(state.ports.data()),
        switches_(state.switches.data()),
        hosts_(state.hosts.data()),
        bodies_(state.bodies) {
    spare_body_ = bodies_.acquire();
    spare_slot_ = heads_.acquire();
  }

  /// Asks a host of this partition for its first deadline.
  void start_host(std::uint32_t host) { schedule_wake(host); }

  /// Executes all events before `end`.
  void run_until(TimePs end) {
    const TimePs last = end - picoseconds(1);
    FabricEvent event;
    while (events_.pop_until(last, event, *this)) {
      ++counters_.events;
      switch (event.kind()) {
        case FabricEventKind::kArrival:
          arrive(event);
          break;
        case FabricEventKind::kWake:
          wake(event.time, event.number());
          break;
        case FabricEventKind::kControl:
        case FabricEventKind::kService:
          WHARF_UNREACHABLE();
      }
    }
  }

  /// The time of the next event; kNever when there is none.
  TimePs next_time() { return events_.next_time(); }
  const PartitionCounters& counters() const { return counters_; }
  std::uint32_t packets_in_fabric() const { return heads_.in_use() - 1; }

 private:
  friend class Lookahead<FabricEvent>;

  // --- Fetching ahead. Nothing here changes what happens, only how long it takes. Always inline: the
  // compiler takes a function that only prefetches for one without effect, and drops the calls.
  /// Hint of an event whose output port has been looked up: the port with the top bit set.
  static constexpr std::uint32_t kHintPort = 0x8000'0000;
  static constexpr std::uint32_t kNoHint = 0;

  [[gnu::always_inline]] void known(const FabricEvent& event) {
    if (event.kind() != FabricEventKind::kArrival) return;
    const Port& in = ports_[event.number()];
    __builtin_prefetch(&in, 1);
    __builtin_prefetch(&in.queue_bytes, 1);
    heads_.prefetch(event.hint);
  }

  /// The port and its first packet in flight are there: fetch what is at the far end, and what is queued.
  [[gnu::always_inline]] void fetch_first(const FabricEvent& event) {
    if (event.kind() != FabricEventKind::kArrival) return;
    const Port& in = ports_[event.number()];
    if (in.waiting != 0) {
      heads_.prefetch(in.flight_tail);
      if ((in.flags & kPortOfHost) == 0) fetch_oldest(in);
    }
    const SlotId slot = in.flight_head;
    if (slot == kNoSlot) return;
    const PacketHead& head = heads_[slot];
    heads_.prefetch(head.next);
    if (in.far.is_host()) {
      const std::uint32_t host = in.far.index();
      __builtin_prefetch(hosts_ + host);
      __builtin_prefetch(&bodies_[head.body]);
      __builtin_prefetch(&ports_[state_.host_ports[state_.host_port_first[host]]], 1);
    } else {
      __builtin_prefetch(&switches_[in.far.index()]);
    }
  }

  /// The switch is there: look the output port up.
  [[gnu::always_inline]] void fetch_second(FabricEvent& event) {
    if (event.kind() != FabricEventKind::kArrival) return;
    const Port& in = ports_[event.number()];
    const SlotId slot = in.flight_head;
    if (slot == kNoSlot) return;
    const PacketHead& head = heads_[slot];
    if (in.far.is_host()) {
      if constexpr (requires(const Host& host, Body& body) { host.prefetch(body); }) {
        hosts_[in.far.index()].prefetch(bodies_[head.body]);
      }
      return;
    }
    const PortId out = route(switches_[in.far.index()], head);
    if (out == kNoPort) return;
    event.hint = out | kHintPort;
    __builtin_prefetch(&ports_[out], 1);
    __builtin_prefetch(&ports_[out].queue_bytes, 1);
  }

  /// The output port is there: fetch the packets that its lists will link to.
  [[gnu::always_inline]] void fetch_last(const FabricEvent& event) {
    if ((event.hint & kHintPort) == 0) return;
    const Port& out = ports_[event.hint & ~kHintPort];
    heads_.prefetch(out.flight_tail);
    if (out.waiting != 0) {
      fetch_oldest(out);
      heads_.prefetch(out.queue_tail[static_cast<unsigned>(std::bit_width(out.waiting)) - 1]);
    }
  }

  [[gnu::always_inline]] void fetch_oldest(const Port& port) {
    heads_.prefetch(port.queue_head[static_cast<unsigned>(std::countr_zero(port.waiting))]);
    heads_.prefetch(port.queue_head[static_cast<unsigned>(std::bit_width(port.waiting)) - 1]);
  }

  // --- Arrivals
  void arrive(const FabricEvent& event) {
    const TimePs now = event.time;
    const std::uint32_t link = event.number();
    Port& in = ports_[link];
    if (in.waiting != 0 && in.ready_at < now) advance(in, link, now);
    const SlotId slot = in.flight_head;
    if (slot == kNoSlot || heads_[slot].time > now) [[unlikely]] {
      rearm(in, link);
      return;
    }
    PacketHead& head = heads_[slot];
    in.flight_head = head.next;
    rearm(in, link);
    ++counters_.hops;
    counters_.history +=
        mix_bits(static_cast<std::uint64_t>(now.ps) * 0x9e37'79b9'7f4a'7c15ULL +
                 (std::uint64_t{link} << 40U) + (std::uint64_t{head.flow} << 8U) + head.bytes + head.flags);
    if (in.far.is_host()) {
      deliver(now, in, slot);
    } else {
      forward(now, in.far.index(), slot, event);
    }
  }

  /// Arranges the next event of a link, whose event has just been executed.
  void rearm(Port& in, std::uint32_t link) {
    if (in.flight_head != kNoSlot) {
      push_arrival(heads_[in.flight_head].time, link, in.flight_head);
    } else if (in.waiting != 0) {
      push_arrival(in.ready_at + picoseconds(in.transit_ps), link, kNoHint);
    } else {
      in.armed = false;
    }
  }

  void push_arrival(TimePs at, std::uint32_t link, SlotId hint) {
    events_.push(FabricEvent::make(at, FabricEventKind::kArrival, link, false, hint));
  }

  // --- Switches
  void forward(TimePs now, std::uint32_t switch_index, SlotId slot, const FabricEvent& event) {
    const PortId out = (event.hint & kHintPort) != 0 ? event.hint & ~kHintPort
                                                     : route(switches_[switch_index], heads_[slot]);
    if (out == kNoPort) [[unlikely]] {
      ++state_.counters[event.number()].dropped_no_route;
      discard(slot);
      return;
    }
    enqueue(now, out, slot);
  }

  static constexpr PortId kNoPort = 0x7fff'ffff;

  PortId route(SwitchState& sw, const PacketHead& head) {
    if (head.leaf == sw.routes.own_leaf) return state_.routes.down_port(head.destination);
    const RouteEntry entry = state_.routes.lookup(sw.routes, head.leaf);
    if (entry.none()) [[unlikely]]
      return kNoPort;
    if (entry.is_port()) return entry.port();
    const PortGroup group = state_.routes.group(entry.group());
    return state_.routes.group_port(group.first + pick(sw, head, group));
  }

  std::uint32_t pick(SwitchState& sw, const PacketHead& head, PortGroup group) {
    switch (state_.config.load_balancing) {
      case LoadBalancing::kEcmpHash:
        return path_hash(head.flow, head.entropy, sw.salt) % group.count;
      case LoadBalancing::kSpray: {
        const std::uint64_t bits = mix_bits(state_.draw_key + (std::uint64_t{sw.salt} << 32U) + ++sw.counter);
        return static_cast<std::uint32_t>((bits >> 32U) * group.count >> 32U);
      }
      case LoadBalancing::kRoundRobin:
        return sw.counter++ % group.count;
      case LoadBalancing::kAdaptive:
        break;
    }
    WHARF_UNREACHABLE();
  }

  void enqueue(TimePs now, PortId out, SlotId slot) {
    Port& port = ports_[out];
    if (port.waiting != 0 && port.ready_at < now) serve(port, out, now);
    const PacketHead& head = heads_[slot];
    const PortProfile& profile = state_.config.profiles[port.profile];
    const std::uint32_t queue =
        (head.flags & kHeadTrimmed) != 0 ? profile.trimmed_queue : profile.queue_of_class[head.traffic_class];
    if (port.ready_at <= now) {
      settle(port);
      if (port.waiting == 0) {
        port.ready_at = now;
        port.queue_bytes[queue] += head.bytes;
        depart(port, out, slot, queue, profile);
        return;
      }
    }
    const PortQueueConfig& config = profile.queues[queue];
    if (port.queue_bytes[queue] + head.bytes > config.capacity_bytes) [[unlikely]] {
      overflow(port, out, slot, queue, profile);
      return;
    }
    append_tracked(port, heads_, queue, slot);
  }

  [[gnu::noinline]] void overflow(Port& port, PortId out, SlotId slot, std::uint32_t queue,
                                  const PortProfile& profile) {
    const OverflowRule rule = profile.queues[queue].overflow;
    PortCounters& counters = state_.counters[out];
    SlotId victim = slot;
    if (rule == OverflowRule::kTrimNewestOrArrival && (port.waiting & (1U << queue)) != 0 &&
        (heads_[port.queue_tail[queue]].flags & kHeadTrimmable) != 0 && (draw(port, out) >> 63U) != 0) {
      victim = replace_newest(port, heads_, queue, slot);
    }
    PacketHead& head = heads_[victim];
    if (rule == OverflowRule::kDrop || (head.flags & kHeadTrimmable) == 0) {
      ++counters.dropped_full;
      discard(victim);
      return;
    }
    ++counters.trimmed;
    head.flags =
        static_cast<std::uint8_t>(head.flags | kHeadTrimmed | (port.far.is_host() ? kHeadTrimmedLastHop : 0));
    head.flags = static_cast<std::uint8_t>(head.flags & ~kHeadTrimmable);
    head.bytes = std::min(head.bytes, profile.trimmed_bytes);
    const std::uint32_t trimmed_queue = profile.trimmed_queue;
    if (port.queue_bytes[trimmed_queue] + head.bytes > profile.queues[trimmed_queue].capacity_bytes) {
      ++counters.dropped_full;
      discard(victim);
      return;
    }
    append(port, heads_, trimmed_queue, victim);
  }

  std::uint64_t draw(Port& port, PortId number) {
    return mix_bits(state_.draw_key + (std::uint64_t{number} << 32U) + ++port.draws);
  }

  // --- Ports
  /// Takes every decision of a port before `until`.
  void advance(Port& port, PortId number, TimePs until) {
    if ((port.flags & kPortOfHost) != 0) {
      advance_host(state_.topology->port(number).node, until);
    } else {
      serve(port, number, until);
    }
  }

  void serve(Port& port, PortId number, TimePs until) {
    const PortProfile& profile = state_.config.profiles[port.profile];
    do {
      settle(port);
      const std::uint32_t queue = static_cast<std::uint32_t>(std::countr_zero(port.waiting));
      const SlotId slot = take_oldest(port, heads_, queue);
      depart(port, number, slot, queue, profile);
    } while (port.waiting != 0 && port.ready_at < until);
  }

  /// Sends a packet from port.ready_at on; its bytes are in the occupancy of `queue`.
  void depart(Port& port, PortId number, SlotId slot, std::uint32_t queue, const PortProfile& profile) {
    PacketHead& head = heads_[slot];
    port.sending_bytes = head.bytes;
    port.sending_queue = static_cast<std::uint8_t>(queue);
    const PortQueueConfig& config = profile.queues[queue];
    if (port.queue_bytes[queue] > config.mark_min_bytes) mark(port, number, head, queue, config);
    launch(port, number, slot, head);
  }

  void launch(Port& port, PortId number, SlotId slot, PacketHead& head) {
    port.ready_at += serialisation(port, number, head.bytes);
    head.time = port.ready_at + picoseconds(port.transit_ps);
    head.next = kNoSlot;
    ++port.sent_packets;
    port.sent_bytes += head.bytes;
    if (port.flight_head == kNoSlot) {
      port.flight_head = slot;
      if (!port.armed) {
        port.armed = true;
        push_arrival(head.time, number, slot);
      }
    } else {
      heads_[port.flight_tail].next = slot;
    }
    port.flight_tail = slot;
  }

  TimePs serialisation(const Port& port, PortId number, std::uint32_t bytes) const {
    if (port.ps_per_byte != 0) return picoseconds(std::int64_t{port.ps_per_byte} * bytes);
    return picoseconds(
        static_cast<std::int64_t>(serialisation_ps(bytes, state_.topology->port(number).rate.value)));
  }

  void mark(Port& port, PortId number, PacketHead& head, std::uint32_t queue, const PortQueueConfig& config) {
    if ((head.flags & kHeadEcnCapable) == 0) return;
    const std::uint32_t occupied = port.queue_bytes[queue];
    if (occupied <= config.mark_max_bytes) {
      const std::uint64_t range = config.mark_max_bytes - config.mark_min_bytes;
      const std::uint64_t above = occupied - config.mark_min_bytes;
      // P(draw < above / range), with 32 bits of the draw.
      if ((draw(port, number) >> 32U) * range >= above << 32U) return;
    }
    head.flags = static_cast<std::uint8_t>(head.flags | kHeadMarked);
    ++state_.counters[number].marked;
  }

  // --- Hosts
  void deliver(TimePs now, const Port& in, SlotId slot) {
    const std::uint32_t host = in.far.index();
    advance_host(host, now);
    const PacketHead head = heads_[slot];
    hosts_[host].receive(now, in.far_port, bodies_[head.body], head);
    discard(slot);
    after_input(host, now);
  }

  void wake(TimePs now, std::uint32_t host) {
    if (state_.wake_at[host] == now) state_.wake_at[host] = kNever;
    advance_host(host, now);
    if (hosts_[host].deadline() <= now) {
      hosts_[host].expire(now);
      after_input(host, now);
    } else {
      schedule_wake(host);
    }
  }

  /// What the host does by itself before `until`: its interface sends, its timers expire.
  void advance_host(std::uint32_t host, TimePs until) {
    const std::uint32_t first = state_.host_port_first[host];
    const std::uint32_t last = state_.host_port_first[host + 1];
    bool moved = false;
    for (;;) {
      std::uint32_t next = last;
      TimePs at = kNever;
      for (std::uint32_t k = first; k < last; ++k) {
        const Port& port = ports_[state_.host_ports[k]];
        if (port.waiting != 0 && port.ready_at < at) {
          next = k;
          at = port.ready_at;
        }
      }
      const TimePs deadline = hosts_[host].deadline();
      if (min(at, deadline) >= until) break;
      moved = true;
      if (deadline <= at) {
        hosts_[host].expire(deadline);
        ask_ports(host, deadline);
      } else {
        const PortId number = state_.host_ports[next];
        Port& port = ports_[number];
        if (!pull(host, next - first, port, number)) port.waiting = 0;
      }
    }
    if (moved) schedule_wake(host);
  }

  void after_input(std::uint32_t host, TimePs now) {
    ask_ports(host, now);
    schedule_wake(host);
  }

  /// Ports that are idle send at once, the others when they are ready.
  void ask_ports(std::uint32_t host, TimePs now) {
    const std::uint32_t first = state_.host_port_first[host];
    const std::uint32_t last = state_.host_port_first[host + 1];
    for (std::uint32_t k = first; k < last; ++k) {
      const PortId number = state_.host_ports[k];
      Port& port = ports_[number];
      if (port.waiting != 0) continue;
      if (port.ready_at <= now) {
        port.ready_at = now;
        if (pull(host, k - first, port, number)) port.waiting = 1;
      } else {
        port.waiting = 1;
      }
    }
  }

  /// Sends the next packet of a host from port.ready_at on, if there is one.
  bool pull(std::uint32_t host, std::uint32_t k, Port& port, PortId number) {
    const SlotId slot = spare_slot_;
    PacketHead& head = heads_[slot];
    head.flags = 0;
    if (!hosts_[host].transmit(port.ready_at, k, kAllClasses, bodies_[spare_body_], head)) return false;
    head.body = spare_body_;
    head.destination = state_.routes.attachment_of(head.destination, k);
    head.leaf = state_.routes.leaf(head.destination);
    launch(port, number, slot, head);
    spare_body_ = bodies_.acquire();
    spare_slot_ = heads_.acquire();
    return true;
  }

  void schedule_wake(std::uint32_t host) {
    const TimePs deadline = hosts_[host].deadline();
    if (deadline >= state_.wake_at[host]) return;
    state_.wake_at[host] = deadline;
    events_.push(FabricEvent::make(deadline, FabricEventKind::kWake, host, false));
  }

  void discard(SlotId slot) {
    bodies_.release(heads_[slot].body);
    heads_.release(slot);
  }

  FabricState<Host>& state_;
  Port* const ports_;
  SwitchState* const switches_;
  Host* const hosts_;
  HeadPool heads_;
  BodyPool<Body> bodies_;
  Lookahead<FabricEvent> events_;
  SlotId spare_slot_;
  BodyId spare_body_;
  PartitionCounters counters_;
};

}  // namespace wharf::sim
