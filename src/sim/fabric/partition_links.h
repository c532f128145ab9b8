// SPDX-License-Identifier: Apache-2.0
// A link: from the departure of a packet to its place among those in flight, with every fault that a link can
// have.
#pragma once

#include <algorithm>

#include "sim/fabric/partition.h"

namespace wharf::sim {

template <FabricHost Host>
inline void Partition<Host>::launch(Port& port, PortId number, SlotId slot, PacketHead& head) {
  constexpr unsigned kSpecial = kPortFaulty | kPortCrosses | kPortCutThrough | kPortObserved | kPortRuled;
  if ((port.flags & kSpecial) != 0) [[unlikely]] {
    launch_specially(port, number, slot, head);
    return;
  }
  port.ready_at += serialisation(port, number, head.bytes);
  head.time = port.ready_at + picoseconds(port.transit_ps);
  head.next = kNoSlot;
  ++port.sent_packets;
  port.sent_bytes += head.bytes;
  if (port.flight_head == kNoSlot) {
    port.flight_head = slot;
    if (!port.armed) {
      port.armed = true;
      expect(port, head.time, number, false, slot);
    }
  } else {
    heads_[port.flight_tail].next = slot;
  }
  port.flight_tail = slot;
}

template <FabricHost Host>
[[gnu::noinline]] void Partition<Host>::launch_specially(Port& port, PortId number, SlotId slot,
                                                         PacketHead& head) {
  if (retries(number) && (head.flags & kHeadLinkControl) == 0) {
    send_frame(port, number, slot);
    return;
  }
  launch_unprotected(port, number, slot);
}

/// Without link-level retry.
template <FabricHost Host>
void Partition<Host>::launch_unprotected(Port& port, PortId number, SlotId slot) {
  PacketHead& head = heads_[slot];
  const TimePs serial = serialisation(port, number, head.bytes);
  ++port.sent_packets;
  port.sent_bytes += head.bytes;
  bool arrives = (port.flags & kPortFaulty) == 0 || survives(port, number, head);
  const TimePs begin = port.ready_at;
  port.ready_at += serial;
  const TimePs handled = (port.flags & kPortRuled) != 0 ? handled_by_rule(port, number, head, serial)
                                                        : handled_at(port, number, head, begin, serial);
  if ((port.flags & kPortObserved) != 0) capture(port.ready_at, number, head);
  if (!state_.rate_from.empty()) note_sequence(slot, state_.rate_from[number]);
  head.time = handled;
  if (arrives && (port.flags & kPortFaulty) != 0) {
    arrives = pass(port, number, slot, serial);
  } else if (arrives) {
    fly(port, number, slot, handled);
  }
  if (arrives) return;
  discard(slot);
  if (port.armed || (port.flags & kPortCrosses) != 0) return;
  // With nothing in flight, the link's event is what makes the port go on.
  port.armed = true;
  expect(port, port.ready_at + picoseconds(port.transit_ps), number, false, kNoHint);
}

/// When the far end handles a packet that was sent from `begin` to port.ready_at.
template <FabricHost Host>
TimePs Partition<Host>::handled_at(const Port& port, PortId number, const PacketHead& head, TimePs begin,
                                   TimePs serial) const {
  const bool header_only = (port.flags & kPortCutThrough) != 0 && (head.flags & kHeadDamaged) == 0;
  const TimePs known = header_only
                           ? begin + min(serial, serialisation(port, number, state_.config.cut_through_bytes))
                           : port.ready_at;
  return known + picoseconds(port.transit_ps);
}

/// The same where hosts hand packets over before their last byte is there, where stages are rounded, and
/// where somebody accounts for the time. Transmission follows the bytes out of the host's pipeline, but the
/// last one cannot leave before it is there.
template <FabricHost Host>
TimePs Partition<Host>::handled_by_rule(Port& port, PortId number, const PacketHead& head, TimePs serial) {
  const FabricConfig& config = state_.config;
  const TopologyPort& link = state_.topology->port(number);
  TimePs delay = link.delay + config.fec_delay;
  if (!state_.topology->is_host(link.peer)) delay += state_.topology->node(link.peer).latency;
  TimePs queued = head.time;
  if (config.paced_hosts && (port.flags & kPortOfHost) != 0) {
    port.ready_at = max(port.ready_at, queued);
  } else {
    queued = min(queued, port.ready_at - serial);
  }
  const TimePs sent = port.ready_at;
  const TimePs carried = max(queued, sent - serial);
  TimePs arrival = carried + stage_time(sent - carried + delay, config.rounding);
  if ((port.flags & kPortCutThrough) != 0 && (head.flags & kHeadDamaged) == 0)
    arrival -= serial - min(serial, serialisation(port, number, config.cut_through_bytes));
  if constexpr (requires(const Body& body, Context& context, const LinkCrossing& crossing) {
                  Host::crossed(body, context, crossing);
                }) {
    if (config.traced && head.body != kNoBody)
      Host::crossed(bodies_[head.body], context_, {number, queued, carried, arrival});
  }
  return arrival;
}

/// Keeps what leaves an observed port, whatever becomes of it on the link.
template <FabricHost Host>
void Partition<Host>::capture(TimePs at, PortId number, const PacketHead& head) {
  if constexpr (requires(const Body* body, Context& context) {
                  Host::capture(at, number, head, body, context);
                }) {
    Host::capture(at, number, head, head.body == kNoBody ? nullptr : &bodies_[head.body], context_);
  } else if (head.body != kNoBody) {
    captures_.push_back({at, number, head, bodies_[head.body]});
  }
}

/// Puts a packet that arrives at `at` among those in flight.
template <FabricHost Host>
void Partition<Host>::fly(Port& port, PortId number, SlotId slot, TimePs at) {
  PacketHead& head = heads_[slot];
  head.time = at;
  head.next = kNoSlot;
  if ((port.flags & kPortCrosses) != 0) {
    std::vector<std::byte>& payloads = exchange_.payloads(port.far_partition);
    const std::size_t payload = payloads.size();
    if constexpr (requires(Body & packet, Context & context) { Host::leave(packet, context, payloads); }) {
      if (head.body != kNoBody) Host::leave(bodies_[head.body], context_, payloads);
    }
    const bool sequenced = (head.flags & kHeadSequenced) != 0 || !state_.rate_from.empty();
    exchange_.send(port.far_partition, Crossing{number, sequenced ? sequences_[slot] : 0, head, payload});
    heads_.release(slot);
    return;
  }
  if (!insert_flight(port, slot)) return;
  const bool spare = port.armed;  // The event that is pending comes too late: it will find nothing to do.
  if (spare && !turns_) ++port.surplus;
  port.armed = true;
  expect(port, at, number, false, slot);
}

/// Keeps the packets in flight in the order of their arrival, equal ones in that of their departure. True: it
/// comes before everything that was expected.
template <FabricHost Host>
bool Partition<Host>::insert_flight(Port& port, SlotId slot) {
  const TimePs at = heads_[slot].time;
  if (port.flight_head == kNoSlot) {
    port.flight_head = slot;
    port.flight_tail = slot;
    return !port.armed;
  }
  if (heads_[port.flight_tail].time <= at) {
    heads_[port.flight_tail].next = slot;
    port.flight_tail = slot;
    return false;
  }
  if (heads_[port.flight_head].time > at) {
    heads_[slot].next = port.flight_head;
    port.flight_head = slot;
    return true;
  }
  SlotId before = port.flight_head;
  while (heads_[heads_[before].next].time <= at) before = heads_[before].next;
  heads_[slot].next = heads_[before].next;
  heads_[before].next = slot;
  return false;
}

/// Whether a fault happens that has this probability.
template <FabricHost Host>
bool Partition<Host>::happens(Port& port, PortId number, FaultDraw which, double probability) {
  const Probability chance = Probability::from(probability);
  if (chance.never() || chance.always()) return chance.always();
  return draw_fault(port, number, which) < chance.threshold;
}

/// 64 random bits for one of the faults of a link.
template <FabricHost Host>
std::uint64_t Partition<Host>::draw_fault(Port& port, PortId number, FaultDraw which) {
  if (state_.draws.empty()) return draw(port, number);
  return state_.draws[number].streams[static_cast<std::size_t>(which)].next_u64();
}

/// Uniform from 0 to `most`.
template <FabricHost Host>
TimePs Partition<Host>::draw_time(Port& port, PortId number, FaultDraw which, TimePs most) {
  const auto count = static_cast<std::uint64_t>(most.ps) + 1;
  const std::uint64_t drawn =
      state_.draws.empty()
          ? static_cast<std::uint64_t>(static_cast<unsigned __int128>(draw(port, number)) * count >> 64U)
          : state_.draws[number].streams[static_cast<std::size_t>(which)].below(count);
  return picoseconds(static_cast<std::int64_t>(drawn));
}

template <FabricHost Host>
const LinkFaults& Partition<Host>::faults_of(PortId number) const {
  return state_.config.faults.size() == 1 ? state_.config.faults[0] : state_.config.faults[number];
}

/// Whether a packet that starts at port.ready_at arrives at all; a damaged one arrives marked as such.
template <FabricHost Host>
bool Partition<Host>::survives(Port& port, PortId number, PacketHead& head) {
  const LinkFaults& faults = faults_of(number);
  if (happens(port, number, FaultDraw::kLoss, faults.loss)) {
    if (is_retry_control(head)) return false;  // No packet: its sender says it again, or the timer does.
    ++state_.counters[number].lost;
    report_loss(port.ready_at, number, head, LinkLoss::kLost);
    return false;
  }
  if (!happens(port, number, FaultDraw::kDamage, faults.damage)) return true;
  note_damage(number, head);
  head.flags = static_cast<std::uint8_t>(head.flags | kHeadDamaged);
  report_loss(port.ready_at, number, head, LinkLoss::kFrameCheck);
  return true;
}

/// Which bit is inverted is drawn whatever becomes of it, so that wire modes stay alike.
template <FabricHost Host>
void Partition<Host>::note_damage(PortId number, const PacketHead& head) {
  if (state_.draws.empty()) return;
  const std::uint64_t bit =
      state_.draws[number].streams[static_cast<std::size_t>(FaultDraw::kPosition)].next_u64();
  if constexpr (requires(const Body& body, Context& context) { Host::check_notices(body, context, bit); }) {
    if (head.body != kNoBody) Host::check_notices(bodies_[head.body], context_, bit);
  }
}

/// Lets a packet whose last byte would arrive at its head's time fly, with what a faulty link does to it on
/// the way: damage that no check notices, delay, a second copy, being held back. False: the decoder at the
/// far end refuses it.
template <FabricHost Host>
bool Partition<Host>::pass(Port& port, PortId number, SlotId slot, TimePs serial) {
  const LinkFaults& faults = faults_of(number);
  PortCounters& counters = state_.counters[number];
  const TimePs carried = heads_[slot].time;
  TimePs at = carried;
  if ((heads_[slot].flags & kHeadDamaged) != 0) {
    if (retries(number)) at = last_arrival(number) = max(at, last_arrival(number));
    fly(port, number, slot, at);
    return true;
  }
  if constexpr (requires(Body & body, Context & context) {
                  Host::damage(body, heads_[slot], context, 0ULL);
                }) {
    if (heads_[slot].body != kNoBody &&
        happens(port, number, FaultDraw::kPastCheck, faults.damage_past_check)) {
      const std::uint64_t bit = draw_fault(port, number, FaultDraw::kPosition) >> 1U;
      const wire::DropReason reason = Host::damage(bodies_[heads_[slot].body], heads_[slot], context_, bit);
      if (reason != wire::DropReason::kNone) {
        ++counters.refused[static_cast<std::size_t>(reason)];
        report_loss(at, number, heads_[slot], LinkLoss::kDecoder);
        return false;
      }
    }
  }
  if (faults.jitter > kTimeZero) at += draw_time(port, number, FaultDraw::kJitter, faults.jitter);
  const bool twice = happens(port, number, FaultDraw::kDuplication, faults.duplication);
  const bool held = happens(port, number, FaultDraw::kReordering, faults.reordering);
  if ((!state_.draws.empty() || retries(number)) && !held) {
    at = max(at, last_arrival(number));
    last_arrival(number) = at;
  }
  SlotId copy = kNoSlot;
  if (twice) {
    ++counters.duplicated;
    copy = duplicate(slot);
    if (!state_.draws.empty()) state_.draws[number].last_arrival = at + serial;
  }
  TimePs own = at;
  if (held) {
    ++counters.reordered;
    own += picoseconds(1) +
           draw_time(port, number, FaultDraw::kReordering, faults.reorder_delay - picoseconds(1));
  }
  report_delay(slot, number, carried, own);
  if (copy != kNoSlot) report_delay(copy, number, carried, at + serial);
  fly(port, number, slot, own);
  // The copy follows its original's place in the stream at once.
  if (copy != kNoSlot) fly(port, number, copy, at + serial);
  return true;
}

/// What a fault adds to the time of a packet on a link is time on that link.
template <FabricHost Host>
void Partition<Host>::report_delay(SlotId slot, PortId number, TimePs carried, TimePs arrival) {
  if constexpr (requires(const Body& body, Context& context, const LinkCrossing& crossing) {
                  Host::crossed(body, context, crossing);
                }) {
    const BodyId body = heads_[slot].body;
    if (state_.config.traced && body != kNoBody && arrival > carried)
      Host::crossed(bodies_[body], context_, {number, carried, carried, arrival});
  }
}

/// A second packet like the one in `slot`.
template <FabricHost Host>
SlotId Partition<Host>::duplicate(SlotId slot) {
  const SlotId copy = heads_.acquire();
  heads_[copy] = heads_[slot];
  if (!state_.rate_from.empty()) note_sequence(copy, sequences_[slot]);
  if (heads_[slot].body == kNoBody) return copy;  // A frame of flow control.
  const BodyId body = bodies_.acquire();
  heads_[copy].body = body;
  bodies_[body] = bodies_[heads_[slot].body];
  if constexpr (requires(Body & packet, Context & context) { Host::copied(packet, context); })
    Host::copied(bodies_[body], context_);
  return copy;
}

template <FabricHost Host>
void Partition<Host>::report_loss(TimePs at, PortId number, const PacketHead& head, LinkLoss why) {
  if constexpr (requires(const Body& body, Context& context) {
                  Host::lost(at, number, body, context, why);
                }) {
    if (head.body != kNoBody) Host::lost(at, number, bodies_[head.body], context_, why);
  }
}

}  // namespace wharf::sim
