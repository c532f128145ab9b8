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
/// queued here. Or fetch the host at the far end.
template <FabricHost Host>
[[gnu::always_inline]] inline void Partition<Host>::fetch_first(ComingEvent& event) {
  if (event.in == nullptr) return;
  const Port& in = *event.in;
  if (in.waiting != 0) {
    heads_.prefetch(in.flight_tail);
    if ((in.flags & kPortOfHost) == 0) {
      fetch_oldest(in);
    } else if (in.ready_at < event.time) {
      fetch_host<1>(in.host);
    }
  }
  const SlotId slot = in.flight_head;
  if (slot == kNoSlot) return;
  const PacketHead& head = heads_[slot];
  heads_.prefetch(head.next);
  if (in.far.is_host()) {
    const std::uint32_t host = in.far.index();
    fetch_host<1>(host);
    if (head.body != kNoBody) prefetch_object(&bodies_[head.body]);
    __builtin_prefetch(&ports_[state_.host_ports[state_.host_port_first[host]]], 1);
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

/// The output port is there: fetch the packets that its lists will link to. Or the host is: fetch its
/// records.
template <FabricHost Host>
[[gnu::always_inline]] inline void Partition<Host>::fetch_second(const ComingEvent& event) {
  fetch_hosts<2>(event);
  if ((event.hint & kHintPort) == 0) return;
  const Port& out = ports_[event.hint & ~kHintPort];
  heads_.prefetch(out.flight_tail);
  if (out.waiting != 0) {
    fetch_oldest(out);
    heads_.prefetch(out.queue_tail[(static_cast<unsigned>(std::bit_width(out.waiting)) - 1) % kPortQueues]);
  }
}

/// What the records of the host refer to.
template <FabricHost Host>
[[gnu::always_inline]] inline void Partition<Host>::fetch_last(const ComingEvent& event) {
  fetch_hosts<3>(event);
}

/// A later step of the hosts at both ends of a link whose packet arrives.
template <FabricHost Host>
template <int kPart>
[[gnu::always_inline]] inline void Partition<Host>::fetch_hosts(const ComingEvent& event) const {
  if (event.in == nullptr) return;
  const Port& in = *event.in;
  if (in.far.is_host()) fetch_host<kPart>(in.far.index());
  if ((in.flags & kPortOfHost) != 0 && in.waiting != 0 && in.ready_at < event.time)
    fetch_host<kPart>(in.host);
}

/// The three steps of a host's own (Host::Prefetch), the host with the first.
template <FabricHost Host>
template <int kPart>
[[gnu::always_inline]] inline void Partition<Host>::fetch_host(std::uint32_t host) const {
  if constexpr (kPart == 1) prefetch_object(hosts_ + host);
  if constexpr (requires { typename Host::Prefetch::Root; }) {
    const auto& root = *static_cast<const typename Host::Prefetch::Root*>(state_.roots[host]);
    if constexpr (kPart == 1) Host::Prefetch::first(root);
    if constexpr (kPart == 2) Host::Prefetch::second(root);
    if constexpr (kPart == 3) Host::Prefetch::third(root);
  }
}

template <FabricHost Host>
[[gnu::always_inline]] inline void Partition<Host>::fetch_oldest(const Port& port) {
  heads_.prefetch(port.queue_head[static_cast<unsigned>(std::countr_zero(port.waiting)) % kPortQueues]);
  heads_.prefetch(port.queue_head[(static_cast<unsigned>(std::bit_width(port.waiting)) - 1) % kPortQueues]);
}

}  // namespace wharf::sim
