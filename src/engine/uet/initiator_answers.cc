// SPDX-License-Identifier: Apache-2.0
// The end of messages: responses and their codes, returned data, restarts, deferred sends, failed PDCs, and
// completions. [UE 1.0 3.4]
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/uet/engine_parts.h"

namespace wharf::uet {

using verbs::CompletionStatus;
using wire::UetReturnCode;

namespace {

CompletionStatus status_of(UetReturnCode code) {
  switch (code) {
    case UetReturnCode::kOk:
    case UetReturnCode::kNull:
      return CompletionStatus::kSuccess;
    case UetReturnCode::kNoMatch:
    case UetReturnCode::kDisabled:
    case UetReturnCode::kDisabledGeneration:
      return CompletionStatus::kReceiverNotReady;
    case UetReturnCode::kTooLong:
    case UetReturnCode::kUnsupportedOperation:
    case UetReturnCode::kUnsupportedSize:
    case UetReturnCode::kAtomicUnsupportedOperation:
    case UetReturnCode::kAtomicUnsupportedDatatype:
    case UetReturnCode::kAtomicUnsupportedSize:
    case UetReturnCode::kAtomicUnaligned:
      return CompletionStatus::kRemoteUnsupportedRequest;
    case UetReturnCode::kTranslationInvalid:
    case UetReturnCode::kTranslationPermission:
    case UetReturnCode::kTranslationServiceError:
    case UetReturnCode::kNoTranslation:
    case UetReturnCode::kTranslationOutOfRange:
    case UetReturnCode::kPermissionViolation:
    case UetReturnCode::kOperationViolation:
    case UetReturnCode::kBadMemoryKey:
    case UetReturnCode::kBadAddress:
      return CompletionStatus::kRemoteAccess;
    case UetReturnCode::kHostPoisoned:
    case UetReturnCode::kUncorrectable:
    case UetReturnCode::kUncorrectableTransient:
      return CompletionStatus::kRemotePoison;
    case UetReturnCode::kInitiatorError:
      return CompletionStatus::kLocalAccess;
    case UetReturnCode::kCancelled:
      return CompletionStatus::kFlushed;
    case UetReturnCode::kBadGeneration:
    case UetReturnCode::kHostUnsuccessful:
    case UetReturnCode::kAtomicNan:
    case UetReturnCode::kAtomicUnderflow:
    case UetReturnCode::kAtomicOverflow:
    case UetReturnCode::kAtomicInexact:
    case UetReturnCode::kBadIndex:
    case UetReturnCode::kBadPid:
    case UetReturnCode::kBadJobId:
    case UetReturnCode::kUndeliverable:
    case UetReturnCode::kDropped:
    case UetReturnCode::kExtended:
      return CompletionStatus::kRemoteOperation;
  }
  return CompletionStatus::kRemoteOperation;
}

}  // namespace

void Initiator::answered(TimePs now, std::uint32_t slot, const wire::Packet* packet) {
  OutboundMessage& message = parts_.outbound[slot];
  --message.unanswered;
  if (packet != nullptr) {
    take_response(now, slot, *packet);
  } else if (message.needs_answer && message.received < message.length && !message.terminating &&
             message.status == CompletionStatus::kSuccess && message.opcode != wire::UetOpcode::kRead) {
    // The value came on an acknowledgement that nobody can repeat.
    fail(now, slot, CompletionStatus::kRemoteOperation);
  }
  try_end(now, slot);
}

void Initiator::take_response(TimePs now, std::uint32_t slot, const wire::Packet& packet) {
  OutboundMessage& message = parts_.outbound[slot];
  const wire::UetSesResponse& response = packet.uet.response;
  const UetReturnCode code = response.return_code;
  if (message.terminating || message.kind == MessageKind::kReadResponse) return;
  if (response.opcode == wire::UetResponseOpcode::kWithData) {
    if (code != UetReturnCode::kOk) {
      fail(now, slot, status_of(code));
    } else if (message.expects_data && message.received == 0) {
      const std::uint32_t offset =
          packet.uet.prologue.next == wire::UetNextHeader::kResponseData ? response.message_offset : 0;
      place_answer(now, slot, offset, packet.payload);
    }
    return;
  }
  if (code == UetReturnCode::kOk || code == UetReturnCode::kNull) return;
  if (code == UetReturnCode::kDropped && is_deferrable(message.opcode)) {
    // [UE 1.0 3.4, deferrable send] The target will ask for it.
    if (!message.deferred) ++parts_.counters.messages_deferred;
    message.deferred = true;
    message.retry_wanted = false;
    parts_.pds.stop(now, slot);
    return;
  }
  if (message.kind == MessageKind::kRestartRequest && code == UetReturnCode::kHostUnsuccessful) {
    message.retry_wanted = true;  // Its first packets have no answer yet.
    return;
  }
  const bool not_ready = code == UetReturnCode::kNoMatch || code == UetReturnCode::kDisabled ||
                         code == UetReturnCode::kDisabledGeneration || code == UetReturnCode::kBadGeneration;
  if (message.deferred && not_ready) return;  // Of a later packet; the target asks for all of it.
  // In order and with generations, the first packet speaks for all.
  if (not_ready && code != UetReturnCode::kNoMatch && message.send_length > parts_.config.payload_mtu &&
      (code == UetReturnCode::kDisabled || message.delivery != verbs::Delivery::kOrdered)) {
    message.half_refused = true;
  }
  if (not_ready && message.kind == MessageKind::kRequest && message.status == CompletionStatus::kSuccess) {
    Peer& target = peers_[message.peer];
    const bool fresh =
        code == UetReturnCode::kBadGeneration && response.ri_generation != message.to.ri_generation;
    if (fresh || code == UetReturnCode::kDisabledGeneration) target.to.ri_generation = response.ri_generation;
    const std::uint32_t limit = parts_.config.message_retries;
    if (fresh || limit == kMessageRetriesForever || message.attempts < limit) {
      if (!message.retry_wanted && !fresh) ++message.attempts;
      message.retry_wanted = true;
      parts_.pds.stop(now, slot);
      return;
    }
  }
  fail(now, slot, status_of(code));
}

void Initiator::fail(TimePs now, std::uint32_t slot, CompletionStatus status) {
  OutboundMessage& message = parts_.outbound[slot];
  if (message.status == CompletionStatus::kSuccess) message.status = status;
  message.retry_wanted = false;
  message.deferred = false;
  if (!message.terminating) {
    if (on_pdc(message.delivery)) {
      parts_.pds.stop(now, slot);
    } else {
      parts_.rudi.stop(slot);
    }
  }
}

void Initiator::fail_by_code(TimePs now, std::uint32_t slot, UetReturnCode code) {
  fail(now, slot, status_of(code));
}

void Initiator::place_answer(TimePs now, std::uint32_t slot, std::uint32_t offset,
                             const wire::Payload& data) {
  OutboundMessage& message = parts_.outbound[slot];
  if (offset > message.length || data.length > message.length - offset || data.length == 0) {
    ++parts_.counters.dropped_response;
    fail(now, slot, CompletionStatus::kResponseLength);
    return;
  }
  if (verbs::is_atomic(message.verb) && message.kind == MessageKind::kRequest && offset == 0) {
    std::array<std::byte, 16> value{};
    wire::fill(wire::slice(data, 0, std::min(data.length, 16U)), value);
    std::memcpy(message.atomic_result.data(), value.data(), 16);
  }
  message.received += data.length;
  const wire::Payload kept = parts_.keep(data);
  std::uint32_t begin = 0;
  for (std::uint8_t i = 0; i < message.local_count; ++i) {
    const std::uint32_t end = begin + message.local[i].length;
    if (end > offset && begin < offset + data.length) {
      const std::uint32_t low = std::max(begin, offset);
      const std::uint32_t high = std::min(end, offset + data.length);
      engine::Access access;
      access.kind = engine::AccessKind::kWrite;
      access.queue = message.queue;
      access.stream = local_stream(message.queue);
      access.address = message.local[i].address + (low - begin);
      access.length = high - low;
      access.data = wire::slice(kept, low - offset, high - low);
      access.operation = message.operation;
      PendingAccess owner;
      owner.owner = AccessOwner::kAnswerData;
      owner.object = slot;
      owner.generation = message.generation;
      owner.buffer = kept.buffer;
      parts_.payloads.retain(kept.buffer);
      parts_.accesses.request(access, owner);
      ++message.accesses;
    }
    begin = end;
  }
  parts_.payloads.release(kept.buffer);
}

void Initiator::data_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result) {
  if (!parts_.outbound.is_used(owner.object)) return;
  OutboundMessage& message = parts_.outbound[owner.object];
  if (message.generation != owner.generation) return;
  --message.accesses;
  if (result.status != engine::AccessStatus::kDone) fail(now, owner.object, CompletionStatus::kLocalAccess);
  try_end(now, owner.object);
}

std::uint32_t Initiator::find_by_psn(std::uint32_t pdc, wire::UetPsn psn) const {
  for (std::uint32_t slot = 0; slot < parts_.outbound.capacity(); ++slot) {
    if (!parts_.outbound.is_used(slot)) continue;
    const OutboundMessage& message = parts_.outbound[slot];
    if (message.pdc == pdc && message.expects_data && message.first_sent && message.answered_psn == psn)
      return slot;
  }
  return kNoSlot;
}

std::optional<wire::UetNackCode> Initiator::take_data(TimePs now, std::uint32_t index,
                                                      const wire::Packet& packet) {
  InboundPacket& inbound = parts_.inbound[index];
  inbound.returned_data = true;
  const wire::UetSesResponse& response = packet.uet.response;
  const bool small = packet.uet.prologue.next == wire::UetNextHeader::kResponseDataSmall;
  const std::uint32_t slot = small ? find_by_psn(inbound.pdc, response.original_request_psn)
                                   : std::uint32_t{response.read_request_message_id} - 1;
  const bool known = packet.uet.prologue.next != wire::UetNextHeader::kResponse &&
                     slot < parts_.outbound.capacity() && parts_.outbound.is_used(slot) &&
                     parts_.outbound[slot].pdc == inbound.pdc && parts_.outbound[slot].expects_data &&
                     parts_.outbound[slot].kind != MessageKind::kReadResponse;
  if (!known) {
    ++parts_.counters.dropped_response;
    parts_.pds.respond(now, index, wire::UetNextHeader::kNone, {}, {});
    return std::nullopt;
  }
  OutboundMessage& message = parts_.outbound[slot];
  const std::uint32_t offset = small ? 0 : response.message_offset;
  const std::uint32_t length = packet.payload.length;
  inbound.message = slot;
  inbound.message_generation = message.generation;
  if (response.return_code != UetReturnCode::kOk || offset > message.length ||
      length > message.length - offset || message.status != CompletionStatus::kSuccess) {
    if (response.return_code != UetReturnCode::kOk) {
      fail(now, slot, status_of(response.return_code));
    } else if (message.status == CompletionStatus::kSuccess) {
      fail(now, slot, CompletionStatus::kResponseLength);
    }
    parts_.pds.respond(now, index, wire::UetNextHeader::kNone, {}, {});
    try_end(now, slot);
    return std::nullopt;
  }
  ++message.accesses;  // Until the packet is placed as a whole.
  std::uint32_t begin = 0;
  for (std::uint8_t i = 0; i < message.local_count; ++i) {
    const std::uint32_t end = begin + message.local[i].length;
    if (end > offset && begin < offset + length) {
      const std::uint32_t low = std::max(begin, offset);
      const std::uint32_t high = std::min(end, offset + length);
      engine::Access access;
      access.kind = engine::AccessKind::kWrite;
      access.queue = message.queue;
      access.stream = local_stream(message.queue);
      access.address = message.local[i].address + (low - begin);
      access.length = high - low;
      access.data = wire::slice(packet.payload, low - offset, high - low);
      access.operation = message.operation;
      PendingAccess owner;
      owner.owner = AccessOwner::kInbound;
      owner.object = index;
      owner.buffer = packet.payload.buffer;
      parts_.payloads.retain(packet.payload.buffer);
      parts_.accesses.request(access, owner);
      ++inbound.accesses;
    }
    begin = end;
  }
  if (inbound.accesses == 0) returned_data_done(now, index, engine::AccessStatus::kDone);
  return std::nullopt;
}

void Initiator::returned_data_done(TimePs now, std::uint32_t index, engine::AccessStatus status) {
  const InboundPacket inbound = parts_.inbound[index];
  parts_.pds.respond(now, index, wire::UetNextHeader::kNone, {}, {});
  const std::uint32_t slot = inbound.message;
  if (!parts_.outbound.is_used(slot) || parts_.outbound[slot].generation != inbound.message_generation)
    return;
  OutboundMessage& message = parts_.outbound[slot];
  --message.accesses;
  if (status != engine::AccessStatus::kDone) {
    fail(now, slot, CompletionStatus::kLocalAccess);
  } else {
    message.received += inbound.payload_length;
  }
  try_end(now, slot);
}

bool Initiator::expects_data(std::uint32_t pdc) const {
  for (std::uint32_t slot = 0; slot < parts_.outbound.capacity(); ++slot) {
    if (!parts_.outbound.is_used(slot)) continue;
    const OutboundMessage& message = parts_.outbound[slot];
    if (message.pdc != pdc) continue;
    if ((message.expects_data && message.received < message.length) || message.accesses > 0) return true;
  }
  return false;
}

void Initiator::try_end(TimePs now, std::uint32_t slot) {
  OutboundMessage& message = parts_.outbound[slot];
  if (message.unanswered > 0 || message.accesses > 0) return;
  const bool success = message.status == CompletionStatus::kSuccess;
  if (message.terminating && !message.all_sent) return;
  if (message.stopped && (!message.all_sent || message.half_refused) && message.first_sent &&
      !message.terminating && on_pdc(message.delivery) && message.pdc != kNoSlot &&
      message.kind == MessageKind::kRequest && !message.deferred) {
    // [UE 1.0 3.4] The target waits for the rest of the message: MSG_ERROR ends it.
    message.terminating = true;
    message.all_sent = false;
    message.sent = message.send_length;
    parts_.pds.enqueue(now, message.pdc, slot);
    return;
  }
  if (!message.all_sent && !message.stopped) return;
  if (message.initiator_error && success) message.status = CompletionStatus::kLocalAccess;
  if (message.retry_wanted) {
    const bool restart = message.kind == MessageKind::kRestartRequest;
    schedule_retry(now, slot,
                   now + (restart ? parts_.config.nack_retransmit_time : parts_.config.message_retry_time));
    return;
  }
  if (message.deferred) {
    message.pdc = kNoSlot;
    return;  // restart() goes on.
  }
  if (message.status == CompletionStatus::kSuccess) {
    if (message.expects_data && message.received < message.length) return;
    if (message.region != kNoSlot && message.kind == MessageKind::kRequest &&
        parts_.regions[message.region].served < message.length - message.eager_length) {
      message.pdc = kNoSlot;  // Its PDC may close: it is not what the target reads through.
      return;
    }
  }
  end(now, slot);
}

void Initiator::end(TimePs now, std::uint32_t slot) {
  OutboundMessage& message = parts_.outbound[slot];
  switch (message.kind) {
    case MessageKind::kRequest: {
      const engine::QueueId queue = message.queue;
      Endpoint& endpoint = parts_.endpoints[queue];
      if (message.region != kNoSlot) parts_.regions.remove(message.region);
      --endpoint.outstanding;
      --peers_[message.peer].outstanding;
      if (message.verb == verbs::Verb::kRead || verbs::is_atomic(message.verb)) --endpoint.reads;
      const bool success = message.status == CompletionStatus::kSuccess;
      if (message.signaled || !success) {
        verbs::Completion completion;
        completion.id = message.id;
        completion.status = message.status;
        completion.kind = verbs::CompletionKind::kSend;
        completion.verb = message.verb;
        completion.length = success ? message.length : 0;
        completion.atomic_result = message.atomic_result;
        completion.operation = message.operation;
        parts_.endpoints.complete(queue, completion, local_stream(queue));
      } else if (endpoint.reserved > 0) {
        --endpoint.reserved;
      }
      release(slot);
      admit(now, queue);
      return;
    }
    case MessageKind::kReadResponse: {
      const std::uint32_t region = message.region;
      const std::uint32_t bytes = message.length;
      release(slot);
      if (region != kNoSlot) remainder_delivered(now, region, bytes);
      return;
    }
    case MessageKind::kRendezvousRead: {
      const std::uint32_t inbound = message.inbound;
      const std::uint32_t generation = message.target_token;
      const CompletionStatus status = message.status;
      release(slot);
      parts_.target.remainder_read(now, inbound, generation, status);
      return;
    }
    case MessageKind::kRestartRequest: {
      const std::uint32_t token = message.target_token;
      const bool success = message.status == CompletionStatus::kSuccess;
      release(slot);
      if (!success) parts_.target.restart_refused(now, token);
      return;
    }
  }
}

void Initiator::release(std::uint32_t slot) {
  parts_.payloads.release(parts_.outbound[slot].inline_data.buffer);
  retries_.set(slot, kNever);
  parts_.outbound.release(slot);
}

void Initiator::remainder_delivered(TimePs now, std::uint32_t index, std::uint32_t bytes) {
  MemoryRegion& region = parts_.regions[index];
  if (!region.used) return;
  region.served += bytes;
  if (region.message == kNoSlot) return;
  try_end(now, region.message);
}

void Initiator::schedule_retry(TimePs, std::uint32_t slot, TimePs at) {
  OutboundMessage& message = parts_.outbound[slot];
  if (message.delivery == verbs::Delivery::kOrdered && retries_.get(slot) == kNever)
    ++peers_[message.peer].waiting;
  message.retry_wanted = true;
  message.pdc = kNoSlot;
  retries_.set(slot, at);
}

void Initiator::start_again(std::uint32_t slot) {
  OutboundMessage& message = parts_.outbound[slot];
  retries_.set(slot, kNever);
  if (message.delivery == verbs::Delivery::kOrdered && message.retry_wanted) --peers_[message.peer].waiting;
  ++parts_.counters.messages_retried;
  message.retry_wanted = false;
  message.deferred = false;
  message.stopped = false;
  message.terminating = false;
  message.half_refused = false;
  message.all_sent = false;
  message.first_sent = false;
  message.sent = 0;
  message.received = 0;
  message.unanswered = 0;
  if (message.kind == MessageKind::kRequest) message.to.ri_generation = peers_[message.peer].to.ri_generation;
}

void Initiator::expire(TimePs now) {
  while (retries_.earliest() <= now) {
    const std::uint32_t due = retries_.earliest_owner();
    const OutboundMessage& message = parts_.outbound[due];
    if (message.delivery != verbs::Delivery::kOrdered) {
      start_again(due);
      if (!launch(now, due)) {
        parts_.outbound[due].retry_wanted = true;
        retries_.set(due, now + parts_.config.message_retry_time);
      }
      continue;
    }
    // [UE 1.0 3.4] In the order of posting: all that wait, unless an earlier one has no answer yet.
    std::vector<std::uint32_t> waiting;
    std::uint64_t unanswered = ~std::uint64_t{0};
    const verbs::PeerId peer = message.peer;
    for (std::uint32_t slot = 0; slot < parts_.outbound.capacity(); ++slot) {
      if (!parts_.outbound.is_used(slot)) continue;
      const OutboundMessage& other = parts_.outbound[slot];
      if (other.kind != MessageKind::kRequest || other.peer != peer ||
          other.delivery != verbs::Delivery::kOrdered || other.deferred) {
        continue;
      }
      if (retries_.get(slot) == kNever) {
        unanswered = std::min(unanswered, other.order);
      } else {
        waiting.push_back(slot);
      }
    }
    std::sort(waiting.begin(), waiting.end(), [&](std::uint32_t a, std::uint32_t b) {
      return parts_.outbound[a].order < parts_.outbound[b].order;
    });
    if (unanswered != ~std::uint64_t{0} && unanswered < parts_.outbound[waiting.back()].order) {
      for (const std::uint32_t slot : waiting) retries_.set(slot, now + parts_.config.message_retry_time);
      continue;
    }
    for (const std::uint32_t slot : waiting) start_again(slot);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (launch(now, waiting[i])) continue;
      for (; i < waiting.size(); ++i) schedule_retry(now, waiting[i], now + parts_.config.message_retry_time);
    }
  }
}

void Initiator::drop_remainder(std::uint32_t inbound, std::uint32_t generation) {
  for (std::uint32_t slot = 0; slot < parts_.outbound.capacity(); ++slot) {
    if (!parts_.outbound.is_used(slot)) continue;
    OutboundMessage& message = parts_.outbound[slot];
    if (message.kind == MessageKind::kRendezvousRead && message.inbound == inbound &&
        message.target_token == generation) {
      message.local_count = 0;
    }
  }
}

UetReturnCode Initiator::restart(TimePs now, wire::HostAddress source, std::uint32_t initiator_token,
                                 std::uint32_t target_token, std::uint64_t offset) {
  const std::uint32_t slot = initiator_token & 0xffffU;
  if (slot >= parts_.outbound.capacity() || !parts_.outbound.is_used(slot)) return UetReturnCode::kNoMatch;
  OutboundMessage& message = parts_.outbound[slot];
  if (((message.generation << 16U) | slot) != initiator_token || !is_deferrable(message.opcode) ||
      message.to.host != source || offset > message.length) {
    return UetReturnCode::kNoMatch;
  }
  // Its earlier packets may still be without an answer: the request is repeated until they have one.
  if (!message.deferred || message.unanswered > 0 || message.accesses > 0 || message.queued) {
    return UetReturnCode::kHostUnsuccessful;
  }
  start_again(slot);
  message.target_token = target_token;
  message.first_byte = static_cast<std::uint32_t>(offset);
  message.send_length = message.length - message.first_byte;
  if (!launch(now, slot)) {
    message.deferred = true;
    return UetReturnCode::kHostUnsuccessful;
  }
  return UetReturnCode::kOk;
}

void Initiator::pdc_failed(TimePs now, std::uint32_t pdc, std::uint32_t, CompletionStatus status,
                           bool peer_has_nothing) {
  std::vector<std::uint32_t> again;
  std::vector<std::uint32_t> failed;
  for (std::uint32_t slot = 0; slot < parts_.outbound.capacity(); ++slot) {
    if (!parts_.outbound.is_used(slot) || parts_.outbound[slot].pdc != pdc) continue;
    OutboundMessage& message = parts_.outbound[slot];
    message.pdc = kNoSlot;
    message.queued = false;
    message.unanswered = 0;
    message.stopped = true;
    const bool terminating = message.terminating;
    message.terminating = false;
    if (message.kind == MessageKind::kReadResponse) {
      release(slot);
      continue;
    }
    if (message.deferred) continue;
    // [UE 1.0 3.5.12] "Retry on a new PDC". Choice: only what the peer cannot have executed, or what does no
    // harm when it is executed twice; the rest ends in error, so that nothing happens twice.
    const bool harmless =
        (message.opcode == wire::UetOpcode::kRead || message.kind == MessageKind::kRestartRequest ||
         (message.opcode == wire::UetOpcode::kWrite && (message.flags & wire::kUetHeaderData) == 0)) &&
        status == CompletionStatus::kRemoteOperation;
    const std::uint32_t limit = parts_.config.message_retries;
    const bool may = limit == kMessageRetriesForever || message.attempts < limit;
    const bool clean = message.status == CompletionStatus::kSuccess && !terminating;
    if (clean && may && status != CompletionStatus::kRetryExhausted &&
        (harmless || peer_has_nothing || !message.first_sent)) {
      ++message.attempts;
      again.push_back(slot);
    } else {
      failed.push_back(slot);
    }
  }
  std::sort(again.begin(), again.end(), [&](std::uint32_t a, std::uint32_t b) {
    return parts_.outbound[a].order < parts_.outbound[b].order;
  });
  for (const std::uint32_t slot : again) {
    OutboundMessage& message = parts_.outbound[slot];
    if (message.retry_wanted) {
      schedule_retry(now, slot, now + parts_.config.message_retry_time);
      continue;
    }
    if (message.accesses > 0) {
      message.retry_wanted = true;  // What is under way must not write after the repetition.
      continue;
    }
    start_again(slot);
    if (!launch(now, slot)) schedule_retry(now, slot, now + parts_.config.message_retry_time);
  }
  // What a failed PDC took with it is reported like exhausted retries: it may or may not have happened.
  const CompletionStatus reported =
      status == CompletionStatus::kRemoteOperation ? CompletionStatus::kRetryExhausted : status;
  for (const std::uint32_t slot : failed) {
    fail(now, slot, reported);
    try_end(now, slot);
  }
}

void Initiator::release_buffers() {
  for (std::uint32_t slot = 0; slot < parts_.outbound.capacity(); ++slot) {
    if (parts_.outbound.is_used(slot)) parts_.payloads.release(parts_.outbound[slot].inline_data.buffer);
  }
  for (engine::QueueId queue = 0; queue < parts_.endpoints.count(); ++queue) {
    Endpoint& endpoint = parts_.endpoints[queue];
    for (std::size_t i = 0; i < endpoint.posted.size(); ++i) {
      parts_.payloads.release(endpoint.posted[i].request.inline_data.buffer);
    }
  }
}

void Initiator::describe_waiting(std::vector<std::string>& out) const {
  for (std::uint32_t slot = 0; slot < parts_.outbound.capacity(); ++slot) {
    if (!parts_.outbound.is_used(slot)) continue;
    const OutboundMessage& message = parts_.outbound[slot];
    out.push_back(fmt::format(
        "host {}: message {} (request {}, {} bytes) to host {}: {} bytes sent, {} packets without "
        "an answer, {} bytes received, {} accesses under way{}{}",
        parts_.host.number, message_id_of(slot), message.id, message.length, message.to.host.number,
        message.sent, message.unanswered, message.received, message.accesses,
        message.deferred ? ", deferred" : "", message.retry_wanted ? ", to start again" : ""));
  }
}
}  // namespace wharf::uet
