// SPDX-License-Identifier: Apache-2.0
// Fetching from memory what the next events will touch. Nothing here changes what happens, only how long it
// takes. Always inline: the compiler takes a function that only prefetches for one without effect, and drops
// the calls.
#pragma once

#include "sim/fabric/partition.h"

namespace wharf::sim {

template <FabricHost Host>
[[gnu::always_inline]] inline void Partition<Host>::known(const FabricEvent& event) {
  if (event.kind() != FabricEventKind::kArrival) return;
  const Port& in = ports_[record_of(event)];
  __builtin_prefetch(&in, 1);
  __builtin_prefetch(&in.queue_bytes, 1);
  heads_.prefetch(event.hint);
}

/// The port and its first packet in flight are there: fetch what is at the far end, and what is queued.
template <FabricHost Host>
[[gnu::always_inline]] inline void Partition<Host>::fetch_first(const FabricEvent& event) {
  if (event.kind() != FabricEventKind::kArrival) return;
  const Port& in = ports_[record_of(event)];
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
    if (head.body != kNoBody) __builtin_prefetch(&bodies_[head.body]);
    __builtin_prefetch(&ports_[state_.host_ports[state_.host_port_first[host]]], 1);
  } else {
    __builtin_prefetch(&switches_[in.far.index()]);
  }
}

/// The switch is there: look the output port up.
template <FabricHost Host>
[[gnu::always_inline]] inline void Partition<Host>::fetch_second(FabricEvent& event) {
  if (event.kind() != FabricEventKind::kArrival) return;
  const Port& in = ports_[record_of(event)];
  const SlotId slot = in.flight_head;
  if (slot == kNoSlot) return;
  const PacketHead& head = heads_[slot];
  if (in.far.is_host()) {
    if constexpr (requires(const Host& host, const Body& body) { host.prefetch(body); }) {
      if (head.body != kNoBody) hosts_[in.far.index()].prefetch(bodies_[head.body]);
    }
    return;
  }
  if (!stateless_routes_ || head.time != event.time || (head.flags & (kHeadLinkControl | kHeadDamaged)) != 0)
    return;
  const PortId out = route(event.time, switches_[in.far.index()], head);
  if (out == kNoPort) return;
  event.hint = out | kHintPort;
  __builtin_prefetch(&ports_[out], 1);
  __builtin_prefetch(&ports_[out].queue_bytes, 1);
}

/// The output port is there: fetch the packets that its lists will link to.
template <FabricHost Host>
[[gnu::always_inline]] inline void Partition<Host>::fetch_last(const FabricEvent& event) {
  if ((event.hint & kHintPort) == 0 || event.kind() != FabricEventKind::kArrival) return;
  const Port& out = ports_[event.hint & ~kHintPort];
  heads_.prefetch(out.flight_tail);
  if (out.waiting != 0) {
    fetch_oldest(out);
    heads_.prefetch(out.queue_tail[(static_cast<unsigned>(std::bit_width(out.waiting)) - 1) % kPortQueues]);
  }
}

template <FabricHost Host>
[[gnu::always_inline]] inline void Partition<Host>::fetch_oldest(const Port& port) {
  heads_.prefetch(port.queue_head[static_cast<unsigned>(std::countr_zero(port.waiting)) % kPortQueues]);
  heads_.prefetch(port.queue_head[(static_cast<unsigned>(std::bit_width(port.waiting)) - 1) % kPortQueues]);
}

}  // namespace wharf::sim
