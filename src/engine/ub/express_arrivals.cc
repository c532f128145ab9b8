// SPDX-License-Identifier: Apache-2.0
// The short ways of what comes in: packets, and answers of memory.
#include <cstddef>

#include "engine/ub/express.h"
#include "engine/ub/express_numbering.h"
#include "engine/ub/ub_engine.h"

namespace wharf::ub {
namespace {

// The state of a transaction that waits for its answer and has nothing unusual: opcode, state, status,
// last_segment, counted, answered, answer_status, answer_info.
constexpr std::size_t kOutcomeAt = offsetof(Transaction, opcode);
constexpr Bytes kOutcomeMask{0, 255, 255, 0, 0, 255, 255, 0};
constexpr Bytes kOutcomeOpen{0, static_cast<std::uint8_t>(TransactionState::kAwaiting), 0, 0, 0, 0, 0, 0};
static_assert(offsetof(Transaction, state) == kOutcomeAt + 1 &&
              offsetof(Transaction, status) == kOutcomeAt + 2 &&
              offsetof(Transaction, answered) == kOutcomeAt + 5 &&
              offsetof(Transaction, answer_status) == kOutcomeAt + 6);
static_assert(static_cast<int>(verbs::CompletionStatus::kSuccess) == 0 &&
              static_cast<int>(wire::UbResponseStatus::kSuccess) == 0);

inline bool awaits_usual_answer(const Transaction& transaction) {
  return (word_at(transaction, kOutcomeAt) & word_of(kOutcomeMask)) == word_of(kOutcomeOpen);
}

}  // namespace

// --- Arrivals
// ------------------------------------------------------------------------------------------------------

[[gnu::always_inline]] inline void Express::route(TimePs now, const wire::Packet& packet) {
  TpLayer& tp = parts_.tp;
  const std::uint32_t index = tp.found_;
  TpChannel& channel = tp.channel(index);
  const wire::Rtph& rtph = packet.ub.rtph;
  if (channel.state != ChannelState::kReady || rtph.destination_tpn != channel.local_tpn ||
      rtph.source_tpn != channel.remote_tpn || rtph.opcode != wire::TpOpcode::kReliable || !rtph.last ||
      rtph.psn != wire::psn_wrap(channel.receive.next()) || channel.receive.has_gap() ||
      !parts_.responder.can_park()) {
    return parts_.receive(now, packet);
  }
  if (packet.ub.transaction == wire::UbTransaction::kRequest)
    return take_request(now, index, channel, packet);
  if (packet.ub.transaction == wire::UbTransaction::kResponse)
    return take_answer(now, index, channel, packet);
  return parts_.receive(now, packet);
}

// The channel is another one than that of the packet before.
[[gnu::noinline]] void Express::look_up(TimePs now, const wire::Packet& packet) {
  if (parts_.tp.find(packet.source) == kNoSlot) return parts_.receive(now, packet);
  route(now, packet);
}

[[gnu::always_inline]] inline void Express::receive(TimePs now, const wire::Packet& packet) {
  const UbConfig& config = parts_.config;
  if (!parts_.takes_short_ways() || packet.protocol != wire::Protocol::kUb ||
      packet.destination != config.host || packet.trim != wire::TrimState::kWhole ||
      packet.ub.transport != wire::UbTransport::kRtp || packet.ub.encapsulation != config.encapsulation) {
    return parts_.receive(now, packet);
  }
  const TpLayer& tp = parts_.tp;
  if (packet.source != tp.found_host_ || tp.found_ == kNoSlot) return look_up(now, packet);
  route(now, packet);
}

void UbEngine::receive(TimePs now, std::uint32_t, const wire::Packet& packet) {
  parts_->express.receive(now, packet);
}

/// The packet is taken, and to be acknowledged.
[[gnu::always_inline]] inline void Express::accept(TimePs now, std::uint32_t index, TpChannel& channel,
                                                   const wire::Packet& packet) {
  channel.receive.accept(channel.receive.next());
  ++parts_.counters.packets_received;
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

[[gnu::noinline, gnu::flatten]] void Express::take_request(TimePs now, std::uint32_t index,
                                                           TpChannel& channel, const wire::Packet& packet) {
  const wire::Btah& header = packet.ub.request;
  const wire::Maetah& maetah = packet.ub.extension.maetah;
  const std::uint32_t length = maetah.length;
  if (header.poison || channel.messages_open > 0 || parts_.accesses.unanswered() >= kUnansweredAccessesMax ||
      !parts_.responder.message_room_.has(channel.messages_held, channel.messages_early)) {
    return parts_.receive(now, packet);
  }
  if (header.opcode == wire::TaOpcode::kSend) return take_send(now, index, channel, packet);
  Right right = Right::kWrite;
  if (header.opcode == wire::TaOpcode::kWrite) {
    if (length == 0 || length != packet.payload.length) return parts_.receive(now, packet);
  } else if (packet.payload.length != 0) {
    return parts_.receive(now, packet);
  } else if (header.opcode == wire::TaOpcode::kRead) {
    if (length == 0 || length > channel.mtu || !may_number(channel)) return parts_.receive(now, packet);
    right = Right::kRead;
  } else {
    if (!wire::is_atomic(header.opcode) || (length != 4 && length != 8) || maetah.address % length != 0)
      return parts_.receive(now, packet);
    right = Right::kAtomic;
  }
  const std::uint32_t segment = parts_.segments.find(maetah.token_id);
  if (segment == kNoSlot) return parts_.receive(now, packet);
  const MrRecord& record = parts_.segments.record(segment);
  const std::uint32_t value = header.token_value_present ? packet.ub.extension.token_value : 0;
  if (SegmentTable::check(record, maetah.token_id, value, right, maetah.address, length) != Grant::kGranted)
    return parts_.receive(now, packet);
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
}

/// The rest of take_request() for a Send: it gets its receive entry, which is fetched while the data waits.
[[gnu::noinline, gnu::flatten]] void Express::take_send(TimePs now, std::uint32_t index, TpChannel& channel,
                                                        const wire::Packet& packet) {
  Responder& responder = parts_.responder;
  const wire::Mtetah& target = packet.ub.extension.mtetah;
  const std::uint32_t value = packet.ub.request.token_value_present ? packet.ub.extension.token_value : 0;
  Jetty* const owner = parts_.initiator.find(target.target_id);
  if (owner == nullptr || target.target_type == wire::TargetContextType::kJettyGroup ||
      owner->record.valid == 0 || owner->record.state != static_cast<std::uint8_t>(JettyState::kReady) ||
      (owner->record.token != 0 && owner->record.token != value) || packet.payload.length == 0 ||
      owner->config.receive_queue != engine::kOwn || owner->receives.empty()) {
    return parts_.receive(now, packet);
  }
  std::uint32_t at = kNoSlot;
  InboundMessage& made = open(index, channel, packet, at);
  made.extension.mtetah = target;
  made.pending = 2;  // The entry and the data.
  made.received = packet.payload.length;
  made.has_entry = true;
  made.entry = owner->receives.front();
  owner->receives.pop_front();
  made.entry_jetty = target.target_id;
  made.entry_generation = owner->generation;
  const std::uint64_t number = owner->receive_head++;
  engine::Access& access = parts_.accesses.request(
      engine::AccessKind::kFetchReceiveEntry,
      {.owner = AccessOwner::kInboundEntry, .object = at, .generation = made.generation});
  access.at_target = true;
  access.stream = Responder::stream_of(made);
  access.operation = made.operation;
  access.queue = made.entry_jetty;
  access.length = kReceiveEntryBytes;
  access.space = owner->config.space;
  access.address =
      owner->config.receive_ring + (number & (owner->config.receive_depth - 1)) * kReceiveEntryBytes;
  const std::uint32_t parked = responder.park(now, packet);
  made.waiting_packets.push(responder.parked_, parked, &ParkedPacket::next);
  accept(now, index, channel, packet);
}

/// The entry of a Send of one packet has come: whether its data goes to one place.
[[gnu::always_inline]] inline bool Express::may_scatter(const PendingAccess& owner) const {
  const Responder& responder = parts_.responder;
  const InboundMessage& message = responder.messages_[owner.object];
  const IndexList& waiting = message.waiting_packets;
  return message.request.opcode == wire::TaOpcode::kSend && message.pending == 2 && message.last_delivered &&
         !message.abandoned && message.status == wire::UbResponseStatus::kSuccess && !waiting.empty() &&
         waiting.head == waiting.tail && message.entry.local_count == 1 && message.received > 0 &&
         responder.parked_[waiting.head].packet.payload.length == message.received &&
         message.received <= message.entry.local.length[0] && responder.entry_owner(message) != nullptr;
}

/// Then it is placed.
[[gnu::always_inline]] inline void Express::scatter(std::uint32_t at) {
  Responder& responder = parts_.responder;
  InboundMessage& message = responder.messages_[at];
  const std::uint32_t parked = message.waiting_packets.head;
  const wire::Payload& data = responder.parked_[parked].packet.payload;
  message.entry_fetched = true;
  message.waiting_packets = {};
  message.pending = 1;
  // The reference of the parked packet goes on to the access.
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kWrite, {.owner = AccessOwner::kInboundWrite,
                                                           .object = at,
                                                           .generation = message.generation,
                                                           .buffer = data.buffer});
  access.at_target = true;
  access.stream = Responder::stream_of(message);
  access.operation = message.operation;
  access.space = message.entry.space;
  access.address = message.entry.local.address[0];
  access.length = data.length;
  access.data = data;
  responder.leave_place(parked);
}

/// A message of one packet, which has come.
[[gnu::always_inline]] inline InboundMessage& Express::open(std::uint32_t index, TpChannel& channel,
                                                            const wire::Packet& packet, std::uint32_t& at) {
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

[[gnu::always_inline]] inline void Express::place(std::uint32_t at, InboundMessage& made,
                                                  const MrRecord& record, const wire::Packet& packet) {
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
[[gnu::always_inline]] inline void Express::read(std::uint32_t at, InboundMessage& made, TpChannel& channel,
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

[[gnu::always_inline]] inline void Express::apply(std::uint32_t at, InboundMessage& made,
                                                  const MrRecord& record, const wire::Packet& packet) {
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

/// A transaction of which nothing is open any more: the usual case of Initiator::finish().
[[gnu::always_inline]] inline void Express::finish(TimePs now, Jetty& owner, std::uint32_t segment,
                                                   TpChannel& channel) {
  Initiator& initiator = parts_.initiator;
  Transaction& ended = initiator.transactions_[segment];
  if (ended.request != owner.head || !owner.requests.front().plain) return initiator.finish(now, segment);
  const std::uint32_t jetty_id = ended.jetty;
  const PostedRequest& posted = owner.requests.front();
  if (ended.counted && channel.requests_open-- >= channel.requests_max) parts_.tp.touch(ended.channel);
  owner.forget_segment(ended.tassn);
  ++parts_.counters.completions;
  const std::uint64_t number = owner.completion_head + owner.completions.size();
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kWriteCompletion, {.owner = AccessOwner::kCompletion,
                                                                     .object = jetty_id,
                                                                     .generation = owner.generation,
                                                                     .detail = number});
  access.queue = jetty_id;
  access.stream = jetty_id;
  access.order = verbs::AccessOrder::kRelease;  // After the data that it announces.
  access.space = owner.config.space;
  access.length = kCompletionBytes;
  access.address = owner.config.completion_ring + owner.completion_place * kCompletionBytes;
  access.operation = posted.operation;
  if (++owner.completion_place == owner.config.send_depth + owner.config.receive_depth)
    owner.completion_place = 0;
  PendingCompletion& completion = owner.completions.emplace_back();
  completion.id = posted.id;
  completion.verb = posted.verb;
  completion.length = posted.issued;
  completion.operation = posted.operation;
  if (reads_or_atomic(posted.verb)) {
    --owner.reads_unfinished;
    if (verbs::is_atomic(posted.verb)) completion.value = posted.atomic_result();
  }
  ++ended.generation;
  initiator.transactions_.release(segment);
  initiator.segment_room_.give(owner.segments_held);
  owner.requests.pop_front();
  ++owner.head;
  ++owner.report_next;
  if (!owner.requests.empty() &&
      (owner.requests.front().done || !owner.requests.front().completion_in_order)) {
    initiator.report(owner, jetty_id);
  }
  initiator.want_advance(owner, jetty_id);
}

[[gnu::noinline, gnu::flatten]] void Express::take_answer(TimePs now, std::uint32_t index, TpChannel& channel,
                                                          const wire::Packet& packet) {
  Initiator& initiator = parts_.initiator;
  const wire::Atah& response = packet.ub.response;
  Jetty* const owner = initiator.find(response.requester_id);
  if (owner == nullptr || response.status != wire::UbResponseStatus::kSuccess || response.poison)
    return parts_.receive(now, packet);
  const std::uint32_t segment =
      owner->transactions[response.tassn & (parts_.config.transactions_per_jetty - 1)];
  if (segment == kNoSlot) return parts_.receive(now, packet);
  Transaction& transaction = initiator.transactions_[segment];
  if (transaction.channel != index || static_cast<std::uint16_t>(transaction.tassn) != response.tassn ||
      !awaits_usual_answer(transaction) || response.opcode != response_of(transaction.opcode) ||
      transaction.received != 0 || transaction.steps_deferred > 0) {
    return parts_.receive(now, packet);
  }
  const bool reads = response.opcode == wire::TaOpcode::kReadResponse;
  if (reads && (packet.payload.length != transaction.length ||
                owner->posted_request(transaction.request).local_count != 1)) {
    return parts_.receive(now, packet);
  }
  const bool unconfirmed = transaction.packets_unconfirmed > 0;
  if (unconfirmed && transaction.first_number + transaction.packets_numbered > channel.send_cursor)
    return parts_.receive(now, packet);
  transaction.answered = true;
  initiator.stop_awaiting(transaction);
  if (unconfirmed) confirm(now, index, channel, transaction);
  accept(now, index, channel, packet);
  if (response.opcode == wire::TaOpcode::kTaack) {
    finish(now, *owner, segment, channel);
  } else if (reads) {
    place_answer(segment, transaction, owner->posted_request(transaction.request), packet.payload);
  } else {
    initiator.place_atomic(segment, packet.payload);
    initiator.try_finish(now, segment);
  }
  parts_.settle(now);
}

/// The packets of an answered request have been delivered.
[[gnu::noinline]] void Express::confirm(TimePs now, std::uint32_t index, TpChannel& channel,
                                        Transaction& transaction) {
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

[[gnu::always_inline]] inline void Express::place_answer(std::uint32_t segment, Transaction& transaction,
                                                         const PostedRequest& posted,
                                                         const wire::Payload& data) {
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

/// The whole data of a packet has been read.
[[gnu::always_inline]] inline bool Express::data_done(const PendingAccess& owner,
                                                      const engine::AccessResult& result) {
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

/// The data of a Write or Send is placed, or an atomic has been executed: whether its answer can be numbered.
[[gnu::always_inline]] inline bool Express::may_answer(const PendingAccess& owner) const {
  const InboundMessage& message = parts_.responder.messages_[owner.object];
  const wire::TaOpcode opcode = message.request.opcode;
  return message.pending == 1 && message.last_delivered && !message.abandoned && !message.tail_started &&
         message.status == wire::UbResponseStatus::kSuccess &&
         (opcode == wire::TaOpcode::kWrite || opcode == wire::TaOpcode::kSend ||
          owner.owner == AccessOwner::kInboundAtomic) &&
         may_number(parts_.tp.channel(message.channel));
}

/// Then it is.
[[gnu::always_inline]] inline void Express::request_done(const PendingAccess& owner,
                                                         const engine::AccessResult& result) {
  InboundMessage& message = parts_.responder.messages_[owner.object];
  TpChannel& channel = parts_.tp.channel(message.channel);
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
  if (owner.owner == AccessOwner::kInboundAtomic) {
    message.set_atomic_result(result.old_value);
    message.response_length = message.extension.maetah.length;
    packet.length = message.response_length;
    parts_.responder.fetch_data(message.channel, packet, reference_to(place, packet.logical));
  }
  announce(channel, message.channel);
}

[[gnu::always_inline]] inline void Express::access_done(TimePs now, engine::AccessId access,
                                                        const engine::AccessResult& result) {
  AccessPort& port = parts_.accesses;
  if (!parts_.takes_short_ways() || !port.is_pending(access) ||
      result.status != engine::AccessStatus::kDone) {
    return parts_.access_done(now, access, result);
  }
  const PendingAccess& owner = port.owner(access);
  const std::uint32_t object = owner.object;
  switch (owner.owner) {
    case AccessOwner::kCompletion: {
      const PendingAccess copy = owner;
      port.end(access);
      return parts_.initiator.completion_done(copy, result.status);
    }
    case AccessOwner::kPacketData:
      if (result.data.length != port.asked(access) || !data_done(owner, result)) break;
      port.end(access);
      return;
    case AccessOwner::kInboundWrite:
    case AccessOwner::kInboundAtomic: {
      if (!may_answer(owner)) break;
      const PendingAccess copy = owner;
      port.end(access);
      request_done(copy, result);
      parts_.payloads.release(copy.buffer);
      return parts_.settle(now);
    }
    case AccessOwner::kResponseWrite: {
      Initiator& initiator = parts_.initiator;
      Transaction& transaction = initiator.transactions_[object];
      if (!transaction.answered || transaction.writes_open != 1 || transaction.packets_unconfirmed > 0 ||
          transaction.steps_deferred > 0 || transaction.state != TransactionState::kAwaiting ||
          transaction.status != verbs::CompletionStatus::kSuccess ||
          transaction.answer_status != wire::UbResponseStatus::kSuccess) {
        break;
      }
      const wire::BufferId buffer = owner.buffer;
      port.end(access);
      transaction.writes_open = 0;
      finish(now, initiator.jetty(transaction.jetty), object, parts_.tp.channel(transaction.channel));
      parts_.payloads.release(buffer);
      return parts_.settle(now);
    }
    case AccessOwner::kInboundEntry:
      if (!may_scatter(owner)) break;
      port.end(access);
      return scatter(object);
    case AccessOwner::kWorkRequest:
    case AccessOwner::kContext:
    case AccessOwner::kLoadStore:
    case AccessOwner::kSharedCompletion:
    case AccessOwner::kSharedReceive:
      break;
  }
  parts_.access_done(now, access, result);
}

[[gnu::flatten]] void UbEngine::access_done(TimePs now, engine::AccessId access,
                                            const engine::AccessResult& result) {
  parts_->express.access_done(now, access, result);
}

}  // namespace wharf::ub
