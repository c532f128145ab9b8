// SPDX-License-Identifier: Apache-2.0
// Messages that start again: after a wait, because the target asks for them, or because their PDC failed.
// [UE 1.0 3.4, 3.5.12]
#include <algorithm>

#include "engine/uet/engine_parts.h"

namespace wharf::uet {

using verbs::CompletionStatus;
using wire::UetReturnCode;

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
  message.trouble();
  message.all_sent = false;
  message.first_sent = false;
  message.sent = 0;
  message.received = 0;
  message.unanswered = 0;
  if (message.kind == MessageKind::kRequest)
    message.ses.ri_generation = peers_[message.peer].to.ri_generation;
}

void Initiator::expire(TimePs now) {
  while (retries_.earliest() <= now) {
    const std::uint32_t due = retries_.earliest_owner();
    const OutboundMessage& message = parts_.outbound[due];
    if (message.kind == MessageKind::kRestartRequest && !parts_.target.awaits_restart(message.target_token)) {
      release(due);
      continue;
    }
    if (message.delivery == verbs::Delivery::kOrdered) {
      restart_in_order(now, message.peer);
      continue;
    }
    start_again(due);
    if (!launch(now, due)) {
      parts_.outbound[due].retry_wanted = true;
      retries_.set(due, now + parts_.config.message_retry_time);
    }
  }
}

void Initiator::restart_in_order(TimePs now, verbs::PeerId peer) {
  // [UE 1.0 3.4] In the order of posting: all that wait, unless an earlier one has no answer yet.
  std::vector<std::uint32_t> waiting;
  std::uint64_t unanswered = ~std::uint64_t{0};
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
    return;
  }
  for (const std::uint32_t slot : waiting) start_again(slot);
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (launch(now, waiting[i])) continue;
    for (; i < waiting.size(); ++i) schedule_retry(now, waiting[i], now + parts_.config.message_retry_time);
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

void Initiator::end_restart_request(std::uint32_t slot, std::uint32_t token) {
  if (!parts_.outbound.is_used(slot) || retries_.get(slot) == kNever) return;
  const OutboundMessage& message = parts_.outbound[slot];
  if (message.kind == MessageKind::kRestartRequest && message.target_token == token) release(slot);
}

UetReturnCode Initiator::restart(TimePs now, wire::HostAddress source, std::uint32_t initiator_token,
                                 std::uint32_t target_token, std::uint64_t offset) {
  const std::uint32_t slot = initiator_token & 0xffffU;
  if (slot >= parts_.outbound.capacity() || !parts_.outbound.is_used(slot)) return UetReturnCode::kNoMatch;
  OutboundMessage& message = parts_.outbound[slot];
  if (((message.generation << 16U) | slot) != initiator_token || !is_deferrable(message.ses.opcode) ||
      message.peer == verbs::kNoPeer || message.host != source || offset > message.ses.request_length) {
    return UetReturnCode::kNoMatch;
  }
  // Its earlier packets may still be without an answer: the request is repeated until they have one.
  if (!message.deferred || message.unanswered > 0 || message.accesses > 0 || message.queued) {
    return UetReturnCode::kHostUnsuccessful;
  }
  start_again(slot);
  message.target_token = target_token;
  message.first_byte = static_cast<std::uint32_t>(offset);
  message.send_length = message.ses.request_length - message.first_byte;
  if (!launch(now, slot)) {
    message.deferred = true;
    return UetReturnCode::kHostUnsuccessful;
  }
  return UetReturnCode::kOk;
}

bool Initiator::may_repeat(const OutboundMessage& message, CompletionStatus status, bool clean,
                           bool peer_has_nothing) const {
  // [UE 1.0 3.5.12] "Retry on a new PDC". Choice: only what the peer cannot have executed, or what does no
  // harm when it is executed twice; the rest ends in error, so that nothing happens twice.
  const bool harmless =
      (message.ses.opcode == wire::UetOpcode::kRead || message.kind == MessageKind::kRestartRequest ||
       (message.ses.opcode == wire::UetOpcode::kWrite && (message.ses.flags & wire::kUetHeaderData) == 0)) &&
      status == CompletionStatus::kRemoteOperation;
  const std::uint32_t limit = parts_.config.message_retries;
  const bool may = limit == kMessageRetriesForever || message.attempts < limit;
  return clean && may && status != CompletionStatus::kRetryExhausted &&
         (harmless || peer_has_nothing || !message.first_sent);
}

void Initiator::pdc_failed(TimePs now, std::uint32_t pdc, CompletionStatus status, bool peer_has_nothing) {
  std::vector<std::uint32_t> again;
  std::vector<std::uint32_t> failed;
  for (std::uint32_t slot = 0; slot < parts_.outbound.capacity(); ++slot) {
    if (!parts_.outbound.is_used(slot) || parts_.outbound[slot].pdc != pdc) continue;
    OutboundMessage& message = parts_.outbound[slot];
    message.pdc = kNoSlot;
    message.queued = false;
    message.unanswered = 0;
    message.stopped = true;
    message.trouble();
    const bool clean = message.status == CompletionStatus::kSuccess && !message.terminating;
    message.terminating = false;
    if (message.kind == MessageKind::kReadResponse) {
      release(slot);
      continue;
    }
    if (message.deferred) continue;
    if (may_repeat(message, status, clean, peer_has_nothing)) {
      ++message.attempts;
      again.push_back(slot);
    } else {
      failed.push_back(slot);
    }
  }
  repeat(now, again);
  // What a failed PDC took with it is reported like exhausted retries: it may or may not have happened.
  const CompletionStatus reported =
      status == CompletionStatus::kRemoteOperation ? CompletionStatus::kRetryExhausted : status;
  for (const std::uint32_t slot : failed) {
    fail(now, slot, reported);
    try_end(now, slot);
  }
}

void Initiator::repeat(TimePs now, std::vector<std::uint32_t>& slots) {
  std::sort(slots.begin(), slots.end(), [&](std::uint32_t a, std::uint32_t b) {
    return parts_.outbound[a].order < parts_.outbound[b].order;
  });
  for (const std::uint32_t slot : slots) {
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
}

}  // namespace wharf::uet
