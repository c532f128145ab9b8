// SPDX-License-Identifier: Apache-2.0
// The target, from the end of a request's data to its response: notify, receive entry of an immediate,
// revoked tokens, and the packets of TAACK, Read_response and Atomic_response. [UB-Base 2.0.1 7.3]
#include <cstring>

#include "engine/ub/engine_parts.h"
#include "engine/ub/responder.h"

namespace wharf::ub {

void Responder::tail(TimePs now, std::uint32_t index) {
  InboundMessage& message = messages_[index];
  message.state = InboundState::kExecuting;
  ++message.pending;  // The tail itself; what it starts comes on top.
  bool complete = true;
  if (message.status == wire::UbResponseStatus::kSuccess) {
    const std::uint16_t layout = wire::ta_layout(message.request.opcode);
    if (message.request.opcode == wire::TaOpcode::kWriteImmediate) {
      complete = tail_immediate(index);
    } else if ((layout & wire::kTaNotify) != 0) {
      complete = tail_notify(index);
    } else if ((layout & wire::kTaInvalidate) != 0) {
      complete = tail_invalidate(now, index);
    }
  }
  if (!complete) return;  // Waits for a context record; resume_tail() goes on.
  message.tail_started = true;
  settle_pending(now, index);
}

void Responder::resume_tail(TimePs now, std::uint32_t index, std::uint32_t generation) {
  WHARF_CHECK(messages_[index].in_use() && messages_[index].generation == generation);
  InboundMessage& message = messages_[index];
  --message.pending;
  if (message.abandoned) {
    if (message.pending == 0) release(index);
    return;
  }
  tail(now, index);
}

bool Responder::defer_tail(ContextKey key, std::uint32_t index) {
  parts_.contexts.defer(
      key, {.step = DeferredStep::kInboundTail, .object = index, .generation = messages_[index].generation},
      messages_[index].operation, true);
  return false;
}

bool Responder::tail_immediate(std::uint32_t index) {
  ContextKey key;
  Jetty* jetty = target_jetty(index, key);
  if (jetty != nullptr && !parts_.contexts.acquire(key)) return defer_tail(key, index);
  if (accept_jetty(index, jetty)) take_entry(index, *jetty, key.index + kFirstJettyId);
  return true;
}

bool Responder::tail_notify(std::uint32_t index) {
  const wire::Notify notify = messages_[index].extension.notify;
  const std::uint32_t number = parts_.segments.find(notify.token_id);
  const ContextKey key{ContextKind::kMr, number};
  if (number != kNoSlot && !parts_.contexts.acquire(key)) return defer_tail(key, index);
  constexpr std::uint32_t kNotifyDataBytes = 8;
  if (number == kNoSlot ||
      SegmentTable::check(parts_.segments.record(number), notify.token_id, notify.token_value, Right::kWrite,
                          notify.address, kNotifyDataBytes) != Grant::kGranted) {
    ++parts_.counters.refused_access;
    refuse(index, wire::UbResponseInfo::kAccess);
    return true;
  }
  const wire::BufferId buffer = parts_.payloads.acquire(kNotifyDataBytes);
  store_le64(parts_.payloads.data(buffer), notify.data);
  write(index, notify.address, wire::bytes_payload(parts_.payloads.data(buffer), kNotifyDataBytes, buffer),
        verbs::AccessOrder::kRelease,  // After the data that it announces, whatever its segment asks for.
        parts_.segments.space_of(parts_.segments.record(number)));
  parts_.payloads.release(buffer);
  return true;
}

bool Responder::tail_invalidate(TimePs now, std::uint32_t index) {
  const wire::Invalidate revoked = messages_[index].extension.invalidate;
  const std::uint32_t number = parts_.segments.find(revoked.token_id);
  const ContextKey key{ContextKind::kMr, number};
  if (number != kNoSlot && !parts_.contexts.acquire(key)) return defer_tail(key, index);
  // [URMA API, LOCAL_ONLY] Without a right to it a peer may not end it either.
  constexpr std::uint16_t kAny = Permissions::kRead | Permissions::kWrite | Permissions::kAtomic;
  if (number == kNoSlot || (parts_.segments.record(number).permissions & Permissions::kValid) == 0 ||
      (parts_.segments.record(number).permissions & kAny) == 0 ||
      ((parts_.segments.record(number).permissions & Permissions::kCheckValue) != 0 &&
       parts_.segments.record(number).token_value != revoked.token_value)) {
    ++parts_.counters.refused_access;
    refuse(index, wire::UbResponseInfo::kAccess);
    return true;
  }
  const SegmentRange gone = parts_.segments.range(revoked.token_id, number);
  parts_.segments.remove(revoked.token_id);
  revoke(gone, index);
  parts_.initiator.revoke(now, gone);
  parts_.contexts.remove(now, key);
  return true;
}

// Reads are checked when they come and answered, perhaps more than once, later; a receive entry is when a
// message takes it, whose packets go there one by one.
void Responder::revoke(const SegmentRange& gone, std::uint32_t by) {
  for (std::uint32_t index = 0; index < messages_.extent(); ++index) {
    if (!messages_[index].in_use()) continue;
    const InboundMessage& message = messages_[index];
    if (message.request.opcode == wire::TaOpcode::kRead &&
        message.extension.maetah.token_id == gone.token_id) {
      refuse(index, wire::UbResponseInfo::kAccess);
    }
    if (index != by && goes_into(message, gone)) refuse_entry(index);
  }
}

void Responder::finish_tail(TimePs now, std::uint32_t index) {
  if (messages_[index].has_entry) report_receive(index);
  end_dispatch(index);
  respond(now, index);
}

[[gnu::noinline]] void Responder::report_receive(std::uint32_t index) {
  const InboundMessage& message = messages_[index];
  end_dispatch(index);
  if (entry_owner(message) == nullptr) return;
  PendingCompletion completion;
  completion.id = message.entry.id;
  completion.kind = verbs::CompletionKind::kReceive;
  completion.length = message.received;
  completion.remote_host = parts_.tp.channel(message.channel).remote.number;
  completion.remote_queue = message.request.requester_id & 0xff'ffffU;  // 20 bits on the wire.
  completion.operation = message.operation;
  completion.solicited = message.request.solicited;
  const wire::TaOpcode opcode = message.request.opcode;
  completion.verb = opcode == wire::TaOpcode::kWriteImmediate   ? verbs::Verb::kWriteImm
                    : opcode == wire::TaOpcode::kSendImmediate  ? verbs::Verb::kSendImm
                    : opcode == wire::TaOpcode::kSendInvalidate ? verbs::Verb::kSendInvalidate
                                                                : verbs::Verb::kSend;
  if ((wire::ta_layout(opcode) & wire::kTaImmediate) != 0) {
    completion.has_immediate = true;
    completion.value[0] = message.extension.immediate;
  } else if (opcode == wire::TaOpcode::kSendInvalidate && !message.abandoned &&
             message.status == wire::UbResponseStatus::kSuccess) {
    completion.has_immediate = true;  // The token that it has ended. [URMA API, invalid_token]
    completion.value[0] = message.extension.invalidate.token_id;
  }
  if (message.abandoned) {
    completion.status = verbs::CompletionStatus::kFlushed;
  } else if (message.status != wire::UbResponseStatus::kSuccess) {
    const bool length = message.status == wire::UbResponseStatus::kError &&
                        message.info == static_cast<std::uint8_t>(wire::UbResponseInfo::kLength);
    completion.status =
        length ? verbs::CompletionStatus::kLocalLength : verbs::CompletionStatus::kLocalAccess;
  }
  parts_.initiator.complete(message.entry_jetty, completion, stream_of(message));
}

void Responder::respond(TimePs now, std::uint32_t index) {
  InboundMessage& message = messages_[index];
  message.state = InboundState::kResponding;
  message.response_length = 0;
  const bool good = message.status == wire::UbResponseStatus::kSuccess;
  if (message.sequence != kNoSlot) {
    const bool again = message.status == wire::UbResponseStatus::kReceiverNotReady ||
                       message.status == wire::UbResponseStatus::kPageFault;
    // A Read has been executed when its data has been confirmed: until then memory may have to be read again.
    if (!good || message.request.opcode != wire::TaOpcode::kRead) leave_sequence(index, !again);
  }
  std::uint32_t answers_on = message.channel;
  switch (parts_.tp.channel(message.channel).kind) {
    case ChannelKind::kReliable:
      break;
    case ChannelKind::kFused:
      // What has to be said by a packet of its own goes over the first lane, where nothing waits for an
      // execution.
      answers_on = parts_.tp.find(parts_.tp.channel(message.channel).remote, kFirstLane);
      if (!good || !message.fused_open) break;
      parts_.tp.executed(now, message);
      message.fused_open = false;
      release(index);
      return;
    case ChannelKind::kUnreliable:
      release(index);
      return;
    case ChannelKind::kCompact:
      if (!message.silent || response_of(message.request.opcode) != wire::TaOpcode::kTaack) break;
      release(index);
      return;
  }
  if (message.status == wire::UbResponseStatus::kSuccess &&
      (message.request.opcode == wire::TaOpcode::kRead || wire::is_atomic(message.request.opcode))) {
    message.response_length = message.extension.maetah.length;
  }
  parts_.tp.enqueue_response(answers_on, index);
}

[[gnu::noinline]] void Responder::fetch_data(std::uint32_t channel, TxPacket& packet,
                                             std::uint64_t reference) {
  const InboundMessage& message = messages_[packet.object];
  if (message.status != wire::UbResponseStatus::kSuccess) return;
  if (message.request.opcode != wire::TaOpcode::kRead) {
    const wire::BufferId buffer = parts_.payloads.acquire(packet.length);
    std::byte* bytes = parts_.payloads.data(buffer);
    const std::array<std::uint64_t, 2> result = message.atomic_result();
    wire::encode_operand(result[0], result[1], packet.length, bytes);
    packet.data = wire::bytes_payload(bytes, packet.length, buffer);
    return;
  }
  packet.state = PacketState::kFetching;
  packet.fetches_open = 1;
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kRead, {.owner = AccessOwner::kPacketData,
                                                          .object = channel,
                                                          .generation = parts_.tp.channel(channel).generation,
                                                          .detail = reference});
  access.order = message.read_order;
  access.space = message.entry.space;
  access.at_target = true;
  access.stream = stream_of(message);
  access.address = message.extension.maetah.address + packet.offset;
  access.length = packet.length;
  access.operation = message.operation;
}

// [UB-Base 2.0.1 7.4] Where the target keeps order, a Read whose data is not there has not been executed: it
// comes again, and what is strong behind it waits until then. Choice: when memory fails under a packet that
// is sent again, the initiator may have the whole answer already and never come again; then the Read has had
// its turn, and is refused for good.
void Responder::fetch_failed(TxPacket& packet, engine::AccessStatus status) {
  const std::uint32_t index = packet.object;
  const bool first = messages_[index].status == wire::UbResponseStatus::kSuccess;
  if (!first || messages_[index].sequence == kNoSlot) return refuse_access(index, status);
  if (packet.logical < parts_.tp.channel(packet.channel).send_cursor)
    return refuse(index, wire::UbResponseInfo::kNone);
  refuse_access(index, status);
  if (messages_[index].status == wire::UbResponseStatus::kPageFault) leave_sequence(index, false);
}

[[gnu::noinline]] void Responder::fill_packet(const TxPacket& packet, wire::Packet& out) const {
  const InboundMessage& message = messages_[packet.object];
  wire::Atah& header = wire::use_response(out.ub);
  header.opcode = wire::TaOpcode::kTaack;
  if (message.request.opcode == wire::TaOpcode::kRead) {
    header.opcode = wire::TaOpcode::kReadResponse;
  } else if (wire::is_atomic(message.request.opcode)) {
    header.opcode = wire::TaOpcode::kAtomicResponse;
  }
  header.tassn = message.request.tassn;
  header.requester_id = message.request.requester_id;
  header.requester_type = message.request.requester_type;
  header.status = message.status;
  header.info = message.info;
  out.operation = message.operation;
  if (message.status == wire::UbResponseStatus::kSuccess) return;
  // Choice: a refusal is a TAACK whatever was asked, so that it never has to carry operands.
  header.opcode = wire::TaOpcode::kTaack;
  // RSPINFO means something else with other statuses (RNR: a timer code).
  header.poison = message.status == wire::UbResponseStatus::kError &&
                  message.info == static_cast<std::uint8_t>(wire::UbResponseInfo::kPoison);
  parts_.payloads.release(out.payload.buffer);
  out.payload = {};
}

}  // namespace wharf::ub
