// SPDX-License-Identifier: Apache-2.0
// Data that comes back: on acknowledgements and RUDI responses, and as packets of the reverse direction of a
// PDC. [UE 1.0 3.4, 3.5]
#include <algorithm>
#include <cstring>

#include "engine/uet/engine_parts.h"
#include "engine/uet/scatter.h"

namespace wharf::uet {

using verbs::CompletionStatus;
using wire::UetReturnCode;

std::uint32_t Initiator::place(const OutboundMessage& message, std::uint32_t offset,
                               const wire::Payload& data, const PendingAccess& owner) const {
  std::uint32_t accesses = 0;
  for_each_piece(
      message.local, message.local_count, offset, data.length,
      [&](std::uint64_t address, std::uint32_t at, std::uint32_t length, verbs::AddressSpaceId space) {
        parts_.payloads.retain(data.buffer);
        engine::Access& access = parts_.accesses.request(engine::AccessKind::kWrite, length, owner);
        access.queue = message.queue;
        access.stream = local_stream(message.queue);
        access.space = space;
        access.address = address;
        access.data = wire::slice(data, at, length);
        access.operation = message.operation;
        ++accesses;
      });
  return accesses;
}

void Initiator::place_answer(TimePs now, std::uint32_t slot, std::uint32_t offset,
                             const wire::Payload& data) {
  OutboundMessage& message = parts_.outbound[slot];
  if (offset > message.ses.request_length || data.length > message.ses.request_length - offset ||
      data.length == 0) {
    ++parts_.counters.dropped_response;
    fail(now, slot, CompletionStatus::kResponseLength);
    return;
  }
  if (verbs::is_atomic(message.verb) && message.kind == MessageKind::kRequest && offset == 0) {
    std::array<std::byte, 16> value{};
    wire::fill(wire::slice(data, 0, std::min(data.length, 16U)), value);
    std::memcpy(message.atomic_result.data(), value.data(), 16);
  }
  message.received += data.length;
  const wire::Payload kept = parts_.keep(data);
  PendingAccess owner;
  owner.owner = AccessOwner::kAnswerData;
  owner.object = slot;
  owner.generation = message.generation;
  owner.buffer = kept.buffer;
  message.accesses += place(message, offset, kept, owner);
  parts_.payloads.release(kept.buffer);
}

void Initiator::data_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result) {
  if (!parts_.outbound.is_used(owner.object)) return;
  OutboundMessage& message = parts_.outbound[owner.object];
  if (message.generation != owner.generation) return;
  const std::uint32_t pdc = message.pdc;
  --message.accesses;
  if (result.status != engine::AccessStatus::kDone) fail(now, owner.object, CompletionStatus::kLocalAccess);
  try_end(now, owner.object);
  if (pdc != kNoSlot) parts_.pds.data_settled(now, pdc);
}

std::uint32_t Initiator::find_by_psn(std::uint32_t pdc, wire::UetPsn psn) const {
  for (std::uint32_t slot = 0; slot < parts_.outbound.capacity(); ++slot) {
    if (!parts_.outbound.is_used(slot)) continue;
    const OutboundMessage& message = parts_.outbound[slot];
    if (message.pdc == pdc && message.expects_data && message.first_sent && message.answered_psn == psn)
      return slot;
  }
  return kNoSlot;
}

std::uint32_t Initiator::read_of(std::uint32_t pdc, const wire::Packet& packet) const {
  const wire::UetSesResponse& response = packet.uet.response;
  const wire::UetNextHeader form = packet.uet.prologue.next;
  if (form == wire::UetNextHeader::kResponse) return kNoSlot;
  const std::uint32_t slot = form == wire::UetNextHeader::kResponseDataSmall
                                 ? find_by_psn(pdc, response.original_request_psn)
                                 : std::uint32_t{response.read_request_message_id} - 1;
  if (slot >= parts_.outbound.capacity() || !parts_.outbound.is_used(slot)) return kNoSlot;
  const OutboundMessage& message = parts_.outbound[slot];
  const bool reads = message.pdc == pdc && message.expects_data && message.kind != MessageKind::kReadResponse;
  return reads ? slot : kNoSlot;
}

std::optional<wire::UetNackCode> Initiator::take_data(TimePs now, std::uint32_t index,
                                                      const wire::Packet& packet) {
  InboundPacket& inbound = parts_.inbound[index];
  const std::uint32_t pdc = inbound.pdc;
  inbound.returned_data = true;
  const wire::UetSesResponse& response = packet.uet.response;
  const std::uint32_t slot = read_of(inbound.pdc, packet);
  if (slot == kNoSlot) {
    ++parts_.counters.dropped_response;
    parts_.pds.respond(now, index, wire::UetNextHeader::kNone, {}, {});
    return std::nullopt;
  }
  OutboundMessage& message = parts_.outbound[slot];
  const bool small = packet.uet.prologue.next == wire::UetNextHeader::kResponseDataSmall;
  const std::uint32_t offset = small ? 0 : response.message_offset;
  const std::uint32_t length = packet.payload.length;
  inbound.message = slot;
  inbound.message_generation = message.generation;
  if (response.return_code != UetReturnCode::kOk || offset > message.ses.request_length ||
      length > message.ses.request_length - offset || (small && length != message.ses.request_length) ||
      message.status != CompletionStatus::kSuccess) {
    if (response.return_code != UetReturnCode::kOk) {
      fail_by_code(now, slot, response.return_code);
    } else if (message.status == CompletionStatus::kSuccess) {
      fail(now, slot, CompletionStatus::kResponseLength);
    }
    parts_.pds.respond(now, index, wire::UetNextHeader::kNone, {}, {});
    try_end(now, slot);
    parts_.pds.data_settled(now, pdc);
    return std::nullopt;
  }
  ++message.accesses;  // Until the packet is placed as a whole.
  PendingAccess owner;
  owner.owner = AccessOwner::kInbound;
  owner.object = index;
  owner.buffer = packet.payload.buffer;
  inbound.accesses += place(message, offset, packet.payload, owner);
  if (inbound.accesses == 0) returned_data_done(now, index, engine::AccessStatus::kDone);
  return std::nullopt;
}

void Initiator::returned_data_done(TimePs now, std::uint32_t index, engine::AccessStatus status) {
  const InboundPacket inbound = parts_.inbound[index];
  parts_.pds.respond(now, index, wire::UetNextHeader::kNone, {}, {});
  const std::uint32_t slot = inbound.message;
  if (!parts_.outbound.is_used(slot) || parts_.outbound[slot].generation != inbound.message_generation)
    return;
  OutboundMessage& message = parts_.outbound[slot];
  --message.accesses;
  if (status != engine::AccessStatus::kDone) {
    fail(now, slot, CompletionStatus::kLocalAccess);
  } else {
    message.received += inbound.payload_length;
  }
  try_end(now, slot);
  parts_.pds.data_settled(now, inbound.pdc);
}

bool Initiator::expects_data(std::uint32_t pdc) const {
  for (std::uint32_t slot = 0; slot < parts_.outbound.capacity(); ++slot) {
    if (!parts_.outbound.is_used(slot)) continue;
    const OutboundMessage& message = parts_.outbound[slot];
    if (message.pdc != pdc) continue;
    if ((message.expects_data && message.received < message.ses.request_length) || message.accesses > 0)
      return true;
  }
  return false;
}

}  // namespace wharf::uet
