// SPDX-License-Identifier: Apache-2.0
// Hosts at the edge: delivery, timers, what their interfaces send, and how fast their memory takes data in.
#pragma once

#include "sim/fabric/partition.h"

namespace wharf::sim {

template <FabricHost Host>
void Partition<Host>::deliver(TimePs now, const Port& in, std::uint32_t link, SlotId slot) {
  const std::uint32_t host = in.far.index();
  advance_host(host, now);
  PacketHead head = heads_[slot];
  if (state_.config.ingest.limited()) [[unlikely]] {
    if (!ingest(now, host, link, head))
      head.flags = static_cast<std::uint8_t>(head.flags | kHeadTrimmed | kHeadTrimmedLastHop);
    // Hosts whose protocol can hold its sources back.
    if constexpr (requires { hosts_[host].note_backlog(0); })
      hosts_[host].note_backlog(state_.ingest[host].backlog_bytes);
  }
  hosts_[host].receive(now, in.far_port, bodies_[head.body], head);
  recycle(slot);
  ask_ports(host, now);
  if (!turns_) schedule_wake(host);
}

template <FabricHost Host>
void Partition<Host>::wake(TimePs now, std::uint32_t host) {
  if (state_.wake_at[host] == now) state_.wake_at[host] = kNever;
  advance_host(host, now);
  if (!state_.ingest.empty() && state_.ingest[host].pausing) resume_ingest(now, host);
  if (hosts_[host].deadline() <= now) {
    hosts_[host].expire(now);
    after_input(host, now);
  } else {
    schedule_wake(host);
  }
}

/// What the host does by itself before `until`: its interface sends, its timers expire.
template <FabricHost Host>
void Partition<Host>::advance_host(std::uint32_t host, TimePs until) {
  if (served_) return;  // Service events keep it up to date.
  if constexpr (requires { hosts_[host].allow(until); }) hosts_[host].allow(until);
  const std::uint32_t first = state_.node_port_first[host];
  const std::uint32_t last = state_.node_port_first[host + 1];
  bool moved = false;
  for (;;) {
    std::uint32_t next = last;
    TimePs at = kNever;
    for (std::uint32_t k = first; k < last; ++k) {
      const Port& port = ports_[state_.node_ports[k]];
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
      const PortId number = state_.node_ports[next];
      Port& port = ports_[number];
      if (!pull(host, next - first, port, number, kAllClasses)) port.waiting = 0;
    }
  }
  if (moved && !turns_) schedule_wake(host);
}

template <FabricHost Host>
void Partition<Host>::after_input(std::uint32_t host, TimePs now) {
  ask_ports(host, now);
  if (turns_) {
    note_turn(host);
  } else {
    schedule_wake(host);
  }
}

/// Ports that are idle send at once, the others when they are ready.
template <FabricHost Host>
void Partition<Host>::ask_ports(std::uint32_t host, TimePs now) {
  const std::uint32_t first = state_.node_port_first[host];
  const std::uint32_t last = state_.node_port_first[host + 1];
  for (std::uint32_t k = first; k < last; ++k) {
    const PortId number = state_.node_ports[k];
    Port& port = ports_[number];
    // Under flow control a port that asks already may have asked in vain for what its link may carry.
    if (((port.waiting & kAskHost) != 0 && !served_) || (port.flags & kPortDown) != 0) continue;
    if (served_) [[unlikely]] {
      port.waiting |= kAskHost;
      arm_service(max(now, port.ready_at), port, number);
    } else if (port.ready_at <= now) {
      port.ready_at = now;
      if (pull(host, k - first, port, number, kAllClasses)) port.waiting = kAskHost;
    } else {
      port.waiting = kAskHost;
    }
  }
}

/// Sends the next packet of a host from port.ready_at on, if there is one. Under flow control the packet is
/// left in the port's queue when the link may not carry it yet.
template <FabricHost Host>
bool Partition<Host>::pull(std::uint32_t host, std::uint32_t k, Port& port, PortId number,
                           ClassMask allowed) {
  const SlotId slot = spare_slot_;
  PacketHead& head = heads_[slot];
  head.flags = 0;
  if (!hosts_[host].transmit(port.ready_at, k, allowed, bodies_[spare_body_], head)) return false;
  head.body = spare_body_;
  std::uint32_t arrival = k;  // Ports of the same number form a plane, unless the host says otherwise.
  if constexpr (requires { hosts_[host].arrival_port(bodies_[spare_body_], k); })
    arrival = hosts_[host].arrival_port(bodies_[spare_body_], k);
  head.destination = routes_->attachment_of(head.destination, arrival);
  head.leaf = routes_->leaf(head.destination);
  if (served_) [[unlikely]] {
    append(port, heads_, state_.config.profiles[port.profile].queue_of_class[head.traffic_class], slot);
  } else {
    launch(port, number, slot, head);
  }
  spare_body_ = bodies_.acquire();
  spare_slot_ = heads_.acquire();
  return true;
}

template <FabricHost Host>
inline void Partition<Host>::schedule_wake(std::uint32_t host) {
  const TimePs deadline = hosts_[host].deadline();
  if (deadline >= state_.wake_at[host]) return;
  state_.wake_at[host] = deadline;
  if (turns_) {
    next_turn_ = min(next_turn_, deadline);
  } else {
    push(FabricEvent::make(deadline, FabricEventKind::kWake, host, false));
  }
}

/// A host that has been given something to do by what it was called for: not before now.
template <FabricHost Host>
void Partition<Host>::wake_woken(TimePs now) {
  for (const std::uint32_t host : context_.woken) {
    refresh(host);
    const TimePs at = max(now, hosts_[host].deadline());
    if (at >= state_.wake_at[host]) continue;
    state_.wake_at[host] = at;
    push(FabricEvent::make(at, FabricEventKind::kWake, host, false));
  }
  context_.woken.clear();
}

template <FabricHost Host>
void Partition<Host>::hear_all() {
  if (heard_.empty()) [[likely]]
    return;
  std::sort(heard_.begin(), heard_.end());
  for (const Notice& notice : heard_) context_.listener->hear(notice);
  heard_.clear();
  for (const std::uint32_t host : context_.woken) {
    refresh(host);
    schedule_wake(host);
  }
  context_.woken.clear();
}

/// Hosts that remember their deadline are told that somebody else has changed it.
template <FabricHost Host>
void Partition<Host>::refresh(std::uint32_t host) {
  if constexpr (requires(Host & asleep) { asleep.refresh(); }) hosts_[host].refresh();
}

/// Counts an arriving packet into what waits for the host's memory. False: there is no room for it. Under
/// pause flow control the host pauses the link and the queue of each packet that is too much, instead of
/// refusing.
template <FabricHost Host>
bool Partition<Host>::ingest(TimePs now, std::uint32_t host, std::uint32_t link, const PacketHead& head) {
  IngestState& state = state_.ingest[host];
  drain_ingest(now, state);
  if (state.backlog_bytes + head.bytes > state_.config.ingest.capacity_bytes) {
    ++state.refused;
    return false;
  }
  state.backlog_bytes += head.bytes;
  const FlowControlConfig& flow = state_.config.flow_control;
  const std::uint32_t queue = state_.config.profiles[ports_[link].profile].queue_of_class[head.traffic_class];
  const auto bit = static_cast<std::uint8_t>(1U << queue);
  if (flow.kind == FlowControl::kPause && (flow.queues & bit) != 0 &&
      (state_.extras[link].pausing & bit) == 0 && state.backlog_bytes > flow.xoff_bytes) {
    state.pausing = true;
    state_.extras[link].pausing |= bit;
    send_control(now, state_.topology->port(link % links_).reverse,
                 kControlPause << 30U | std::uint32_t{bit} << 24U);
    arm_pause_refresh(now, link);
    const std::uint64_t excess = state.backlog_bytes - flow.xon_bytes;
    const TimePs at = now + picoseconds(static_cast<std::int64_t>(serialisation_ps(
                                static_cast<std::uint32_t>(std::min<std::uint64_t>(excess, 0xffff'ffff)),
                                state_.config.ingest.rate.value)));
    state_.wake_at[host] = min(state_.wake_at[host], at);
    push(FabricEvent::make(at, FabricEventKind::kWake, host, false));
  }
  return true;
}

template <FabricHost Host>
void Partition<Host>::drain_ingest(TimePs now, IngestState& state) {
  // Whole bytes only; the rest of the time is kept.
  const auto elapsed = static_cast<unsigned __int128>((now - state.as_of).ps);
  const auto drained =
      static_cast<std::uint64_t>(elapsed * state_.config.ingest.rate.value / 8'000'000'000'000ULL);
  if (drained >= state.backlog_bytes) {
    state.backlog_bytes = 0;
    state.as_of = now;
    return;
  }
  state.backlog_bytes -= drained;
  state.as_of += picoseconds(static_cast<std::int64_t>(
      static_cast<unsigned __int128>(drained) * 8'000'000'000'000ULL / state_.config.ingest.rate.value));
}

/// Lets all links that are paused go on when the backlog has gone down far enough.
template <FabricHost Host>
void Partition<Host>::resume_ingest(TimePs now, std::uint32_t host) {
  IngestState& state = state_.ingest[host];
  drain_ingest(now, state);
  const FlowControlConfig& flow = state_.config.flow_control;
  if (state.backlog_bytes > flow.xon_bytes) {
    const TimePs at = now + picoseconds(static_cast<std::int64_t>(serialisation_ps(
                                static_cast<std::uint32_t>(state.backlog_bytes - flow.xon_bytes),
                                state_.config.ingest.rate.value)));
    push(FabricEvent::make(at, FabricEventKind::kWake, host, false));
    return;
  }
  state.pausing = false;
  for (std::uint32_t k = state_.node_port_first[host]; k < state_.node_port_first[host + 1]; ++k) {
    PortExtra& in = state_.extras[state_.node_arrivals[k]];
    if (in.pausing == 0) continue;
    send_control(now, state_.node_ports[k], kControlResume << 30U | std::uint32_t{in.pausing} << 24U);
    in.pausing = 0;
  }
}

}  // namespace wharf::sim
