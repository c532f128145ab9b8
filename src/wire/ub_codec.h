// SPDX-License-Identifier: Apache-2.0
// The UB header stack from the transport header to the last extension header, to and from bytes, in all three
// profiles. Network headers are frame.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/drop_reason.h"
#include "wire/payload.h"
#include "wire/ub_packet.h"

namespace wharf::wire {

/// Bytes of transport, transaction and extension headers, without the data. A selective-acknowledgement
/// bitmap counts as header wherever it is stored.
std::uint32_t ub_header_bytes(const UbPacket& ub);

/// Pad after `payload_length` bytes of data. Choice: to a multiple of four where a transport header has a Pad
/// field; none in profile P2 (OpenURMA sends none) and after bypassed transport.
std::uint32_t ub_pad(const UbPacket& ub, std::uint32_t payload_length);

/// Whether the payload of the packet is not data but the bitmap of SAETPH (above 256 bits), which stands
/// inside the headers.
constexpr bool payload_is_sack_bitmap(const UbPacket& ub) {
  return has_saetph(ub) && ub.ack.saetph.size_code > 2;
}

/// Writes ub_header_bytes(ub) bytes and returns their end. `payload` gives the pad count and, when
/// payload_is_sack_bitmap(), the bitmap. `entities` is written for UbEntities::kFull.
std::byte* encode_ub_headers(const UbPacket& ub, const Payload& payload, const FullEidh& entities,
                             std::byte* at);

/// What decode_ub() found besides the packet.
struct UbDecoded {
  const std::byte* entities = nullptr;  ///< EIDH in the frame, with UbEntities::kFull.
  std::uint32_t trailing_bytes = 0;     ///< Ethernet padding after a P2 packet, which has no length field.
};

/// Reads the packet whose bytes from the transport header to the last pad byte are `transport`. `ub` is
/// freshly constructed but for what the network headers say: `encapsulation` and `transport` (kUdp and
/// kIpOnLink: kRtp, the first two bytes decide). On kNone, `payload` points into `transport`. Reserved bits
/// are ignored except in SAETPH. An unknown transaction opcode is a request whose bytes after BTAH are all
/// payload: the target answers it with an error.
DropReason decode_ub(std::span<const std::byte> transport, UbPacket& ub, Payload& payload,
                     UbDecoded& decoded);

}  // namespace wharf::wire
