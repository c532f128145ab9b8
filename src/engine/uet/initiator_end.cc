// SPDX-License-Identifier: Apache-2.0
// The end of messages: when nothing is outstanding any more, and what is reported. [UE 1.0 3.4]
#include <fmt/format.h>

#include "engine/uet/engine_parts.h"
#include "engine/uet/initiator_end.h"

namespace wharf::uet {

using verbs::CompletionStatus;

void Initiator::release(std::uint32_t slot) { give_back(slot); }

void Initiator::end_read(TimePs now, std::uint32_t slot, const OutboundMessage& message) {
  if (!message.is_unharmed() || !message.all_sent || message.region != kNoSlot) {
    try_end(now, slot);
  } else if (message.received < message.ses.request_length) {
    return;
  } else if (message.made_plain && message.peer != verbs::kNoPeer) {
    --parts_.endpoints[message.queue].reads;
    end_plain(parts_, now, slot, message);
  } else {
    end_plainly(now, slot, message);
  }
}

void Initiator::report_success(const OutboundMessage& message) {
  parts_.endpoints.complete(message.queue, local_stream(message.queue), [&](verbs::Completion& completion) {
    completion.id = message.id;
    completion.verb = message.verb;
    completion.length = message.ses.request_length;
    completion.operation = message.operation;
  });
}

void Initiator::try_end(TimePs now, std::uint32_t slot) {
  const OutboundMessage& message = parts_.outbound[slot];
  if (message.unanswered > 0 || message.accesses > 0) return;
  if (message.ends_plainly()) {
    end_plainly(now, slot, message);
  } else if (!goes_on(now, slot)) {
    end(now, slot);
  }
}

/// A send that failed, of which the target may have refused some packets without a record and kept others:
/// its endpoint came or went between them.
bool Initiator::is_send_in_pieces(const OutboundMessage& message) const {
  const bool one_sided = message.ses.opcode == wire::UetOpcode::kWrite ||
                         message.ses.opcode == wire::UetOpcode::kRead || verbs::is_atomic(message.verb);
  return message.status == CompletionStatus::kRemoteOperation && !one_sided &&
         message.send_length > parts_.config.payload_mtu;
}

bool Initiator::goes_on(TimePs now, std::uint32_t slot) {
  OutboundMessage& message = parts_.outbound[slot];
  if (message.terminating && !message.all_sent) return true;
  if (message.stopped && (!message.all_sent || message.half_refused || is_send_in_pieces(message)) &&
      message.first_sent && !message.terminating && on_pdc(message.delivery) && message.pdc != kNoSlot &&
      message.kind == MessageKind::kRequest && !message.deferred) {
    // [UE 1.0 3.4] The target waits for the rest of the message: MSG_ERROR ends it.
    message.terminating = true;
    message.all_sent = false;
    message.sent = message.send_length;
    parts_.pds.enqueue(now, message.pdc, slot);
    return true;
  }
  if (!message.all_sent && !message.stopped) return true;
  if (message.initiator_error && message.status == CompletionStatus::kSuccess)
    message.status = CompletionStatus::kLocalAccess;
  if (message.retry_wanted) {
    const bool restart = message.kind == MessageKind::kRestartRequest;
    schedule_retry(now, slot,
                   now + (restart ? parts_.config.nack_retransmit_time : parts_.config.message_retry_time));
    return true;
  }
  if (message.deferred) {
    message.pdc = kNoSlot;
    return true;  // restart() goes on.
  }
  if (message.status != CompletionStatus::kSuccess) return false;
  if (message.expects_data && message.received < message.ses.request_length) {
    if (!verbs::is_atomic(message.verb) || message.kind != MessageKind::kRequest) return true;
    // The value comes with the answer or not at all.
    message.status = CompletionStatus::kResponseLength;
    return false;
  }
  if (message.region != kNoSlot && message.kind == MessageKind::kRequest &&
      parts_.regions[message.region].served < message.ses.request_length - message.eager_length) {
    message.pdc = kNoSlot;  // Its PDC may close: it is not what the target reads through.
    return true;
  }
  return false;
}

void Initiator::end(TimePs now, std::uint32_t slot) {
  const OutboundMessage& message = parts_.outbound[slot];
  switch (message.kind) {
    case MessageKind::kRequest:
      end_request(now, slot);
      return;
    case MessageKind::kReadResponse: {
      const std::uint32_t region = message.region;
      const std::uint32_t bytes = message.ses.request_length;
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
      if (success && parts_.target.awaits_restart(token)) {
        // [UE 1.0 3.4] OK says that it will come. Choice: asked again until it does, or is known not to.
        schedule_retry(now, slot, now + parts_.config.message_retry_time);
        return;
      }
      release(slot);
      if (!success) parts_.target.restart_refused(now, token);
      return;
    }
  }
}

void Initiator::end_request(TimePs now, std::uint32_t slot) {
  const OutboundMessage& message = parts_.outbound[slot];
  if (message.peer == verbs::kNoPeer) [[unlikely]] {
    release(slot);
    return;
  }
  if (message.region != kNoSlot) parts_.regions.remove(message.region);
  report_end(now, slot, message);
}

void Initiator::remainder_delivered(TimePs now, std::uint32_t index, std::uint32_t bytes) {
  MemoryRegion& region = parts_.regions[index];
  if (!region.used) return;
  region.served += bytes;
  if (region.message == kNoSlot) return;
  try_end(now, region.message);
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
        parts_.host.number, message_id_of(slot), message.id, message.ses.request_length, message.host.number,
        message.sent, message.unanswered, message.received, message.accesses,
        message.deferred ? ", deferred" : "", message.retry_wanted ? ", to start again" : ""));
  }
}

}  // namespace wharf::uet
