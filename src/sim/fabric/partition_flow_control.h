// SPDX-License-Identifier: Apache-2.0
// Pause (IEEE 802.1Qbb) and credits (Ultra Ethernet link layer): counting what a link has put into a node's
// buffers, telling the neighbour, and obeying what the neighbour tells.
//
// A frame of flow control is a head without a body; `flow` holds its kind (2 bits: 0 consumed credits, 1
// pause, 2 resume, 3 freed credits), the queues (6 bits, one bit each) and a counter (20 bits, credits only).
#pragma once

#include "sim/fabric/partition.h"

namespace wharf::sim {

/// Credit counters are cyclic with 20 bits.
inline constexpr std::uint32_t kCreditMask = (1U << 20U) - 1;
/// How far the cyclic counter `to` is ahead of `from`, or, negative, behind it.
constexpr std::int32_t credit_difference(std::uint32_t to, std::uint32_t from) {
  return static_cast<std::int32_t>((to - from) << 12U) >> 12;
}

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
  if (port.ready_at <= now) settle(port);
  const bool idle = port.ready_at <= now && port.waiting == 0;  // What starts at once needs no room.
  if (!idle && port.queue_bytes[queue] + head.bytes > profile.queues[queue].capacity_bytes) [[unlikely]] {
    free_unstored(now, link, queue, head.bytes);
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
  if (flow.kind == FlowControl::kNone || (flow.queues & (1U << queue)) == 0) return;
  PortExtra& in = state_.extras[link];
  held_[slot] = {link, heads_[slot].bytes, static_cast<std::uint8_t>(queue)};
  in.held_bytes[queue] += heads_[slot].bytes;
  in.stored[queue] += credit_cost(heads_[slot].bytes);
  const auto bit = static_cast<std::uint8_t>(1U << queue);
  if (flow.kind == FlowControl::kPause && in.held_bytes[queue] > flow.xoff_bytes && (in.pausing & bit) == 0) {
    in.pausing |= bit;
    send_control(now, state_.topology->port(link % links_).reverse,
                 kControlPause << 30U | std::uint32_t{bit} << 24U);
    arm_pause_refresh(now, link);
  }
}

/// How long a pause frame holds the queues of a port of this rate when nothing follows: the longest time that
/// it can carry, 65535 times what 512 bits take. [IEEE 802.3 annex 31B, IEEE 802.1Qbb]
inline TimePs pause_time(std::uint64_t bits_per_second) {
  return picoseconds(static_cast<std::int64_t>(serialisation_ps(64, bits_per_second) * 65535));
}

/// Choice: pauses end, and are told again after half their time, where a resume frame may be lost
/// (FabricState::fastest); else each is ended by its resume frame. The time is that at the fastest that the
/// paused direction becomes: its rate may be another thread's.
template <FabricHost Host>
void Partition<Host>::arm_pause_refresh(TimePs now, std::uint32_t link) {
  PortExtra& in = state_.extras[link];
  if (state_.fastest.empty() || in.pause_refresh_armed) return;
  in.pause_refresh_armed = true;
  push(FabricEvent::make(now + pause_time(state_.fastest[link % links_]) / 2, FabricEventKind::kControl,
                         kControlPauseRefreshes + link, false));
}

template <FabricHost Host>
void Partition<Host>::refresh_pauses(TimePs now, std::uint32_t link) {
  PortExtra& in = state_.extras[link];
  in.pause_refresh_armed = false;
  if (in.pausing == 0) return;
  send_control(now, state_.topology->port(link % links_).reverse,
               kControlPause << 30U | std::uint32_t{in.pausing} << 24U);
  arm_pause_refresh(now, link);
}

template <FabricHost Host>
void Partition<Host>::arm_pause_end(TimePs at, PortId number) {
  PortExtra& extra = state_.extras[number];
  if (state_.fastest.empty() || extra.pause_end_armed) return;
  extra.pause_end_armed = true;
  push(FabricEvent::make(at, FabricEventKind::kControl, kControlPauseEnds + number, false));
}

/// The resume frame of what has been held for so long was lost.
template <FabricHost Host>
void Partition<Host>::end_pauses(TimePs now, PortId number) {
  Port& port = ports_[number];
  PortExtra& extra = state_.extras[number];
  extra.pause_end_armed = false;
  TimePs next = kNever;
  for (unsigned rest = port.blocked; rest != 0; rest &= rest - 1) {
    const auto queue = static_cast<std::uint32_t>(std::countr_zero(rest));
    if (extra.pause_ends[queue] > now) {
      next = min(next, extra.pause_ends[queue]);
    } else {
      resume(now, number, queue);
    }
  }
  if (next != kNever) arm_pause_end(next, number);
  if (port.waiting != 0) arm_service(max(now, port.ready_at), port, number);
}

template <FabricHost Host>
void Partition<Host>::resume(TimePs now, PortId number, std::uint32_t queue) {
  Port& port = ports_[number];
  const unsigned bit = 1U << queue;
  if ((port.blocked & bit) != 0)
    state_.counters[number].paused_ps +=
        static_cast<std::uint64_t>((now - state_.extras[number].paused_since[queue]).ps);
  port.blocked = static_cast<std::uint8_t>(port.blocked & ~bit);
  if (state_.config.record_pauses) pauses_.push_back({now, number, static_cast<std::uint8_t>(queue), false});
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
  report_freed(now, held.link, held.queue);
}

/// CF_Update.
template <FabricHost Host>
void Partition<Host>::report_freed(TimePs now, std::uint32_t link, std::uint32_t queue) {
  PortExtra& in = state_.extras[link];
  in.freed_reported[queue] = in.freed[queue];
  send_control(now, state_.topology->port(link % links_).reverse,
               kControlCredits << 30U | 1U << (24U + queue) | (in.freed[queue] & kCreditMask));
}

/// A packet that came over `link` found no room: its credits are free at once.
template <FabricHost Host>
void Partition<Host>::free_unstored(TimePs now, std::uint32_t link, std::uint32_t queue,
                                    std::uint32_t bytes) {
  const FlowControlConfig& flow = state_.config.flow_control;
  if (flow.kind != FlowControl::kCredit || (flow.queues & (1U << queue)) == 0) return;
  PortExtra& in = state_.extras[link];
  in.stored[queue] += credit_cost(bytes);
  in.freed[queue] += credit_cost(bytes);
  report_freed(now, link, queue);
}

/// The same of one that no port leads on: in the queue that the near end of `link` has charged.
template <FabricHost Host>
void Partition<Host>::free_without_way(TimePs now, std::uint32_t link, const PacketHead& head) {
  const PortProfile& profile = state_.config.profiles[ports_[link].profile];
  free_unstored(
      now, link,
      (head.flags & kHeadTrimmed) != 0 ? profile.trimmed_queue : profile.queue_of_class[head.traffic_class],
      head.bytes);
}

/// Tells the far end from time to time what was consumed while not all of it is free again: credits of frames
/// that were lost come back so. [UE 1.0 5.2: CC_Update]
template <FabricHost Host>
void Partition<Host>::arm_consumed_update(TimePs at, PortId number) {
  PortExtra& extra = state_.extras[number];
  if (extra.consumed_update_armed) return;
  extra.consumed_update_armed = true;
  push(FabricEvent::make(at, FabricEventKind::kControl, kControlConsumedUpdates + number, false));
}

/// CC_Update. Choice: a frame for each virtual channel that has credits out, instead of one for all.
template <FabricHost Host>
void Partition<Host>::report_consumed(TimePs now, PortId number) {
  const FlowControlConfig& flow = state_.config.flow_control;
  PortExtra& extra = state_.extras[number];
  extra.consumed_update_armed = false;
  if ((ports_[number].flags & kPortDown) != 0) return;  // Armed again when it returns.
  for (std::uint32_t queue = 0; queue < kPortQueues; ++queue) {
    if (credit_difference(extra.credits_used[queue], extra.credits_freed[queue]) == 0) continue;
    arm_consumed_update(now + flow.consumed_update_period, number);
    if (retries(number) && state_.retry_senders[number].protects()) {
      // It must not pass frames that are still to be replayed, and would then count as lost.
      LinkRetrySender& sender = state_.retry_senders[number];
      sender.consumed_due = static_cast<std::uint8_t>(sender.consumed_due | 1U << queue);
      arm_service(max(now, ports_[number].ready_at), ports_[number], number);
      continue;
    }
    send_control(now, number,
                 kControlConsumed << 30U | 1U << (24U + queue) | (extra.credits_used[queue] & kCreditMask));
  }
}

/// What the near end of `link` has consumed and this end never saw was lost on the way. The answer goes even
/// if there was nothing: the last one may have been lost.
template <FabricHost Host>
void Partition<Host>::repair_credits(TimePs now, std::uint32_t link, std::uint32_t queue,
                                     std::uint32_t consumed) {
  PortExtra& in = state_.extras[link];
  const std::int32_t lost = credit_difference(consumed, in.stored[queue]);
  in.stored[queue] += static_cast<std::uint32_t>(lost);
  in.freed[queue] += static_cast<std::uint32_t>(lost);
  report_freed(now, link, queue);
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
  if ((port.flags & kPortDown) != 0) lose_control(number);
  const bool retried = retries(number);
  if (retried && serve_retry(now, port, number)) {
  } else if (extra.control_head != kNoSlot) {
    const SlotId slot = extra.control_head;
    extra.control_head = heads_[slot].next;
    const std::uint32_t kind = heads_[slot].flow >> 30U;
    ++state_.counters[number].control_frames;
    if (kind == kControlPause || kind == kControlResume) ++state_.counters[number].pause_frames;
    launch(port, number, slot, heads_[slot]);
  } else if ((port.flags & kPortDown) != 0) {
    return;
  } else if (retried && serve_replay(port, number)) {
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
  if (!state_.retry_senders.empty()) {
    for (unsigned rest = eligible; rest != 0; rest &= rest - 1) {
      const auto queue = static_cast<std::uint32_t>(std::countr_zero(rest));
      if (!may_send_new(number, heads_[port.queue_head[queue]].bytes)) eligible &= ~(1U << queue);
    }
  }
  const FlowControlConfig& flow = state_.config.flow_control;
  if (flow.kind != FlowControl::kCredit) return eligible;
  const PortExtra& extra = state_.extras[number];
  const std::uint32_t limit = flow.credit_limit_bytes / flow.credit_bytes;
  for (unsigned rest = eligible & flow.queues; rest != 0; rest &= rest - 1) {
    const auto queue = static_cast<std::uint32_t>(std::countr_zero(rest));
    // Below 0 for a while where a link reorders: what was taken for lost came later.
    const std::int32_t used = credit_difference(extra.credits_used[queue], extra.credits_freed[queue]);
    const auto needed = static_cast<std::int32_t>(credit_cost(heads_[port.queue_head[queue]].bytes));
    if (used + needed > static_cast<std::int32_t>(limit)) eligible &= ~(1U << queue);
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
  arm_consumed_update(ports_[number].ready_at + flow.consumed_update_period, number);
}

template <FabricHost Host>
void Partition<Host>::send_control(TimePs now, PortId number, std::uint32_t content) {
  const FlowControlConfig& flow = state_.config.flow_control;
  PortExtra& extra = state_.extras[number];
  const SlotId slot = heads_.acquire();
  PacketHead& head = heads_[slot];
  head = PacketHead{};
  head.flow = content;
  const std::uint32_t kind = content >> 30U;
  head.bytes = kind == kControlCredits    ? flow.update_bytes
               : kind == kControlConsumed ? flow.consumed_update_bytes
                                          : flow.frame_bytes;
  head.flags = kHeadLinkControl;
  if (extra.control_head == kNoSlot) {
    extra.control_head = slot;
  } else {
    heads_[extra.control_tail].next = slot;
  }
  extra.control_tail = slot;
  arm_service(max(now, ports_[number].ready_at), ports_[number], number);
}

/// What a port that is down was to tell it never sends, and counts nowhere.
template <FabricHost Host>
void Partition<Host>::lose_control(PortId number) {
  PortExtra& extra = state_.extras[number];
  while (extra.control_head != kNoSlot) {
    const SlotId slot = extra.control_head;
    const PacketHead& head = heads_[slot];
    extra.control_head = head.next;
    // What it has consumed it tells anyway when it returns.
    if (head.flow >> 30U != kControlConsumed) {
      PortExtra& in = state_.extras[record_back(number)];
      in.untold = static_cast<std::uint8_t>(in.untold | (head.flow >> 24U & 0x3fU));
    }
    heads_.release(slot);
  }
}

/// A port that has returned tells what was lost meanwhile, as it is now.
template <FabricHost Host>
void Partition<Host>::tell_again(TimePs now, PortId number) {
  const std::uint32_t record = record_back(number);
  PortExtra& in = state_.extras[record];
  const unsigned untold = in.untold;
  in.untold = 0;
  if (untold == 0) return;
  if (state_.config.flow_control.kind == FlowControl::kCredit) {
    for (unsigned rest = untold; rest != 0; rest &= rest - 1)
      report_freed(now, record, static_cast<std::uint32_t>(std::countr_zero(rest)));
    return;
  }
  const unsigned held = untold & in.pausing;
  if (held != 0) send_control(now, number, kControlPause << 30U | held << 24U);
  if (held != untold) send_control(now, number, kControlResume << 30U | (untold & ~held) << 24U);
}

/// A frame of flow control has come over `link`, whose far half is `record`: it speaks about the opposite
/// direction, unless it tells what was consumed.
template <FabricHost Host>
void Partition<Host>::handle_control(TimePs now, std::uint32_t link, std::uint32_t record,
                                     const PacketHead& head) {
  const PortId number = state_.topology->port(link).reverse;
  Port& port = ports_[number];
  PortExtra& extra = state_.extras[number];
  const std::uint32_t kind = head.flow >> 30U;
  for (unsigned rest = (head.flow >> 24U) & 0x3fU; rest != 0; rest &= rest - 1) {
    const auto queue = static_cast<std::uint32_t>(std::countr_zero(rest));
    const unsigned bit = 1U << queue;
    if (kind == kControlConsumed) {
      repair_credits(now, record, queue, head.flow & kCreditMask);
    } else if (kind == kControlCredits) {
      extra.credits_freed[queue] = head.flow & kCreditMask;
    } else if (kind == kControlPause) {
      if ((port.blocked & bit) == 0) extra.paused_since[queue] = now;
      port.blocked = static_cast<std::uint8_t>(port.blocked | bit);
      if (state_.config.record_pauses)
        pauses_.push_back({now, number, static_cast<std::uint8_t>(queue), true});
      extra.pause_ends[queue] = now + pause_time(state_.rates[number]);
      arm_pause_end(extra.pause_ends[queue], number);
    } else {
      resume(now, number, queue);
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
