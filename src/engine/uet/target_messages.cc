// SPDX-License-Identifier: Apache-2.0
// Messages of others from their first packet to their end: records, completion, and what becomes of them when
// their PDC fails. [UE 1.0 3.4]
#include <fmt/format.h>

#include <utility>

#include "engine/uet/completion_writing.h"
#include "engine/uet/engine_parts.h"

namespace wharf::uet {

using verbs::CompletionStatus;
using wire::UetReturnCode;

namespace {

/// Completions of header data that a program may leave unread.
constexpr std::size_t kUnreadMax = 1U << 17U;

/// What the packets of a two-sided message bring.
std::uint32_t expected_bytes(const InboundMessage& message) {
  return is_rendezvous(message.request.opcode) ? message.rendezvous.eager_length : message.request_length;
}

/// The stream in which its last bytes were placed; of a rendezvous they were read.
std::uint64_t stream_of(const InboundMessage& message) {
  return is_rendezvous(message.request.opcode)
             ? local_stream(message.endpoint)
             : target_stream(message.source, message.request.resource_index);
}

}  // namespace

std::uint32_t Target::find_message(std::uint32_t pdc, std::uint16_t message_id) const {
  std::uint32_t at = parts_.pds.pdc(pdc).rx.messages;
  while (at != kNoSlot && parts_.inbound_messages[at].message_id != message_id)
    at = parts_.inbound_messages[at].next;
  return at;
}

std::uint32_t Target::make_message(const InboundPacket& inbound, const wire::Packet& packet) {
  const std::uint32_t pdc = inbound.pdc;
  PdcReceive& rx = parts_.pds.pdc(pdc).rx;
  // [UE 1.0 3.5.12] NO_SES_MSG_AVAIL must not be the answer for ever: when incomplete messages of this PDC
  // hold records, or responses stored above this packet wait to be cleared, what they lack may lie behind
  // this packet, so the next in order is taken above the limit.
  const bool must = inbound.next_in_order && (rx.messages != kNoSlot || rx.stored_count > 0);
  // Choice: one window of packets above the limit, so that nobody can make this host keep records without
  // end. What is being read does not count: receives bound it, and the read may wait behind packets that the
  // peer refuses because it lacks room itself.
  const std::uint32_t at = EngineParts::acquire(
      parts_.inbound_messages, parts_.config.inbound_messages + fetching_ + (must ? rx.range : 0));
  if (at == kNoSlot) return kNoSlot;
  InboundMessage& message = parts_.inbound_messages[at];
  const std::uint32_t generation = message.generation + 1;
  message = InboundMessage{};
  message.generation = generation;
  message.pdc = pdc;
  message.source = packet.source;
  message.request = packet.uet.ses;
  message.request_length = packet.uet.ses.request_length;
  message.message_id = packet.uet.ses.message_id;
  message.next = rx.messages;
  if (rx.messages != kNoSlot) parts_.inbound_messages[rx.messages].previous = at;
  rx.messages = at;
  return at;
}

void Target::leave_pdc(std::uint32_t at) {
  InboundMessage& message = parts_.inbound_messages[at];
  if (message.pdc == kNoSlot) return;
  PdcReceive& rx = parts_.pds.pdc(message.pdc).rx;
  const std::uint32_t previous = message.previous;
  (previous == kNoSlot ? rx.messages : parts_.inbound_messages[previous].next) = message.next;
  if (message.next != kNoSlot) parts_.inbound_messages[message.next].previous = previous;
  message.pdc = kNoSlot;
}

void Target::release_message(std::uint32_t at) {
  leave_pdc(at);
  leave_unexpected(at);
  release_held(at);
  ++parts_.inbound_messages[at].generation;  // Whoever remembers it sees that it has ended.
  parts_.inbound_messages.release(at);
}

void Target::complete_header_data(std::uint32_t at) {
  const InboundMessage& message = parts_.inbound_messages[at];
  engine::QueueId queue = 0;
  if (parts_.endpoints.look_up(message.request, queue) != UetReturnCode::kOk) return;
  if (parts_.endpoints[queue].completions.size() >= kUnreadMax) {
    // No receive bounds these: a program that does not read them is told so, and they are lost.
    parts_.raise({engine::AsyncEventKind::kCompletionError, queue});
    return;
  }
  ++parts_.endpoints[queue].reserved;
  // [UE 1.0 3.4] header_data becomes remote completion data; no receive is consumed.
  parts_.endpoints.complete(queue, stream_of(message), [&message](verbs::Completion& completion) {
    completion.kind = verbs::CompletionKind::kReceive;
    completion.verb = verbs::Verb::kWriteImm;
    completion.has_immediate = true;
    completion.immediate = message.request.header_data;
    completion.length = message.request_length;
    completion.remote_host = message.source.number;
    completion.remote_queue = message.request.initiator;
  });
}

void Target::complete_receive(TimePs, std::uint32_t at, CompletionStatus status) {
  InboundMessage& message = parts_.inbound_messages[at];
  const engine::QueueId queue = message.endpoint;
  --parts_.endpoints[queue].receive_count;
  message.matched = false;
  parts_.endpoints.complete(queue, stream_of(message), [&](verbs::Completion& completion) {
    completion.id = parts_.endpoints.receive(message.receive).request.id;
    completion.status = status;
    completion.kind = verbs::CompletionKind::kReceive;
    completion.has_immediate = message.request.has_header_data();
    completion.verb = completion.has_immediate ? verbs::Verb::kSendImm : verbs::Verb::kSend;
    completion.immediate = message.request.header_data;
    completion.tag = is_tagged(message.request.opcode) ? message.request.memory_key : 0;
    completion.length = message.request_length < message.capacity ? message.request_length : message.capacity;
    completion.remote_host = message.source.number;
    completion.remote_queue = message.request.initiator;
  });
  parts_.endpoints.release_receive(message.receive);
}

void Target::settle_message(TimePs now, std::uint32_t at) {
  InboundMessage& message = parts_.inbound_messages[at];
  if (message.accesses > 0 || message.fetching) {
    // Packets that were held have their answers: once all have, the next message may come under the same id.
    if (message.two_sided && message.first_seen && message.arrived >= expected_bytes(message)) leave_pdc(at);
    return;
  }
  if (message.abandoned) {
    // The PDC failed in the middle: the receive goes back, as if nothing had come.
    const bool matched = std::exchange(message.matched, false);
    const engine::QueueId queue = message.endpoint;
    const std::uint32_t receive = message.receive;
    release_message(at);
    if (matched) return_receive(now, queue, receive);
    return;
  }
  if (!message.two_sided) {
    if (message.arrived < message.request_length && !message.terminated) return;
    if (message.first_seen && message.request.has_header_data() && message.failed == UetReturnCode::kOk) {
      complete_header_data(at);
    }
    release_message(at);
    return;
  }
  const bool rendezvous = is_rendezvous(message.request.opcode);
  const bool all_here = message.first_seen && message.arrived >= expected_bytes(message);
  if (message.terminated || (all_here && message.failed != UetReturnCode::kOk)) {
    if (message.matched) {
      complete_receive(now, at,
                       message.failed == UetReturnCode::kTooLong ? CompletionStatus::kLocalLength
                                                                 : CompletionStatus::kRemoteOperation);
    }
    release_message(at);
    return;
  }
  if (!all_here) return;
  if (message.deferred) {
    release_message(at);
    return;
  }
  leave_pdc(at);
  if (!message.matched) return;  // Complete, and kept until a receive is posted.
  const std::uint32_t whole =
      message.request_length < message.capacity ? message.request_length : message.capacity;
  if (rendezvous && !message.complete && whole > message.rendezvous.eager_length) {
    fetch_remainder(now, at);
    return;
  }
  complete_receive(now, at, CompletionStatus::kSuccess);
  release_message(at);
}

void Target::forget_pdc(TimePs now, std::uint32_t pdc) {
  PdcReceive& rx = parts_.pds.pdc(pdc).rx;
  while (rx.messages != kNoSlot) {
    const std::uint32_t at = rx.messages;
    leave_pdc(at);
    parts_.inbound_messages[at].abandoned = true;
    leave_unexpected(at);
    settle_message(now, at);
  }
}

void Target::forget_endpoint(TimePs now, engine::QueueId queue) {
  Endpoint& endpoint = parts_.endpoints[queue];
  while (!endpoint.unexpected.empty()) {
    const std::uint32_t at = endpoint.unexpected.head;
    leave_unexpected(at);
    parts_.inbound_messages[at].failed = UetReturnCode::kCancelled;
    settle_message(now, at);
  }
  for (std::uint32_t at = 0; at < deferred_.capacity(); ++at) {
    if (!deferred_.is_used(at) || deferred_[at].endpoint != queue) continue;
    const std::uint32_t receive = std::exchange(deferred_[at].receive, kNoSlot);
    if (receive != kNoSlot) parts_.endpoints.end_receive(queue, receive, CompletionStatus::kFlushed);
    if (deferred_[at].asks != kNoSlot) continue;
    // Its source waits to be asked for it, without a timer: it is, and its restart is refused.
    endpoint.deferred.remove(deferred_, at, &DeferredSend::next);
    unasked_.remove(deferred_, at, &DeferredSend::next);
    request_restart(now, at);
  }
  // What fills a receive of this endpoint touches its buffer no more; the rest of the message is refused.
  for (std::uint32_t at = 0; at < parts_.inbound_messages.capacity(); ++at) {
    if (!parts_.inbound_messages.is_used(at)) continue;
    InboundMessage& message = parts_.inbound_messages[at];
    if (!message.two_sided || message.endpoint != queue) continue;
    if (!message.matched) {
      // Its SOM packet has not come: who has the index by then is another.
      if (message.failed == UetReturnCode::kOk) message.failed = UetReturnCode::kCancelled;
      release_held(at);
      continue;
    }
    message.matched = false;
    parts_.endpoints.end_receive(queue, message.receive, CompletionStatus::kFlushed);
    message.failed = UetReturnCode::kCancelled;
    if (unread_.remove(parts_.inbound_messages, at, &InboundMessage::next_unexpected)) {
      message.fetching = false;
      --fetching_;
    }
    if (message.fetching) parts_.initiator.drop_remainder(at, message.generation);
    settle_message(now, at);
  }
}

void Target::remainder_read(TimePs now, std::uint32_t at, std::uint32_t generation, CompletionStatus status) {
  if (!parts_.inbound_messages.is_used(at) || parts_.inbound_messages[at].generation != generation) return;
  InboundMessage& message = parts_.inbound_messages[at];
  message.fetching = false;
  --fetching_;
  message.complete = true;
  if (message.matched) complete_receive(now, at, status);
  release_message(at);
}

void Target::release_buffers() {
  for (std::uint32_t at = 0; at < parts_.held.capacity(); ++at) {
    if (parts_.held.is_used(at)) parts_.payloads.release(parts_.held[at].payload.buffer);
  }
}

void Target::describe_waiting(std::vector<std::string>& out) const {
  for (std::uint32_t at = 0; at < parts_.inbound_messages.capacity(); ++at) {
    if (!parts_.inbound_messages.is_used(at)) continue;
    const InboundMessage& message = parts_.inbound_messages[at];
    out.push_back(fmt::format(
        "host {}: message {} of host {}: {} of {} bytes have arrived, {} accesses under way{}",
        parts_.host.number, message.message_id, message.source.number, message.arrived,
        message.request_length, message.accesses, message.unexpected ? ", waits for a receive" : ""));
  }
}

}  // namespace wharf::uet
