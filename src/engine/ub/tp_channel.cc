// SPDX-License-Identifier: Apache-2.0
// The TP layer, receiving side: which packets are accepted, delivered and acknowledged. [UB-Base 2.0.1 6.4.2]
#include "engine/ub/tp_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "engine/ub/engine_parts.h"

namespace wharf::ub {
namespace {

// What TpLayer::ahead_ holds for a number that arrived ahead of its turn: the index of a parked packet; or,
// for a Write whose data is being placed already, its inbound message with these flags.
constexpr std::uint32_t kPlaced = 1U << 31U;
constexpr std::uint32_t kPlacedLast = 1U << 30U;
constexpr std::uint32_t kIndexMask = kPlacedLast - 1;

bool may_be_placed_ahead(const TpChannel& channel, const wire::Btah& request) {
  // A strong request whose order is the target's waits for its turn, and for that of its packets.
  if (Responder::waits_for_turn(channel, request)) return false;
  constexpr std::uint16_t kNeeded = wire::kTaAddress | wire::kTaPayload;
  return (wire::ta_layout(request.opcode) & kNeeded) == kNeeded;
}

}  // namespace

TpLayer::TpLayer(EngineParts& parts)
    : parts_(parts),
      acknowledge_delay_(parts.config.acknowledge_delay),
      congestion_(parts.config, parts.arena),
      packet_room_(parts.config.send_window, kPacketShare, kPacketsCommon),
      ahead_room_(parts.config.receive_window, kAheadShare, kAheadCommon) {
  blank_.mark = wire::CongestionMark::kCapable;
  blank_.source = parts.config.host;
  blank_.ub.encapsulation = parts.config.encapsulation;
}

std::uint32_t TpLayer::find(wire::HostAddress remote) const {
  if (remote == found_host_ && found_ != kNoSlot) return found_;
  const std::uint32_t index = find(remote, kFirstLane);
  if (index == kNoSlot) return kNoSlot;
  found_host_ = remote;
  found_ = index;
  follow(index);
  return index;
}

void TpLayer::follow(std::uint32_t index) const {
  using Words = std::array<std::uint32_t, 2>;
  TpChannel& channel = *channels_[index];
  train_ = index;
  // The short ways look no further than here.
  const bool ready = channel.state == ChannelState::kReady;
  found_channel_ = ready && !channel.general ? &channel : nullptr;
  fused_train_ = ready && channel.kind == ChannelKind::kFused ? &channel : nullptr;
  found_addresses_ = std::bit_cast<std::uint64_t>(Words{channel.remote.number, parts_.config.host.number});
  found_tpns_ = std::bit_cast<std::uint64_t>(Words{channel.remote_tpn, channel.local_tpn});
  plain_tpns_ = found_channel_ != nullptr ? found_tpns_ : kNoTpns;
}

bool TpLayer::change_train(const wire::Packet& packet) const {
  using Words = std::array<std::uint32_t, 2>;
  const wire::Rtph& rtph = packet.ub.rtph;
  if (rtph.opcode != wire::TpOpcode::kReliable || found_ == kNoSlot ||
      std::bit_cast<std::uint64_t>(Words{rtph.source_tpn, rtph.destination_tpn}) == found_tpns_) {
    return false;
  }
  const std::uint32_t index = addressed(packet);
  if (index == kNoSlot) return false;
  follow(index);
  return found_channel_ != nullptr || fused_train_ != nullptr;
}

void TpLayer::make_general(std::uint32_t index) {
  channels_[index]->general = true;
  channels_[index]->hold_up();
  forget_found();
}

/// The channel that a packet names, or kNoSlot.
std::uint32_t TpLayer::addressed(const wire::Packet& packet) const {
  const auto is_of = [&](std::uint32_t index) {
    return index != kNoSlot && channels_[index]->state == ChannelState::kReady &&
           repeats(channels_[index]->kind) && packet.ub.rtph.destination_tpn == channels_[index]->local_tpn &&
           packet.ub.rtph.source_tpn == channels_[index]->remote_tpn;
  };
  const std::uint32_t first = find(packet.source);
  if (is_of(first)) return first;
  if (first == kNoSlot) return kNoSlot;
  if (is_of(train_)) return train_;
  for (Lane lane = kFirstLane + 1; lane < kLaneCount; ++lane) {
    const std::uint32_t index = find(packet.source, lane);
    if (!is_of(index)) continue;
    follow(index);
    return index;
  }
  return kNoSlot;
}

std::vector<ChannelFailures> TpLayer::failures() const {
  std::vector<ChannelFailures> found;
  if (!any_failed_) return found;  // Each queue that is exported asks.
  for (const auto& channel : channels_) {
    if (channel->failures > 0) found.push_back({channel->remote, channel->lane, channel->failures});
  }
  return found;
}

[[gnu::noinline]] void TpLayer::touch(std::uint32_t channel) {
  TpChannel& touched = *channels_[channel];
  if (touched.dirty_listed) return;
  touched.dirty_listed = true;
  dirty_.push_back(channel);
  parts_.attention |= kUnsettled;
}

void TpLayer::receive(TimePs now, const wire::Packet& packet) {
  const std::uint32_t index = addressed(packet);
  if (index == kNoSlot) {
    ++parts_.counters.dropped_unknown_channel;
    return;
  }
  const ContextKey key{ContextKind::kTpChannel, index};
  if (!parts_.contexts.acquire(key)) {
    const std::uint32_t parked = parts_.responder.park(now, packet);
    if (parked == kNoSlot) {
      ++parts_.counters.dropped_no_room;
      return;
    }
    parts_.contexts.defer(key,
                          {.step = DeferredStep::kChannelPacket,
                           .object = index,
                           .generation = channels_[index]->generation,
                           .packet = parked},
                          packet.operation, packet.ub.transaction == wire::UbTransaction::kRequest);
    return;
  }
  process(now, index, packet);
}

void TpLayer::resume_packet(TimePs now, std::uint32_t channel, std::uint32_t generation,
                            std::uint32_t parked) {
  // Out of its place first, so that it can wait again for something else.
  const wire::Packet packet = parts_.responder.take_parked(parked);
  if (channels_[channel]->generation != generation || channels_[channel]->state != ChannelState::kReady) {
    ++parts_.counters.dropped_unknown_channel;
  } else {
    WHARF_CHECK(parts_.contexts.acquire({ContextKind::kTpChannel, channel}));
    process(now, channel, packet);
  }
  parts_.payloads.release(packet.payload.buffer);
}

void TpLayer::process(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  using wire::TpOpcode;
  parts_.contexts.mark_dirty({ContextKind::kTpChannel, index});
  switch (packet.ub.rtph.opcode) {
    case TpOpcode::kReliable:
      process_data(now, index, packet);
      return;
    case TpOpcode::kAck:
    case TpOpcode::kAckCetph:
      if (packet.ub.rtph.status == wire::UbResponseStatus::kSuccess ||
          (packet.ub.rtph.status == wire::UbResponseStatus::kFusedTaack &&
           channels_[index]->kind == ChannelKind::kFused)) {
        process_ack(now, index, packet);
      } else if (packet.ub.rtph.status == wire::UbResponseStatus::kError) {
        process_nak(now, index, packet);
      } else {
        // Choice: what is refused on a fused channel is answered by a TAACK of its own, not by RSPST 1 or 2
        // here.
        ++parts_.counters.dropped_acknowledgement;
      }
      return;
    case TpOpcode::kNakDeprecated:
      process_nak(now, index, packet);
      return;
    case TpOpcode::kSack:
    case TpOpcode::kSackCetph:
      if (packet.ub.rtph.status == wire::UbResponseStatus::kSuccess ||
          (packet.ub.rtph.status == wire::UbResponseStatus::kFusedTaack &&
           channels_[index]->kind == ChannelKind::kFused)) {
        process_sack(now, index, packet);
      } else {
        ++parts_.counters.dropped_acknowledgement;
      }
      return;
    case TpOpcode::kCnp:
      if (congestion_.notified(now, index)) return;
      break;
    case TpOpcode::kUnreliable:
      break;
  }
  ++parts_.counters.dropped_tp_opcode;
}

void TpLayer::process_data(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  TpChannel& channel = *channels_[index];
  if (packet.ub.transaction == wire::UbTransaction::kNone) {
    ++parts_.counters.dropped_malformed;
    return;
  }
  congestion_.arrived(now, index, packet);
  std::uint64_t logical = 0;
  const reliability::Arrival arrival = channel.receive.classify(packet.ub.rtph.psn, logical);
  if (arrival != reliability::Arrival::kNext) {
    process_unexpected(now, index, arrival, logical, packet);
    return;
  }
  const wire::Psn tpmsn = packet.ub.rtph.tpmsn;
  const bool request = packet.ub.transaction == wire::UbTransaction::kRequest;
  if (!parts_.responder.can_park() || (request && !parts_.responder.has_room(index, packet, false))) {
    count_no_room(index, false);
    return;
  }
  if (channel.fused != nullptr && !channel.fused->has_room(logical)) {
    ++parts_.counters.dropped_beyond_window;
    return;
  }
  const std::uint32_t advanced = channel.receive.accept(logical);
  congestion_.accepted(index, packet);
  if (packet.ub.rtph.last) ++channel.messages_delivered;
  if (request) {
    parts_.responder.receive(now, index, packet, kNoSlot, logical);
  } else {
    parts_.initiator.receive(now, index, packet, kNoSlot);
  }
  if (channel.fused != nullptr) channel.fused->deliver(logical);
  if (advanced > 1) deliver_waiting(now, index, logical + 1, logical + advanced);
  if (channel.fused != nullptr && !channel.fused->tell() && !channel.receive.has_gap())
    return;  // Its execution is its acknowledgement.
  ask_acknowledgement(now, index, channel.receive.has_gap() ? AckKind::kSack : AckKind::kAck, tpmsn, false);
}

void TpLayer::process_unexpected(TimePs now, std::uint32_t index, reliability::Arrival arrival,
                                 std::uint64_t logical, const wire::Packet& packet) {
  TpChannel& channel = *channels_[index];
  const wire::Psn tpmsn = packet.ub.rtph.tpmsn;
  switch (arrival) {
    case reliability::Arrival::kNext:
      break;
    case reliability::Arrival::kDuplicate:
      ++parts_.counters.duplicates;
      ask_acknowledgement(now, index, channel.receive.has_gap() ? AckKind::kSack : AckKind::kAck, tpmsn,
                          true);
      return;
    case reliability::Arrival::kTooFar:
      ++parts_.counters.dropped_beyond_window;
      return;
    case reliability::Arrival::kAhead:
      if (!channel.selective) {
        // [UB-Base 2.0.1 6.4.2] Go-Back-N: one TPNAK per gap, however many packets follow it.
        ++parts_.counters.dropped_out_of_order;
        if (parts_.config.fast_retransmit && channel.naked != channel.receive.next()) {
          channel.naked = channel.receive.next();
          ask_acknowledgement(now, index, AckKind::kNak, tpmsn, true);
        }
        return;
      }
      if (channel.fused != nullptr && !channel.fused->has_room(logical)) {
        ++parts_.counters.dropped_beyond_window;
        return;
      }
      if (!keep_ahead(now, index, logical, packet)) {
        count_no_room(index, true);
        return;
      }
      channel.receive.accept(logical);
      congestion_.kept(index, logical, packet);
      ask_acknowledgement(now, index, AckKind::kSack, tpmsn, true);
      return;
  }
  WHARF_UNREACHABLE();
}

void TpLayer::count_no_room(std::uint32_t index, bool ahead) {
  const bool shared = (ahead && ahead_room_.is_short(channels_[index]->ahead_held)) ||
                      parts_.responder.is_short(index, ahead);
  ++(shared ? parts_.counters.dropped_no_shared_room : parts_.counters.dropped_no_room);
}

bool TpLayer::keep_ahead(TimePs now, std::uint32_t index, std::uint64_t logical, const wire::Packet& packet) {
  TpChannel& channel = *channels_[index];
  if (!ahead_room_.has(channel.ahead_held)) return false;
  std::uint32_t kept = 0;
  const bool request = packet.ub.transaction == wire::UbTransaction::kRequest;
  if (request && !parts_.responder.has_room(index, packet, true)) return false;
  if (request && may_be_placed_ahead(channel, packet.ub.request)) {
    if (!parts_.responder.can_park()) return false;
    const std::uint32_t message = parts_.responder.receive_ahead(now, index, packet);
    kept = kPlaced | (packet.ub.rtph.last ? kPlacedLast : 0U) | message;
  } else {
    kept = parts_.responder.park_ahead(now, index, packet);
    if (kept == kNoSlot) return false;
    if (request) parts_.responder.claim(index, kept);
  }
  ahead_room_.take(channel.ahead_held);
  ahead_.insert(ahead_key(index, logical), kept);
  return true;
}

std::uint64_t TpLayer::ahead_key(std::uint32_t index, std::uint64_t logical) const {
  return std::uint64_t{index} << 24U | (logical & (parts_.config.receive_window - 1));
}

void TpLayer::deliver_waiting(TimePs now, std::uint32_t index, std::uint64_t from, std::uint64_t end) {
  TpChannel& channel = *channels_[index];
  for (std::uint64_t logical = from; logical < end; ++logical) {
    const std::uint64_t key = ahead_key(index, logical);
    const std::uint32_t kept = *ahead_.find(key);
    ahead_.erase(key);
    ahead_room_.give(channel.ahead_held);
    congestion_.accepted_waiting(index, logical);
    if ((kept & kPlaced) != 0) {
      if ((kept & kPlacedLast) != 0) ++channel.messages_delivered;
      parts_.responder.deliver_ahead(now, kept & kIndexMask, (kept & kPlacedLast) != 0, logical);
      if (channel.fused != nullptr) channel.fused->deliver(logical);
      continue;
    }
    const wire::Packet packet = parts_.responder.parked(kept).packet;
    parts_.span(packet.operation, trace::Stage::kReorderWait, parts_.responder.parked(kept).since, now);
    if (packet.ub.rtph.last) ++channel.messages_delivered;
    if (packet.ub.transaction == wire::UbTransaction::kRequest) {
      parts_.responder.receive(now, index, packet, kept, logical);
    } else if (!parts_.initiator.receive(now, index, packet, kept)) {
      parts_.responder.unpark(kept);
    }
    if (channel.fused != nullptr) channel.fused->deliver(logical);
  }
}

// The channel ended. Its counters may be in memory, so every place of the window is looked at.
void TpLayer::forget_ahead(TimePs now, std::uint32_t index) {
  TpChannel& channel = *channels_[index];
  for (std::uint64_t place = 0; channel.ahead_held > 0; ++place) {
    WHARF_CHECK(place < parts_.config.receive_window);
    const std::uint64_t key = ahead_key(index, place);
    const std::uint32_t* found = ahead_.find(key);
    if (found == nullptr) continue;
    const std::uint32_t kept = *found;
    ahead_.erase(key);
    ahead_room_.give(channel.ahead_held);
    if ((kept & kPlaced) != 0) {
      parts_.responder.cancel_ahead(now, kept & kIndexMask);
    } else {
      parts_.responder.unclaim(now, kept);
    }
  }
}

void TpLayer::ask_acknowledgement(TimePs now, std::uint32_t index, AckKind kind, wire::Psn tpmsn,
                                  bool at_once) {
  TpChannel& channel = *channels_[index];
  const std::uint64_t next = confirmable(channel);
  // Nothing is in order yet, so there is nothing that a TPACK could name. On a fused channel it may be in
  // order and not have been executed: who asks again hears that this host is there, and has to be patient.
  if (kind == AckKind::kAck && next == channel.receive_first && (channel.fused == nullptr || !at_once))
    return;
  // [UB-Base 2.0.1 6.4.2] A TPNAK names what is missing, whether or not all before it has been executed.
  const std::uint64_t missing = channel.receive.next();
  const bool nak_stands = channel.ack == AckKind::kNak && channel.naked == missing;
  if (!nak_stands) channel.ack = kind;
  channel.ack_number = channel.ack == AckKind::kNak ? missing : next;
  channel.ack_tpmsn = tpmsn;
  if (kind == AckKind::kSack) {
    channel.ack_max = channel.receive.end();
    channel.ack_first_bits = channel.receive.first_bits();
    if (channel.fused != nullptr) channel.fused->asked_at = channel.receive.next();
  }
  if (kind == AckKind::kAck && !at_once && ++channel.unacknowledged < parts_.config.acknowledge_every) {
    delay_acknowledgement(now, index, channel);
    return;
  }
  list_acknowledgement(index);
}

void TpLayer::executed(TimePs now, const InboundMessage& message) {
  TpChannel& channel = *channels_[message.channel];
  channel.fused->close(message.fused_number);
  channel.fused->requester_id = message.request.requester_id;
  channel.fused->tassn = message.request.tassn;
  channel.fused->any = true;
  if (!channel.fused->tell()) return;
  ask_acknowledgement(now, message.channel, channel.receive.has_gap() ? AckKind::kSack : AckKind::kAck,
                      message.tpmsn, false);
}

void TpLayer::refusal_confirmed(const InboundMessage& message) {
  TpChannel& channel = *channels_[message.channel];
  if (!channel.fused->tell()) return;
  ask_acknowledgement(kTimeZero, message.channel, channel.receive.has_gap() ? AckKind::kSack : AckKind::kAck,
                      message.tpmsn, true);
}

// [UB-Base 2.0.1 6.1] Choice: from hosts that are connected alone, because only they have places here.
void TpLayer::receive_datagram(TimePs now, const wire::Packet& packet) {
  const std::uint32_t index = find(packet.source, kUnreliableLane);
  if (index == kNoSlot || channels_[index]->state != ChannelState::kReady) {
    ++parts_.counters.dropped_unknown_channel;
    return;
  }
  const bool answered = packet.ub.transaction != wire::UbTransaction::kRequest ||
                        response_of(packet.ub.request.opcode) != wire::TaOpcode::kTaack;
  if (answered) {
    ++parts_.counters.dropped_malformed;
    return;
  }
  if (!parts_.responder.can_park() || !parts_.responder.has_room(index, packet, false)) {
    count_no_room(index, false);
    return;
  }
  ++parts_.counters.datagrams_received;
  if (packet.ub.rtph.last) return parts_.responder.receive(now, index, packet, kNoSlot, 0);
  // A message is one packet here. As published, the first byte of UTPH is 0, and says nothing of that.
  wire::Packet whole = packet;
  whole.ub.rtph.last = true;
  parts_.responder.receive(now, index, whole, kNoSlot, 0);
}

void TpLayer::encode(std::uint32_t channel, TpChannelRecord& record) const {
  const TpChannel& from = *channels_[channel];
  record.bitmap = from.receive.first_bits();
  record.remote_cna = from.remote.number;
  record.local_tpn = from.local_tpn;
  record.remote_tpn = from.remote_tpn;
  record.psn_next = static_cast<std::uint32_t>(from.send.next());
  record.tpmsn_next = static_cast<std::uint32_t>(from.tpmsn_next);
  record.last_acked = static_cast<std::uint32_t>(from.send.una());
  record.expected_psn = static_cast<std::uint32_t>(from.receive.next());
  record.expected_msn = static_cast<std::uint32_t>(from.messages_delivered);
  record.base_psn = record.expected_psn;
  record.max_received = static_cast<std::uint32_t>(from.receive.end());
  record.valid = 1;
  record.out_of_order = from.selective ? 1 : 0;
  record.transmit_epoch = static_cast<std::uint16_t>(from.send.next() >> 32U);
  record.receive_epoch = static_cast<std::uint16_t>(from.receive.next() >> 32U);
}

void TpLayer::decode(std::uint32_t channel, const TpChannelRecord& record) {
  TpChannel& to = *channels_[channel];
  const std::uint64_t next = (std::uint64_t{record.transmit_epoch} << 32U) | record.psn_next;
  std::uint64_t una = next - static_cast<std::uint32_t>(record.psn_next - record.last_acked);
  // What has left on a lane without repetition is gone from it, wherever the record was then.
  if (!repeats(to.kind)) una = to.send.head() == kNoSlot ? next : packets_[to.send.head()].logical;
  to.send.restore({una, next});
  to.tpmsn_next = record.tpmsn_next;
  const std::uint64_t expected = (std::uint64_t{record.receive_epoch} << 32U) | record.expected_psn;
  to.receive.restore(
      {expected, expected + static_cast<std::uint32_t>(record.max_received - record.expected_psn)});
  to.receive.set_first_bits(record.bitmap);
  to.messages_delivered = record.expected_msn;
}

void TpLayer::wipe(std::uint32_t channel) {
  TpChannel& wiped = *channels_[channel];
  wiped.receive.set_first_bits(0);
  wiped.send.restore({0, 0});
  wiped.receive.restore({0, 0});
  wiped.tpmsn_next = 0;
  wiped.messages_delivered = 0;
}

void TpLayer::describe_waiting(std::vector<std::string>& out) const {
  for (std::uint32_t index = 0; index < count(); ++index) {
    const auto& channel = channels_[index];
    if (channel->state == ChannelState::kClosed) continue;
    const std::uint32_t host = channel->remote.number;
    const std::string name = channel->lane == kFirstLane
                                 ? fmt::format("TP channel to host {}", host)
                                 : fmt::format("TP channel {} to host {}", channel->lane, host);
    if (channel->state == ChannelState::kError) {
      out.push_back(fmt::format("{}: failed, retries exhausted or its record lost", name));
      continue;
    }
    if (channel->timer.running()) {
      out.push_back(
          fmt::format("{}: packets up to {} sent and not confirmed, attempt {}, next "
                      "time-out at {} ps",
                      name, wire::psn_wrap(channel->send_cursor - 1), channel->timer.attempts(),
                      channel->timer.deadline().ps));
    }
    if (const TimePs until = congestion_.waits_until(index); until != kNever) {
      out.push_back(fmt::format("{}: its next packet may leave at {} ps", name, until.ps));
    }
    if (channel->receive.has_gap()) {
      out.push_back(fmt::format("{}: packets that have arrived wait for packet {}", name,
                                wire::psn_wrap(channel->receive.next())));
    }
    if (channel->numbering || !channel->requests.empty() || !channel->responses.empty()) {
      out.push_back(fmt::format(
          "{}: messages wait for packet numbers ({} numbered and not sent; {} of the {} places that "
          "the peer gives are taken)",
          name, channel->unsent, channel->requests_open, channel->requests_max));
    }
  }
}

void TpLayer::release_buffers() {
  for (std::uint32_t place = 0; place < packets_.extent(); ++place)
    parts_.payloads.release(packets_[place].data.buffer);
}

}  // namespace wharf::ub
