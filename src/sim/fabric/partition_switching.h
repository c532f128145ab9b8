// SPDX-License-Identifier: Apache-2.0
// What happens to a packet between the end of one link and the start of the next: arrival, route, queue,
// decision, departure.
#pragma once

#include <optional>

#include "sim/fabric/partition.h"

namespace wharf::sim {

template <FabricHost Host>
void Partition<Host>::arrive(const ComingEvent& event) {
  const TimePs now = event.time;
  const std::uint32_t record = record_of(event);
  Port& in = *event.in;
  if ((in.waiting & lazy_) != 0 && in.ready_at < now) advance(in, record, now);
  const SlotId slot = in.flight_head;
  if (slot == kNoSlot || heads_[slot].time > now) [[unlikely]] {
    // Another event is pending for what is in flight, or has taken it, when packets have been held back.
    if (in.surplus != 0) {
      --in.surplus;
    } else {
      rearm(in, event);
    }
    return;
  }
  PacketHead& head = heads_[slot];
  in.flight_head = head.next;
  rearm(in, event);
  if (!inspect(now, record, event.number(), slot)) [[unlikely]]
    return;
  if (in.far.is_host()) {
    deliver(now, in, record, slot);
  } else {
    const bool known = (event.hint & kHintPort) != 0;
    const PortId out = known ? event.hint & ~kHintPort
                             : route_from(now, event.number(), switches_[in.far.index()], heads_[slot]);
    forward(now, in, slot, record, event.number(), out);
  }
}

/// Counts a packet that has come to the end of link `number`. False: neither switch nor host will see it.
template <FabricHost Host>
[[gnu::always_inline]] inline bool Partition<Host>::inspect(TimePs now, std::uint32_t record, PortId number,
                                                            SlotId slot) {
  const PacketHead& head = heads_[slot];
  ++counters_.hops;
  counters_.history +=
      mix_bits(static_cast<std::uint64_t>(now.ps) * 0x9e37'79b9'7f4a'7c15ULL +
               (std::uint64_t{number} << 40U) + (std::uint64_t{head.flow} << 8U) + head.bytes + head.flags);
  if ((head.flags & (kHeadLinkControl | kHeadDamaged | kHeadSequenced)) != 0) [[unlikely]] {
    if (!inspect_specially(now, record, number, slot)) return false;
  }
  if constexpr (requires(Body & body, Context & context) { Host::over_wire(body, head, context); }) {
    if (!Host::over_wire(bodies_[head.body], head, context_)) {
      discard(slot);
      return false;
    }
  }
  return true;
}

/// Arranges the next event of a link, whose event has just been executed.
template <FabricHost Host>
inline void Partition<Host>::rearm(Port& in, const FabricEvent& event) {
  if (in.flight_head != kNoSlot) {
    push({heads_[in.flight_head].time, event.target, in.flight_head});
  } else if ((in.waiting & lazy_) != 0) {
    push({in.ready_at + picoseconds(in.transit_ps), event.target, kNoHint});
  } else {
    in.armed = false;
  }
}

template <FabricHost Host>
inline void Partition<Host>::push_arrival(TimePs at, std::uint32_t link, bool far_half, SlotId hint) {
  push(FabricEvent::make(at, FabricEventKind::kArrival, link, far_half, hint));
}

/// Something arrives over a link at whose far end nothing is expected, not before `at`.
template <FabricHost Host>
inline void Partition<Host>::expect(const Port& port, TimePs at, std::uint32_t link, bool far_half,
                                    SlotId hint) {
  if (turns_) {
    const std::uint32_t index = port.far.index();
    TimePs& turn = state_.wake_at[port.far.is_host() ? index : index + first_switch_];
    turn = min(turn, at);
    next_turn_ = min(next_turn_, at);
  } else {
    push_arrival(at, link, far_half, hint);
  }
}

template <FabricHost Host>
inline void Partition<Host>::forward(TimePs now, const Port& in, SlotId slot, std::uint32_t record,
                                     PortId number, PortId out) {
  if (out == kNoPort || (ports_[out].flags & kPortDown) != 0) [[unlikely]] {
    ++state_.counters[record].dropped_no_route;
    if (served_) free_without_way(now, record, heads_[slot]);
    discard(slot);
    return;
  }
  if (cut_through_ && !retries(number)) [[unlikely]] {
    // The packet must not run dry on a faster link: not before its last byte less what sending takes.
    const std::uint32_t bytes = heads_[slot].bytes;
    const TimePs incoming = received_in(in, number, slot, bytes);
    const TimePs header = min(incoming, received_in(in, number, slot, state_.config.cut_through_bytes));
    heads_[slot].time = now + incoming - header - serialisation(ports_[out], out, bytes);
  }
  if (served_) [[unlikely]] {
    enqueue_held(now, out, slot, record);
  } else {
    enqueue(now, out, slot);
  }
}

/// The way of a packet that came over `link`.
template <FabricHost Host>
[[gnu::always_inline]] inline PortId Partition<Host>::route_from(TimePs now, PortId link, SwitchState& sw,
                                                                 PacketHead& head) {
  if (detours_ != nullptr) [[unlikely]]
    steer(now, link, sw, head);
  return route(now, sw, head);
}

template <FabricHost Host>
[[gnu::always_inline]] inline PortId Partition<Host>::route(TimePs now, SwitchState& sw,
                                                            const PacketHead& head) {
  if (head.leaf == sw.routes.own_leaf) return routes_->down_port(head.destination);
  const RouteEntry entry = routes_->lookup(sw.routes, head.leaf);
  if (entry.none()) [[unlikely]]
    return kNoPort;
  if (entry.is_port()) return entry.port();
  const PortGroup group = routes_->group(entry.group());
  return routes_->group_port(group, pick(now, sw, head, group));
}

template <FabricHost Host>
[[gnu::always_inline]] inline std::uint32_t Partition<Host>::pick(TimePs now, SwitchState& sw,
                                                                  const PacketHead& head, PortGroup group) {
  std::uint32_t choice = 0;
  switch (state_.config.load_balancing) {
    case LoadBalancing::kEcmpHash:
      choice = path_hash(head.flow, head.entropy, sw.salt) % group.count;
      break;
    case LoadBalancing::kSpray: {
      const std::uint64_t bits =
          mix_bits(state_.draw_key + (std::uint64_t{sw.salt} << 32U) + (std::uint64_t{head.flow} << 16U) +
                   static_cast<std::uint64_t>(now.ps));
      choice = static_cast<std::uint32_t>((bits >> 32U) * group.count >> 32U);
      break;
    }
    case LoadBalancing::kRoundRobin:
      choice = sw.counter++ % group.count;
      break;
    case LoadBalancing::kAdaptive:
      return least_loaded(now, path_hash(head.flow, head.entropy, sw.salt) % group.count, group);
  }
  if (!any_down_) return choice;
  for (std::uint32_t tried = 0; tried < group.count; ++tried) {
    if ((ports_[routes_->group_port(group, choice)].flags & kPortDown) == 0) break;
    choice = choice + 1 == group.count ? 0 : choice + 1;
  }
  return choice;
}

template <FabricHost Host>
std::uint32_t Partition<Host>::least_loaded(TimePs now, std::uint32_t preferred, PortGroup group) {
  std::uint32_t best = preferred;
  std::uint64_t best_bytes = ~std::uint64_t{0};
  for (std::uint32_t i = 0; i < group.count; ++i) {
    const std::uint32_t at = (preferred + i) % group.count;
    const PortId number = routes_->group_port(group, at);
    if ((ports_[number].flags & kPortDown) != 0) continue;
    const std::uint64_t bytes = queued_bytes(now, number);
    if (bytes < best_bytes) {
      best = at;
      best_bytes = bytes;
    }
  }
  return best;
}

/// What is in the queues of a port at `now`, the packet that is being sent included.
template <FabricHost Host>
std::uint64_t Partition<Host>::queued_bytes(TimePs now, PortId number) {
  Port& port = ports_[number];
  if (!served_) {
    if (port.waiting != 0 && port.ready_at < now) serve(port, number, now);
    if (port.ready_at <= now) settle(port);
  }
  std::uint64_t bytes = 0;
  for (const std::uint32_t queued : port.queue_bytes) bytes += queued;
  return bytes;
}

template <FabricHost Host>
void Partition<Host>::enqueue(TimePs now, PortId out, SlotId slot) {
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
  if (port.queue_bytes[queue] + head.bytes > profile.queues[queue].capacity_bytes) [[unlikely]] {
    overflow(port, out, slot, queue, profile);
    return;
  }
  append_as(profile.queues[queue], port, heads_, queue, slot);
}

template <FabricHost Host>
[[gnu::noinline]] void Partition<Host>::overflow(Port& port, PortId out, SlotId slot, std::uint32_t queue,
                                                 const PortProfile& profile) {
  const OverflowRule rule = profile.queues[queue].overflow;
  PortCounters& counters = state_.counters[out];
  SlotId victim = slot;
  const bool drops = rule == OverflowRule::kDrop || rule == OverflowRule::kDropNewestOrArrival;
  if (replaces_newest(rule) && (port.waiting & (1U << queue)) != 0 &&
      (drops || (heads_[port.queue_tail[queue]].flags & kHeadTrimmable) != 0) &&
      (draw(port, out) >> 63U) != 0) {
    victim = replace_newest(port, heads_, queue, slot);
  }
  PacketHead& head = heads_[victim];
  if (drops || (head.flags & kHeadTrimmable) == 0) {
    ++counters.dropped_full;
    discard(victim);
    return;
  }
  ++counters.trimmed;
  const unsigned trimmed = kHeadTrimmed | (port.far.is_host() ? unsigned{kHeadTrimmedLastHop} : 0U);
  head.flags = static_cast<std::uint8_t>((head.flags | trimmed) & ~unsigned{kHeadTrimmable});
  head.bytes = std::min(head.bytes, profile.trimmed_bytes);
  const std::uint32_t trimmed_queue = profile.trimmed_queue;
  if (port.queue_bytes[trimmed_queue] + head.bytes > profile.queues[trimmed_queue].capacity_bytes) {
    ++counters.dropped_full;
    discard(victim);
    return;
  }
  append(port, heads_, trimmed_queue, victim);
}

/// The next 64 random bits of a port's own stream.
template <FabricHost Host>
std::uint64_t Partition<Host>::draw(Port& port, PortId number) {
  return mix_bits(state_.draw_key + (std::uint64_t{number} << 32U) + ++port.draws);
}

/// Takes every decision of a port before `until`.
template <FabricHost Host>
inline void Partition<Host>::advance(Port& port, PortId number, TimePs until) {
  if ((port.flags & kPortOfHost) != 0) {
    advance_host(port.host, until);
  } else {
    serve(port, number, until);
  }
}

template <FabricHost Host>
void Partition<Host>::serve(Port& port, PortId number, TimePs until) {
  const PortProfile& profile = state_.config.profiles[port.profile];
  do {
    settle(port);
    const std::uint32_t queue = choose(port, number, port.waiting, profile);
    const SlotId slot = take_oldest(port, heads_, queue);
    depart(port, number, slot, queue, profile);
  } while (port.waiting != 0 && port.ready_at < until);
}

/// The queue to serve among `eligible` ones, at least one.
template <FabricHost Host>
inline std::uint32_t Partition<Host>::choose(Port& port, PortId number, unsigned eligible,
                                             const PortProfile& profile) {
  if (!port.weighted) return static_cast<std::uint32_t>(std::countr_zero(eligible));
  return choose_weighted(port, number, eligible, profile);
}

/// Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) among queues of the same priority: each
/// packet costs its bytes over the weight; the queue that has had least comes next.
template <FabricHost Host>
std::uint32_t Partition<Host>::choose_weighted(Port& port, PortId number, unsigned eligible,
                                               const PortProfile& profile) {
  PortExtra& extra = state_.extras[number];
  std::uint32_t best = kPortQueues;
  for (std::uint32_t queue = 0; queue < kPortQueues; ++queue) {
    if ((eligible & (1U << queue)) == 0) continue;
    if (best == kPortQueues || profile.queues[queue].priority < profile.queues[best].priority ||
        (profile.queues[queue].priority == profile.queues[best].priority &&
         static_cast<std::int32_t>(extra.virtual_time[queue] - extra.virtual_time[best]) < 0)) {
      best = queue;
    }
  }
  const std::uint32_t start = extra.virtual_time[best];
  const std::uint32_t bytes = heads_[port.queue_head[best]].bytes;
  // Queues of this priority that were empty or held do not save up: they start where the one being served is.
  for (std::uint32_t queue = 0; queue < kPortQueues; ++queue) {
    if ((eligible & (1U << queue)) == 0 && profile.queues[queue].priority == profile.queues[best].priority &&
        static_cast<std::int32_t>(extra.virtual_time[queue] - start) < 0)
      extra.virtual_time[queue] = start;
  }
  extra.virtual_time[best] = start + bytes * 1000 / profile.queues[best].weight;
  return best;
}

/// Sends a packet from port.ready_at on; its bytes are in the occupancy of `queue`.
template <FabricHost Host>
inline void Partition<Host>::depart(Port& port, PortId number, SlotId slot, std::uint32_t queue,
                                    const PortProfile& profile) {
  PacketHead& head = heads_[slot];
  port.sending_bytes = head.bytes;
  port.sending_queue = static_cast<std::uint8_t>(queue);
  const PortQueueConfig& config = profile.queues[queue];
  if (port.queue_bytes[queue] > config.mark_min_bytes) mark(port, number, head, queue, config);
  if (cut_through_) [[unlikely]]
    port.ready_at = max(port.ready_at, head.time);
  launch(port, number, slot, head);
}

template <FabricHost Host>
void Partition<Host>::mark(Port& port, PortId number, PacketHead& head, std::uint32_t queue,
                           const PortQueueConfig& config) {
  if (!state_.caqm.empty()) [[unlikely]] {
    grant(port, number, head, queue);
    return;
  }
  if ((head.flags & kHeadEcnCapable) == 0) return;
  const std::uint32_t occupied = port.queue_bytes[queue] - (config.mark_behind ? head.bytes : 0U);
  if (occupied <= config.mark_min_bytes) return;
  if (occupied <= config.mark_max_bytes) {
    const std::uint64_t range = config.mark_max_bytes - config.mark_min_bytes;
    const std::uint64_t above = occupied - config.mark_min_bytes;
    // P(draw < above / range), with 32 bits of the draw.
    const std::uint64_t bits = draw(port, number) >> 32U;
    if (config.mark_most_ppm == 1'000'000
            ? bits * range >= above << 32U
            : static_cast<unsigned __int128>(bits) * range * 1'000'000 >=
                  static_cast<unsigned __int128>(above * config.mark_most_ppm) << 32U) {
      return;
    }
  }
  head.flags = static_cast<std::uint8_t>(head.flags | kHeadMarked);
  ++state_.counters[number].marked;
}

/// C-AQM: what the packet asks for is decided when it leaves.
template <FabricHost Host>
void Partition<Host>::grant(Port& port, PortId number, PacketHead& head, std::uint32_t queue) {
  if constexpr (requires(Body & body) { Host::caqm_fields(body, 0U); }) {
    if (head.body == kNoBody) return;
    Body& body = bodies_[head.body];
    std::optional<congestion::CaqmFields> fields = Host::caqm_fields(body, state_.config.caqm->mtu_bytes);
    if (!fields) return;
    const bool marked = fields->congestion;
    state_.caqm[number].on_dequeue(port.ready_at, head.bytes, port.queue_bytes[queue] - head.bytes, *fields);
    Host::answer_caqm(body, *fields);
    if (fields->congestion && !marked) ++state_.counters[number].marked;
  }
}

template <FabricHost Host>
inline TimePs Partition<Host>::serialisation(const Port& port, PortId number, std::uint32_t bytes) const {
  if (port.ps_per_byte != 0) return picoseconds(std::int64_t{port.ps_per_byte} * bytes);
  return picoseconds(static_cast<std::int64_t>(serialisation_ps(bytes, state_.rates[number])));
}

/// What `bytes` of the packet in `slot`, which has come over link `number`, took at the rate that the link
/// had when the packet left.
template <FabricHost Host>
TimePs Partition<Host>::received_in(const Port& in, PortId number, SlotId slot, std::uint32_t bytes) const {
  if (state_.rate_from.empty()) return serialisation(in, number, bytes);
  const std::uint32_t from = sequences_[slot];
  const BitsPerSecond rate =
      from == 0 ? state_.topology->port(number).rate : state_.config.changes[from - 1].rate;
  return picoseconds(static_cast<std::int64_t>(serialisation_ps(bytes, rate.value)));
}

template <FabricHost Host>
inline void Partition<Host>::discard(SlotId slot) {
  const BodyId body = heads_[slot].body;
  if (body != kNoBody) {
    if constexpr (requires(Body & packet, Context & context) { Host::drop(packet, context); })
      Host::drop(bodies_[body], context_);
  }
  recycle(slot);
}

template <FabricHost Host>
inline void Partition<Host>::recycle(SlotId slot) {
  if (heads_[slot].body != kNoBody) bodies_.release(heads_[slot].body);
  heads_.release(slot);
}

}  // namespace wharf::sim
