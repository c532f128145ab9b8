// SPDX-License-Identifier: Apache-2.0
// Nodes that act in turns. What a node does at some instant is felt elsewhere when its packet has crossed a
// link, so each node can be left behind for as long as the shortest link takes. Then it takes in what has
// come meanwhile and sends what it has to send, all at their own times and in the order of time, while its
// records are in the cache: they are fetched once for many packets, and no event tells of a packet. The
// switches act first, then the hosts.
#pragma once

#include <type_traits>

#include "sim/fabric/partition.h"

namespace wharf::sim {

/// The records of so many nodes stay in a cache by themselves.
inline constexpr std::size_t kNodesInCache = 256;

/// Steps of fetching a node's records, each of which relies on the one before.
inline constexpr std::size_t kFetchSteps = 3;
template <int kStep>
using FetchStep = std::integral_constant<int, kStep>;

/// Executes what is due at once and ends a turn that begins with the next thing to happen; or `due`.
template <FabricHost Host>
TimePs Partition<Host>::end_of_turn(TimePs due) {
  const TimePs next = next_time();
  if (next >= due) return due;
  // Only changes over time are events. A turn ends before the next of them.
  ComingEvent event;
  while (events_.pop_until(next, event, *this)) {
    control(event.time, event.number());
  }
  return min(min(due, events_.next_time()), next + state_.turn);
}

/// Brings all nodes to `end`. They have been brought to within FabricState::turn of it, or have nothing to do
/// before.
template <FabricHost Host>
void Partition<Host>::act_in_turns(TimePs end) {
  if (next_turn_ >= end) return;
  next_turn_ = kNever;
  let_act(own_switches_, first_switch_, end,
          [this, end](std::uint32_t index, auto&& fetch_ahead) { act_as_switch(index, end, fetch_ahead); });
  let_act(own_hosts_, 0, end,
          [this, end](std::uint32_t host, auto&& fetch_ahead) { act_as_host(host, end, fetch_ahead); });
}

/// Calls act(index, fetch_ahead) for those of `nodes`, counted from node `first` on, that have something to
/// do before `end`. While one acts it calls fetch_ahead(n) for each step n of fetching, the last step first,
/// which is done for one of the next three: not all at once, since a processor waits for no more than a few
/// dozen lines at a time.
template <FabricHost Host>
template <typename Act>
void Partition<Host>::let_act(const std::vector<NodeId>& nodes, NodeId first, TimePs end, Act&& act) {
  acting_.clear();
  for (const NodeId node : nodes) {
    const TimePs at = state_.wake_at[first + node];
    if (at < end) {
      acting_.push_back(node);
    } else {
      next_turn_ = min(next_turn_, at);
    }
  }
  const std::size_t count = acting_.size();
  const std::size_t fetched = own_hosts_.size() + own_switches_.size() > kNodesInCache ? count : 0;
  const auto fetch = [&](std::size_t at, auto step) __attribute__((always_inline)) {
    if (at >= fetched) return;
    if (first == 0) {
      fetch_host<decltype(step)::value>(acting_[at]);
    } else {
      fetch_switch<decltype(step)::value>(acting_[at]);
    }
  };
  for (std::size_t at = 0; at < kFetchSteps; ++at) {
    fetch(at, FetchStep<1>());
    if (at + 1 < kFetchSteps) fetch(at, FetchStep<2>());
    if (at + 2 < kFetchSteps) fetch(at, FetchStep<3>());
  }
  for (std::size_t i = 0; i < count; ++i) {
    act(
        acting_[i], [&](auto step) __attribute__((always_inline)) {
          fetch(i + kFetchSteps + 1 - decltype(step)::value, step);
        });
  }
}

/// Brings one switch to `end`.
template <FabricHost Host>
template <typename FetchAhead>
void Partition<Host>::act_as_switch(std::uint32_t index, TimePs end, FetchAhead&& fetch_ahead) {
  const NodeId node = first_switch_ + index;
  SwitchState& sw = switches_[index];
  gather(node, end);
  fetch_ahead(FetchStep<2>());
  for (const Arrival& arrival : arrivals_.sort()) {
    const PortId number = arrival.number();
    const std::uint32_t record = arrival.far_half() ? number + links_ : number;
    if (!inspect(arrival.time, record, number, arrival.slot)) [[unlikely]]
      continue;
    const PortId out = route_from(arrival.time, number, sw, heads_[arrival.slot]);
    forward(arrival.time, ports_[record], arrival.slot, record, number, out);
  }
  fetch_ahead(FetchStep<1>());
  for (std::uint32_t k = state_.node_port_first[node]; k < state_.node_port_first[node + 1]; ++k) {
    const PortId number = state_.node_ports[k];
    Port& port = ports_[number];
    if (port.waiting != 0 && port.ready_at < end) serve(port, number, end);
  }
  note_turn(node);
}

/// Takes what comes to a node before `end` off the links: of all links the first packet, then of all the
/// second, so that there is time to fetch one before it is looked at.
template <FabricHost Host>
void Partition<Host>::gather(NodeId node, TimePs end) {
  arrivals_.clear();
  flights_.clear();
  for (std::uint32_t k = state_.node_port_first[node]; k < state_.node_port_first[node + 1]; ++k) {
    const std::uint32_t record = state_.node_arrivals[k];
    const SlotId slot = ports_[record].flight_head;
    if (slot != kNoSlot) flights_.push_back({record, slot});
  }
  for (std::size_t count = flights_.size(); count != 0;) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto [record, slot] = flights_[i];
      const PacketHead& head = heads_[slot];
      if (head.time >= end) {
        ports_[record].flight_head = slot;
        continue;
      }
      const bool far_half = record >= links_;
      arrivals_.add(Arrival::make(head.time, far_half ? record - links_ : record, far_half, slot));
      if (head.next == kNoSlot) {
        ports_[record].flight_head = kNoSlot;
        continue;
      }
      heads_.prefetch(head.next);
      flights_[kept++] = {record, head.next};
    }
    count = kept;
  }
}

/// Brings one host to `end`.
template <FabricHost Host>
template <typename FetchAhead>
void Partition<Host>::act_as_host(std::uint32_t host, TimePs end, FetchAhead&& fetch_ahead) {
  fetch_ahead(FetchStep<3>());
  for (bool more = true; more;) {
    more = take_in(host, end);
    if (!more) {
      fetch_ahead(FetchStep<2>());
      advance_host(host, end);
    }
    if (context_.woken.empty()) [[likely]]
      continue;
    // It has been given something to do by itself.
    for (const std::uint32_t woken : context_.woken) WHARF_CHECK(woken == host);
    context_.woken.clear();
    refresh(host);
    more = true;
  }
  fetch_ahead(FetchStep<1>());
  note_turn(host);
}

/// Gives a host the first packet that comes to it before `end`. False: there is none.
template <FabricHost Host>
bool Partition<Host>::take_in(std::uint32_t host, TimePs end) {
  TimePs at = end;
  std::uint32_t link = kNoPort;
  for (std::uint32_t k = state_.node_port_first[host]; k < state_.node_port_first[host + 1]; ++k) {
    const std::uint32_t record = state_.node_arrivals[k];
    const SlotId slot = ports_[record].flight_head;
    if (slot == kNoSlot || heads_[slot].time >= end) continue;
    const TimePs time = heads_[slot].time;
    // At equal times in the order of events.
    if (time > at || (time == at && record % links_ >= link % links_)) continue;
    at = time;
    link = record;
  }
  if (link == kNoPort) return false;
  Port& in = ports_[link];
  const SlotId slot = in.flight_head;
  const SlotId next = heads_[slot].next;
  in.flight_head = next;
  if (next != kNoSlot) {
    const PacketHead& coming = heads_[next];
    heads_.prefetch(coming.next);
    if (coming.body != kNoBody) prefetch_object(&bodies_[coming.body]);
  }
  if (inspect(at, link, link % links_, slot)) deliver(at, in, link, slot);
  return true;
}

/// Notes when a node that has been brought up to date has to act again, at the earliest.
template <FabricHost Host>
void Partition<Host>::note_turn(NodeId node) {
  TimePs next = node < first_switch_ ? hosts_[node].deadline() : kNever;
  for (std::uint32_t k = state_.node_port_first[node]; k < state_.node_port_first[node + 1]; ++k) {
    const Port& out = ports_[state_.node_ports[k]];
    if (out.waiting != 0) next = min(next, out.ready_at);
    Port& in = ports_[state_.node_arrivals[k]];
    in.armed = in.flight_head != kNoSlot;
    if (in.armed) next = min(next, heads_[in.flight_head].time);
  }
  state_.wake_at[node] = next;
  next_turn_ = min(next_turn_, next);
}

/// Steps of fetching what act_as_switch() will touch: the links, then their first packets; no third.
template <FabricHost Host>
template <int kStep>
[[gnu::always_inline]] inline void Partition<Host>::fetch_switch(std::uint32_t index) {
  const NodeId node = first_switch_ + index;
  for (std::uint32_t k = state_.node_port_first[node]; k < state_.node_port_first[node + 1]; ++k) {
    const Port& in = ports_[state_.node_arrivals[k]];
    const Port& out = ports_[state_.node_ports[k]];
    if constexpr (kStep == 1) {
      __builtin_prefetch(&in, 1);
      prefetch_object(&out);
    }
    if constexpr (kStep == 2) {
      heads_.prefetch(in.flight_head);
      heads_.prefetch(out.flight_tail);
      if (out.waiting != 0) fetch_oldest(out);
    }
  }
}

/// Steps of fetching what act_as_host() will touch.
template <FabricHost Host>
template <int kStep>
[[gnu::always_inline]] inline void Partition<Host>::fetch_host(std::uint32_t host) {
  const std::uint32_t first = state_.node_port_first[host];
  const Port& in = ports_[state_.node_arrivals[first]];
  if constexpr (kStep == 1) {
    prefetch_object(&in);
    prefetch_object(&ports_[state_.node_ports[first]]);
    prefetch_object(hosts_ + host);
  }
  if constexpr (kStep == 2) {
    heads_.prefetch(in.flight_head);
    heads_.prefetch(in.flight_tail);
  }
  if constexpr (kStep == 3) {
    if (in.flight_head != kNoSlot) {
      const PacketHead& head = heads_[in.flight_head];
      heads_.prefetch(head.next);
      if (head.body != kNoBody) prefetch_object(&bodies_[head.body]);
    }
  }
  if constexpr (requires { typename Host::Prefetch::Root; }) {
    const auto& root = *static_cast<const typename Host::Prefetch::Root*>(state_.roots[host]);
    if constexpr (kStep == 1) Host::Prefetch::first(root);
    if constexpr (kStep == 2) Host::Prefetch::second(root);
    if constexpr (kStep == 3) Host::Prefetch::third(root);
  }
}

}  // namespace wharf::sim
