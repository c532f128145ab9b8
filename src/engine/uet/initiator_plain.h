// SPDX-License-Identifier: Apache-2.0
// The usual request: a Write, Read or Send of one packet and one piece of local memory, behind others of an
// open PDC that may leave. It becomes a message, and its payload is asked for, in one pass.
#pragma once

#include "engine/uet/engine_parts.h"
#include "engine/uet/pds_plain.h"
#include "engine/uet/renew.h"

namespace wharf::uet {

[[gnu::always_inline]] inline bool Initiator::is_plain(const verbs::WorkRequest& request) const {
  return request.length - 1 < parts_.plain.most_bytes && request.local_count == 1 &&
         request.local[0].length == request.length && request.local[0].key == 0 && !request.fence &&
         !request.tagged && !request.remote_complete &&
         request.inline_data.kind == wire::PayloadKind::kNone &&
         request.atomic_function == verbs::AtomicFunction::kOfVerb &&
         request.delivery == verbs::Delivery::kDefault && request.peer < peers_.size();
}

/// The message of a plain request, in a slot that was used before.
[[gnu::always_inline]] inline std::uint32_t Initiator::make_plain(engine::QueueId queue,
                                                                  const Endpoint& endpoint,
                                                                  const Peer& target,
                                                                  const verbs::WorkRequest& request) {
  const std::uint32_t slot = parts_.outbound.acquire_used();
  OutboundMessage& message = parts_.outbound[slot];
  const std::uint32_t generation = message.generation + 1;
  const std::uint32_t length = request.length;
  const bool reads = request.verb == verbs::Verb::kRead;
  renew(message);
  message.generation = generation;
  message.order = order_++;
  message.queue = queue;
  message.peer = request.peer;
  message.id = request.id;
  message.operation = request.operation;
  message.verb = request.verb;
  message.signaled = request.signaled;
  message.to = target.to;
  message.initiator = endpoint.initiator_id;
  message.local_count = 1;
  message.local[0] = {request.local[0].address, length, endpoint.config.space};
  message.length = length;
  message.send_length = reads ? 0 : length;
  message.expects_data = reads;
  message.needs_answer = reads && length <= parts_.config.max_ack_data_bytes;
  message.from_memory = !reads;
  message.flags = target.to.relative ? wire::kUetRelative : std::uint8_t{0};
  if (request.verb == verbs::Verb::kSend) {
    message.opcode = wire::UetOpcode::kSend;
    message.delivery = parts_.plain.two_sided;
  } else {
    message.opcode = reads ? wire::UetOpcode::kRead : wire::UetOpcode::kWrite;
    message.delivery = parts_.plain.one_sided;
    message.buffer_offset = request.remote.address;
    message.memory_key = key_of(request.remote.token);
  }
  message.ses_bytes = wire::kUetStandardBytes;
  message.overhead = parts_.plain.overhead;
  message.simple = true;
  message.plain = !reads;
  return slot;
}

[[gnu::always_inline]] inline bool Initiator::post_plain(TimePs now, engine::QueueId queue,
                                                         const verbs::WorkRequest& request) {
  const bool sends = request.verb == verbs::Verb::kSend;
  if ((!sends && request.verb != verbs::Verb::kWrite && request.verb != verbs::Verb::kRead) ||
      !is_plain(request)) {
    return false;
  }
  Endpoint* endpoint = parts_.endpoints.find(queue);
  if (endpoint == nullptr || endpoint->failed || !endpoint->posted.empty() ||
      endpoint->outstanding >= endpoint->config.send_depth || endpoint->reserved >= endpoint->records()) {
    return false;
  }
  Peer& target = peers_[request.peer];
  if (!target.used || target.waiting > 0 || !parts_.outbound.has_used() ||
      parts_.outbound.in_use() >= parts_.config.outbound_messages) {
    return false;
  }
  const bool ordered = (sends ? parts_.plain.two_sided : parts_.plain.one_sided) == verbs::Delivery::kOrdered;
  const std::uint32_t pdc = parts_.pds.known_pdc(target.to.host, target.to.job_id, ordered);
  if (pdc == kNoSlot) return false;
  ++endpoint->reserved;
  ++endpoint->outstanding;
  ++target.outstanding;
  if (request.verb == verbs::Verb::kRead) ++endpoint->reads;
  parts_.pds.enqueue_plain(now, pdc, make_plain(queue, *endpoint, target, request));
  return true;
}

}  // namespace wharf::uet
