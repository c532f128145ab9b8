// SPDX-License-Identifier: Apache-2.0
// Two-sided messages at the target: matching, what happens without a posted receive, rendezvous and deferred
// sends. [UE 1.0 3.4]
#include <algorithm>

#include "engine/uet/engine_parts.h"
#include "engine/uet/packet_size.h"
#include "engine/uet/scatter.h"

namespace wharf::uet {

using wire::UetNackCode;
using wire::UetReturnCode;

bool Target::others_hold(std::uint32_t at) const {
  const std::uint32_t pdc = parts_.inbound_messages[at].pdc;
  std::uint32_t other = pdc == kNoSlot ? kNoSlot : parts_.pds.pdc(pdc).rx.messages;
  while (other != kNoSlot && (other == at || parts_.inbound_messages[other].held == kNoSlot))
    other = parts_.inbound_messages[other].next;
  return other != kNoSlot;
}

bool Target::hold(const InboundPacket& inbound, std::uint32_t offset, const wire::Payload& payload) {
  if (payload.length == 0) return true;
  const std::uint32_t at = inbound.message;
  // What the holders of the room lack may lie behind this packet: the next in order is kept above the limit.
  const bool must = inbound.next_in_order && others_hold(at);
  const std::uint32_t beyond = must ? parts_.pds.pdc(inbound.pdc).rx.range : 0;
  const std::uint32_t slot = EngineParts::acquire(parts_.held, parts_.config.held_packets + beyond);
  if (slot == kNoSlot) return false;
  HeldPacket& held = parts_.held[slot];
  held.payload = parts_.keep(payload);
  held.offset = offset;
  held.next = kNoSlot;
  InboundMessage& message = parts_.inbound_messages[at];
  (message.held == kNoSlot ? message.held : parts_.held[message.held_tail].next) = slot;
  message.held_tail = slot;
  return true;
}

void Target::room_came() {
  lack_room_ = false;
  for (engine::QueueId queue = 0; queue < parts_.endpoints.count(); ++queue) {
    Endpoint& endpoint = parts_.endpoints[queue];
    if (endpoint.used && endpoint.refuses && endpoint.lacks_room) EndpointTable::enable(endpoint);
  }
}

void Target::release_held(std::uint32_t at) {
  InboundMessage& message = parts_.inbound_messages[at];
  if (message.held == kNoSlot) return;
  while (message.held != kNoSlot) {
    const std::uint32_t slot = message.held;
    message.held = parts_.held[slot].next;
    parts_.payloads.release(parts_.held[slot].payload.buffer);
    parts_.held.release(slot);
  }
  if (lack_room_) [[unlikely]]
    room_came();
}

void Target::leave_unexpected(std::uint32_t at) {
  InboundMessage& message = parts_.inbound_messages[at];
  if (!message.unexpected) return;
  message.unexpected = false;
  --unexpected_count_;
  parts_.endpoints[message.endpoint].unexpected.remove(parts_.inbound_messages, at,
                                                       &InboundMessage::next_unexpected);
  if (lack_room_) [[unlikely]]
    room_came();
}

std::uint32_t Target::place(std::uint32_t index, std::uint32_t offset, const wire::Payload& payload,
                            const PendingAccess& owner) {
  const InboundMessage& message = parts_.inbound_messages[index];
  const ReceiveEntry& receive = parts_.endpoints.receive(message.receive);
  std::uint32_t accesses = 0;
  PendingAccess pending = owner;
  pending.buffer = payload.buffer;
  for_each_piece(
      receive.request.local, receive.request.local_count, offset, payload.length,
      [&](std::uint64_t address, std::uint32_t at, std::uint32_t length, verbs::AddressSpaceId space) {
        parts_.payloads.retain(payload.buffer);
        engine::Access& access = parts_.accesses.request(engine::AccessKind::kWrite, length, pending);
        access.at_target = true;
        access.queue = message.endpoint;
        access.stream = target_stream(message.source, message.request.resource_index);
        access.space = space;
        access.address = address;
        access.data = wire::slice(payload, at, length);
        ++accesses;
      });
  return accesses;
}

void Target::match(TimePs, std::uint32_t at, std::uint32_t receive) {
  InboundMessage& message = parts_.inbound_messages[at];
  leave_unexpected(at);
  message.matched = true;
  message.receive = receive;
  message.capacity = parts_.endpoints.receive(receive).capacity;
  if (message.request_length > message.capacity && message.failed == UetReturnCode::kOk) {
    message.failed = UetReturnCode::kTooLong;
  }
  PendingAccess owner;
  owner.owner = AccessOwner::kHeld;
  owner.object = at;
  owner.generation = message.generation;
  for (std::uint32_t slot = message.held; slot != kNoSlot; slot = parts_.held[slot].next) {
    const std::uint32_t accesses = place(at, parts_.held[slot].offset, parts_.held[slot].payload, owner);
    parts_.inbound_messages[at].accesses += accesses;
  }
  release_held(at);
}

void Target::held_done(TimePs now, const PendingAccess& owner, engine::AccessStatus status) {
  if (!parts_.inbound_messages.is_used(owner.object)) return;
  InboundMessage& message = parts_.inbound_messages[owner.object];
  if (message.generation != owner.generation) return;
  --message.accesses;
  if (status != engine::AccessStatus::kDone) message.failed = UetReturnCode::kNoTranslation;
  settle_message(now, owner.object);
}

UetReturnCode Target::find_two_sided(InboundPacket& inbound, const wire::Packet& packet, std::uint32_t& at) {
  const wire::UetSesRequest& request = packet.uet.ses;
  const bool first = request.first();
  const bool whole = first && request.last();
  if (!whole && wire::uet_extension(request.opcode) == wire::UetExtension::kAtomic) {
    return UetReturnCode::kUnsupportedSize;  // An atomic is one packet.
  }
  at = whole ? kNoSlot : find_message(inbound.pdc, request.message_id);
  if (at != kNoSlot && parts_.inbound_messages[at].deferred &&
      (first || request.buffer_offset != parts_.inbound_messages[at].request.buffer_offset)) {
    // The deferred message starts again under its old id, or has ended at its source and another has the id.
    // Every packet of a deferrable send bears its tokens, which are new each time.
    release_message(at);
    at = kNoSlot;
  }
  if (at != kNoSlot) return UetReturnCode::kOk;
  engine::QueueId queue = 0;
  const UetReturnCode code = parts_.endpoints.look_up(request, queue);
  if (code != UetReturnCode::kOk) {
    if (code == UetReturnCode::kBadGeneration || code == UetReturnCode::kDisabledGeneration) {
      inbound.ri_generation = parts_.endpoints[queue].generation;
    }
    return code;
  }
  at = make_message(inbound, packet);
  if (at == kNoSlot) return UetReturnCode::kOk;
  parts_.inbound_messages[at].two_sided = true;
  parts_.inbound_messages[at].endpoint = queue;
  return UetReturnCode::kOk;
}

std::uint32_t Target::take_asked_for(const InboundMessage& message) {
  const auto token = static_cast<std::uint32_t>(message.request.buffer_offset);
  if (!is_deferrable(message.request.opcode) || token == 0) return kNoSlot;
  // [UE 1.0 3.4, deferrable send] It comes because this target asked for it; a guessed token is none.
  const std::uint32_t slot = (token & 0xffffU) - 1;
  if (slot >= deferred_.capacity() || !deferred_.is_used(slot) ||
      ((deferred_[slot].generation << 16U) | (slot + 1)) != token || deferred_[slot].asks == kNoSlot ||
      deferred_[slot].source != message.source || deferred_[slot].endpoint != message.endpoint) {
    return kNoSlot;
  }
  const std::uint32_t receive = deferred_[slot].receive;
  const std::uint32_t asks = deferred_[slot].asks;
  release_deferred(slot);
  parts_.initiator.end_restart_request(asks, token);
  return receive;  // None when the queue was flushed meanwhile.
}

void Target::begin_two_sided(TimePs now, std::uint32_t index, std::uint32_t at, const wire::Packet& packet) {
  InboundMessage& message = parts_.inbound_messages[at];
  const wire::UetSesRequest& request = packet.uet.ses;
  message.first_seen = true;
  message.request = request;
  if (is_rendezvous(request.opcode)) message.rendezvous = packet.uet.rendezvous;
  parts_.inbound[index].starts_message = true;
  if (message.failed != UetReturnCode::kOk) return;  // Its endpoint has gone meanwhile.
  std::uint32_t receive = take_asked_for(message);
  if (receive == kNoSlot) receive = parts_.endpoints.match(message.endpoint, request);
  if (receive != kNoSlot) {
    match(now, at, receive);
  } else {
    refuse_send(now, index, at);
  }
}

void Target::start_tagged_atomic(TimePs now, std::uint32_t index, std::uint32_t at,
                                 const wire::Packet& packet) {
  // [UE 1.0 3.4, TSEND_ATOMIC] The matched buffer is the target of the operation.
  InboundMessage& message = parts_.inbound_messages[at];
  const wire::UetSesRequest& request = packet.uet.ses;
  const ReceiveEntry& receive = parts_.endpoints.receive(message.receive);
  const std::uint64_t address = receive.request.local_count > 0 ? receive.request.local[0].address : 0;
  const bool room =
      receive.request.local_count > 0 && receive.request.local[0].length >= request.request_length;
  UetReturnCode code =
      room ? AtomicUnit::check(packet.uet.atomic, request.request_length, packet.payload.length, address)
           : UetReturnCode::kTooLong;
  message.arrived = message.request_length;
  ++message.accesses;
  const bool fetching = request.opcode == wire::UetOpcode::kTaggedSendFetchAtomic;
  if (code == UetReturnCode::kOk &&
      !parts_.atomics.start(now, index, packet.uet.atomic, nullptr, receive.request.local[0].key, address,
                            request.request_length, fetching, packet.payload, packet.operation)) {
    code = UetReturnCode::kHostUnsuccessful;
  }
  if (code == UetReturnCode::kOk) return;
  parts_.inbound[index].result = code;
  finish_packet(now, index);
}

std::optional<UetNackCode> Target::two_sided(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  InboundPacket& inbound = parts_.inbound[index];
  const wire::UetSesRequest& request = packet.uet.ses;
  const bool first = request.first();
  std::uint32_t at = kNoSlot;
  const UetReturnCode code = find_two_sided(inbound, packet, at);
  if (code != UetReturnCode::kOk) {
    answer(now, index, code, 0);
    return std::nullopt;
  }
  if (at == kNoSlot) return UetNackCode::kNoMessage;
  InboundMessage& message = parts_.inbound_messages[at];
  const std::uint32_t offset = first ? 0 : request.message_offset;
  const std::uint32_t length = packet.payload.length;
  const bool fits = offset <= message.request_length && length <= message.request_length - offset;
  if (!message.two_sided || !fits || request.request_length != message.request_length ||
      (first && message.first_seen)) {
    ++parts_.counters.dropped_malformed;
    answer(now, index, UetReturnCode::kUnsupportedSize, 0);
    return std::nullopt;
  }
  inbound.message = at;
  inbound.message_generation = message.generation;
  if (first) begin_two_sided(now, index, at, packet);
  InboundMessage& settled = parts_.inbound_messages[at];
  inbound.overflow = settled.unexpected;
  const bool atomic = wire::uet_extension(request.opcode) == wire::UetExtension::kAtomic;
  if (atomic && settled.matched && settled.failed == UetReturnCode::kOk) {
    start_tagged_atomic(now, index, at, packet);
    return std::nullopt;
  }
  settled.arrived += length;
  ++settled.accesses;
  // [UE 1.0 3.4] Of a message that is too long, what the buffer takes is delivered.
  const bool placed =
      settled.failed == UetReturnCode::kOk || (settled.failed == UetReturnCode::kTooLong && !atomic);
  if (settled.matched && placed) {
    PendingAccess owner;
    owner.owner = AccessOwner::kInbound;
    owner.object = index;
    inbound.accesses = place(at, offset, packet.payload, owner);
    if (inbound.accesses > 0) return std::nullopt;
  } else if (!settled.deferred && settled.failed == UetReturnCode::kOk &&
             (atomic || !hold(inbound, offset, packet.payload))) {
    // No room to keep it until its message is matched.
    if (!first && !atomic) {
      settled.arrived -= length;
      --settled.accesses;
      if (settled.arrived == 0 && settled.accesses == 0 && !settled.first_seen) release_message(at);
      return UetNackCode::kNoMessage;
    }
    leave_unexpected(at);
    refuse_unmatched(index, at, !atomic);
  }
  finish_packet(now, index);
  return std::nullopt;
}

void Target::refuse_send(TimePs, std::uint32_t index, std::uint32_t at) {
  InboundMessage& message = parts_.inbound_messages[at];
  Endpoint& endpoint = parts_.endpoints[message.endpoint];
  const UetConfig& config = parts_.config;
  if (is_deferrable(message.request.opcode)) {
    if (defer(at) != kNoSlot) {
      message.deferred = true;
      message.failed = UetReturnCode::kDropped;
      release_held(at);
      return;
    }
  } else if (config.unexpected == UnexpectedSend::kKeep && unexpected_count_ < config.unexpected_messages) {
    message.unexpected = true;
    ++unexpected_count_;
    endpoint.unexpected.push(parts_.inbound_messages, at, &InboundMessage::next_unexpected);
    return;
  }
  refuse_unmatched(index, at,
                   is_deferrable(message.request.opcode) || config.unexpected == UnexpectedSend::kKeep);
}

void Target::refuse_unmatched(std::uint32_t index, std::uint32_t at, bool for_room) {
  InboundMessage& message = parts_.inbound_messages[at];
  Endpoint& endpoint = parts_.endpoints[message.endpoint];
  message.failed = UetReturnCode::kNoMatch;
  release_held(at);
  if (parts_.pds.pdc(message.pdc).ordered) {
    // [UE 1.0 3.4] Order survives: everything is refused until a receive is there again, or what others took
    // is free.
    endpoint.enabled = false;
    endpoint.refuses = true;
    endpoint.lacks_room = for_room;
    lack_room_ = lack_room_ || for_room;
    message.failed = endpoint.generations ? UetReturnCode::kDisabledGeneration : UetReturnCode::kDisabled;
    parts_.inbound[index].ri_generation = endpoint.generation;
  }
}

bool Target::receive_posted(TimePs now, engine::QueueId queue, std::uint32_t receive) {
  Endpoint& endpoint = parts_.endpoints[queue];
  const verbs::ReceiveRequest& request = parts_.endpoints.receive(receive).request;
  for (std::uint32_t at = endpoint.unexpected.head; at != kNoSlot;
       at = parts_.inbound_messages[at].next_unexpected) {
    if (!EndpointTable::matches(request, parts_.inbound_messages[at].request)) continue;
    match(now, at, receive);
    settle_message(now, at);
    return true;
  }
  for (std::uint32_t at = endpoint.deferred.head; at != kNoSlot; at = deferred_[at].next) {
    if (!EndpointTable::matches(request, deferred_[at].request)) continue;
    endpoint.deferred.remove(deferred_, at, &DeferredSend::next);
    deferred_[at].receive = receive;
    request_restart(now, at);
    return true;
  }
  return false;
}

std::uint32_t Target::defer(std::uint32_t at) {
  const InboundMessage& message = parts_.inbound_messages[at];
  const std::uint32_t slot =
      EngineParts::acquire(deferred_, std::min(parts_.config.unexpected_messages, 65534U));
  if (slot == kNoSlot) return kNoSlot;
  DeferredSend& deferred = deferred_[slot];
  const std::uint32_t generation = (deferred.generation + 1) & 0xffffU;
  deferred = DeferredSend{};
  deferred.generation = generation;
  deferred.endpoint = message.endpoint;
  deferred.source = message.source;
  deferred.request = message.request;
  deferred.initiator_token = static_cast<std::uint32_t>(message.request.buffer_offset >> 32U);
  parts_.endpoints[message.endpoint].deferred.push(deferred_, slot, &DeferredSend::next);
  return slot;
}

void Target::release_deferred(std::uint32_t slot) {
  if (deferred_[slot].asks == kNoSlot) unasked_.remove(deferred_, slot, &DeferredSend::next);
  deferred_.release(slot);
  if (lack_room_) room_came();
}

void Target::request_restart(TimePs now, std::uint32_t slot) {
  if (ask(now, slot)) return;
  unasked_.push(deferred_, slot, &DeferredSend::next);
  parts_.initiator.look_at(deferred_[slot].endpoint);
}

void Target::ask_waiting(TimePs now) {
  // What fails is the last one the next time: others may be for hosts to which there is a PDC.
  while (!unasked_.empty()) {
    const std::uint32_t slot = unasked_.pop(deferred_, &DeferredSend::next);
    if (ask(now, slot)) continue;
    unasked_.push(deferred_, slot, &DeferredSend::next);
    parts_.initiator.look_at(deferred_[slot].endpoint);
    break;
  }
  while (!unread_.empty()) {
    const std::uint32_t at = unread_.pop(parts_.inbound_messages, &InboundMessage::next_unexpected);
    if (read_remainder(now, at)) continue;
    unread_.push(parts_.inbound_messages, at, &InboundMessage::next_unexpected);
    parts_.initiator.look_at(parts_.inbound_messages[at].endpoint);
    break;
  }
}

bool Target::ask(TimePs now, std::uint32_t slot) {
  const std::uint32_t token = (deferred_[slot].generation << 16U) | (slot + 1);
  const std::uint32_t out = parts_.initiator.acquire();
  if (out == kNoSlot) return false;
  const DeferredSend& deferred = deferred_[slot];
  OutboundMessage& message = parts_.outbound[out];
  message.kind = MessageKind::kRestartRequest;
  message.ses.opcode = wire::UetOpcode::kDeferrableReadyToRestart;
  message.host = deferred.source;
  message.ses.job_id = deferred.request.job_id;
  message.ses.pid_on_fep = 0;
  message.ses.resource_index = 0;  // [UE 1.0 3.4] RI 0: between providers.
  message.ses.flags |= wire::kUetRelative;
  message.ses.memory_key = wire::uet_tokens(deferred.initiator_token, token);
  message.target_token = token;
  message.queue = deferred.endpoint;
  message.ses_bytes = wire::kUetStandardBytes;
  message.overhead = static_cast<std::uint16_t>(
      window_overhead(parts_.config, wire::kUetRequestBytes + wire::kUetStandardBytes));
  if (!parts_.initiator.launch(now, out)) {
    parts_.outbound.release(out);
    return false;
  }
  deferred_[slot].asks = out;
  return true;
}

bool Target::awaits_restart(std::uint32_t token) const {
  const std::uint32_t slot = (token & 0xffffU) - 1;
  return slot < deferred_.capacity() && deferred_.is_used(slot) &&
         ((deferred_[slot].generation << 16U) | (slot + 1)) == token && deferred_[slot].asks != kNoSlot;
}

void Target::restart_refused(TimePs now, std::uint32_t token) {
  const std::uint32_t slot = (token & 0xffffU) - 1;
  if (slot >= deferred_.capacity() || !deferred_.is_used(slot) ||
      ((deferred_[slot].generation << 16U) | (slot + 1)) != token) {
    return;
  }
  const std::uint32_t receive = deferred_[slot].receive;
  const engine::QueueId queue = deferred_[slot].endpoint;
  release_deferred(slot);
  if (receive != kNoSlot) return_receive(now, queue, receive);
}

void Target::return_receive(TimePs now, engine::QueueId queue, std::uint32_t receive) {
  if (!receive_posted(now, queue, receive)) parts_.endpoints.give_back(queue, receive);
  // What the program has disabled is the program's to enable.
  if (parts_.endpoints[queue].refuses) EndpointTable::enable(parts_.endpoints[queue]);
}

void Target::fetch_remainder(TimePs now, std::uint32_t at) {
  parts_.inbound_messages[at].fetching = true;
  ++fetching_;
  if (read_remainder(now, at)) return;
  unread_.push(parts_.inbound_messages, at, &InboundMessage::next_unexpected);
  parts_.initiator.look_at(parts_.inbound_messages[at].endpoint);
}

bool Target::read_remainder(TimePs now, std::uint32_t at) {
  const std::uint32_t out = parts_.initiator.acquire();
  if (out == kNoSlot) return false;
  const InboundMessage& message = parts_.inbound_messages[at];
  const std::uint32_t eager = message.rendezvous.eager_length;
  const std::uint32_t whole = std::min(message.request_length, message.capacity);
  OutboundMessage& read = parts_.outbound[out];
  read.kind = MessageKind::kRendezvousRead;
  read.ses.opcode = wire::UetOpcode::kRead;
  read.host = message.source;
  read.ses.job_id = message.request.job_id;
  read.ses.pid_on_fep = message.rendezvous.pid_on_fep;
  read.ses.resource_index = message.rendezvous.resource_index;
  read.ses.ri_generation = message.rendezvous.ri_generation;
  if (message.request.relative()) read.ses.flags |= wire::kUetRelative;
  read.ses.request_length = whole - eager;
  read.expects_data = true;
  read.needs_answer = read.ses.request_length <= parts_.config.max_ack_data_bytes;
  read.ses.buffer_offset = message.rendezvous.read_offset;
  read.ses.memory_key = message.rendezvous.memory_key;
  read.inbound = at;
  read.target_token = message.generation;
  read.queue = message.endpoint;
  // The buffer behind its eager part.
  const ReceiveEntry& receive = parts_.endpoints.receive(message.receive);
  std::uint32_t skip = eager;
  for (std::uint8_t i = 0; i < receive.request.local_count; ++i) {
    const verbs::ScatterEntry& entry = receive.request.local[i];
    const std::uint32_t skipped = std::min(skip, entry.length);
    skip -= skipped;
    if (entry.length > skipped) {
      read.local[read.local_count++] = {entry.address + skipped, entry.length - skipped, entry.key};
    }
  }
  read.ses_bytes = wire::kUetStandardBytes;
  read.overhead = static_cast<std::uint16_t>(
      window_overhead(parts_.config, wire::kUetRequestBytes + wire::kUetStandardBytes));
  if (parts_.initiator.launch(now, out)) return true;
  parts_.outbound.release(out);
  return false;
}

void Target::deliver_datagram(TimePs now, const wire::Packet& packet) {
  const wire::UetSesRequest& request = packet.uet.ses;
  engine::QueueId queue = 0;
  // [UE 1.0 3.4] Best effort: without a matching receive that is long enough it is forgotten.
  if (request.opcode != wire::UetOpcode::kDatagramSend || !request.first() || !request.last() ||
      packet.payload.length != request.request_length ||
      parts_.endpoints.look_up(request, queue) != UetReturnCode::kOk) {
    ++parts_.counters.dropped_malformed;
    return;
  }
  const std::uint32_t at = EngineParts::acquire(parts_.inbound_messages, parts_.config.inbound_messages);
  const std::uint32_t receive = at == kNoSlot ? kNoSlot : parts_.endpoints.match_whole(queue, request);
  if (receive == kNoSlot) {
    if (at != kNoSlot) parts_.inbound_messages.release(at);
    ++parts_.counters.dropped_no_room;
    return;
  }
  InboundMessage& message = parts_.inbound_messages[at];
  const std::uint32_t generation = message.generation + 1;
  message = InboundMessage{};
  message.generation = generation;
  message.source = packet.source;
  message.request = request;
  message.request_length = request.request_length;
  message.arrived = request.request_length;
  message.two_sided = true;
  message.first_seen = true;
  message.endpoint = queue;
  match(now, at, receive);
  PendingAccess owner;
  owner.owner = AccessOwner::kHeld;
  owner.object = at;
  owner.generation = generation;
  const std::uint32_t accesses = place(at, 0, packet.payload, owner);
  parts_.inbound_messages[at].accesses += accesses;
  if (accesses == 0) settle_message(now, at);
}

}  // namespace wharf::uet
