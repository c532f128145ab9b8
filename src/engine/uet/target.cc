// SPDX-License-Identifier: Apache-2.0
// One-sided requests at the target: keys, rights, bounds, writes and reads, and the answers. [UE 1.0 3.4]
#include "engine/uet/target.h"

#include <algorithm>

#include "engine/uet/engine_parts.h"
#include "engine/uet/packet_size.h"

namespace wharf::uet {

using wire::UetNackCode;
using wire::UetOpcode;
using wire::UetReturnCode;

void Target::answer(TimePs now, std::uint32_t index, UetReturnCode code, std::uint32_t modified_length,
                    wire::UetListCode list) {
  const InboundPacket& inbound = parts_.inbound[index];
  wire::UetSesResponse response;
  response.opcode = code == UetReturnCode::kOk && list == wire::UetListCode::kExpected &&
                            modified_length == inbound.request_length
                        ? wire::UetResponseOpcode::kDefault
                        : wire::UetResponseOpcode::kResponse;
  response.return_code = code;
  response.list = list;
  response.message_id = inbound.message_id;
  response.job_id = inbound.job_id;
  response.ri_generation = inbound.ri_generation;
  response.modified_length = modified_length;
  if (code != UetReturnCode::kOk)
    ++parts_.counters.refused_return_code[static_cast<std::uint8_t>(code) & 63U];
  parts_.pds.respond(now, index, wire::UetNextHeader::kResponse, response, {});
}

void Target::end_message_in_error(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  InboundPacket& inbound = parts_.inbound[index];
  const bool ends = packet.uet.ses.opcode == UetOpcode::kMessageError;
  const bool has_record = inbound.pdc != kNoSlot && inbound.message_id != 0;
  const std::uint32_t at = has_record ? find_message(inbound.pdc, inbound.message_id) : kNoSlot;
  if (at != kNoSlot) {
    InboundMessage& message = parts_.inbound_messages[at];
    if (message.failed == UetReturnCode::kOk) message.failed = UetReturnCode::kInitiatorError;
    if (ends) {
      message.terminated = true;
      settle_message(now, at);
    }
  }
  answer(now, index, ends ? UetReturnCode::kOk : UetReturnCode::kInitiatorError,
         ends ? inbound.request_length : 0);
}

[[gnu::always_inline]] inline UetReturnCode Target::find_region(InboundPacket& inbound,
                                                                const wire::Packet& packet,
                                                                std::uint32_t& region,
                                                                std::uint64_t& address) const {
  const wire::UetSesRequest& request = packet.uet.ses;
  // [UE 1.0 3.4] Job, process, index, generation, enabled; then key, permission, bounds.
  if (packet.uet.prologue.next == wire::UetNextHeader::kRequestSmall) {
    region = parts_.regions.find_optimized(request.resource_index, request.job_id);
  } else {
    engine::QueueId queue = 0;
    const UetReturnCode code = parts_.endpoints.look_up(request, queue);
    if (code != UetReturnCode::kOk) {
      // The response names the current generation.
      if (code == UetReturnCode::kBadGeneration || code == UetReturnCode::kDisabledGeneration)
        inbound.ri_generation = parts_.endpoints[queue].generation;
      return code;
    }
    region = parts_.regions.find(request.memory_key, request.job_id);
  }
  if (region == kNoSlot) return UetReturnCode::kBadMemoryKey;
  const MemoryRegion& memory = parts_.regions[region];
  const verbs::AccessRights& rights = memory.config.rights;
  const bool permitted = request.opcode == UetOpcode::kRead    ? rights.remote_read
                         : request.opcode == UetOpcode::kWrite ? rights.remote_write
                                                               : rights.remote_atomic;
  if (!permitted) return UetReturnCode::kPermissionViolation;
  if (inbound.pdc == kNoSlot && (memory.key & kKeyIdempotentSafe) == 0)
    return UetReturnCode::kOperationViolation;
  std::uint64_t offset = request.buffer_offset;
  if (parts_.config.virtual_addresses) {
    if (offset < memory.config.base) return UetReturnCode::kBadAddress;
    offset -= memory.config.base;
  }
  if (offset > memory.config.length || request.request_length > memory.config.length - offset) {
    return UetReturnCode::kBadAddress;
  }
  address = memory.config.base + offset;
  return UetReturnCode::kOk;
}

[[gnu::always_inline]] inline std::optional<UetNackCode> Target::write(TimePs now, std::uint32_t index,
                                                                       const wire::Packet& packet) {
  InboundPacket& inbound = parts_.inbound[index];
  const wire::UetSesRequest& request = packet.uet.ses;
  std::uint32_t region = kNoSlot;
  std::uint64_t address = 0;
  UetReturnCode code = find_region(inbound, packet, region, address);
  const std::uint32_t length = packet.payload.length;
  const std::uint32_t offset = request.first() ? 0 : request.message_offset;
  const bool whole = request.first() && request.last();
  if (code == UetReturnCode::kOk) {
    const bool outside = offset > request.request_length || length > request.request_length - offset;
    if (outside || (whole && length != request.request_length)) code = UetReturnCode::kBadAddress;
  }
  if (inbound.pdc != kNoSlot && (!whole || request.has_header_data())) {
    if (!record_write(inbound, packet, code)) return UetNackCode::kNoMessage;
  }
  inbound.result = code;
  if (code != UetReturnCode::kOk || length == 0) {
    finish_packet(now, index);
    return std::nullopt;
  }
  inbound.accesses = 1;
  PendingAccess owner;
  owner.owner = AccessOwner::kInbound;
  owner.object = index;
  owner.buffer = packet.payload.buffer;
  parts_.payloads.retain(packet.payload.buffer);
  engine::Access& access = parts_.accesses.request(engine::AccessKind::kWrite, length, owner);
  access.at_target = true;
  access.order = parts_.regions[region].config.write_order;
  access.space = parts_.regions[region].config.space;
  access.stream = target_stream(inbound.source, inbound.resource_index);
  access.address = address + offset;
  access.data = packet.payload;
  access.operation = packet.operation;
  return std::nullopt;
}

std::optional<UetNackCode> Target::deliver(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  InboundPacket& inbound = parts_.inbound[index];
  const wire::UetNextHeader form = packet.uet.prologue.next;
  if (!wire::is_uet_request_form(form)) {
    // Nothing to execute: PDS alone acknowledges.
    ++parts_.counters.dropped_type;
    parts_.pds.respond(now, index, wire::UetNextHeader::kNone, {}, {});
    return std::nullopt;
  }
  const wire::UetSesRequest& request = packet.uet.ses;
  inbound.job_id = request.job_id;
  inbound.message_id = request.message_id;
  inbound.resource_index = request.resource_index;
  inbound.ri_generation = request.ri_generation;
  inbound.opcode = request.opcode;
  inbound.request_length = request.request_length;
  inbound.small_form = form != wire::UetNextHeader::kRequestStandard;
  if (request.initiator_error()) [[unlikely]] {
    // [UE 1.0 3.4] IE delivers nothing.
    end_message_in_error(now, index, packet);
    return std::nullopt;
  }
  if (request.opcode == UetOpcode::kWrite) return write(now, index, packet);
  return deliver_other(now, index, packet);
}

std::optional<UetNackCode> Target::deliver_other(TimePs now, std::uint32_t index,
                                                 const wire::Packet& packet) {
  const InboundPacket& inbound = parts_.inbound[index];
  const wire::UetSesRequest& request = packet.uet.ses;
  switch (request.opcode) {
    case UetOpcode::kNoOp:
      answer(now, index, UetReturnCode::kOk, inbound.request_length);
      return std::nullopt;
    case UetOpcode::kRead:
      return read(now, index, packet);
    case UetOpcode::kAtomic:
    case UetOpcode::kFetchingAtomic:
      return atomic(now, index, packet);
    case UetOpcode::kSend:
    case UetOpcode::kTaggedSend:
    case UetOpcode::kRendezvousSend:
    case UetOpcode::kRendezvousTaggedSend:
    case UetOpcode::kDeferrableSend:
    case UetOpcode::kDeferrableTaggedSend:
    case UetOpcode::kTaggedSendAtomic:
    case UetOpcode::kTaggedSendFetchAtomic:
      if (inbound.pdc == kNoSlot) break;  // RUDI carries RMA only.
      return two_sided(now, index, packet);
    case UetOpcode::kDeferrableReadyToRestart: {
      const UetReturnCode code =
          parts_.initiator.restart(now, inbound.source, static_cast<std::uint32_t>(request.memory_key >> 32U),
                                   static_cast<std::uint32_t>(request.memory_key), request.buffer_offset);
      answer(now, index, code, parts_.inbound[index].request_length);
      return std::nullopt;
    }
    case UetOpcode::kMessageError:
      end_message_in_error(now, index, packet);
      return std::nullopt;
    case UetOpcode::kWrite:
    case UetOpcode::kDatagramSend:
    case UetOpcode::kExtended:
      break;
  }
  answer(now, index, UetReturnCode::kUnsupportedOperation, 0);
  return std::nullopt;
}

bool Target::record_write(InboundPacket& inbound, const wire::Packet& packet, UetReturnCode& code) {
  const wire::UetSesRequest& request = packet.uet.ses;
  const bool whole = request.first() && request.last();
  std::uint32_t at = whole ? kNoSlot : find_message(inbound.pdc, request.message_id);
  if (at == kNoSlot) at = make_message(inbound, packet);
  if (at == kNoSlot) return false;
  if (parts_.inbound_messages[at].two_sided) {
    if (!parts_.inbound_messages[at].deferred) {
      code = UetReturnCode::kUnsupportedOperation;  // Two messages under one id.
      return true;
    }
    // A deferred send that has ended at its source: the id is this message's now.
    release_message(at);
    at = make_message(inbound, packet);
    if (at == kNoSlot) return false;
  }
  InboundMessage& message = parts_.inbound_messages[at];
  inbound.message = at;
  inbound.message_generation = message.generation;
  if (request.first()) {
    message.first_seen = true;
    message.request = request;
  }
  message.arrived += packet.payload.length;
  if (code != UetReturnCode::kOk && message.failed == UetReturnCode::kOk) message.failed = code;
  ++message.accesses;
  return true;
}

void Target::access_done(TimePs now, std::uint32_t index, engine::AccessStatus status) {
  InboundPacket& inbound = parts_.inbound[index];
  if (status == engine::AccessStatus::kFault) inbound.result = UetReturnCode::kNoTranslation;
  if (status == engine::AccessStatus::kPoison) inbound.result = UetReturnCode::kHostPoisoned;
  inbound.made_plain = false;
  if (--inbound.accesses > 0) return;
  if (inbound.returned_data) {
    parts_.initiator.returned_data_done(
        now, index,
        inbound.result == UetReturnCode::kOk ? engine::AccessStatus::kDone : engine::AccessStatus::kFault);
  } else if (inbound.message == kNoSlot && inbound.result == UetReturnCode::kOk && inbound.pdc != kNoSlot) {
    parts_.pds.respond_default(now, index);
  } else {
    finish_packet(now, index);
  }
}

namespace {

/// How much of a message that is too long reaches its buffer: of a rendezvous no remainder is read.
std::uint32_t delivered_of(const InboundMessage& message) {
  if (wire::uet_extension(message.request.opcode) == wire::UetExtension::kAtomic) return 0;
  return is_rendezvous(message.request.opcode) ? std::min(message.rendezvous.eager_length, message.capacity)
                                               : message.capacity;
}

}  // namespace

void Target::finish_packet(TimePs now, std::uint32_t index) {
  const InboundPacket& inbound = parts_.inbound[index];
  UetReturnCode code = inbound.result;
  std::uint32_t modified = code == UetReturnCode::kOk ? inbound.request_length : 0;
  wire::UetListCode list = wire::UetListCode::kExpected;
  std::uint32_t at = inbound.message;
  const std::uint32_t generation = inbound.message_generation;
  if (at != kNoSlot && parts_.inbound_messages[at].generation == generation) {
    InboundMessage& message = parts_.inbound_messages[at];
    if (code != UetReturnCode::kOk && message.failed == UetReturnCode::kOk) message.failed = code;
    const bool speaks = inbound.starts_message || message.failed == UetReturnCode::kCancelled;
    if (message.two_sided && speaks && code == UetReturnCode::kOk) {
      // [UE 1.0 3.4] Where it went and how much of it is the SOM packet's to say.
      if (message.failed != UetReturnCode::kOk) {
        code = message.failed;
        modified = code == UetReturnCode::kTooLong ? delivered_of(message) : 0;
      } else if (inbound.overflow) {
        list = wire::UetListCode::kOverflow;
      }
    }
    --message.accesses;
  } else {
    at = kNoSlot;
  }
  if (code == UetReturnCode::kOk && list == wire::UetListCode::kExpected && inbound.pdc != kNoSlot) {
    parts_.pds.respond_default(now, index);
  } else {
    answer(now, index, code, modified, list);
  }
  if (at != kNoSlot && parts_.inbound_messages[at].generation == generation) settle_message(now, at);
}

std::optional<UetNackCode> Target::read(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  InboundPacket& inbound = parts_.inbound[index];
  const wire::UetSesRequest& request = packet.uet.ses;
  std::uint32_t region = kNoSlot;
  std::uint64_t address = 0;
  UetReturnCode code = find_region(inbound, packet, region, address);
  if (code == UetReturnCode::kOk && packet.payload.length != 0) code = UetReturnCode::kUnsupportedSize;
  const std::uint32_t length = request.request_length;
  if (code != UetReturnCode::kOk || length == 0) {
    answer(now, index, code, code == UetReturnCode::kOk ? length : 0);
    return std::nullopt;
  }
  const MemoryRegion& memory = parts_.regions[region];
  const bool idempotent = inbound.pdc == kNoSlot;
  // [UE 1.0 3.4] The small data form names no offset: all of it must be in one packet.
  if ((idempotent || inbound.small_form) && length > parts_.config.payload_mtu) {
    answer(now, index, UetReturnCode::kUnsupportedSize, 0);
    return std::nullopt;
  }
  if (length <= parts_.config.max_ack_data_bytes || idempotent) {
    // [UE 1.0 3.5, Max_ACK_Data_Size] The acknowledgement carries it.
    inbound.accesses = 1;
    inbound.region = memory.message != kNoSlot ? region : kNoSlot;
    PendingAccess owner;
    owner.owner = AccessOwner::kInboundRead;
    owner.object = index;
    engine::Access& access = parts_.accesses.request(engine::AccessKind::kRead, length, owner);
    access.at_target = true;
    access.order = memory.config.read_order;
    access.space = memory.config.space;
    access.stream = target_stream(inbound.source, inbound.resource_index);
    access.address = address;
    access.operation = packet.operation;
    return std::nullopt;
  }
  return read_in_packets(now, index, packet, region, address);
}

std::optional<UetNackCode> Target::read_in_packets(TimePs now, std::uint32_t index,
                                                   const wire::Packet& packet, std::uint32_t region,
                                                   std::uint64_t address) {
  // [UE 1.0 3.5] More than that comes back as requests of the reverse direction.
  const InboundPacket& inbound = parts_.inbound[index];
  const wire::UetSesRequest& request = packet.uet.ses;
  const MemoryRegion& memory = parts_.regions[region];
  const std::uint32_t length = request.request_length;
  const std::uint32_t slot = parts_.initiator.acquire();
  if (slot == kNoSlot) return UetNackCode::kNoMessage;
  OutboundMessage& message = parts_.outbound[slot];
  message.kind = MessageKind::kReadResponse;
  message.form =
      inbound.small_form ? wire::UetNextHeader::kResponseDataSmall : wire::UetNextHeader::kResponseData;
  message.ses.request_length = length;
  message.send_length = length;
  message.host = inbound.source;
  message.ses.job_id = request.job_id;
  message.ses.resource_index = request.resource_index;  // Of this end: its stream.
  message.local_count = 1;
  message.local[0] = {address, length, memory.config.space};
  message.read_order = memory.config.read_order;
  message.region = memory.message != kNoSlot ? region : kNoSlot;
  message.ses.memory_key = memory.key;
  message.answered_message_id = request.message_id;
  message.answered_psn = inbound.psn;
  message.operation = packet.operation;
  message.ses_bytes = static_cast<std::uint8_t>(wire::uet_ses_bytes(message.form));
  message.overhead =
      static_cast<std::uint16_t>(window_overhead(parts_.config, wire::kUetRequestBytes + message.ses_bytes));
  const std::uint32_t pdc = inbound.pdc;
  wire::UetSesResponse response;
  response.opcode = wire::UetResponseOpcode::kNoResponse;
  response.message_id = request.message_id;
  response.job_id = request.job_id;
  response.ri_generation = request.ri_generation;
  response.modified_length = length;
  parts_.pds.respond(now, index, wire::UetNextHeader::kResponse, response, {});
  parts_.initiator.launch_on(now, pdc, slot);
  return std::nullopt;
}

void Target::read_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result) {
  InboundPacket& inbound = parts_.inbound[owner.object];
  if (result.status != engine::AccessStatus::kDone) {
    answer(now, owner.object,
           result.status == engine::AccessStatus::kPoison ? UetReturnCode::kHostPoisoned
                                                          : UetReturnCode::kNoTranslation,
           0);
    return;
  }
  atomic_done(now, owner.object, inbound.result, result.data);
}

void Target::atomic_done(TimePs now, std::uint32_t index, UetReturnCode code, const wire::Payload& result) {
  const InboundPacket& inbound = parts_.inbound[index];
  if (code != UetReturnCode::kOk || result.length == 0) {
    parts_.inbound[index].result = code;
    finish_packet(now, index);
    return;
  }
  wire::UetSesResponse response;
  response.opcode = wire::UetResponseOpcode::kWithData;
  response.job_id = inbound.job_id;
  response.payload_length = static_cast<std::uint16_t>(result.length);
  response.message_id = inbound.message_id;
  response.read_request_message_id = inbound.message_id;
  response.original_request_psn = inbound.psn;
  response.modified_length = result.length;
  const std::uint32_t region = inbound.region;
  const auto form =
      inbound.small_form ? wire::UetNextHeader::kResponseDataSmall : wire::UetNextHeader::kResponseData;
  const std::uint32_t at = inbound.message;
  const std::uint32_t generation = inbound.message_generation;
  parts_.pds.respond(now, index, form, response, result, region);
  if (at != kNoSlot && parts_.inbound_messages.is_used(at) &&
      parts_.inbound_messages[at].generation == generation) {
    --parts_.inbound_messages[at].accesses;
    settle_message(now, at);
  }
}

std::optional<UetNackCode> Target::atomic(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  InboundPacket& inbound = parts_.inbound[index];
  const wire::UetSesRequest& request = packet.uet.ses;
  std::uint32_t region = kNoSlot;
  std::uint64_t address = 0;
  UetReturnCode code = find_region(inbound, packet, region, address);
  if (code == UetReturnCode::kOk && inbound.pdc == kNoSlot) code = UetReturnCode::kOperationViolation;
  if (code == UetReturnCode::kOk)
    code = AtomicUnit::check(packet.uet.atomic, request.request_length, packet.payload.length, address);
  if (code != UetReturnCode::kOk) {
    answer(now, index, code, 0);
    return std::nullopt;
  }
  const bool fetching = request.opcode == UetOpcode::kFetchingAtomic;
  if (!parts_.atomics.start(now, index, packet.uet.atomic, &parts_.regions[region],
                            parts_.regions[region].config.space, address, request.request_length, fetching,
                            packet.payload, packet.operation)) {
    return UetNackCode::kNoResource;
  }
  return std::nullopt;
}

}  // namespace wharf::uet
