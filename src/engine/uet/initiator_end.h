// SPDX-License-Identifier: Apache-2.0
// The plain end of a message: inlined where acknowledgements are taken, as most packets end one. [UE 1.0 3.4]
#pragma once

#include "engine/uet/completion_writing.h"
#include "engine/uet/engine_parts.h"

namespace wharf::uet {

[[gnu::always_inline]] inline void Initiator::give_back(std::uint32_t slot) {
  OutboundMessage& message = parts_.outbound[slot];
  parts_.payloads.release(message.inline_data.buffer);
  message.made_plain = false;
  if (!retries_.empty()) retries_.set(slot, kNever);
  parts_.outbound.release(slot);
}

/// A request whose queue still knows it.
[[gnu::always_inline]] inline void Initiator::report_end(TimePs now, std::uint32_t slot,
                                                         const OutboundMessage& message) {
  const engine::QueueId queue = message.queue;
  Endpoint& endpoint = parts_.endpoints[queue];
  --endpoint.outstanding;
  --peers_[message.peer].outstanding;
  const bool atomic = verbs::is_atomic(message.verb);
  if (message.verb == verbs::Verb::kRead || atomic) --endpoint.reads;
  const bool success = message.status == verbs::CompletionStatus::kSuccess;
  if (message.signaled || !success) {
    parts_.endpoints.complete(queue, local_stream(queue), [&](verbs::Completion& completion) {
      completion.id = message.id;
      completion.status = message.status;
      completion.kind = verbs::CompletionKind::kSend;
      completion.verb = message.verb;
      completion.length = success ? message.ses.request_length : 0;
      if (atomic) completion.atomic_result = message.atomic_result;
      completion.operation = message.operation;
    });
  } else if (endpoint.reserved > 0) {
    --endpoint.reserved;
  }
  give_back(slot);
  if (!endpoint.posted.empty()) admit(now, queue);
}

[[gnu::always_inline]] inline void Initiator::end_plainly(TimePs now, std::uint32_t slot,
                                                          const OutboundMessage& message) {
  if (message.kind == MessageKind::kRequest && message.peer != verbs::kNoPeer) {
    report_end(now, slot, message);
  } else {
    end(now, slot);
  }
}

/// The same for a request that was made plain, which a queue still knows.
[[gnu::always_inline]] inline void Initiator::end_plain(EngineParts& parts, TimePs now, std::uint32_t slot,
                                                        const OutboundMessage& message) {
  const engine::QueueId queue = message.queue;
  Endpoint& endpoint = parts.endpoints[queue];
  --endpoint.outstanding;
  --peers_[message.peer].outstanding;
  if (message.signaled) {
    if (endpoint.shares) [[unlikely]] {
      report_success(message);
    } else {
      EndpointTable::complete_plain(parts, queue, endpoint, message);
    }
  } else if (endpoint.reserved > 0) {
    --endpoint.reserved;
  }
  if (!retries_.empty()) [[unlikely]]
    retries_.set(slot, kNever);
  parts.outbound.release(slot);
  if (!endpoint.posted.empty()) [[unlikely]]
    admit(now, queue);
}

[[gnu::always_inline]] inline void Initiator::answered_by_default(EngineParts& parts, TimePs now,
                                                                  std::uint32_t slot,
                                                                  OutboundMessage& message) {
  if (message.plain && message.peer != verbs::kNoPeer) [[likely]] {
    // It was its one packet.
    message.unanswered = 0;
    end_plain(parts, now, slot, message);
    return;
  }
  if (message.plain && message.made_plain) {
    // Returned data, of which nobody needs to hear.
    message.unanswered = 0;
    if (!retries_.empty()) [[unlikely]]
      retries_.set(slot, kNever);
    parts.outbound.release(slot);
    return;
  }
  if (--message.unanswered > 0 || message.accesses > 0) return;
  if (message.expects_data) {
    end_read(now, slot, message);
  } else {
    try_end(now, slot);
  }
}

}  // namespace wharf::uet
