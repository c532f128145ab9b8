// SPDX-License-Identifier: Apache-2.0
// The usual request: a Write, Read or Send of one packet and one piece of local memory, behind others of an
// open PDC that may leave. It becomes a message, and its payload is asked for, in one pass.
#pragma once

#include "engine/uet/engine_parts.h"
#include "engine/uet/initiator_build.h"
#include "engine/uet/pds_plain.h"
#include "engine/uet/renew.h"

namespace wharf::uet {

[[gnu::always_inline]] inline bool Initiator::is_plain(const EngineParts& parts,
                                                       const verbs::WorkRequest& request) const {
  return request.length - 1 < parts.plain.most_bytes && request.local_count == 1 &&
         request.local[0].length == request.length && request.local[0].key == 0 &&
         !(request.fence | request.tagged | request.remote_complete) &&
         request.inline_data.kind == wire::PayloadKind::kNone &&
         request.atomic_function == verbs::AtomicFunction::kOfVerb &&
         request.delivery == verbs::Delivery::kDefault && request.peer < peer_count_;
}

/// What plain requests of one kind to one peer share, in a slot that was used before.
[[gnu::always_inline]] inline void Initiator::begin_plain(EngineParts& parts, std::uint32_t slot,
                                                          engine::QueueId queue, const Endpoint& endpoint,
                                                          const Peer& target,
                                                          const verbs::WorkRequest& request) {
  OutboundMessage& message = parts.outbound[slot];
  const std::uint32_t generation = message.generation;
  renew(message);
  message.generation = generation;
  const bool reads = request.verb == verbs::Verb::kRead;
  const bool sends = request.verb == verbs::Verb::kSend;
  message.made_plain = true;
  message.queue = queue;
  message.peer = request.peer;
  message.verb = request.verb;
  message.ses.message_id = message_id_of(slot);
  address_to(message, target.to, endpoint.initiator_id);
  message.ses.opcode = sends   ? wire::UetOpcode::kSend
                       : reads ? wire::UetOpcode::kRead
                               : wire::UetOpcode::kWrite;
  message.delivery = sends ? parts.plain.two_sided : parts.plain.one_sided;
  message.local_count = 1;
  message.local[0].key = endpoint.config.space;
  message.expects_data = reads;
  message.from_memory = !reads;
  message.ses_bytes = wire::kUetStandardBytes;
  message.overhead = parts.plain.overhead;
  message.simple = true;
  message.plain = !reads;
}

/// The message of a plain request, in a slot that was used before.
[[gnu::always_inline]] inline std::uint32_t Initiator::make_plain(EngineParts& parts, engine::QueueId queue,
                                                                  const Endpoint& endpoint,
                                                                  const Peer& target,
                                                                  const verbs::WorkRequest& request) {
  const std::uint32_t slot = parts.outbound.acquire_used();
  OutboundMessage& message = parts.outbound[slot];
  if (message.made_plain && message.queue == queue && message.peer == request.peer &&
      message.verb == request.verb) [[likely]] {
    message.sent = 0;
    message.received = 0;
    message.next = kNoSlot;
    message.all_sent = false;
    message.first_sent = false;
    message.ses.ri_generation = target.to.ri_generation;
  } else {
    begin_plain(parts, slot, queue, endpoint, target, request);
  }
  const std::uint32_t length = request.length;
  ++message.generation;
  message.order = order_++;
  message.id = request.id;
  message.operation = request.operation;
  message.signaled = request.signaled;
  message.local[0].address = request.local[0].address;
  message.local[0].length = length;
  message.ses.request_length = length;
  if (message.expects_data) {
    message.needs_answer = length <= parts.config.max_ack_data_bytes;
  } else {
    message.send_length = length;
  }
  if (request.verb != verbs::Verb::kSend) {
    message.ses.buffer_offset = request.remote.address;
    message.ses.memory_key = key_of(request.remote.token);
  }
  return slot;
}

/// The data of a Read as a message of the reverse direction, in a slot that was used before.
[[gnu::always_inline]] inline std::uint32_t Initiator::make_plain_response(const wire::Packet& packet,
                                                                           const MemoryRegion& memory,
                                                                           std::uint64_t address) {
  const wire::UetSesRequest& request = packet.uet.ses;
  const std::uint32_t slot = parts_.outbound.acquire_used();
  OutboundMessage& message = parts_.outbound[slot];
  if (message.made_plain && message.kind == MessageKind::kReadResponse) [[likely]] {
    message.sent = 0;
    message.next = kNoSlot;
    message.all_sent = false;
    message.first_sent = false;
  } else {
    const std::uint32_t generation = message.generation;
    renew(message);
    message.generation = generation;
    message.made_plain = true;
    message.kind = MessageKind::kReadResponse;
    message.form = wire::UetNextHeader::kResponseData;
    message.local_count = 1;
    message.ses_bytes = static_cast<std::uint8_t>(wire::uet_ses_bytes(message.form));
    message.overhead = parts_.plain.data_overhead;
    message.from_memory = true;
    message.plain = true;
  }
  ++message.generation;
  message.order = order_++;
  message.send_length = request.request_length;
  message.host = packet.source;
  message.ses.request_length = request.request_length;
  message.ses.job_id = request.job_id;
  message.ses.resource_index = request.resource_index;  // Of this end: its stream.
  message.ses.memory_key = memory.key;
  message.local[0] = {address, request.request_length, memory.config.space};
  message.read_order = memory.config.read_order;
  message.answered_message_id = request.message_id;
  message.answered_psn = packet.uet.request.psn;
  message.operation = packet.operation;
  return slot;
}

[[gnu::always_inline]] inline bool Initiator::post_plain(EngineParts& parts, TimePs now,
                                                         engine::QueueId queue,
                                                         const verbs::WorkRequest& request) {
  const bool sends = request.verb == verbs::Verb::kSend;
  if ((!sends && request.verb != verbs::Verb::kWrite && request.verb != verbs::Verb::kRead) ||
      !is_plain(parts, request)) {
    return false;
  }
  Endpoint* endpoint = parts.endpoints.find(queue);
  if (endpoint == nullptr || endpoint->failed || !endpoint->posted.empty() ||
      endpoint->outstanding >= endpoint->config.send_depth || endpoint->reserved >= endpoint->records()) {
    return false;
  }
  Peer& target = peers_[request.peer];
  // No more are under way than the pool has places, of which one that was used is free.
  if (!target.used || target.waiting > 0 || !parts.outbound.has_used()) return false;
  const bool ordered = (sends ? parts.plain.two_sided : parts.plain.one_sided) == verbs::Delivery::kOrdered;
  const std::uint32_t pdc =
      parts.pds.known_pdc(target.to.host, parts.pds.route_of(target.to.job_id, request.peer), ordered);
  if (pdc == kNoSlot) return false;
  ++endpoint->reserved;
  ++endpoint->outstanding;
  ++target.outstanding;
  if (request.verb == verbs::Verb::kRead) ++endpoint->reads;
  parts.pds.enqueue_plain(parts, now, pdc, make_plain(parts, queue, *endpoint, target, request));
  return true;
}

}  // namespace wharf::uet
