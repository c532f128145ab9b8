// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/express.h"

#include <memory>

#include "engine/ub/engine_parts.h"

namespace wharf::ub {

Express::Express(EngineParts& parts)
    : parts_(parts),
      usable_(parts.config.tracer == nullptr && parts.config.context_cache_entries == 0 &&
              !parts.config.congestion && parts.config.min_time_between_cnps == kTimeZero) {}

// --- Numbering
// -----------------------------------------------------------------------------------------------------

/// Whether a message of one packet, enqueued now, would be numbered at once.
inline bool Express::may_number(const TpChannel& channel) const {
  return channel.state == ChannelState::kReady && !channel.numbering && channel.requests.empty() &&
         channel.responses.empty() && channel.send.retransmissions_queued() == 0 &&
         channel.unsent < parts_.config.fetch_ahead_packets && !channel.send.full() &&
         parts_.tp.packet_room_.has(channel.tx_held);
}

/// Gives the next number to the only packet of a message; it has no data yet and is ready.
inline std::uint32_t Express::number(TpChannel& channel, std::uint32_t index, std::uint32_t object) {
  TpLayer& tp = parts_.tp;
  const std::uint32_t place = tp.packets_.acquire();
  WHARF_CHECK(place != kNoSlot);
  tp.packet_room_.take(channel.tx_held);
  TxPacket& packet = tp.packets_[place];
  packet = kFreshPacket;
  channel.send.push(tp.packets_, place);
  packet.channel = index;
  packet.object = object;
  packet.tpmsn = wire::psn_wrap(channel.tpmsn_next++);
  packet.last = true;
  packet.state = PacketState::kReady;
  ++channel.unsent;
  return place;
}

/// What TpLayer::update_ready() does.
inline void Express::announce(TpChannel& channel, std::uint32_t index) {
  if (channel.data_listed || parts_.tp.packets_[channel.send.cursor()].state != PacketState::kReady) return;
  channel.data_listed = true;
  parts_.tp.data_list_.push_back(index);
}

// --- Initiator
// -----------------------------------------------------------------------------------------------------

[[gnu::flatten]] bool Express::issue(Jetty& owner, std::uint32_t jetty_id) {
  Initiator& initiator = parts_.initiator;
  const std::uint64_t request = owner.cursor;
  if (!usable_ || request + 1 != owner.posted() || owner.ordered_head != kNoRequest || owner.advance_listed)
    return false;
  PostedRequest& posted = owner.requests.back();
  const bool write = posted.verb == verbs::Verb::kWrite;
  if (!write || posted.status != verbs::CompletionStatus::kSuccess ||
      posted.order != verbs::OrderTag::kNone || posted.fence || posted.local_count != 1 || posted.inlined ||
      posted.length == 0) {
    return false;
  }
  const std::uint32_t index = initiator.peers_[posted.peer].channel;
  TpChannel& channel = parts_.tp.channel(index);
  const std::uint64_t space = owner.transactions.size();
  if (posted.length > channel.mtu || channel.requests_open >= channel.requests_max || !may_number(channel) ||
      owner.tassn_next - owner.tassn_oldest >= space || !initiator.segment_room_.has(owner.segments_held)) {
    return false;
  }
  const std::uint32_t segment = initiator.transactions_.acquire();
  WHARF_CHECK(segment != kNoSlot);
  initiator.segment_room_.take(owner.segments_held);
  Transaction& made = initiator.transactions_[segment];
  const std::uint32_t generation = made.generation;
  made = kFreshTransaction;
  made.generation = generation;
  made.jetty = jetty_id;
  made.channel = index;
  made.request = request;
  made.tassn = owner.tassn_next++;
  made.length = posted.length;
  made.last_segment = true;
  made.opcode = wire::TaOpcode::kWrite;
  made.state = TransactionState::kAwaiting;
  made.counted = true;
  owner.transactions[made.tassn & (space - 1)] = segment;
  ++channel.requests_open;
  channel.response_turn = true;
  const std::uint32_t place = number(channel, index, segment);
  TxPacket& packet = parts_.tp.packets_[place];
  packet.length = posted.length;
  packet.state = PacketState::kFetching;
  packet.fetches_open = 1;
  made.first_number = packet.logical;
  made.first_packet = place;
  made.packets_numbered = 1;
  made.packets_unconfirmed = 1;
  posted.admitted = true;
  posted.issued = posted.length;
  posted.issued_all = true;
  posted.segments_open = 1;
  ++owner.cursor;
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kRead, {.owner = AccessOwner::kPacketData,
                                                          .object = index,
                                                          .generation = channel.generation,
                                                          .detail = reference_to(place, packet.logical)});
  access.queue = jetty_id;
  access.stream = jetty_id;
  access.operation = posted.operation;
  access.space = posted.space;
  access.address = posted.local.address[0];
  access.length = posted.length;
  return true;
}

// --- Arrivals
// ------------------------------------------------------------------------------------------------------

bool Express::receive(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet) {
  const wire::Rtph& rtph = packet.ub.rtph;
  if (!usable_ || rtph.opcode != wire::TpOpcode::kReliable || !rtph.last ||
      rtph.psn != wire::psn_wrap(channel.receive.next()) || channel.receive.has_gap() ||
      !parts_.responder.can_park()) {
    return false;
  }
  if (packet.ub.transaction == wire::UbTransaction::kRequest) return take_write(now, index, channel, packet);
  return packet.ub.transaction == wire::UbTransaction::kResponse && take_answer(now, index, channel, packet);
}

/// The packet is taken, and to be acknowledged.
inline void Express::accept(TimePs now, std::uint32_t index, TpChannel& channel, const wire::Packet& packet) {
  channel.receive.accept(channel.receive.next());
  ++channel.messages_delivered;
  channel.ack = AckKind::kAck;
  channel.ack_number = channel.receive.next();
  channel.ack_tpmsn = packet.ub.rtph.tpmsn;
  if (++channel.unacknowledged < parts_.config.acknowledge_every) {
    parts_.tp.delay_acknowledgement(now, index, channel);
  } else {
    parts_.tp.list_acknowledgement(index);
  }
}

[[gnu::flatten]] bool Express::take_write(TimePs now, std::uint32_t index, TpChannel& channel,
                                          const wire::Packet& packet) {
  Responder& responder = parts_.responder;
  const wire::Btah& header = packet.ub.request;
  const wire::Maetah& maetah = packet.ub.extension.maetah;
  const std::uint32_t length = packet.payload.length;
  if (header.opcode != wire::TaOpcode::kWrite || header.poison || length == 0 || length != maetah.length ||
      channel.messages_open > 0 ||
      parts_.accesses.unanswered() >= kUnansweredAccessesMax ||
      !responder.message_room_.has(channel.messages_held, channel.messages_early)) {
    return false;
  }
  const std::uint32_t segment = parts_.segments.find(maetah.token_id);
  if (segment == kNoSlot) return false;
  const MrRecord& record = parts_.segments.record(segment);
  const std::uint32_t value = header.token_value_present ? packet.ub.extension.token_value : 0;
  if (SegmentTable::check(record, maetah.token_id, value, Right::kWrite, maetah.address, length) !=
      Grant::kGranted) {
    return false;
  }
  const std::uint32_t at = responder.messages_.acquire();
  WHARF_CHECK(at != kNoSlot);
  responder.message_room_.take(channel.messages_held);
  InboundMessage& made = responder.messages_[at];
  // Its extension and its receive entry mean nothing to a Write from here on.
  made.channel = index;
  made.tpmsn = packet.ub.rtph.tpmsn;
  made.request = header;
  made.state = InboundState::kReceiving;
  made.early = false;
  made.listed = false;
  made.last_delivered = true;
  made.abandoned = false;
  made.tail_started = false;
  made.pending = 1;
  made.received = length;
  made.status = wire::UbResponseStatus::kSuccess;
  made.info = 0;
  made.has_entry = false;
  made.entry_fetched = false;
  made.waiting_packets = {};
  made.response_length = 0;
  made.packets_unconfirmed = 0;
  made.response_numbered = false;
  made.operation = packet.operation;
  parts_.payloads.retain(packet.payload.buffer);
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kWrite, {.owner = AccessOwner::kInboundWrite,
                                                           .object = at,
                                                           .generation = made.generation,
                                                           .buffer = packet.payload.buffer});
  access.at_target = true;
  access.stream = Responder::stream_of(made);
  access.operation = packet.operation;
  access.order = SegmentTable::write_order(record);
  access.space = parts_.segments.space_of(record);
  access.address = maetah.address;
  access.length = length;
  access.data = packet.payload;
  accept(now, index, channel, packet);
  return true;
}

[[gnu::flatten]] bool Express::write_done(const PendingAccess& owner, engine::AccessStatus status) {
  InboundMessage& message = parts_.responder.messages_[owner.object];
  if (!usable_ || status != engine::AccessStatus::kDone || message.pending != 1 || !message.last_delivered ||
      message.abandoned || message.tail_started || message.status != wire::UbResponseStatus::kSuccess ||
      message.request.opcode != wire::TaOpcode::kWrite) {
    return false;
  }
  TpChannel& channel = parts_.tp.channel(message.channel);
  if (!may_number(channel)) return false;
  message.pending = 0;
  message.tail_started = true;
  message.state = InboundState::kResponding;
  message.response_length = 0;
  message.packets_unconfirmed = 1;
  message.response_numbered = true;
  channel.response_turn = false;
  const std::uint32_t place = number(channel, message.channel, owner.object);
  parts_.tp.packets_[place].origin = PacketOrigin::kResponse;
  announce(channel, message.channel);
  return true;
}

[[gnu::flatten]] bool Express::take_answer(TimePs now, std::uint32_t index, TpChannel& channel,
                                           const wire::Packet& packet) {
  Initiator& initiator = parts_.initiator;
  const wire::Atah& response = packet.ub.response;
  if (response.opcode != wire::TaOpcode::kTaack || response.status != wire::UbResponseStatus::kSuccess ||
      response.poison) {
    return false;
  }
  Jetty* owner = initiator.find(response.requester_id);
  if (owner == nullptr) return false;
  const std::uint32_t segment = owner->transactions[response.tassn & (owner->transactions.size() - 1)];
  if (segment == kNoSlot) return false;
  Transaction& transaction = initiator.transactions_[segment];
  if (transaction.channel != index || transaction.answered ||
      static_cast<std::uint16_t>(transaction.tassn) != response.tassn ||
      transaction.state != TransactionState::kAwaiting || transaction.opcode != wire::TaOpcode::kWrite ||
      transaction.status != verbs::CompletionStatus::kSuccess ||
      transaction.answer_status != wire::UbResponseStatus::kSuccess || transaction.steps_deferred > 0) {
    return false;
  }
  if (transaction.packets_unconfirmed > 0 &&
      transaction.first_number + transaction.packets_numbered > channel.send_cursor) {
    return false;
  }
  transaction.answered = true;
  initiator.stop_awaiting(transaction);
  if (transaction.packets_unconfirmed > 0) {
    ++transaction.steps_deferred;  // Not to be finished before this packet has been worked off.
    parts_.tp.confirm_delivered(now, index, transaction);
    --transaction.steps_deferred;
  }
  initiator.finish(now, segment);
  accept(now, index, channel, packet);
  return true;
}

}  // namespace wharf::ub
