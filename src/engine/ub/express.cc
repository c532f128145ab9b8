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
inline TxPacket& Express::number(TpChannel& channel, std::uint32_t index, std::uint32_t object,
                                 std::uint32_t& place) {
  TpLayer& tp = parts_.tp;
  place = tp.packets_.acquire();
  WHARF_CHECK(place != kNoSlot);
  tp.packet_room_.take(channel.tx_held);
  TxPacket& packet = tp.packets_[place];
  copy_whole(packet, kFreshPacket);
  channel.send.push(tp.packets_, place);
  packet.channel = index;
  packet.object = object;
  packet.tpmsn = wire::psn_wrap(channel.tpmsn_next++);
  packet.last = true;
  packet.state = PacketState::kReady;
  ++channel.unsent;
  return packet;
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
  const bool atomic = verbs::is_atomic(posted.verb);
  const bool carries = !atomic && posted.verb != verbs::Verb::kRead;
  if (posted.status != verbs::CompletionStatus::kSuccess || posted.order != verbs::OrderTag::kNone ||
      posted.fence || posted.inlined || (posted.length == 0 && !atomic) ||
      (carries && posted.local_count != 1)) {
    return false;
  }
  const std::uint32_t index = initiator.peers_[posted.peer].channel;
  TpChannel& channel = parts_.tp.channel(index);
  const std::uint64_t space = owner.transactions.size();
  const std::uint32_t most = carries ? channel.mtu : parts_.config.segment_bytes;
  if ((posted.length > most && !atomic) || channel.requests_open >= channel.requests_max ||
      !may_number(channel) || owner.tassn_next - owner.tassn_oldest >= space ||
      !initiator.segment_room_.has(owner.segments_held)) {
    return false;
  }
  const std::uint32_t segment = initiator.transactions_.acquire();
  WHARF_CHECK(segment != kNoSlot);
  initiator.segment_room_.take(owner.segments_held);
  Transaction& made = initiator.transactions_[segment];
  const std::uint32_t generation = made.generation;
  copy_whole(made, kFreshTransaction);
  made.generation = generation;
  made.jetty = jetty_id;
  made.channel = index;
  made.request = request;
  made.tassn = owner.tassn_next++;
  made.length = atomic ? posted.width : posted.length;
  made.last_segment = true;
  made.opcode = Initiator::opcode_of(posted.verb);
  made.state = TransactionState::kAwaiting;
  made.counted = true;
  owner.transactions[made.tassn & (space - 1)] = segment;
  ++channel.requests_open;
  channel.response_turn = true;
  std::uint32_t place = kNoSlot;
  TxPacket& packet = number(channel, index, segment, place);
  made.first_number = packet.logical;
  made.first_packet = place;
  made.packets_numbered = 1;
  made.packets_unconfirmed = 1;
  posted.admitted = true;
  posted.issued = made.length;
  posted.issued_all = true;
  posted.segments_open = 1;
  ++owner.cursor;
  if (!carries) {
    ++owner.reads_unfinished;
    announce(channel, index);
    return true;
  }
  packet.length = posted.length;
  packet.state = PacketState::kFetching;
  packet.fetches_open = 1;
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
  if (packet.ub.transaction == wire::UbTransaction::kRequest)
    return take_request(now, index, channel, packet);
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

[[gnu::flatten]] bool Express::take_request(TimePs now, std::uint32_t index, TpChannel& channel,
                                            const wire::Packet& packet) {
  const wire::Btah& header = packet.ub.request;
  const wire::Maetah& maetah = packet.ub.extension.maetah;
  const std::uint32_t length = maetah.length;
  if (header.poison || channel.messages_open > 0 || parts_.accesses.unanswered() >= kUnansweredAccessesMax ||
      !parts_.responder.message_room_.has(channel.messages_held, channel.messages_early)) {
    return false;
  }
  Right right = Right::kWrite;
  if (header.opcode == wire::TaOpcode::kWrite) {
    if (length == 0 || length != packet.payload.length) return false;
  } else if (packet.payload.length != 0) {
    return false;
  } else if (header.opcode == wire::TaOpcode::kRead) {
    if (length == 0 || length > channel.mtu || !may_number(channel)) return false;
    right = Right::kRead;
  } else {
    if (!wire::is_atomic(header.opcode) || (length != 4 && length != 8) || maetah.address % length != 0)
      return false;
    right = Right::kAtomic;
  }
  const std::uint32_t segment = parts_.segments.find(maetah.token_id);
  if (segment == kNoSlot) return false;
  const MrRecord& record = parts_.segments.record(segment);
  const std::uint32_t value = header.token_value_present ? packet.ub.extension.token_value : 0;
  if (SegmentTable::check(record, maetah.token_id, value, right, maetah.address, length) != Grant::kGranted)
    return false;
  std::uint32_t at = kNoSlot;
  InboundMessage& made = open(index, channel, packet, at);
  if (right == Right::kWrite) {
    place(at, made, record, packet);
  } else if (right == Right::kRead) {
    read(at, made, channel, record);
  } else {
    apply(at, made, record, packet);
  }
  accept(now, index, channel, packet);
  return true;
}

/// A message of one packet, which has come.
inline InboundMessage& Express::open(std::uint32_t index, TpChannel& channel, const wire::Packet& packet,
                                     std::uint32_t& at) {
  Responder& responder = parts_.responder;
  at = responder.messages_.acquire();
  WHARF_CHECK(at != kNoSlot);
  responder.message_room_.take(channel.messages_held);
  InboundMessage& made = responder.messages_[at];
  made.reopen();
  made.channel = index;
  made.tpmsn = packet.ub.rtph.tpmsn;
  made.request = RequestHeader(packet.ub.request);
  made.extension.maetah = packet.ub.extension.maetah;
  made.last_delivered = true;
  made.operation = packet.operation;
  return made;
}

inline void Express::place(std::uint32_t at, InboundMessage& made, const MrRecord& record,
                           const wire::Packet& packet) {
  made.pending = 1;
  made.received = packet.payload.length;
  parts_.payloads.retain(packet.payload.buffer);
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kWrite, {.owner = AccessOwner::kInboundWrite,
                                                           .object = at,
                                                           .generation = made.generation,
                                                           .buffer = packet.payload.buffer});
  access.at_target = true;
  access.stream = Responder::stream_of(made);
  access.operation = made.operation;
  access.order = SegmentTable::write_order(record);
  access.space = parts_.segments.space_of(record);
  access.address = made.extension.maetah.address;
  access.length = packet.payload.length;
  access.data = packet.payload;
}

/// A Read needs nothing but its answer: it gets its number, and its data is read.
inline void Express::read(std::uint32_t at, InboundMessage& made, TpChannel& channel,
                          const MrRecord& record) {
  made.read_order = SegmentTable::read_order(record);
  made.entry.space = parts_.segments.space_of(record);
  made.tail_started = true;
  made.state = InboundState::kResponding;
  made.response_length = made.extension.maetah.length;
  made.packets_unconfirmed = 1;
  made.response_numbered = true;
  channel.response_turn = false;
  std::uint32_t place = kNoSlot;
  TxPacket& packet = number(channel, made.channel, at, place);
  packet.origin = PacketOrigin::kResponse;
  packet.length = made.response_length;
  parts_.responder.fetch_data(made.channel, packet, reference_to(place, packet.logical));
}

inline void Express::apply(std::uint32_t at, InboundMessage& made, const MrRecord& record,
                           const wire::Packet& packet) {
  made.pending = 1;
  engine::Access& access = parts_.accesses.request(
      engine::AccessKind::kAtomic,
      {.owner = AccessOwner::kInboundAtomic, .object = at, .generation = made.generation});
  access.at_target = true;
  access.stream = Responder::stream_of(made);
  access.operation = made.operation;
  access.atomic = Responder::verb_of(made.request.opcode);
  access.width = static_cast<std::uint8_t>(made.extension.maetah.length);
  access.length = made.extension.maetah.length;
  access.address = made.extension.maetah.address;
  access.order = SegmentTable::write_order(record);
  access.space = parts_.segments.space_of(record);
  const wire::AtomicOperands& operands = packet.ub.extension.operands;
  access.operand = {operands.operand, operands.operand_high};
  access.compare = {operands.compare, operands.compare_high};
}

[[gnu::flatten]] bool Express::take_answer(TimePs now, std::uint32_t index, TpChannel& channel,
                                           const wire::Packet& packet) {
  Initiator& initiator = parts_.initiator;
  const wire::Atah& response = packet.ub.response;
  if (response.status != wire::UbResponseStatus::kSuccess || response.poison) return false;
  Jetty* owner = initiator.find(response.requester_id);
  if (owner == nullptr) return false;
  const std::uint32_t segment = owner->transactions[response.tassn & (owner->transactions.size() - 1)];
  if (segment == kNoSlot) return false;
  Transaction& transaction = initiator.transactions_[segment];
  if (transaction.channel != index || transaction.answered ||
      static_cast<std::uint16_t>(transaction.tassn) != response.tassn ||
      transaction.state != TransactionState::kAwaiting ||
      response.opcode != response_of(transaction.opcode) || transaction.received != 0 ||
      transaction.status != verbs::CompletionStatus::kSuccess ||
      transaction.answer_status != wire::UbResponseStatus::kSuccess || transaction.steps_deferred > 0) {
    return false;
  }
  const bool reads = response.opcode == wire::TaOpcode::kReadResponse;
  if (reads && (packet.payload.length != transaction.length ||
                owner->posted_request(transaction.request).local_count != 1)) {
    return false;
  }
  if (transaction.packets_unconfirmed > 0 &&
      transaction.first_number + transaction.packets_numbered > channel.send_cursor) {
    return false;
  }
  transaction.answered = true;
  initiator.stop_awaiting(transaction);
  if (transaction.packets_unconfirmed > 0) confirm(now, index, channel, transaction);
  if (response.opcode == wire::TaOpcode::kTaack) {
    initiator.finish(now, segment);
  } else if (reads) {
    place_answer(segment, transaction, owner->posted_request(transaction.request), packet.payload);
  } else {
    initiator.place_atomic(segment, packet.payload);
    initiator.try_finish(now, segment);
  }
  accept(now, index, channel, packet);
  return true;
}

/// The packets of an answered request have been delivered.
inline void Express::confirm(TimePs now, std::uint32_t index, TpChannel& channel, Transaction& transaction) {
  TpLayer& tp = parts_.tp;
  const std::uint32_t first = transaction.first_packet;
  if (transaction.packets_numbered != 1 || first != channel.send.head() ||
      tp.packets_[first].state != PacketState::kSent || tp.packets_[first].resend) {
    ++transaction.steps_deferred;  // Not to be finished before this packet has been worked off.
    tp.confirm_delivered(now, index, transaction);
    --transaction.steps_deferred;
    return;
  }
  transaction.packets_unconfirmed = 0;
  tp.packets_[first].state = PacketState::kFree;
  channel.send.confirm_head(tp.packets_, [&](std::uint32_t place) {
    tp.packets_.release(place);
    tp.packet_room_.give(channel.tx_held);
  });
  tp.progressed(now, index);
}

inline void Express::place_answer(std::uint32_t segment, Transaction& transaction,
                                  const PostedRequest& posted, const wire::Payload& data) {
  transaction.received = data.length;
  transaction.writes_open = 1;
  parts_.payloads.retain(data.buffer);
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kWrite, {.owner = AccessOwner::kResponseWrite,
                                                           .object = segment,
                                                           .generation = transaction.generation,
                                                           .buffer = data.buffer});
  access.queue = transaction.jetty;
  access.stream = transaction.jetty;
  access.space = posted.space;
  access.address = posted.local.address[0] + transaction.message_offset;
  access.length = data.length;
  access.data = data;
  access.operation = posted.operation;
}

// --- Memory
// --------------------------------------------------------------------------------------------------------

bool Express::access_done(const PendingAccess& owner, const engine::AccessResult& result) {
  if (owner.owner == AccessOwner::kCompletion) {
    parts_.initiator.completion_done(owner, result.status);
    return true;
  }
  if (!usable_ || result.status != engine::AccessStatus::kDone) return false;
  if (owner.owner == AccessOwner::kPacketData) return data_done(owner, result);
  return (owner.owner == AccessOwner::kInboundWrite || owner.owner == AccessOwner::kInboundAtomic) &&
         request_done(owner, result);
}

/// The whole data of a packet has been read.
[[gnu::flatten]] bool Express::data_done(const PendingAccess& owner, const engine::AccessResult& result) {
  TpChannel& channel = parts_.tp.channel(owner.object);
  const auto place = static_cast<std::uint32_t>(owner.detail);
  TxPacket& packet = parts_.tp.packets_[place];
  if (channel.generation != owner.generation || packet.channel != owner.object ||
      packet.state != PacketState::kFetching || packet.fetches_open != 1 || packet.fetch_failed ||
      packet.data.buffer != wire::kNoBuffer || owner.detail != reference_to(place, packet.logical) ||
      channel.send.retransmissions_queued() > 0 || channel.unsent == 0 ||
      channel.state != ChannelState::kReady) {
    return false;
  }
  packet.data = result.data;
  parts_.payloads.retain(packet.data.buffer);
  packet.fetches_open = 0;
  packet.state = PacketState::kReady;
  announce(channel, owner.object);
  return true;
}

/// The data of a Write or Send is placed, or an atomic has been executed: numbers the answer.
[[gnu::flatten]] bool Express::request_done(const PendingAccess& owner, const engine::AccessResult& result) {
  InboundMessage& message = parts_.responder.messages_[owner.object];
  const wire::TaOpcode opcode = message.request.opcode;
  const bool atomic = owner.owner == AccessOwner::kInboundAtomic;
  if (message.pending != 1 || !message.last_delivered || message.abandoned || message.tail_started ||
      message.status != wire::UbResponseStatus::kSuccess ||
      (opcode != wire::TaOpcode::kWrite && opcode != wire::TaOpcode::kSend && !atomic)) {
    return false;
  }
  TpChannel& channel = parts_.tp.channel(message.channel);
  if (!may_number(channel)) return false;
  message.pending = 0;
  message.tail_started = true;
  message.state = InboundState::kResponding;
  message.packets_unconfirmed = 1;
  message.response_numbered = true;
  if (message.has_entry) parts_.responder.report_receive(owner.object);
  channel.response_turn = false;
  std::uint32_t place = kNoSlot;
  TxPacket& packet = number(channel, message.channel, owner.object, place);
  packet.origin = PacketOrigin::kResponse;
  if (atomic) {
    message.set_atomic_result(result.old_value);
    message.response_length = message.extension.maetah.length;
    packet.length = message.response_length;
    parts_.responder.fetch_data(message.channel, packet, reference_to(place, packet.logical));
  }
  announce(channel, message.channel);
  return true;
}

}  // namespace wharf::ub
