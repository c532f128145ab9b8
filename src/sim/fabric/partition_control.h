// SPDX-License-Identifier: Apache-2.0
// What changes over time (links that fail, return or slow down, routes that follow), observation, and the
// border between partitions.
#pragma once

#include "sim/fabric/partition.h"

namespace wharf::sim {

template <FabricHost Host>
void Partition<Host>::control(TimePs now, std::uint32_t number) {
  if (number < kControlTables) {
    change_link(now, number);
  } else if (number < kControlConsumedUpdates) {
    use_tables(number - kControlTables + 1);
  } else if (number < kControlPauseRefreshes) {
    report_consumed(now, number - kControlConsumedUpdates);
    return;
  } else if (number < kControlPauseEnds) {
    refresh_pauses(now, number - kControlPauseRefreshes);
    return;
  } else if (number < kControlReplayTimers) {
    end_pauses(now, number - kControlPauseEnds);
    return;
  } else if (number < kControlRetryAcks) {
    replay_timer(now, number - kControlReplayTimers);
    return;
  } else {
    ack_timer(now, number - kControlRetryAcks);
    return;
  }
  // All partitions have new tables, and they are one change.
  if (number < kControlTables || number_ == 0) ++counters_.changes;
  // Ports that have been looked up ahead may no longer be the right ones.
  events_.for_each_ahead([](ComingEvent& event) { event.hint = kNoHint; });
}

template <FabricHost Host>
void Partition<Host>::change_link(TimePs now, std::uint32_t index) {
  const LinkChange& change = state_.config.changes[index];
  Port& port = ports_[change.port];
  if ((port.waiting & lazy_) != 0 && port.ready_at < now) advance(port, change.port, now);
  if (change.rate.value != 0) {
    state_.rates[change.port] = change.rate.value;
    port.ps_per_byte = whole_ps_per_byte(change.rate.value);
    if (!state_.caqm.empty()) state_.caqm[change.port].set_rate(change.rate);
    if (!state_.rate_from.empty()) state_.rate_from[change.port] = index + 1;
  }
  const bool was_down = (port.flags & kPortDown) != 0;
  if (!change.up && !was_down) {
    port.flags |= kPortDown;
    any_down_ = true;
    settle(port);
    for (unsigned rest = port.waiting & ((1U << kPortQueues) - 1); rest != 0; rest &= rest - 1) {
      const auto queue = static_cast<std::uint32_t>(std::countr_zero(rest));
      while ((port.waiting & (1U << queue)) != 0) {
        const SlotId slot = take_oldest(port, heads_, queue);
        port.queue_bytes[queue] -= heads_[slot].bytes;
        ++state_.counters[change.port].lost;
        if (served_ && (port.flags & kPortOfHost) == 0 && slot < held_.size()) release(now, held_[slot]);
        discard(slot);
      }
    }
    port.waiting = 0;
    if (served_) lose_control(change.port);
    if (retries(change.port)) flush_retry(now, change.port, true);
  } else if (change.up && was_down) {
    port.flags = static_cast<std::uint8_t>(port.flags & ~unsigned{kPortDown});
    port.ready_at = max(port.ready_at, now);
    if (state_.config.flow_control.kind == FlowControl::kCredit) arm_consumed_update(now, change.port);
    if (served_) tell_again(now, change.port);
    if (retries(change.port)) arm_service(max(now, port.ready_at), port, change.port);
    if ((port.flags & kPortOfHost) != 0) after_input(state_.topology->port(change.port).node, now);
  }
}

template <FabricHost Host>
void Partition<Host>::use_tables(std::uint32_t index) {
  routes_ = &state_.tables[index];
  if (detours_ != nullptr) detours_ = &state_.detours[index];
  for (std::uint32_t i = 0; i < state_.switches.size(); ++i) {
    if (state_.partition_of[state_.topology->host_count() + i] == number_)
      switches_[i].routes = routes_->routes(i);
  }
}

/// Looks at what is sampled just before `now`.
template <FabricHost Host>
void Partition<Host>::sample(TimePs now) {
  samples_.take_ports([this, now](PortId id) { return look_at(id, now); });
  if constexpr (requires(Host & host) { host.sample(now); }) {
    for (const NodeId host : samples_.hosts()) {
      advance_host(host, now);
      hosts_[host].sample(now);
    }
  }
  samples_.take_delivered({now, context_.delivered_bytes});
}

template <FabricHost Host>
OccupancySample Partition<Host>::look_at(PortId id, TimePs now) {
  Port& port = ports_[id];
  if ((port.waiting & lazy_) != 0 && port.ready_at < now) advance(port, id, now);
  std::uint32_t queued = 0;
  for (const std::uint32_t bytes : port.queue_bytes) queued += bytes;
  if (port.ready_at <= now) queued -= port.sending_bytes;
  return {now, id, queued, port.sent_bytes, port.blocked};
}

/// Takes all decisions before `end` at the ports that lead to other partitions: what they send must be known
/// there from `end` on.
template <FabricHost Host>
void Partition<Host>::flush(TimePs end) {
  for (const PortId id : crossing_ports_) {
    Port& port = ports_[id];
    if ((port.waiting & lazy_) != 0 && port.ready_at < end) advance(port, id, end);
  }
  exchange_.return_bodies(bodies_.free());
}

template <FabricHost Host>
void Partition<Host>::catch_up(TimePs end) {
  const bool shared = exchange_.has_others();
  for (PortId id = 0; id < links_; ++id) {
    if (shared && state_.partition_of[state_.topology->port(id).node] != number_) continue;
    Port& port = ports_[id];
    if ((port.waiting & lazy_) != 0 && port.ready_at < end) advance(port, id, end);
  }
}

template <FabricHost Host>
void Partition<Host>::accept(const Crossing& crossing, const std::byte* payloads) {
  const std::uint32_t record = crossing.link + links_;
  Port& in = ports_[record];
  const SlotId slot = heads_.acquire();
  PacketHead& head = heads_[slot];
  head = crossing.head;
  head.next = kNoSlot;
  if ((head.flags & kHeadSequenced) != 0 || !state_.rate_from.empty()) note_sequence(slot, crossing.sequence);
  if constexpr (requires(Body & packet, Context & context) { Host::enter(packet, context, payloads); }) {
    if (head.body != kNoBody) Host::enter(bodies_[head.body], context_, payloads + crossing.payload);
  }
  exchange_.received_from(state_.partition_of[state_.topology->port(crossing.link).node]);
  if (!insert_flight(in, slot)) return;
  if (in.armed && !turns_) ++in.surplus;
  in.armed = true;
  expect(in, head.time, crossing.link, true, slot);
}

template <FabricHost Host>
void Partition<Host>::hand_over_spans() {
  if constexpr (requires(Host & host, Context & context) { host.add_foreign(context.foreign.front()); }) {
    for (const trace::ForeignSpan& span : context_.foreign) {
      const std::uint32_t owner = trace::Attribution::owner_of(span.operation);
      const std::uint32_t to = state_.partition_of[owner];
      if (to == number_) {
        hosts_[owner].add_foreign(span);
      } else {
        exchange_.send(to, span);
      }
    }
    context_.foreign.clear();
  }
}

template <FabricHost Host>
void Partition<Host>::accept_spans(std::vector<trace::ForeignSpan>& spans) {
  if constexpr (requires(Host & host) { host.add_foreign(spans.front()); }) {
    for (const trace::ForeignSpan& span : spans)
      hosts_[trace::Attribution::owner_of(span.operation)].add_foreign(span);
    spans.clear();
  }
}

template <FabricHost Host>
void Partition<Host>::close_accounts() {
  if constexpr (requires(Host & host) { host.close_accounts(); }) {
    for (const std::uint32_t host : context_.to_close) hosts_[host].close_accounts();
    context_.to_close.clear();
  }
}

template <FabricHost Host>
void Partition<Host>::accept_bodies(std::vector<BodyId>& bodies) {
  bodies_.free().insert(bodies_.free().end(), bodies.begin(), bodies.end());
  bodies.clear();
}

}  // namespace wharf::sim
