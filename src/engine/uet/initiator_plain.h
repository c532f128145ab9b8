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
         request.local[0].length == request.length && request.local[0].key == 0 &&
         !(request.fence | request.tagged | request.remote_complete) &&
         request.inline_data.kind == wire::PayloadKind::kNone &&
         request.atomic_function == verbs::AtomicFunction::kOfVerb &&
         request.delivery == verbs::Delivery::kDefault && request.peer < peers_.size();
}

/// The message of a plain request, in a slot that was used before.
[[gnu::always_inline]] inline std::uint32_t Initiator::make_plain(EngineParts& parts, engine::QueueId queue,
                                                                  const Endpoint& endpoint,
                                                                  const Peer& target,
                                                                  const verbs::WorkRequest& request) {
  const std::uint32_t slot = parts.outbound.acquire_used();
  OutboundMessage& message = parts.outbound[slot];
  const std::uint32_t generation = message.generation;
  const std::uint32_t length = request.length;
  const bool reads = request.verb == verbs::Verb::kRead;
  if (message.made_plain) [[likely]] {
    message.sent = 0;
    message.next = kNoSlot;
    message.all_sent = false;
    message.first_sent = false;
  } else {
    renew(message);
    message.generation = generation;
  }
  message.made_plain = !reads;
  ++message.generation;
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
  message.needs_answer = reads && length <= parts.config.max_ack_data_bytes;
  message.from_memory = !reads;
  message.flags = target.to.relative ? wire::kUetRelative : std::uint8_t{0};
  if (request.verb == verbs::Verb::kSend) {
    message.opcode = wire::UetOpcode::kSend;
    message.delivery = parts.plain.two_sided;
    message.buffer_offset = 0;
    message.memory_key = 0;
  } else {
    message.opcode = reads ? wire::UetOpcode::kRead : wire::UetOpcode::kWrite;
    message.delivery = parts.plain.one_sided;
    message.buffer_offset = request.remote.address;
    message.memory_key = key_of(request.remote.token);
  }
  message.ses_bytes = wire::kUetStandardBytes;
  message.overhead = parts.plain.overhead;
  message.simple = true;
  message.plain = !reads;
  return slot;
}

/// The data of a Read as a message of the reverse direction, in a slot that was used before.
[[gnu::always_inline]] inline std::uint32_t Initiator::make_plain_response(const wire::Packet& packet,
                                                                           const MemoryRegion& memory,
                                                                           std::uint64_t address) {
  const wire::UetSesRequest& request = packet.uet.ses;
  const std::uint32_t slot = parts_.outbound.acquire_used();
  OutboundMessage& message = parts_.outbound[slot];
  const std::uint32_t generation = message.generation + 1;
  renew(message);
  message.generation = generation;
  message.order = order_++;
  message.kind = MessageKind::kReadResponse;
  message.form = wire::UetNextHeader::kResponseData;
  message.length = request.request_length;
  message.send_length = request.request_length;
  message.to.host = packet.source;
  message.to.job_id = request.job_id;
  message.to.resource_index = request.resource_index;  // Of this end: its stream.
  message.local_count = 1;
  message.local[0] = {address, request.request_length, memory.config.space};
  message.read_order = memory.config.read_order;
  message.memory_key = memory.key;
  message.answered_message_id = request.message_id;
  message.answered_psn = packet.uet.request.psn;
  message.operation = packet.operation;
  message.ses_bytes = static_cast<std::uint16_t>(wire::uet_ses_bytes(message.form));
  message.overhead = parts_.plain.data_overhead;
  message.from_memory = true;
  message.plain = true;
  return slot;
}

[[gnu::always_inline]] inline bool Initiator::post_plain(EngineParts& parts, TimePs now,
                                                         engine::QueueId queue,
                                                         const verbs::WorkRequest& request) {
  const bool sends = request.verb == verbs::Verb::kSend;
  if ((!sends && request.verb != verbs::Verb::kWrite && request.verb != verbs::Verb::kRead) ||
      !is_plain(request)) {
    return false;
  }
  Endpoint* endpoint = parts.endpoints.find(queue);
  if (endpoint == nullptr || endpoint->failed || !endpoint->posted.empty() ||
      endpoint->outstanding >= endpoint->config.send_depth || endpoint->reserved >= endpoint->records()) {
    return false;
  }
  Peer& target = peers_[request.peer];
  if (!target.used || target.waiting > 0 || !parts.outbound.has_used() ||
      parts.outbound.in_use() >= parts.config.outbound_messages) {
    return false;
  }
  const bool ordered = (sends ? parts.plain.two_sided : parts.plain.one_sided) == verbs::Delivery::kOrdered;
  const std::uint32_t pdc = parts.pds.known_pdc(target.to.host, target.to.job_id, ordered);
  if (pdc == kNoSlot) return false;
  ++endpoint->reserved;
  ++endpoint->outstanding;
  ++target.outstanding;
  if (request.verb == verbs::Verb::kRead) ++endpoint->reads;
  parts.pds.enqueue_plain(parts, now, pdc, make_plain(parts, queue, *endpoint, target, request));
  return true;
}

}  // namespace wharf::uet
