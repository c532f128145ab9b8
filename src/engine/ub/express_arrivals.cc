// SPDX-License-Identifier: Apache-2.0
// The short ways of what comes in: packets, and answers of memory.
#include <cstddef>

#include "engine/ub/express.h"
#include "engine/ub/express_numbering.h"
#include "engine/ub/ub_engine.h"

namespace wharf::ub {
namespace {

// The state of a packet whose whole data is being read for the first time: origin, state, fetches_open, last,
// confirmed, resend, prepared, fetch_failed.
constexpr std::size_t kFetchAt = offsetof(TxPacket, origin);
constexpr Bytes kFetchMask{0, 255, 255, 0, 255, 255, 255, 255};
constexpr Bytes kFetchOpen{0, static_cast<std::uint8_t>(PacketState::kFetching), 1, 0, 0, 0, 0, 0};
static_assert(offsetof(TxPacket, state) == kFetchAt + 1 && offsetof(TxPacket, fetches_open) == kFetchAt + 2 &&
              offsetof(TxPacket, confirmed) == kFetchAt + 4 &&
              offsetof(TxPacket, fetch_failed) == kFetchAt + 7);

}  // namespace

// --- Arrivals
// ------------------------------------------------------------------------------------------------------

// The first bytes of a packet: protocol, traffic_class, mark, trim, ip_version, one of padding, entropy.
static_assert(offsetof(wire::Packet, trim) == 3 && static_cast<int>(wire::Protocol::kUb) == 0 &&
              static_cast<int>(wire::TrimState::kWhole) == 0);
constexpr Bytes kForeignMask{255, 0, 0, 255, 0, 0, 0, 0};

// Its addresses and TP channel numbers, as one word each.
constexpr std::size_t kAddressesAt = offsetof(wire::Packet, source);
constexpr std::size_t kTpnsAt = offsetof(wire::Packet, ub) + offsetof(wire::UbPacket, rtph);
static_assert(offsetof(wire::Packet, destination) == kAddressesAt + 4 &&
              offsetof(wire::Rtph, source_tpn) == 0 && offsetof(wire::Rtph, destination_tpn) == 4);

/// The packet comes from the host that TpLayer::found_channel_ leads to, if that is ready. `kFinal`: it is of
/// that channel, or goes the long way.
template <bool kFinal>
[[gnu::always_inline]] inline void Express::route(TimePs now, const wire::Packet& packet) {
  const TpLayer& tp = parts().tp;
  TpChannel* const found = tp.found_channel_;
  const std::uint32_t index = tp.train_;
  const wire::Rtph& rtph = packet.ub.rtph;
  if (word_at(packet, kTpnsAt) != tp.plain_tpns_ || rtph.opcode != wire::TpOpcode::kReliable || !rtph.last ||
      rtph.psn != wire::psn_wrap(found->receive.next()) || found->receive.has_gap() ||
      !parts().responder.can_park()) {
    if (kFinal) return parts().receive(now, packet);
    return change_train(now, packet);
  }
  if (packet.ub.transaction == wire::UbTransaction::kRequest) {
    if (packet.ub.request.opcode == wire::TaOpcode::kWrite) return take_write(now, index, *found, packet);
    return take_request(now, index, *found, packet);
  }
  if (packet.ub.transaction == wire::UbTransaction::kResponse) {
    if (packet.ub.response.opcode == wire::TaOpcode::kTaack) return take_taack(now, index, *found, packet);
    return take_answer(now, index, *found, packet);
  }
  return parts().receive(now, packet);
}

// Something is unusual: at best, the channel is another one of the same host, or a fused one.
[[gnu::noinline]] void Express::change_train(TimePs now, const wire::Packet& packet) {
  const TpLayer& tp = parts().tp;
  const bool fused = tp.fused_train_ != nullptr && word_at(packet, kTpnsAt) == tp.found_tpns_;
  if (!fused && !tp.change_train(packet)) return parts().receive(now, packet);
  if (tp.fused_train_ != nullptr) return take_fused(now, packet);
  route<true>(now, packet);
}

// The host is another one than that of the packet before.
[[gnu::noinline]] void Express::look_up(TimePs now, const wire::Packet& packet) {
  if (packet.destination != parts().config.host || parts().tp.find(packet.source) == kNoSlot)
    return parts().receive(now, packet);
  route<false>(now, packet);
}

[[gnu::always_inline]] inline void Express::receive(TimePs now, const wire::Packet& packet) {
  if (!parts().takes_short_ways() || (word_at(packet, 0) & word_of(kForeignMask)) != 0 ||
      form_of(packet.ub) != parts().usual_form) {
    return parts().receive(now, packet);
  }
  if (word_at(packet, kAddressesAt) != parts().tp.found_addresses_) return look_up(now, packet);
  route<false>(now, packet);
}

void UbEngine::receive(TimePs now, std::uint32_t, const wire::Packet& packet) {
  parts_->express().receive(now, packet);
}

/// A packet that accept() took is to be acknowledged now, or soon.
[[gnu::noinline]] void Express::settle_acceptance(TimePs now, std::uint32_t index, TpChannel& channel) {
  if (channel.unacknowledged < parts().config.acknowledge_every) {
    parts().tp.delay_acknowledgement(now, index, channel);
  } else {
    parts().tp.list_acknowledgement(index);
  }
}

[[gnu::noinline]] void Express::settle_write(TimePs now, std::uint32_t index, TpChannel& channel,
                                             wire::BufferId buffer) {
  parts().payloads.retain(buffer);
  settle_acceptance(now, index, channel);
}

/// Takes a whole Write: its data is placed.
[[gnu::noinline, gnu::flatten]] void Express::take_write(TimePs now, std::uint32_t index, TpChannel& channel,
                                                         const wire::Packet& packet) {
  const wire::Btah& header = packet.ub.request;
  const wire::Maetah& maetah = packet.ub.extension.maetah;
  const std::uint32_t length = maetah.length;
  const SegmentTable& segments = parts().segments;
  if (header.poison || channel.messages_open > 0 || parts().accesses.unanswered() >= kUnansweredAccessesMax ||
      !parts().responder.message_room_.has(channel.messages_held, channel.messages_early) || length == 0 ||
      length != packet.payload.length || !segments.was_found(maetah.token_id) ||
      !parts().responder.messages_.has_used() || !parts().accesses.has_used()) {
    return take_request(now, index, channel, packet);
  }
  const MrRecord& record = segments.record(segments.found());
  const std::uint32_t value = header.token_value_present ? packet.ub.extension.token_value : 0;
  if (SegmentTable::check(record, maetah.token_id, value, Right::kWrite, maetah.address, length) !=
      Grant::kGranted) {
    return parts().receive(now, packet);
  }
  std::uint32_t at = kNoSlot;
  InboundMessage& made = open<true>(index, channel, packet, at);
  made.pending = 1;
  made.received = length;
  const wire::BufferId buffer = packet.payload.buffer;
  parts().accesses.request<true>(
      {.owner = AccessOwner::kInboundWrite, .object = at, .generation = made.generation, .buffer = buffer},
      {.kind = engine::AccessKind::kWrite,
       .order = SegmentTable::write_order(record),
       .at_target = true,
       .length = length,
       .space = segments.space_of(record),
       .stream = Responder::stream_of(index, header.requester_id),
       .address = maetah.address,
       .operation = packet.operation},
      packet.payload);
  if (accept(channel, packet) || buffer != wire::kNoBuffer) return settle_write(now, index, channel, buffer);
}

[[gnu::noinline, gnu::flatten]] void Express::take_request(TimePs now, std::uint32_t index,
                                                           TpChannel& channel, const wire::Packet& packet) {
  const wire::Btah& header = packet.ub.request;
  const wire::Maetah& maetah = packet.ub.extension.maetah;
  const std::uint32_t length = maetah.length;
  if (header.poison || channel.messages_open > 0 || parts().accesses.unanswered() >= kUnansweredAccessesMax ||
      !parts().responder.message_room_.has(channel.messages_held, channel.messages_early)) {
    return parts().receive(now, packet);
  }
  if (header.opcode == wire::TaOpcode::kSend) return take_send(now, index, channel, packet);
  const std::uint32_t segment = parts().segments.find(maetah.token_id);
  if (segment == kNoSlot) return parts().receive(now, packet);
  const MrRecord& record = parts().segments.record(segment);
  const std::uint32_t value = header.token_value_present ? packet.ub.extension.token_value : 0;
  std::uint32_t at = kNoSlot;
  Right right = Right::kAtomic;
  if (header.opcode == wire::TaOpcode::kWrite) {
    // The segment is another one than that of the request before, or a place was never used.
    if (length == 0 || length != packet.payload.length) return parts().receive(now, packet);
    right = Right::kWrite;
  } else if (packet.payload.length != 0) {
    return parts().receive(now, packet);
  } else if (header.opcode == wire::TaOpcode::kRead) {
    if (length == 0 || length > channel.mtu || !may_number(channel)) return parts().receive(now, packet);
    right = Right::kRead;
  } else if (!wire::is_atomic(header.opcode) || (length != 4 && length != 8) ||
             maetah.address % length != 0) {
    return parts().receive(now, packet);
  }
  if (SegmentTable::check(record, maetah.token_id, value, right, maetah.address, length) != Grant::kGranted)
    return parts().receive(now, packet);
  if (right == Right::kWrite) {
    if (parts().responder.messages_.has_used() && parts().accesses.has_used())
      return take_write(now, index, channel, packet);
    return parts().receive(now, packet);
  }
  InboundMessage& made = open(index, channel, packet, at);
  if (right == Right::kRead) {
    read(at, made, channel, record);
  } else {
    apply(at, made, record, packet);
  }
  if (accept(channel, packet)) settle_acceptance(now, index, channel);
}

/// The rest of take_request() for a Send: it gets its receive entry, which is fetched while the data waits.
[[gnu::noinline, gnu::flatten]] void Express::take_send(TimePs now, std::uint32_t index, TpChannel& channel,
                                                        const wire::Packet& packet) {
  Responder& responder = parts().responder;
  const wire::Mtetah& target = packet.ub.extension.mtetah;
  const std::uint32_t value = packet.ub.request.token_value_present ? packet.ub.extension.token_value : 0;
  Jetty* const owner = parts().initiator.find(target.target_id);
  if (owner == nullptr || target.target_type == wire::TargetContextType::kJettyGroup ||
      owner->record.valid == 0 || owner->record.state != static_cast<std::uint8_t>(JettyState::kReady) ||
      (owner->record.token != 0 && owner->record.token != value) || packet.payload.length == 0 ||
      owner->config.receive_queue != engine::kOwn || owner->receives.empty()) {
    return parts().receive(now, packet);
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
  parts().accesses.request({.owner = AccessOwner::kInboundEntry, .object = at, .generation = made.generation},
                           {.kind = engine::AccessKind::kFetchReceiveEntry,
                            .at_target = true,
                            .queue = made.entry_jetty,
                            .length = kReceiveEntryBytes,
                            .space = owner->config.space,
                            .stream = Responder::stream_of(made),
                            .address = owner->config.receive_ring +
                                       (number & (owner->config.receive_depth - 1)) * kReceiveEntryBytes,
                            .operation = made.operation});
  const std::uint32_t parked = responder.park(now, packet);
  made.waiting_packets.push(responder.parked_, parked, &ParkedPacket::next);
  if (accept(channel, packet)) settle_acceptance(now, index, channel);
}

/// The entry of a Send of one packet has come: whether its data goes to one place.
[[gnu::always_inline]] inline bool Express::may_scatter(const PendingAccess& owner) const {
  const Responder& responder = parts().responder;
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
  Responder& responder = parts().responder;
  InboundMessage& message = responder.messages_[at];
  const std::uint32_t parked = message.waiting_packets.head;
  const wire::Payload& data = responder.parked_[parked].packet.payload;
  message.entry_fetched = true;
  message.waiting_packets = {};
  message.pending = 1;
  // The reference of the parked packet goes on to the access.
  parts().accesses.request({.owner = AccessOwner::kInboundWrite,
                            .object = at,
                            .generation = message.generation,
                            .buffer = data.buffer},
                           {.kind = engine::AccessKind::kWrite,
                            .at_target = true,
                            .length = data.length,
                            .space = message.entry.space,
                            .stream = Responder::stream_of(message),
                            .address = message.entry.local.address[0],
                            .operation = message.operation},
                           data);
  responder.leave_place(parked);
}

/// A Read needs nothing but its answer: it gets its number, and its data is read.
[[gnu::always_inline]] inline void Express::read(std::uint32_t at, InboundMessage& made, TpChannel& channel,
                                                 const MrRecord& record) {
  made.read_order = SegmentTable::read_order(record);
  made.entry.space = parts().segments.space_of(record);
  made.tail_started = true;
  made.state = InboundState::kResponding;
  made.response_length = made.extension.maetah.length;
  made.packets_unconfirmed = 1;
  made.response_numbered = true;
  channel.response_turn = false;
  std::uint32_t place = kNoSlot;
  const TxPacket& packet = number(channel, made.channel,
                                  {.object = at,
                                   .length = made.response_length,
                                   .origin = PacketOrigin::kResponse,
                                   .state = PacketState::kFetching,
                                   .fetches_open = true},
                                  place);
  parts().accesses.request({.owner = AccessOwner::kPacketData,
                            .object = made.channel,
                            .generation = channel.generation,
                            .detail = reference_to(place, packet.logical)},
                           {.kind = engine::AccessKind::kRead,
                            .order = made.read_order,
                            .at_target = true,
                            .length = made.response_length,
                            .space = made.entry.space,
                            .stream = Responder::stream_of(made),
                            .address = made.extension.maetah.address,
                            .operation = made.operation});
}

[[gnu::always_inline]] inline void Express::apply(std::uint32_t at, InboundMessage& made,
                                                  const MrRecord& record, const wire::Packet& packet) {
  made.pending = 1;
  engine::Access& access = parts().accesses.request(
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
  access.space = parts().segments.space_of(record);
  const wire::AtomicOperands& operands = packet.ub.extension.operands;
  access.operand = {operands.operand, operands.operand_high};
  access.compare = {operands.compare, operands.compare_high};
}

// --- Memory
// --------------------------------------------------------------------------------------------------------

// Each ends the access, or finds its case unusual and leaves it to the layers.

/// The whole data of a packet has been read.
[[gnu::noinline, gnu::flatten]] void Express::data_done(TimePs now, AccessPort::Slot& access,
                                                        const engine::AccessResult& result) {
  AccessPort& port = parts().accesses;
  const PendingAccess& owner = access.owner();
  const std::uint32_t index = owner.object;
  TpChannel& channel = parts().tp.channel(index);
  const auto place = static_cast<std::uint32_t>(owner.detail);
  TxPacket& packet = parts().tp.packets_[place];
  // A packet of this life of the channel that is being read for the first time has not been sent.
  if (!has_state(packet, kFetchAt, kFetchMask, kFetchOpen) || channel.generation != owner.generation ||
      packet.channel != index || packet.data.buffer != wire::kNoBuffer ||
      owner.detail != reference_to(place, packet.logical) || !channel.plain ||
      result.data.length != packet.length) {
    return parts().access_done(now, access.id(), result);
  }
  port.end(access);
  copy_whole(packet.data, result.data);
  packet.fetches_open = 0;
  packet.state = PacketState::kReady;
  if (result.data.buffer != wire::kNoBuffer) return settle_data(index, channel, result.data.buffer);
  return announce(channel, index);
}

/// What was read lies in a buffer.
[[gnu::noinline]] void Express::settle_data(std::uint32_t index, TpChannel& channel, wire::BufferId buffer) {
  parts().payloads.retain(buffer);
  announce(channel, index);
}

/// An answer has been numbered, and the data that it confirms lay in a buffer.
[[gnu::noinline]] void Express::settle_answer(TimePs now, std::uint32_t index, TpChannel& channel,
                                              wire::BufferId buffer) {
  announce(channel, index);
  settle_placed(now, buffer);
}

[[gnu::noinline]] void Express::settle_placed(TimePs now, wire::BufferId buffer) {
  parts().payloads.release(buffer);
  parts().settle(now);
}

// The channel has to be asked whether it numbers an answer at once.
[[gnu::noinline]] void Express::write_done_anew(TimePs now, AccessPort::Slot& access,
                                                const engine::AccessResult& result) {
  const InboundMessage& message = parts().responder.messages_[access.owner().object];
  if (!parts().tp.find_credit(parts().tp.channel(message.channel)))
    return parts().access_done(now, access.id(), result);
  write_done(now, access, result);
}

/// The data of a Write is placed: its answer is numbered.
[[gnu::noinline, gnu::flatten]] void Express::write_done(TimePs now, AccessPort::Slot& access,
                                                         const engine::AccessResult& result) {
  AccessPort& port = parts().accesses;
  TpLayer& tp = parts().tp;
  const PendingAccess& owner = access.owner();
  const std::uint32_t at = owner.object;
  const wire::BufferId buffer = owner.buffer;
  InboundMessage& message = parts().responder.messages_[at];
  const std::uint32_t index = message.channel;
  TpChannel& channel = tp.channel(index);
  if (message.pending != 1 || !has_state(message, kWholeAt, kWholeMask, kWholeOpen) ||
      message.status != wire::UbResponseStatus::kSuccess ||
      message.request.opcode != wire::TaOpcode::kWrite || !tp.packet_room_.has_common_left() ||
      !tp.packets_.has_used()) {
    return request_done(now, access, result);
  }
  if (channel.credit == 0) return write_done_anew(now, access, result);
  port.end(access);
  message.pending = 0;
  message.tail_started = true;
  message.state = InboundState::kResponding;
  message.packets_unconfirmed = 1;
  message.response_numbered = true;
  channel.response_turn = false;
  std::uint32_t place = kNoSlot;
  number<true>(channel, index, {.object = at, .origin = PacketOrigin::kResponse}, place);
  if (buffer != wire::kNoBuffer) return settle_answer(now, index, channel, buffer);
  return announce(channel, index);
}

/// The data of a Write or Send is placed, or an atomic has been executed: its answer is numbered.
[[gnu::noinline, gnu::flatten]] void Express::request_done(TimePs now, AccessPort::Slot& access,
                                                           const engine::AccessResult& result) {
  AccessPort& port = parts().accesses;
  const PendingAccess& owner = access.owner();
  const std::uint32_t at = owner.object;
  InboundMessage& message = parts().responder.messages_[at];
  if (message.answered_elsewhere) return fused_done(now, access, result);
  TpChannel& channel = parts().tp.channel(message.channel);
  const bool atomic = owner.owner == AccessOwner::kInboundAtomic;
  const wire::TaOpcode opcode = message.request.opcode;
  if (message.pending != 1 || !has_state(message, kWholeAt, kWholeMask, kWholeOpen) ||
      message.status != wire::UbResponseStatus::kSuccess ||
      (opcode != wire::TaOpcode::kWrite && opcode != wire::TaOpcode::kSend && !atomic) ||
      !may_number(channel)) {
    return parts().access_done(now, access.id(), result);
  }
  port.end(access);
  message.pending = 0;
  message.tail_started = true;
  message.state = InboundState::kResponding;
  message.packets_unconfirmed = 1;
  message.response_numbered = true;
  const wire::BufferId buffer = owner.buffer;
  if (message.has_entry) parts().responder.report_receive(at);
  channel.response_turn = false;
  if (atomic) message.response_length = message.extension.maetah.length;
  std::uint32_t place = kNoSlot;
  TxPacket& packet =
      number(channel, message.channel,
             {.object = at, .length = message.response_length, .origin = PacketOrigin::kResponse}, place);
  if (atomic) {
    message.set_atomic_result(result.old_value);
    parts().responder.fetch_data(message.channel, packet, reference_to(place, packet.logical));
  }
  announce(channel, message.channel);
  parts().payloads.release(buffer);
  parts().settle(now);
}

/// A receive entry has come.
[[gnu::noinline, gnu::flatten]] void Express::entry_done(TimePs now, AccessPort::Slot& access,
                                                         const engine::AccessResult& result) {
  AccessPort& port = parts().accesses;
  const PendingAccess& owner = access.owner();
  if (!may_scatter(owner)) return parts().access_done(now, access.id(), result);
  port.end(access);
  scatter(owner.object);
}

/// A completion has been written.
[[gnu::always_inline]] inline void Express::completion_done(AccessPort::Slot& access) {
  const PendingAccess& owner = access.owner();
  parts().accesses.end(access);
  Initiator& initiator = parts().initiator;
  Jetty& of = initiator.jetty(owner.object);
  if (of.generation != owner.generation) return;
  of.completions[owner.detail].visible = true;
  if (of.listed || !of.completions.front().visible) return;
  of.listed = true;
  initiator.completed_.push_back(owner.object);
}

[[gnu::always_inline]] inline void Express::answered(TimePs now, AccessPort::Slot& access,
                                                     const engine::AccessResult& result) {
  if (!parts().takes_short_ways() || result.status != engine::AccessStatus::kDone)
    return parts().access_done(now, access.id(), result);
  // Each call is the last thing done, so that no way saves more registers than it needs.
  const AccessOwner owner = access.owner().owner;
  if (owner <= AccessOwner::kInboundWrite) {
    if (owner == AccessOwner::kPacketData) return data_done(now, access, result);
    return write_done(now, access, result);
  }
  if (owner == AccessOwner::kCompletion) return completion_done(access);
  if (owner == AccessOwner::kFusedWrite) return fused_done(now, access, result);
  other_done(now, access, result);
}

/// What the most used verbs have none of.
[[gnu::noinline]] void Express::other_done(TimePs now, AccessPort::Slot& access,
                                           const engine::AccessResult& result) {
  const AccessOwner owner = access.owner().owner;
  if (owner == AccessOwner::kResponseWrite) return answer_placed(now, access, result);
  if (owner == AccessOwner::kInboundEntry) return entry_done(now, access, result);
  if (owner == AccessOwner::kInboundAtomic) return request_done(now, access, result);
  parts().access_done(now, access.id(), result);
}

void UbEngine::answered(TimePs now, AccessPort::Slot& access, const engine::AccessResult& result) {
  parts_->express().answered(now, access, result);
}

[[gnu::always_inline]] inline void Express::access_done(TimePs now, engine::AccessId id,
                                                        const engine::AccessResult& result) {
  AccessPort::Slot* const access = parts().accesses.pending(id);
  if (access == nullptr) return parts().access_done(now, id, result);
  answered(now, *access, result);
}

void UbEngine::access_done(TimePs now, engine::AccessId access, const engine::AccessResult& result) {
  parts_->express().access_done(now, access, result);
}

}  // namespace wharf::ub
