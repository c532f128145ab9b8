// SPDX-License-Identifier: Apache-2.0
// Pause (IEEE 802.1Qbb) and credits (Ultra Ethernet link layer): counting what a link has put into a node's
// buffers, telling the neighbour, and obeying what the neighbour tells.
//
// A frame of flow control is a head without a body; `flow` holds its kind (2 bits: 1 pause, 2 resume, 3
// credits), the queues (6 bits, one bit each) and a counter (20 bits, credits only).
#pragma once

#include "sim/fabric/partition.h"

namespace wharf::sim {

inline constexpr std::uint32_t kControlPause = 1;
inline constexpr std::uint32_t kControlResume = 2;
inline constexpr std::uint32_t kControlCredits = 3;
/// Credit counters are cyclic with 20 bits.
inline constexpr std::uint32_t kCreditMask = (1U << 20U) - 1;

template <FabricHost Host>
void Partition<Host>::enqueue_held(TimePs now, PortId out, SlotId slot, std::uint32_t link) {
  Port& port = ports_[out];
  const PacketHead& head = heads_[slot];
  const PortProfile& profile = state_.config.profiles[port.profile];
  const std::uint32_t queue =
      (head.flags & kHeadTrimmed) != 0 ? profile.trimmed_queue : profile.queue_of_class[head.traffic_class];
  if (held_.size() <= slot) [[unlikely]]
    held_.resize(heads_.capacity());
  held_[slot].link = 0xffff'ffff;
  if (port.queue_bytes[queue] + head.bytes > profile.queues[queue].capacity_bytes) [[unlikely]] {
    overflow(port, out, slot, queue, profile);
  } else {
    hold(now, link, queue, slot);
    append_as(profile.queues[queue], port, heads_, queue, slot);
  }
  arm_service(max(now, port.ready_at), port, out);
}

/// Counts a packet into the buffer that `link` fills.
template <FabricHost Host>
void Partition<Host>::hold(TimePs now, std::uint32_t link, std::uint32_t queue, SlotId slot) {
  const FlowControlConfig& flow = state_.config.flow_control;
  if ((flow.queues & (1U << queue)) == 0) return;
  PortExtra& in = state_.extras[link];
  held_[slot] = {link, heads_[slot].bytes, static_cast<std::uint8_t>(queue)};
  in.held_bytes[queue] += heads_[slot].bytes;
  const auto bit = static_cast<std::uint8_t>(1U << queue);
  if (flow.kind == FlowControl::kPause && in.held_bytes[queue] > flow.xoff_bytes && (in.pausing & bit) == 0) {
    in.pausing |= bit;
    send_control(now, state_.topology->port(link % links_).reverse,
                 kControlPause << 30U | std::uint32_t{bit} << 24U);
  }
}

/// The packet has left the node.
template <FabricHost Host>
void Partition<Host>::release(TimePs now, Held held) {
  if (held.link == 0xffff'ffff) return;
  const FlowControlConfig& flow = state_.config.flow_control;
  PortExtra& in = state_.extras[held.link];
  in.held_bytes[held.queue] -= held.bytes;
  const auto bit = static_cast<std::uint8_t>(1U << held.queue);
  const PortId back = state_.topology->port(held.link % links_).reverse;
  if (flow.kind == FlowControl::kPause) {
    if ((in.pausing & bit) != 0 && in.held_bytes[held.queue] <= flow.xon_bytes) {
      in.pausing = static_cast<std::uint8_t>(in.pausing & ~bit);
      send_control(now, back, kControlResume << 30U | std::uint32_t{bit} << 24U);
    }
    return;
  }
  in.freed[held.queue] += credit_cost(held.bytes);
  const std::uint32_t unreported = in.freed[held.queue] - in.freed_reported[held.queue];
  // Choice: an empty buffer is reported at once, so that a limit close to the spacing cannot stall a link.
  if (unreported * flow.credit_bytes < flow.update_spacing_bytes && in.held_bytes[held.queue] != 0) return;
  in.freed_reported[held.queue] = in.freed[held.queue];
  send_control(now, back,
               kControlCredits << 30U | std::uint32_t{bit} << 24U | (in.freed[held.queue] & kCreditMask));
}

template <FabricHost Host>
inline void Partition<Host>::arm_service(TimePs at, Port& port, PortId number) {
  if (port.service_armed) return;
  port.service_armed = true;
  push(FabricEvent::make(at, FabricEventKind::kService, number, false));
}

/// One decision of a port, at the time when it can be taken.
template <FabricHost Host>
void Partition<Host>::service(TimePs now, PortId number) {
  Port& port = ports_[number];
  PortExtra& extra = state_.extras[number];
  port.service_armed = false;
  if (port.ready_at > now) {
    arm_service(port.ready_at, port, number);
    return;
  }
  settle(port);
  if (extra.sending.link != 0xffff'ffff) {
    const Held sent{extra.sending.link, extra.sending.bytes, extra.sending.queue};
    extra.sending = {};
    release(now, sent);
  }
  port.ready_at = now;
  if (extra.control_head != kNoSlot) {
    const SlotId slot = extra.control_head;
    extra.control_head = heads_[slot].next;
    launch(port, number, slot, heads_[slot]);
  } else if ((port.flags & kPortDown) != 0) {
    return;
  } else if (!((port.flags & kPortOfHost) != 0 ? serve_host_once(now, port, number)
                                               : serve_once(now, port, number))) {
    return;
  }
  arm_service(port.ready_at, port, number);
}

template <FabricHost Host>
bool Partition<Host>::serve_once(TimePs /*now*/, Port& port, PortId number) {
  const unsigned eligible = affordable(port, number);
  if (eligible == 0) return false;
  const PortProfile& profile = state_.config.profiles[port.profile];
  const std::uint32_t queue = choose(port, number, eligible, profile);
  const SlotId slot = take_oldest(port, heads_, queue);
  spend(number, queue, heads_[slot].bytes);
  if (slot < held_.size())
    state_.extras[number].sending = {held_[slot].link, held_[slot].bytes, held_[slot].queue};
  depart(port, number, slot, queue, profile);
  return true;
}

/// A host's port holds at most one packet per queue that its link may not carry yet; for other queues the
/// host is asked.
template <FabricHost Host>
bool Partition<Host>::serve_host_once(TimePs now, Port& port, PortId number) {
  const std::uint32_t host = state_.topology->port(number).node;
  const PortProfile& profile = state_.config.profiles[port.profile];
  bool sent = false;
  for (;;) {
    const unsigned eligible = affordable(port, number);
    if (eligible != 0) {
      const std::uint32_t queue = choose(port, number, eligible, profile);
      const SlotId slot = take_oldest(port, heads_, queue);
      spend(number, queue, heads_[slot].bytes);
      port.sending_bytes = heads_[slot].bytes;
      port.sending_queue = static_cast<std::uint8_t>(queue);
      launch(port, number, slot, heads_[slot]);
      sent = true;
      break;
    }
    if ((port.waiting & kAskHost) == 0) break;
    ClassMask allowed = 0;
    for (std::uint32_t i = 0; i < kFabricClasses; ++i) {
      const unsigned bit = 1U << profile.queue_of_class[i];
      if ((port.blocked & bit) == 0 && (port.waiting & bit) == 0)
        allowed = static_cast<ClassMask>(allowed | 1U << i);
    }
    const auto& ports = state_.topology->node(host).ports;
    const auto k = static_cast<std::uint32_t>(std::find(ports.begin(), ports.end(), number) - ports.begin());
    if (allowed == 0) break;  // The frame that changes this arms the service again.
    if (!pull(host, k, port, number, allowed)) {
      // Classes that were not allowed may have something: ask again when the neighbour lets them go on.
      if (allowed == kAllClasses) port.waiting = static_cast<std::uint8_t>(port.waiting & ~kAskHost);
      break;
    }
  }
  schedule_wake(host);
  (void)now;
  return sent;
}

/// Queues that have a packet which the far end has room for.
template <FabricHost Host>
unsigned Partition<Host>::affordable(const Port& port, PortId number) const {
  unsigned eligible = port.waiting & ((1U << kPortQueues) - 1) & ~unsigned{port.blocked};
  const FlowControlConfig& flow = state_.config.flow_control;
  if (flow.kind != FlowControl::kCredit) return eligible;
  const PortExtra& extra = state_.extras[number];
  const std::uint32_t limit = flow.credit_limit_bytes / flow.credit_bytes;
  for (unsigned rest = eligible & flow.queues; rest != 0; rest &= rest - 1) {
    const auto queue = static_cast<std::uint32_t>(std::countr_zero(rest));
    const std::uint32_t used = (extra.credits_used[queue] - extra.credits_freed[queue]) & kCreditMask;
    if (used + credit_cost(heads_[port.queue_head[queue]].bytes) > limit) eligible &= ~(1U << queue);
  }
  return eligible;
}

/// Credits that a packet of `bytes` costs.
template <FabricHost Host>
std::uint32_t Partition<Host>::credit_cost(std::uint32_t bytes) const {
  const FlowControlConfig& flow = state_.config.flow_control;
  const auto charged =
      static_cast<std::uint32_t>(std::max(1, static_cast<std::int32_t>(bytes) + flow.credit_overhead_bytes));
  return (charged + flow.credit_bytes - 1) / flow.credit_bytes;
}

template <FabricHost Host>
void Partition<Host>::spend(PortId number, std::uint32_t queue, std::uint32_t bytes) {
  const FlowControlConfig& flow = state_.config.flow_control;
  // A host returns credits as soon as it has the packet, so links toward hosts need none.
  if (flow.kind != FlowControl::kCredit || (flow.queues & (1U << queue)) == 0 || ports_[number].far.is_host())
    return;
  state_.extras[number].credits_used[queue] += credit_cost(bytes);
}

template <FabricHost Host>
void Partition<Host>::send_control(TimePs now, PortId number, std::uint32_t content) {
  const FlowControlConfig& flow = state_.config.flow_control;
  PortExtra& extra = state_.extras[number];
  const SlotId slot = heads_.acquire();
  PacketHead& head = heads_[slot];
  head = PacketHead{};
  head.flow = content;
  head.bytes = content >> 30U == kControlCredits ? flow.update_bytes : flow.frame_bytes;
  head.flags = kHeadLinkControl;
  if (extra.control_head == kNoSlot) {
    extra.control_head = slot;
  } else {
    heads_[extra.control_tail].next = slot;
  }
  extra.control_tail = slot;
  if (content >> 30U != kControlCredits) ++state_.counters[number].pause_frames;
  arm_service(max(now, ports_[number].ready_at), ports_[number], number);
}

/// A frame of flow control has come over `link`: it speaks about the opposite direction.
template <FabricHost Host>
void Partition<Host>::handle_control(TimePs now, std::uint32_t link, const PacketHead& head) {
  const PortId number = state_.topology->port(link).reverse;
  Port& port = ports_[number];
  PortExtra& extra = state_.extras[number];
  const std::uint32_t kind = head.flow >> 30U;
  for (unsigned rest = (head.flow >> 24U) & 0x3fU; rest != 0; rest &= rest - 1) {
    const auto queue = static_cast<std::uint32_t>(std::countr_zero(rest));
    const unsigned bit = 1U << queue;
    if (kind == kControlCredits) {
      extra.credits_freed[queue] = head.flow & kCreditMask;
    } else if (kind == kControlPause) {
      if ((port.blocked & bit) == 0) extra.paused_since[queue] = now;
      port.blocked = static_cast<std::uint8_t>(port.blocked | bit);
      if (state_.config.record_pauses)
        pauses_.push_back({now, number, static_cast<std::uint8_t>(queue), true});
    } else {
      if ((port.blocked & bit) != 0)
        state_.counters[number].paused_ps += static_cast<std::uint64_t>((now - extra.paused_since[queue]).ps);
      port.blocked = static_cast<std::uint8_t>(port.blocked & ~bit);
      if (state_.config.record_pauses)
        pauses_.push_back({now, number, static_cast<std::uint8_t>(queue), false});
    }
  }
  if (port.waiting != 0) arm_service(max(now, port.ready_at), port, number);
}

template <FabricHost Host>
std::vector<PortId> Partition<Host>::waiting_from(PortId port) const {
  std::vector<PortId> links;
  const unsigned held = held_queues(port);
  for (std::uint32_t queue = 0; queue < kPortQueues; ++queue) {
    if ((held & (1U << queue)) == 0) continue;
    for (SlotId slot = ports_[port].queue_head[queue]; slot != kNoSlot; slot = heads_[slot].next) {
      if (slot >= held_.size() || held_[slot].link == 0xffff'ffff) continue;
      const PortId link = held_[slot].link % links_;
      if (std::find(links.begin(), links.end(), link) == links.end()) links.push_back(link);
    }
  }
  return links;
}

}  // namespace wharf::sim
