// SPDX-License-Identifier: Apache-2.0
// The UB retransmission timer and every other reason to send again: what TPACK, TPSACK, TPNAK and silence
// mean to the sender of a TP channel. [UB-Base 2.0.1 6.4.2, 6.4.3]
#include <algorithm>
#include <utility>

#include "engine/ub/engine_parts.h"
#include "engine/ub/tp_channel.h"

namespace wharf::ub {

inline void TpLayer::released(TimePs now, std::uint32_t index, TxPacket& packet) {
  TpChannel& channel = *channels_[index];
  if (packet.prepared) {
    packet.prepared = false;
    --channel.resend_prepared;
  }
  congestion_.confirmed(index, packet);
  if (packet.data.buffer != wire::kNoBuffer) {
    parts_.payloads.release(packet.data.buffer);
    packet.data = {};
  }
  packet.state = PacketState::kFree;
  if (packet.origin == PacketOrigin::kRequest) {
    parts_.initiator.confirmed(now, packet.object);
  } else {
    parts_.responder.confirmed(packet.object, channel);
  }
}

inline void TpLayer::freed(std::uint32_t index, std::uint32_t place) {
  packets_.release(place);
  packet_room_.give(channels_[index]->tx_held);
}

void TpLayer::process_ack(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  TpChannel& channel = *channels_[index];
  const std::uint64_t last = channel.send.unwrap(packet.ub.rtph.psn);
  if (last >= channel.send_cursor) {
    ++parts_.counters.dropped_acknowledgement;
    return;
  }
  congestion_.take_echo(index, last + 1, packet);
  if (channel.fused != nullptr) channel.fused->heard = true;
  if (last < channel.send.una()) {
    ++parts_.counters.dropped_stale_acknowledgement;
  } else {
    parts_.initiator.confirms_execution(packet.ub.rtph.status == wire::UbResponseStatus::kFusedTaack);
    acknowledge_before(now, index, last + 1);
    parts_.initiator.confirms_execution(false);
  }
  settle_congestion(now, index, true);
}

void TpLayer::process_nak(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  TpChannel& channel = *channels_[index];
  const std::uint64_t expected = channel.send.unwrap(packet.ub.rtph.psn);
  if (expected >= channel.send_cursor) {
    ++parts_.counters.dropped_acknowledgement;
    return;
  }
  congestion_.take_echo(index, expected, packet);
  if (expected < channel.send.una()) {
    ++parts_.counters.dropped_stale_acknowledgement;
    settle_congestion(now, index, true);
    return;
  }
  // Choice: a TPNAK also confirms everything before the PSN that it expects.
  // That of a fused channel does not: it has arrived, and perhaps not been executed.
  if (expected > channel.send.una() && channel.fused == nullptr) acknowledge_before(now, index, expected);
  trace_repair(now, index, expected, rewind(index));
  settle_congestion(now, index, true);
  touch(index);
}

// Everything that was sent and is not confirmed.
std::uint32_t TpLayer::rewind(std::uint32_t index) {
  const TxWindow& window = channels_[index]->send;
  std::uint32_t queued = 0;
  for (std::uint32_t at = window.head(); at != window.cursor(); at = packets_[at].next)
    queued += queue_loss(index, at) ? 1U : 0U;
  return queued;
}

void TpLayer::settle_congestion(TimePs now, std::uint32_t index, bool answered) {
  congestion_.tell_losses(now, index, congestion::LossCause::kGap);
  if (congestion_.tell(now, index, answered)) touch(index);
}

void TpLayer::trace_repair(TimePs now, std::uint32_t index, std::uint64_t first, std::uint32_t queued) const {
  if (queued > 0) parts_.trace(now, trace::EventKind::kRetransmission, index, wire::psn_wrap(first), queued);
}

void TpLayer::process_sack(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  TpChannel& channel = *channels_[index];
  const std::span<const std::byte> bitmap = wire::sack_bitmap(packet);
  const std::uint64_t base = channel.send.unwrap(packet.ub.rtph.psn);
  const std::uint64_t max = channel.send.unwrap(packet.ub.ack.saetph.max_received);
  if (bitmap.empty() || base >= channel.send_cursor || max >= channel.send_cursor) {
    ++parts_.counters.dropped_acknowledgement;
    return;
  }
  const auto bit = [&](std::uint64_t i) {
    return (std::to_integer<unsigned>(bitmap[i / 8]) >> (i % 8) & 1U) != 0;
  };
  const auto release = [&](TxPacket& confirmed) { released(now, index, confirmed); };
  const auto free = [&](std::uint32_t place) { freed(index, place); };
  bool progress = false;
  // Bit 0 tells the two published forms apart: set, it confirms everything through the base; clear, the base
  // is missing.
  const std::uint64_t confirmed_end = bit(0) ? base + 1 : base;
  congestion_.take_echo(index, confirmed_end, packet);
  if (channel.fused != nullptr) channel.fused->heard = true;
  parts_.initiator.confirms_execution(packet.ub.rtph.status == wire::UbResponseStatus::kFusedTaack);
  if (confirmed_end > channel.send.una())
    progress = channel.send.acknowledge_before(packets_, confirmed_end, release, free);
  parts_.initiator.confirms_execution(false);
  const std::uint32_t queued_before = channel.send.retransmissions_queued();
  const std::uint64_t end = std::min(base + bitmap.size() * 8, channel.send_cursor);
  // Nothing before the base is left, so the list begins at the base or behind it.
  for (std::uint32_t at = channel.send.head(); at != channel.send.cursor(); at = packets_[at].next) {
    TxPacket& packet_at = packets_[at];
    const std::uint64_t logical = packet_at.logical;
    if (logical >= end) break;
    if (bit(logical - base)) {
      // Bits say what has arrived. Two kinds of packets are confirmed by what lies before a bitmap alone: the
      // last one of a request of a fused channel, which has to be executed, and a refusal of such a request,
      // which has to be worked off before an acknowledgement may pass what it refuses.
      const bool open = packet_at.origin == PacketOrigin::kRequest
                            ? channel.kind == ChannelKind::kFused && packet_at.last
                            : parts_.responder.refuses_elsewhere(packet_at.object);
      if (!open) progress |= channel.send.confirm(packet_at, release);
    } else if (logical <= max && max >= packet_at.resend_mark) {
      // [UB-Base 2.0.1 6.4.2] Each hole is repaired once per loss report. A repeated packet counts as lost
      // again only when something that was sent after the repetition has arrived (MarkPSN of ns-3-UB), or
      // when the timer fires.
      queue_loss(index, at);
    }
  }
  channel.send.advance_over_confirmed(packets_, free);
  const std::uint32_t queued = channel.send.retransmissions_queued();
  if (queued > queued_before) trace_repair(now, index, channel.send.una(), queued - queued_before);
  if (progress) progressed(now, index);
  settle_congestion(now, index, true);
  if (!progress && channel.send.retransmissions_queued() == 0)
    ++parts_.counters.dropped_stale_acknowledgement;
  touch(index);
}

bool TpLayer::queue_loss(std::uint32_t index, std::uint32_t place) {
  TxPacket& packet = packets_[place];
  if (!channels_[index]->send.queue_retransmission(packets_, packet, place)) return false;
  TpChannel& channel = *channels_[index];
  channel.hold_up();
  if (auto* estimate = round_trip(index); estimate != nullptr && packet.logical <= estimate->number())
    estimate->ambiguous();
  congestion_.lost(index, packet);
  return true;
}

[[gnu::flatten]] void TpLayer::acknowledge_before(TimePs now, std::uint32_t index, std::uint64_t end) {
  TpChannel& channel = *channels_[index];
  const auto free = [&](std::uint32_t place) { freed(index, place); };
  if (channel.send.retransmissions_queued() == 0 && !congestion_.controls() && end > channel.send.una() &&
      end <= channel.send_cursor) {
    // The usual case: all have been sent, and nothing is to be sent again.
    packet_room_.give(channel.tx_held, static_cast<std::uint32_t>(end - channel.send.una()));
    channel.send.take_sent(packets_, end, [&](TxPacket& packet) {
      packet.state = PacketState::kFree;
      if (packet.origin == PacketOrigin::kRequest) {
        parts_.initiator.confirmed(now, packet.object);
      } else {
        parts_.responder.confirmed(packet.object, channel);
      }
    });
    channel.send.advance_over_confirmed(packets_, free);
    progressed(now, index);
    return;
  }
  if (channel.send.acknowledge_before(
          packets_, end, [&](TxPacket& packet) { released(now, index, packet); }, free)) {
    progressed(now, index);
  }
}

// One packet is timed at a time: the first one of a channel where nothing was under way (start_timer), else
// the next that leaves. It counts as answered when everything before it is, too.
void TpLayer::follow_round_trip(TimePs now, std::uint32_t index) {
  const TpChannel& channel = *channels_[index];
  const reliability::RetransmissionRule& rule = parts_.config.retransmission;
  reliability::RoundTripEstimate& estimate = round_trips_[index];
  if (estimate.timing() && channel.send.una() > estimate.number()) {
    estimate.answered(rule, now);
  } else if (channel.timer.attempts() > 0) {
    estimate.keep(rule, channel.timer.attempts());
  }
  if (!estimate.timing() && channel.send.una() < channel.send_cursor)
    estimate.begin(channel.send_cursor, now);
}

[[gnu::noinline]] void TpLayer::progressed(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  if (!round_trips_.empty()) [[unlikely]]
    follow_round_trip(now, index);
  if (channel.fused != nullptr) channel.fused->heard = false;  // The tries begin anew.
  channel.timer.progress(parts_.config.retransmission, now, channel.send.una() < channel.send_cursor,
                         first_timeout(index));
  set_timer(index);
  // Without any of these the channel has nothing to number, to prepare or to announce.
  if (channel.numbering || !channel.requests.empty() || !channel.responses.empty() ||
      channel.send.retransmissions_queued() > 0 || (channel.unsent > 0 && !channel.data_listed)) {
    touch(index);
  }
}

[[gnu::noinline]] void TpLayer::confirm_delivered(TimePs now, std::uint32_t index,
                                                  const Transaction& transaction) {
  TpChannel& channel = *channels_[index];
  const std::uint64_t end = transaction.first_number + transaction.packets_numbered;
  const bool begins = transaction.first_number >= channel.send.una();
  bool any = false;
  for (std::uint32_t at = begins ? transaction.first_packet : channel.send.head();
       at != kNoSlot && packets_[at].logical < end; at = packets_[at].next) {
    any |= channel.send.confirm(packets_[at], [&](TxPacket& packet) { released(now, index, packet); });
  }
  if (channel.send.advance_over_confirmed(packets_, [&](std::uint32_t place) { freed(index, place); }) || any)
    progressed(now, index);
  settle_congestion(now, index, false);
}

bool TpLayer::let_data_go(std::uint32_t index, std::uint32_t object) {
  const Transaction& transaction = parts_.initiator.transaction(object);
  TpChannel& channel = *channels_[index];
  const std::uint64_t end = transaction.first_number + transaction.packets_numbered;
  if (transaction.packets_unconfirmed == 0 || end <= channel.send.una()) return false;
  const bool begins = transaction.first_number >= channel.send.una();
  bool any = false;
  for (std::uint32_t at = begins ? transaction.first_packet : channel.send.head();
       at != kNoSlot && packets_[at].logical < end; at = packets_[at].next) {
    TxPacket& packet = packets_[at];
    if (packet.origin != PacketOrigin::kRequest || packet.object != object || packet.length == 0 ||
        packet.fetch_failed || packet.confirmed)
      continue;
    if (packet.state != PacketState::kFetching && packet.state != PacketState::kReady) continue;
    packet.fetch_failed = any = true;
    if (packet.state == PacketState::kFetching) continue;  // data_done() lets go of what comes.
    parts_.payloads.release(packet.data.buffer);
    packet.data = {};
  }
  return any;
}

[[gnu::noinline]] void TpLayer::start_timer(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  if (channel.timer_held) {
    channel.timer_held = false;
    channel.timer_set =
        now + parts_.config.retransmission.timeout(channel.timer.attempts(), first_timeout(index));
    timers_.set(2 * index, channel.timer_set);
    return;
  }
  if (channel.timer.running()) return;
  if (auto* estimate = round_trip(index)) estimate->begin(channel.send.una(), now);
  if (channel.fused != nullptr) channel.fused->heard = false;
  channel.timer.start(parts_.config.retransmission, now, first_timeout(index));
  set_timer(index);
}

[[gnu::noinline]] void TpLayer::start_acknowledgement_delay(TimePs now, std::uint32_t index,
                                                            TpChannel& channel) {
  channel.ack_delayed = true;
  timers_.set(2 * index + 1, now + acknowledge_delay_);
}

void TpLayer::set_timer(std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  channel.timer_held = false;
  const TimePs deadline = channel.timer.deadline();
  if (channel.timer_set == deadline) return;
  channel.timer_set = deadline;
  timers_.set(2 * index, deadline);
}

void TpLayer::expire(TimePs now) {
  while (timers_.earliest() <= now) {
    const std::uint32_t owner = timers_.earliest_owner();
    timers_.set(owner, kNever);
    if (owner % 2 == 1) {
      channels_[owner / 2]->ack_delayed = false;
      list_acknowledgement(owner / 2);
    } else {
      channels_[owner / 2]->timer_set = kNever;
      timed_out(now, owner / 2);
    }
  }
  while (congestion_.deadline() <= now) touch(congestion_.expire(now));
}

void TpLayer::resume_timeout(TimePs now, std::uint32_t channel) {
  channels_[channel]->timeout_deferred = false;
  timed_out(now, channel);
}

void TpLayer::timed_out(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  if (channel.state != ChannelState::kReady || channel.timeout_deferred) return;
  const ContextKey key{ContextKind::kTpChannel, index};
  if (!parts_.contexts.acquire(key)) {
    channel.timeout_deferred = true;
    parts_.contexts.defer(key, {.step = DeferredStep::kChannelTimeout, .object = index}, {}, false);
    return;
  }
  if (congestion_.holds_back(now, index)) {
    channel.timer_held = true;
    return;
  }
  switch (channel.timer.expire(parts_.config.retransmission, now, first_timeout(index))) {
    case reliability::RetransmissionTimer::Expiry::kNotDue:
      break;
    case reliability::RetransmissionTimer::Expiry::kRetransmit: {
      ++parts_.counters.timeouts;
      const std::uint32_t queued = rewind(index);
      congestion_.tell_losses(now, index, congestion::LossCause::kTimeout);
      parts_.trace(now, trace::EventKind::kTimeout, index, channel.timer.attempts(), queued);
      trace_repair(now, index, channel.send.una(), queued);
      touch(index);
      break;
    }
    case reliability::RetransmissionTimer::Expiry::kExhausted:
      // A peer that has acknowledged since the tries began, and not executed, is there. What it said before
      // them tells nothing: it may have died since.
      if (channel.fused != nullptr && std::exchange(channel.fused->heard, false)) {
        channel.timer.start(parts_.config.retransmission, now, first_timeout(index));
        rewind(index);
        touch(index);
        break;
      }
      fail(now, index);
      return;
  }
  set_timer(index);
}

void TpLayer::fail(TimePs now, std::uint32_t index) {
  if (channels_[index]->state == ChannelState::kReady) end_lanes(now, index, ChannelEvent::kFail);
}

// Answers to requests of the fused lane are messages of the first: both end together, that one first. Where
// requests take turns on the reliable lanes, a target may wait on one for what another has lost: they fail
// together.
void TpLayer::end_lanes(TimePs now, std::uint32_t index, ChannelEvent event) {
  const TpChannel& channel = *channels_[index];
  const auto end = [&](std::uint32_t each) {
    if (each == kNoSlot || channels_[each]->state != ChannelState::kReady) return;
    if (event == ChannelEvent::kFail) {
      ++parts_.counters.channels_failed;
      ++channels_[each]->failures;
      note_failed();
    }
    end_channel(now, each, event);
  };
  const wire::HostAddress remote = channel.remote;
  // The peer may spread by request without saying so: where a target keeps order, lanes always end together.
  const bool kept = channel.kind == ChannelKind::kReliable && channel.general;
  const bool grouped = event == ChannelEvent::kFail && repeats(channel.kind) &&
                       (kept || parts_.config.spread == ChannelSpread::kRequest);
  if (grouped || channel.lane == kFirstLane || channel.lane == kFusedLane) {
    end(find(remote, kFirstLane));
    end(find(remote, kFusedLane));
  }
  for (Lane lane = kFirstLane + 1; grouped && lane < kChannelsMax; ++lane) end(find(remote, lane));
  end(index);
}

void TpLayer::end_old_lanes(TimePs now, const QueueBlob& blob, Lane from) {
  for (Lane lane = from; lane < kChannelsMax; ++lane) {
    const std::uint32_t index = find(blob.host, lane);
    if (index == kNoSlot || channels_[index]->state != ChannelState::kReady ||
        channels_[index]->peer_first_incarnation >= blob.first_incarnation)
      continue;
    end_lanes(now, index, ChannelEvent::kSupersede);
  }
}

void TpLayer::step(TimePs now, std::uint32_t index, ChannelEvent event) {
  TpChannel& channel = *channels_[index];
  const std::optional<ChannelState> next = next_state(channel.state, event);
  WHARF_CHECK(next.has_value());
  parts_.trace(now, trace::EventKind::kStateChange, index, static_cast<std::uint64_t>(channel.state),
               static_cast<std::uint64_t>(*next));
  channel.state = *next;
  channel.hold_up();
  forget_found();
  if (event != ChannelEvent::kOpen || parts_.config.retransmission.floor == kTimeZero) return;
  round_trips_.resize(channels_.size());
  round_trips_[index] = {};
}

void TpLayer::close(TimePs now, std::uint32_t index) {
  if (channels_[index]->state == ChannelState::kReady) {
    end_channel(now, index, ChannelEvent::kForget);
  } else if (channels_[index]->state != ChannelState::kClosed) {  // Closed: memory ran out while it opened.
    step(now, index, ChannelEvent::kForget);
  }
  parts_.load_store.reset(index, 0);
  channels_[index]->failures = 0;
  channels_[index]->general = false;
  channel_of_host_.erase(host_key(channels_[index]->remote, channels_[index]->lane));
  forget_found();
  channels_[index]->remote_tpn = std::exchange(first_closed_, index);
}

// The counters are in memory, and the channel cannot wait for them: what is outstanding says where they
// stood.
void TpLayer::restore_counters(TpChannel& channel) const {
  if (channel.send.head() == kNoSlot) return;
  channel.send.restore({packets_[channel.send.head()].logical, packets_[channel.send.tail()].logical + 1});
}

void TpLayer::end_channel(TimePs now, std::uint32_t index, ChannelEvent event) {
  TpChannel& channel = *channels_[index];
  if (!parts_.contexts.acquire({ContextKind::kTpChannel, index})) restore_counters(channel);
  step(now, index, event);
  channel.timer.stop();
  set_timer(index);
  end_acknowledgement_delay(index, channel);
  // Stop numbering first: what was numbered is released below, what was not belongs to its transaction or
  // message.
  channel.numbering = false;
  channel.requests = {};
  channel.responses = {};
  channel.send.acknowledge_before(
      packets_, channel.send.next(), [&](TxPacket& packet) { released(now, index, packet); },
      [&](std::uint32_t place) { freed(index, place); });
  congestion_.close(index);
  channel.unsent = 0;
  channel.send_cursor = channel.send.next();
  channel.ack = AckKind::kNone;
  forget_ahead(now, index);
  parts_.responder.channel_failed(index);
  parts_.initiator.channel_failed(now, index);
}

}  // namespace wharf::ub
