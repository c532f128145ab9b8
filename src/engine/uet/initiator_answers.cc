// SPDX-License-Identifier: Apache-2.0
// Responses to the engine's own messages: what each code makes of a message. [UE 1.0 3.4]
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
  } else if (message.needs_answer && message.received < message.ses.request_length && !message.terminating &&
             message.status == CompletionStatus::kSuccess && message.ses.opcode != wire::UetOpcode::kRead) {
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
    take_answer_data(now, slot, packet);
    return;
  }
  if (code == UetReturnCode::kOk || code == UetReturnCode::kNull) return;
  if (code == UetReturnCode::kDropped && is_deferrable(message.ses.opcode) &&
      message.status == CompletionStatus::kSuccess) {
    // [UE 1.0 3.4, deferrable send] The target will ask for it; unless it has ended here, as when it was
    // flushed.
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
  if (not_ready && waits_for_target(now, slot, response)) return;
  fail(now, slot, status_of(code));
}

void Initiator::take_answer_data(TimePs now, std::uint32_t slot, const wire::Packet& packet) {
  const OutboundMessage& message = parts_.outbound[slot];
  const wire::UetSesResponse& response = packet.uet.response;
  if (response.return_code != UetReturnCode::kOk) {
    fail(now, slot, status_of(response.return_code));
  } else if (message.needs_answer && packet.payload.length < message.ses.request_length) {
    // All of it comes on one acknowledgement: the rest would never arrive.
    ++parts_.counters.dropped_response;
    fail(now, slot, CompletionStatus::kResponseLength);
  } else if (message.expects_data && message.received == 0) {
    const bool names_offset = packet.uet.prologue.next == wire::UetNextHeader::kResponseData;
    place_answer(now, slot, names_offset ? response.message_offset : 0, packet.payload);
  }
}

bool Initiator::waits_for_target(TimePs now, std::uint32_t slot, const wire::UetSesResponse& response) {
  OutboundMessage& message = parts_.outbound[slot];
  const UetReturnCode code = response.return_code;
  // In order and with generations, the first packet speaks for all.
  if (code != UetReturnCode::kNoMatch && message.send_length > parts_.config.payload_mtu &&
      (code == UetReturnCode::kDisabled || message.delivery != verbs::Delivery::kOrdered)) {
    message.half_refused = true;
  }
  if (message.kind != MessageKind::kRequest || message.status != CompletionStatus::kSuccess) return false;
  Peer& target = peers_[message.peer];
  const bool fresh =
      code == UetReturnCode::kBadGeneration && response.ri_generation != message.ses.ri_generation;
  if (fresh || code == UetReturnCode::kDisabledGeneration) target.to.ri_generation = response.ri_generation;
  const std::uint32_t limit = parts_.config.message_retries;
  if (!fresh && limit != kMessageRetriesForever && message.attempts >= limit) return false;
  if (!message.retry_wanted && !fresh) ++message.attempts;
  message.retry_wanted = true;
  parts_.pds.stop(now, slot);
  return true;
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

}  // namespace wharf::uet
