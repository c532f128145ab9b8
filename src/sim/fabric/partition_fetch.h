// SPDX-License-Identifier: Apache-2.0
// Fetching from memory what the next events will touch. Nothing here changes what happens, only how long it
// takes. Always inline: the compiler takes a function that only prefetches for one without effect, and drops
// the calls.
#pragma once

#include "base/prefetch.h"
#include "sim/fabric/partition.h"

namespace wharf::sim {

template <FabricHost Host>
[[gnu::always_inline]] inline void Partition<Host>::known(ComingEvent& event) {
  if (event.kind() != FabricEventKind::kArrival) {
    event.in = nullptr;
    return;
  }
  event.in = ports_ + record_of(event);
  __builtin_prefetch(event.in, 1);
  __builtin_prefetch(&event.in->queue_bytes, 1);
  heads_.prefetch(event.hint);
}

/// The port and its first packet in flight are there: look its output port up and fetch it, and what is
/// queued here.
template <FabricHost Host>
[[gnu::always_inline]] inline void Partition<Host>::fetch_first(ComingEvent& event) {
  if (event.in == nullptr) return;
  const Port& in = *event.in;
  if ((in.waiting & lazy_ & ~kAskHost) != 0) {
    heads_.prefetch(in.flight_tail);
    fetch_oldest(in);
  }
  const SlotId slot = in.flight_head;
  if (slot == kNoSlot) return;
  const PacketHead& head = heads_[slot];
  heads_.prefetch(head.next);
  if (in.far.is_host() || !stateless_routes_ || head.time != event.time ||
      (head.flags & (kHeadLinkControl | kHeadDamaged)) != 0)
    return;
  const PortId out = route(event.time, switches_[in.far.index()], head);
  if (out == kNoPort) return;
  event.hint = out | kHintPort;
  __builtin_prefetch(&ports_[out], 1);
  __builtin_prefetch(&ports_[out].queue_bytes, 1);
}

/// The output port is there: fetch the packets that its lists will link to.
template <FabricHost Host>
[[gnu::always_inline]] inline void Partition<Host>::fetch_second(const ComingEvent& event) {
  if ((event.hint & kHintPort) == 0) return;
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
