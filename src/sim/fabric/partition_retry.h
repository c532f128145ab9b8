// SPDX-License-Identifier: Apache-2.0
// Link-level retry (Ultra Ethernet 1.0 5.1) at the ports of a partition: when the machines of link_retry.h
// send, and what goes before what.
//
// Ordered sets (LLR_ACK, LLR_NACK, LLR_INIT, LLR_INIT_ECHO, CF_Update) and pause frames have no sequence
// number. They leave at the next end of a frame, before everything else, whatever the port may send; they can
// be lost. Data frames and CC_Update have one: what CC_Update counts must be behind it. Frames that are
// replayed have been sent before, so neither pause nor credits hold them; new ones wait until all of them
// have been.
#pragma once

#include "sim/fabric/partition.h"
#include "sim/fabric/partition_flow_control.h"

namespace wharf::sim {

/// The record of the link that leads to where `number` begins, at that end.
template <FabricHost Host>
std::uint32_t Partition<Host>::record_back(PortId number) const {
  const PortId back = state_.topology->port(number).reverse;
  return (ports_[number].flags & kPortCrosses) != 0 ? back + links_ : back;
}

/// There and back on a link, with what its ends take, beside the bits themselves.
template <FabricHost Host>
TimePs Partition<Host>::round_latency(PortId number) const {
  const TopologyPort& there = state_.topology->port(number);
  const auto latency = [&](NodeId node) {
    return state_.topology->is_host(node) ? kTimeZero : state_.topology->node(node).latency;
  };
  return there.delay + state_.topology->port(there.reverse).delay + state_.config.fec_delay * 2 +
         latency(there.peer) + latency(there.node);
}

/// REPLAY_TIMER_MAX. By rule: the way there and back with what a switch takes to handle a frame, a longest
/// frame each way, and the spacing of ordered sets.
template <FabricHost Host>
TimePs Partition<Host>::replay_time(PortId number) const {
  const LinkRetryConfig& rules = faults_of(number).retry_rules;
  if (rules.replay_timer_max > kTimeZero) return rules.replay_timer_max;
  constexpr std::uint32_t kLongestFrame = 17'000;
  const PortId back = state_.topology->port(number).reverse;
  // At the slowest that either direction becomes: the other one may be another thread's.
  const auto carried = [&](std::uint32_t bytes, PortId port) {
    return picoseconds(static_cast<std::int64_t>(serialisation_ps(bytes, state_.slowest[port])));
  };
  const std::uint32_t behind = kLongestFrame + rules.ctlos_target_spacing + kOrderedSetBytes;
  return round_latency(number) + carried(kLongestFrame, number) + carried(behind, back) +
         faults_of(number).jitter + faults_of(back).jitter;
}

/// What a frame that leaves now takes until an LLR_NACK about it can be here: one that comes sooner had left
/// the far end before. At the slowest that the way back becomes: it may be another thread's.
template <FabricHost Host>
TimePs Partition<Host>::nack_time(PortId number) const {
  const PortId back = state_.topology->port(number).reverse;
  const auto serial = static_cast<std::int64_t>(serialisation_ps(kOrderedSetBytes, state_.slowest[back]));
  return round_latency(number) + faults_of(number).jitter + picoseconds(serial);
}

template <FabricHost Host>
TimePs& Partition<Host>::last_arrival(PortId number) {
  return state_.draws.empty() ? state_.retry_senders[number].last_arrival : state_.draws[number].last_arrival;
}

template <FabricHost Host>
void Partition<Host>::note_sequence(SlotId slot, std::uint32_t sequence) {
  if (sequences_.size() <= slot) sequences_.resize(heads_.capacity());
  sequences_[slot] = sequence;
}

/// Frames of which the far end has nothing and which are not on their way either.
template <FabricHost Host>
std::uint64_t Partition<Host>::kept_for_retry(PortId number) const {
  if (number >= links_ || !retries(number)) return 0;
  const LinkRetrySender& sender = state_.retry_senders[number];
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < sender.kept.size(); ++i) {
    if (sender.kept[i].head.body != kNoBody) ++count;
  }
  return count;
}

/// Whether the retry of a link lets a new frame out.
template <FabricHost Host>
bool Partition<Host>::may_send_new(PortId number, std::uint32_t bytes) const {
  if (!retries(number)) return true;
  const LinkRetrySender& sender = state_.retry_senders[number];
  const LinkRetryConfig& rules = faults_of(number).retry_rules;
  if (!sender.protects()) return rules.flush_frame_action != FrameAction::kBlock;
  return sender.state == LinkRetrySender::State::kAdvance && sender.has_room(rules, bytes);
}

/// Sends a frame for the first time from port.ready_at on.
template <FabricHost Host>
void Partition<Host>::send_frame(Port& port, PortId number, SlotId slot) {
  LinkRetrySender& sender = state_.retry_senders[number];
  if (sender.protects()) {
    const std::uint32_t index = sender.keep(heads_[slot]);
    heads_.release(slot);
    ++port.sent_packets;
    send_kept(port, number, index);
    return;
  }
  sender.used_since_init = true;
  if (faults_of(number).retry_rules.flush_frame_action == FrameAction::kDiscard) {
    if (heads_[slot].body != kNoBody) {
      ++state_.counters[number].lost;
      ++state_.counters[number].lost_unsent;
    }
    report_loss(port.ready_at, number, heads_[slot], LinkLoss::kLost);
    discard(slot);
    return;
  }
  launch_unprotected(port, number, slot);
}

/// Sends a frame of the replay buffer. The body goes along when the far end will take it; otherwise a head
/// does, for what the far end sees of the frame, or nothing if it vanishes.
template <FabricHost Host>
void Partition<Host>::send_kept(Port& port, PortId number, std::uint32_t index) {
  LinkRetrySender& sender = state_.retry_senders[number];
  LinkRetrySender::Frame& frame = sender.kept[index];
  const LinkFaults& faults = faults_of(number);
  const std::uint32_t sequence = sender.sequence_of(index);
  const bool lost = happens(port, number, FaultDraw::kLoss, faults.loss);
  const bool damaged = !lost && happens(port, number, FaultDraw::kDamage, faults.damage);
  const bool taken = !lost && !damaged && sequence == sender.far_expects;
  if (damaged) note_damage(number, frame.head);
  const SlotId slot = heads_.acquire();
  PacketHead& head = heads_[slot];
  head = frame.head;
  head.flags =
      static_cast<std::uint8_t>(head.flags | kHeadSequenced | (damaged ? unsigned{kHeadDamaged} : 0U));
  if (!taken) head.body = kNoBody;
  const TimePs serial = serialisation(port, number, head.bytes);
  port.sent_bytes += head.bytes;
  const TimePs begin = port.ready_at;
  port.ready_at += serial;
  TimePs at = (port.flags & kPortRuled) != 0 ? handled_by_rule(port, number, head, serial)
                                             : handled_at(port, number, head, begin, serial);
  if ((port.flags & kPortObserved) != 0 && frame.head.body != kNoBody)
    capture(port.ready_at, number, frame.head);
  if (index == 0) {
    arm_replay_timer(number, port.ready_at + replay_time(number));
    sender.oldest_left = port.ready_at;
  }
  if (taken) {
    sender.far_expects = (sender.far_expects + 1) & kFrameSequenceMask;
    frame.taken = true;
    frame.head.body = kNoBody;
  }
  if (lost) {
    heads_.release(slot);
    return;
  }
  const TimePs carried = at;
  if (faults.jitter > kTimeZero) at += draw_time(port, number, FaultDraw::kJitter, faults.jitter);
  at = max(at, last_arrival(number));
  last_arrival(number) = at;
  if constexpr (requires(Body & body, Context & context) { Host::damage(body, head, context, 0ULL); }) {
    // The frame's own check is right, so that it counts as received.
    if (taken && head.body != kNoBody &&
        happens(port, number, FaultDraw::kPastCheck, faults.damage_past_check)) {
      const std::uint64_t bit = draw_fault(port, number, FaultDraw::kPosition) >> 1U;
      const wire::DropReason reason = Host::damage(bodies_[head.body], head, context_, bit);
      if (reason != wire::DropReason::kNone) {
        ++state_.counters[number].refused[static_cast<std::size_t>(reason)];
        report_loss(at, number, head, LinkLoss::kDecoder);
        if constexpr (requires(Body & packet, Context & context) { Host::drop(packet, context); })
          Host::drop(bodies_[head.body], context_);
        bodies_.release(head.body);
        head.body = kNoBody;
      }
    }
  }
  report_delay(slot, number, carried, at);
  note_sequence(slot, sequence);
  fly(port, number, slot, at);
}

template <FabricHost Host>
void Partition<Host>::send_ordered_set(Port& port, PortId number, std::uint32_t content) {
  const SlotId slot = heads_.acquire();
  PacketHead& head = heads_[slot];
  head = PacketHead{};
  head.flow = content;
  head.bytes = kOrderedSetBytes;
  head.flags = kHeadLinkControl;
  --port.sent_packets;  // It is no packet.
  launch(port, number, slot, head);
}

/// Sends an ordered set of link-level retry from `now` on, if one is due.
template <FabricHost Host>
bool Partition<Host>::serve_retry(TimePs now, Port& port, PortId number) {
  if ((port.flags & kPortDown) != 0) return false;
  LinkRetrySender& sender = state_.retry_senders[number];
  LinkRetryReceiver& receiver = state_.retry_receivers[record_back(number)];
  PortCounters& counters = state_.counters[number];
  if (receiver.echo_due) {
    receiver.echo_due = false;
    send_ordered_set(port, number, retry_content(RetryControl::kInitEcho, 0));
    return true;
  }
  if (receiver.state == LinkRetryReceiver::State::kSendNack) {
    receiver.state = LinkRetryReceiver::State::kNackSent;
    receiver.ack_due = false;
    ++counters.retry_nacks;
    send_ordered_set(port, number, retry_content(RetryControl::kNack, receiver.last_good()));
    return true;
  }
  const bool waits = port.waiting != 0 || sender.consumed_due != 0;
  if (sender.state == LinkRetrySender::State::kInit && sender.deadline == kNever && waits)
    sender.init_due = true;
  if (sender.init_due) {
    sender.init_due = false;
    sender.used_since_init = false;
    send_ordered_set(port, number, retry_content(RetryControl::kInit, 0));
    arm_replay_timer(number, port.ready_at + replay_time(number));
    return true;
  }
  if (!receiver.ack_due) return false;
  if (now < receiver.next_ack) {
    if (receiver.ack_armed) return false;
    receiver.ack_armed = true;
    push(FabricEvent::make(receiver.next_ack, FabricEventKind::kControl, kControlRetryAcks + number, false));
    return false;
  }
  receiver.ack_due = false;
  receiver.next_ack = now + serialisation(port, number, faults_of(number).retry_rules.ctlos_target_spacing);
  ++counters.retry_acks;
  send_ordered_set(port, number, retry_content(RetryControl::kAck, receiver.last_good()));
  return true;
}

/// Sends the next frame of a replay, or CC_Update, which waits for it.
template <FabricHost Host>
bool Partition<Host>::serve_replay(Port& port, PortId number) {
  LinkRetrySender& sender = state_.retry_senders[number];
  if (sender.state == LinkRetrySender::State::kReplay) {
    const std::uint32_t index = sender.replay_at++;
    if (sender.replay_at == sender.kept.size()) sender.state = LinkRetrySender::State::kAdvance;
    ++state_.counters[number].retried;
    send_kept(port, number, index);
    return true;
  }
  const std::uint16_t bytes = state_.config.flow_control.consumed_update_bytes;
  if (sender.consumed_due == 0 || !may_send_new(number, bytes)) return false;
  const auto queue = static_cast<std::uint32_t>(std::countr_zero(sender.consumed_due));
  sender.consumed_due = static_cast<std::uint8_t>(sender.consumed_due & (sender.consumed_due - 1U));
  const SlotId slot = heads_.acquire();
  PacketHead& head = heads_[slot];
  head = PacketHead{};
  head.flow = kControlConsumed << 30U | 1U << (24U + queue) |
              (state_.extras[number].credits_used[queue] & kCreditMask);
  head.bytes = bytes;
  head.flags = kHeadLinkControl;
  const std::uint64_t sent = port.sent_packets;
  send_frame(port, number, slot);
  state_.counters[number].control_frames += port.sent_packets - sent;  // It may be discarded.
  return true;
}

/// A frame that needs looking at before anything else does: damaged, with a sequence number, or spoken
/// between neighbours. True: the packet in it goes on.
template <FabricHost Host>
[[gnu::noinline]] bool Partition<Host>::inspect_specially(TimePs now, std::uint32_t record, PortId number,
                                                          SlotId slot) {
  PacketHead& head = heads_[slot];
  const bool between = (head.flags & kHeadLinkControl) != 0;
  const bool retried = retries(number);
  if ((head.flags & kHeadDamaged) != 0) {
    if ((head.flags & kHeadSequenced) == 0 && !is_retry_control(head)) ++state_.counters[record].damaged;
    // Ordered sets are no frames: nothing is missing when one is damaged.
    const bool frame = !is_retry_control(head) && !(between && head.flow >> 30U == kControlCredits);
    if (retried && frame) {
      state_.retry_receivers[record].miss();
      answer_retry(now, state_.topology->port(number).reverse);
    }
    discard(slot);
    return false;
  }
  if ((head.flags & kHeadSequenced) != 0) {
    const bool taken = state_.retry_receivers[record].take(sequences_[slot]);
    answer_retry(now, state_.topology->port(number).reverse);
    if (!taken) {
      WHARF_CHECK(head.body == kNoBody);
      ++state_.counters[record].retry_discarded;
      discard(slot);
      return false;
    }
    head.flags = static_cast<std::uint8_t>(head.flags & ~unsigned{kHeadSequenced});
    if (!between) {
      if (head.body != kNoBody) return true;
      discard(slot);  // Its decoder has refused it.
      return false;
    }
  }
  const PacketHead copy = head;
  discard(slot);
  if (is_retry_control(copy)) {
    handle_retry(now, number, copy);
  } else {
    handle_control(now, number, record, copy);
  }
  return false;
}

/// Lets port `number` answer what has come over the opposite direction.
template <FabricHost Host>
void Partition<Host>::answer_retry(TimePs now, PortId number) {
  const LinkRetryReceiver& receiver = state_.retry_receivers[record_back(number)];
  if (receiver.ack_due || receiver.echo_due || receiver.state == LinkRetryReceiver::State::kSendNack)
    arm_service(max(now, ports_[number].ready_at), ports_[number], number);
}

/// An ordered set has come over `link`.
template <FabricHost Host>
void Partition<Host>::handle_retry(TimePs now, PortId link, const PacketHead& head) {
  using State = LinkRetrySender::State;
  const PortId number = state_.topology->port(link).reverse;
  Port& port = ports_[number];
  LinkRetrySender& sender = state_.retry_senders[number];
  const std::uint32_t sequence = head.flow & kFrameSequenceMask;
  const auto kind = static_cast<RetryControl>(head.flow >> 30U);
  switch (kind) {
    case RetryControl::kAck:
    case RetryControl::kNack:
      if (!sender.protects()) return;
      if (sender.acknowledge(sequence)) {
        arm_replay_timer(number, sender.kept.empty() ? kNever : now + replay_time(number));
      } else if (sender.replays != 0 &&
                 (sender.oldest_left == kNever || now < sender.oldest_left + nack_time(number))) {
        // Choice: an LLR_NACK without news that left before the replay came asks for what is on its way. One
        // that can know says that the replay has failed.
        break;
      }
      if (kind == RetryControl::kNack) begin_replay(now, number);
      break;
    case RetryControl::kInit:
      state_.retry_receivers[record_back(number)].begin();
      break;
    case RetryControl::kInitEcho:
      if (sender.state == State::kInit) sender.begin();
      break;
  }
  arm_service(max(now, port.ready_at), port, number);
}

template <FabricHost Host>
void Partition<Host>::begin_replay(TimePs now, PortId number) {
  LinkRetrySender& sender = state_.retry_senders[number];
  if (sender.kept.empty()) return;
  const LinkFaults& faults = faults_of(number);
  if (faults.retry_limit != 0 && sender.replays >= faults.retry_limit) {
    flush_retry(now, number, faults.retry_rules.re_init_on_flush);
    return;
  }
  ++sender.replays;
  sender.state = LinkRetrySender::State::kReplay;
  sender.replay_at = 0;
  sender.deadline = sender.oldest_left = kNever;  // Until the oldest has been sent again.
  arm_service(max(now, ports_[number].ready_at), ports_[number], number);
}

/// REPLAY_COUNT_MAX is exceeded, or the link fails: what is in the replay buffer is given up. `again`: the
/// link will retry again when LLR_INIT has been answered.
template <FabricHost Host>
void Partition<Host>::flush_retry(TimePs now, PortId number, bool again) {
  LinkRetrySender& sender = state_.retry_senders[number];
  PortCounters& counters = state_.counters[number];
  if (sender.protects()) ++counters.retry_flushes;
  for (; !sender.kept.empty(); sender.kept.pop_front()) {
    const PacketHead& head = sender.kept.front().head;
    if (head.body == kNoBody) continue;  // The far end has it.
    ++counters.lost;
    report_loss(now, number, head, LinkLoss::kLost);
    if constexpr (requires(Body & packet, Context & context) { Host::drop(packet, context); })
      Host::drop(bodies_[head.body], context_);
    bodies_.release(head.body);
  }
  sender.kept_bytes = 0;
  sender.state = again ? LinkRetrySender::State::kInit : LinkRetrySender::State::kFlush;
  sender.deadline = kNever;
  sender.init_due = again;
  arm_service(max(now, ports_[number].ready_at), ports_[number], number);
}

template <FabricHost Host>
void Partition<Host>::arm_replay_timer(PortId number, TimePs deadline) {
  LinkRetrySender& sender = state_.retry_senders[number];
  sender.deadline = deadline;
  if (deadline == kNever || sender.timer_armed) return;
  sender.timer_armed = true;
  push(FabricEvent::make(deadline, FabricEventKind::kControl, kControlReplayTimers + number, false));
}

template <FabricHost Host>
void Partition<Host>::replay_timer(TimePs now, PortId number) {
  LinkRetrySender& sender = state_.retry_senders[number];
  sender.timer_armed = false;
  if (sender.deadline > now) {
    arm_replay_timer(number, sender.deadline);
    return;
  }
  sender.deadline = kNever;
  if (sender.state == LinkRetrySender::State::kInit) {
    // Nobody asks again for a link that nothing passes, so that a run can come to its end.
    sender.init_due = sender.used_since_init || ports_[number].waiting != 0;
    if (sender.init_due) arm_service(max(now, ports_[number].ready_at), ports_[number], number);
    return;
  }
  if (sender.kept.empty()) return;
  ++state_.counters[number].retry_timeouts;
  begin_replay(now, number);
}

template <FabricHost Host>
void Partition<Host>::ack_timer(TimePs now, PortId number) {
  state_.retry_receivers[record_back(number)].ack_armed = false;
  answer_retry(now, number);
}

}  // namespace wharf::sim
