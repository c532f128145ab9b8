// SPDX-License-Identifier: Apache-2.0
// Asking memory for the payload of a packet: inlined where packets are staged. Most lie in one piece.
#pragma once

#include "engine/uet/engine_parts.h"

namespace wharf::uet {

[[gnu::always_inline]] inline void Initiator::fetch_piece(AccessPort& accesses,
                                                          const OutboundMessage& message,
                                                          std::uint32_t staged, std::uint64_t address,
                                                          std::uint32_t at, std::uint32_t length,
                                                          verbs::AddressSpaceId space) {
  engine::Access& access =
      accesses.request(engine::AccessKind::kRead, length, AccessOwner::kPacketData, staged, at);
  access.queue = message.queue;
  access.space = space;
  access.address = address;
  access.operation = message.operation;
  if (message.kind == MessageKind::kReadResponse) {
    access.at_target = true;
    access.stream = target_stream(message.host, message.ses.resource_index);
    access.order = message.read_order;
  } else {
    access.stream = local_stream(message.queue);
  }
}

[[gnu::always_inline]] inline bool Initiator::may_fetch(const OutboundMessage& message) const {
  return message.kind != MessageKind::kReadResponse ||
         parts_.regions.find(message.ses.memory_key, message.ses.job_id) != kNoSlot;
}

[[gnu::always_inline]] inline bool Initiator::fetch(std::uint32_t slot, std::uint32_t staged,
                                                    std::uint32_t offset, std::uint32_t length,
                                                    wire::Payload& payload, std::uint32_t& pieces,
                                                    bool& whole_result) {
  const OutboundMessage& message = parts_.outbound[slot];
  if (length == 0) return true;
  // [UE 1.0 3.4] A key ends when its region does: what of a long read has not been fetched is refused.
  if (!may_fetch(message)) return false;
  if (!message.from_memory) {
    payload = payload_at_hand(slot, offset, length);
    return true;
  }
  if (message.local_count != 1)
    return fetch_pieces(message, staged, offset, length, payload, pieces, whole_result);
  pieces = 1;
  whole_result = true;
  fetch_piece(parts_.accesses, message, staged, message.local[0].address + message.first_byte + offset, 0,
              length, message.local[0].key);
  return true;
}

}  // namespace wharf::uet
