// SPDX-License-Identifier: Apache-2.0
// From message to packets: payload that is at hand or comes from memory, and the SES header of each packet.
// [UE 1.0 3.4]
#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/uet/engine_parts.h"
#include "engine/uet/initiator_build.h"
#include "engine/uet/initiator_fetch.h"
#include "engine/uet/scatter.h"

namespace wharf::uet {

using wire::UetNextHeader;
using wire::UetOpcode;

wire::Payload Initiator::payload_at_hand(std::uint32_t slot, std::uint32_t offset,
                                         std::uint32_t length) const {
  const OutboundMessage& message = parts_.outbound[slot];
  if (length == 0) return {};
  if (message.atomic_from_operand) {
    const wire::BufferId buffer = parts_.payloads.acquire(length);
    std::memcpy(parts_.payloads.data(buffer), message.operand.data(), length);
    return wire::bytes_payload(parts_.payloads.data(buffer), length, buffer);
  }
  const wire::Payload payload = wire::slice(message.inline_data, message.first_byte + offset, length);
  parts_.payloads.retain(payload.buffer);
  return payload;
}

bool Initiator::fetch_pieces(const OutboundMessage& message, std::uint32_t staged, std::uint32_t offset,
                             std::uint32_t length, wire::Payload& payload, std::uint32_t& pieces,
                             bool& whole_result) {
  if (message.local_count == 0) return false;  // Its queue is gone: its memory is not touched any more.
  const std::uint32_t from = message.first_byte + offset;
  std::uint32_t count = 0;
  for_each_piece(message.local, message.local_count, from, length,
                 [&count](std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t) { ++count; });
  pieces = count;
  whole_result = count == 1;
  if (!whole_result) {
    const wire::BufferId buffer = parts_.payloads.acquire(length);
    payload = wire::bytes_payload(parts_.payloads.data(buffer), length, buffer);
  }
  for_each_piece(
      message.local, message.local_count, from, length,
      [&](std::uint64_t address, std::uint32_t at, std::uint32_t bytes, verbs::AddressSpaceId space) {
        fetch_piece(parts_.accesses, message, staged, address, at, bytes, space);
      });
  return true;
}

void Initiator::build_any(OutboundMessage& message, std::uint32_t slot, std::uint32_t offset,
                          std::uint32_t length, bool failed, wire::Packet& out) {
  if (message.kind == MessageKind::kReadResponse) {
    build_read_response(message, slot, offset, length, failed, out);
    return;
  }
  const bool first = offset == 0 || message.terminating;
  const UetOpcode opcode = message.terminating ? UetOpcode::kMessageError : message.ses.opcode;
  std::uint8_t flags = message.ses.flags & (wire::kUetRelative | wire::kUetDeliverComplete);
  if (first) flags |= wire::kUetSom;
  if (offset == 0) flags |= message.ses.flags & wire::kUetHeaderData;
  if (offset + length == message.send_length) flags |= wire::kUetEom;
  if (failed) {
    // [UE 1.0 3.4] IE: nothing of this packet may touch memory.
    flags |= wire::kUetInitiatorError;
    message.initiator_error = true;
    // [UE 1.0 3.4] The target counts it as no part of its message, and may wait for the rest of the others.
    if (length < message.send_length) message.half_refused = true;
    message.trouble();
  }
  out.uet.prologue.next = message.form;
  wire::UetSesRequest& ses = *std::construct_at(&out.uet.ses, message.ses);
  ses.opcode = opcode;
  ses.flags = flags;
  if (message.expects_data && on_pdc(message.delivery)) message.answered_psn = out.uet.request.psn;
  if (message.form == UetNextHeader::kRequestStandard) {
    // A datagram names no message.
    if (opcode == UetOpcode::kDatagramSend) ses.message_id = 0;
    if (!first) {
      ses.header_data = 0;
      ses.message_offset = message.first_byte + offset;
      ses.payload_length = static_cast<std::uint16_t>(failed ? 0 : length);
    }
  } else {
    ses.message_id = 0;
  }
  if (message.form == UetNextHeader::kRequestSmall) {
    // Choice: the only spare field of 12 bits holds the optimized key.
    ses.resource_index = static_cast<std::uint16_t>(message.ses.memory_key & 0xfffU);
    ses.memory_key = 0;
    ses.initiator = 0;
  }
  if (message.terminating) return;
  if (is_deferrable(message.ses.opcode)) {
    ses.buffer_offset = wire::uet_tokens((message.generation << 16U) | slot, message.target_token);
  }
  const wire::UetExtension extension = wire::uet_extension(message.ses.opcode);
  if (extension == wire::UetExtension::kRendezvous) build_rendezvous(message, out);
  if (extension == wire::UetExtension::kAtomic) build_atomic(message, out);
}

void Initiator::build_rendezvous(const OutboundMessage& message, wire::Packet& out) const {
  wire::UetRendezvous& rendezvous = wire::use_rendezvous(out.uet);
  const Endpoint& endpoint = parts_.endpoints[message.queue];
  rendezvous.eager_length = message.eager_length;
  rendezvous.pid_on_fep = endpoint.address.pid_on_fep;
  rendezvous.resource_index = endpoint.address.resource_index;
  rendezvous.ri_generation = endpoint.generation;
  // Repeated after its queue was flushed: the remainder may not be read any more.
  if (message.region == kNoSlot) return;
  rendezvous.memory_key = parts_.regions[message.region].key;
  rendezvous.read_offset = parts_.config.virtual_addresses ? parts_.regions[message.region].config.base : 0;
}

void Initiator::build_atomic(const OutboundMessage& message, wire::Packet& out) {
  wire::UetAtomic& atomic = wire::use_atomic(out.uet);
  atomic.opcode = message.atomic;
  atomic.datatype = message.datatype;
  if (!wire::uet_has_compare_swap(message.atomic)) return;
  const std::size_t bytes = std::min<std::size_t>(16, message.ses.request_length);
  std::memcpy(atomic.compare.data(), message.compare.data(), bytes);
  std::memcpy(atomic.swap.data(), message.operand.data(), bytes);
}

}  // namespace wharf::uet
