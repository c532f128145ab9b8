// SPDX-License-Identifier: Apache-2.0
// The initiator, receiving side: matches responses to transactions and places what they bring.
// [UB-Base 2.0.1 7.3]
#include <algorithm>
#include <array>
#include <bit>

#include "engine/ub/engine_parts.h"
#include "engine/ub/initiator.h"

namespace wharf::ub {
namespace {

using verbs::CompletionStatus;

/// The status of RSPST 3 by its RSPINFO; see wire::UbResponseInfo.
CompletionStatus refused_status(std::uint8_t info) {
  switch (static_cast<wire::UbResponseInfo>(info)) {
    case wire::UbResponseInfo::kUnsupportedOpcode:
      return CompletionStatus::kRemoteUnsupportedRequest;
    case wire::UbResponseInfo::kAccess:
      return CompletionStatus::kRemoteAccess;
    case wire::UbResponseInfo::kPoison:
      return CompletionStatus::kRemotePoison;
    case wire::UbResponseInfo::kNone:
    case wire::UbResponseInfo::kLength:
    case wire::UbResponseInfo::kJettyState:
      break;
  }
  return CompletionStatus::kRemoteOperation;
}

}  // namespace

bool Initiator::receive(TimePs now, std::uint32_t channel, const wire::Packet& packet, std::uint32_t parked) {
  const wire::Atah& response = packet.ub.response;
  Jetty* owner = find_answered(response.requester_id);
  const std::uint32_t index =
      owner == nullptr ? kNoSlot : owner->transactions[response.tassn & (owner->transactions.size() - 1)];
  if (index == kNoSlot) {
    ++parts_.counters.dropped_response;
    return false;
  }
  Transaction& transaction = transactions_[index];
  const bool refusal =
      response.opcode == wire::TaOpcode::kTaack && response.status != wire::UbResponseStatus::kSuccess;
  const TpChannel& sent_on = parts_.tp.channel(transaction.channel);
  const bool expected = transaction.channel == channel ||
                        (sent_on.kind == ChannelKind::kFused && sent_on.state == ChannelState::kReady &&
                         sent_on.remote == parts_.tp.channel(channel).remote);
  if (!expected || transaction.answered || static_cast<std::uint16_t>(transaction.tassn) != response.tassn ||
      (transaction.state != TransactionState::kSending && transaction.state != TransactionState::kAwaiting) ||
      (response.opcode != response_of(transaction.opcode) && !refusal)) {
    ++parts_.counters.dropped_response;
    return false;
  }
  // What must happen in PSN order happens here; placing the data may wait for a context record.
  const std::uint32_t offset = transaction.received;
  const bool ended_well = response.status == wire::UbResponseStatus::kSuccess;
  const bool good = ended_well && !response.poison;
  if (ended_well && response.poison && transaction.status == CompletionStatus::kSuccess) {
    transaction.status = CompletionStatus::kRemotePoison;
  }
  if (good && response.opcode == wire::TaOpcode::kReadResponse) {
    if (packet.payload.length > transaction.length - offset) {
      if (transaction.status == CompletionStatus::kSuccess)
        transaction.status = CompletionStatus::kResponseLength;
    } else {
      transaction.received += packet.payload.length;
    }
  }
  if (!good && transaction.answer_status == wire::UbResponseStatus::kSuccess) {
    transaction.answer_status = response.status;
    transaction.answer_info = response.info;
  }
  if (packet.ub.rtph.last) {
    answer(transaction, response);
    // The target answers when it has the last packet, so a good answer confirms every packet of the request.
    // Those of a fused channel are confirmed there; its record need not be here now.
    if (good && transaction.channel == channel && transaction.state == TransactionState::kAwaiting &&
        transaction.packets_unconfirmed > 0 &&
        transaction.first_number + transaction.packets_numbered <= sent_on.send_cursor) {
      ++transaction.steps_deferred;  // Not to be finished before this packet has been worked off.
      parts_.tp.confirm_delivered(now, transaction.channel, transaction);
      --transaction.steps_deferred;
    }
  }
  const ContextKey key{ContextKind::kJetty, response.requester_id - kFirstJettyId};
  if (!parts_.contexts.acquire(key)) {
    const bool keeps = parked != kNoSlot;
    if (!keeps) parked = parts_.responder.park(now, packet);
    WHARF_CHECK(parked != kNoSlot);  // The TP layer took the packet because there was room.
    ++transactions_[index].steps_deferred;
    parts_.contexts.defer(key,
                          {.step = DeferredStep::kResponsePacket,
                           .object = index,
                           .generation = transactions_[index].generation,
                           .packet = parked,
                           .detail = offset},
                          packet.operation, false);
    return keeps;
  }
  step_response(now, index, packet, offset);
  return false;
}

void Initiator::resume_response(TimePs now, std::uint32_t index, std::uint32_t generation,
                                std::uint32_t parked, std::uint32_t offset) {
  const wire::Packet packet = parts_.responder.parked(parked).packet;
  if (transactions_[index].generation == generation) {
    --transactions_[index].steps_deferred;
    step_response(now, index, packet, offset);
  }
  parts_.responder.unpark(parked);
}

void Initiator::step_response(TimePs now, std::uint32_t index, const wire::Packet& packet,
                              std::uint32_t offset) {
  Transaction& transaction = transactions_[index];
  const wire::Atah& response = packet.ub.response;
  if (response.status == wire::UbResponseStatus::kSuccess &&
      transaction.status == CompletionStatus::kSuccess) {
    if (response.opcode == wire::TaOpcode::kReadResponse) place_data(index, offset, packet.payload);
    if (response.opcode == wire::TaOpcode::kAtomicResponse) place_atomic(index, packet.payload);
  }
  try_finish(now, index);
}

void Initiator::place_data(std::uint32_t index, std::uint32_t offset, const wire::Payload& data) {
  const Transaction& transaction = transactions_[index];
  const PostedRequest& request = jetty(transaction.jetty).posted_request(transaction.request);
  for_each_part(request.local, request.local_count, std::uint64_t{transaction.message_offset} + offset,
                data.length, [&](std::uint64_t address, std::uint32_t length, std::uint32_t done) {
                  write_local(index, address, wire::slice(data, done, length));
                });
}

[[gnu::noinline]] void Initiator::place_atomic(std::uint32_t index, const wire::Payload& data) {
  Transaction& transaction = transactions_[index];
  PostedRequest& posted = jetty(transaction.jetty).posted_request(transaction.request);
  const std::uint32_t width = posted.width;
  if (data.length != width) {
    transaction.status = CompletionStatus::kResponseLength;
    return;
  }
  std::array<std::byte, 16> big{};
  wire::fill(data, std::span(big).first(width));
  std::array<std::uint64_t, 2> result{};
  wire::decode_operand(big.data(), width, result[0], result[1]);
  posted.set_atomic_result(result);
  if (posted.local_count == 0) return;
  // The request keeps its result (PostedRequest::atomic_result) until it ends: not before the result is
  // placed.
  static_assert(std::endian::native == std::endian::little);
  const auto* kept = reinterpret_cast<const std::byte*>(posted.local.address.data() + 2);
  write_local(index, posted.local.address[0], wire::bytes_payload(kept, width));
}

void Initiator::write_local(std::uint32_t index, std::uint64_t address, const wire::Payload& data) {
  Transaction& transaction = transactions_[index];
  parts_.payloads.retain(data.buffer);
  ++transaction.writes_open;
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kWrite, {.owner = AccessOwner::kResponseWrite,
                                                           .object = index,
                                                           .generation = transaction.generation,
                                                           .buffer = data.buffer});
  access.queue = transaction.jetty;
  access.stream = transaction.jetty;
  access.space = jetty(transaction.jetty).posted_request(transaction.request).space;
  access.address = address;
  access.length = data.length;
  access.data = data;
  access.operation = operation_of(index);
}

void Initiator::response_write_done(TimePs now, const PendingAccess& owner, engine::AccessStatus status) {
  Transaction& transaction = transactions_[owner.object];
  WHARF_CHECK(transaction.in_use() && transaction.generation == owner.generation);
  --transaction.writes_open;
  if (status != engine::AccessStatus::kDone && transaction.status == CompletionStatus::kSuccess) {
    transaction.status = status == engine::AccessStatus::kPoison ? CompletionStatus::kLocalPoison
                                                                 : CompletionStatus::kLocalAccess;
  }
  try_finish(now, owner.object);
}

void Initiator::answer(Transaction& transaction, const wire::Atah& response) {
  transaction.answered = true;
  stop_awaiting(transaction);
  if (transaction.status != CompletionStatus::kSuccess) return;
  switch (transaction.answer_status) {
    case wire::UbResponseStatus::kSuccess:
      if (response.opcode == wire::TaOpcode::kReadResponse && transaction.received != transaction.length) {
        transaction.status = CompletionStatus::kResponseLength;
      }
      return;
    case wire::UbResponseStatus::kReceiverNotReady:
      if (const std::uint8_t most = jetty(transaction.jetty).patience.rnr_retry;
          most != kRnrRetryForever && transaction.not_ready_retries >= most) {
        transaction.status = CompletionStatus::kReceiverNotReady;
      }
      return;
    case wire::UbResponseStatus::kPageFault:
      if (transaction.page_fault_retries >= parts_.config.page_fault_retry) {
        transaction.status = CompletionStatus::kRemoteAccess;
      }
      return;
    case wire::UbResponseStatus::kError:
      transaction.status = refused_status(transaction.answer_info);
      return;
    case wire::UbResponseStatus::kFusedTaack:
      break;
  }
  transaction.status = CompletionStatus::kRemoteOperation;
}

}  // namespace wharf::ub
