// SPDX-License-Identifier: Apache-2.0
// The RoCEv2 header stack, BTH to the last extension header, to and from bytes. Without network headers and
// ICRC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/drop_reason.h"
#include "wire/payload.h"
#include "wire/roce_packet.h"

namespace wharf::wire {

/// Bytes of BTH and extension headers.
inline std::uint32_t roce_header_bytes(const RocePacket& roce) {
  return kBthBytes + roce_extension_bytes(roce.bth.opcode);
}

/// Pad to a multiple of four. [IBTA vol 1 9.2.4]
constexpr std::uint32_t roce_pad(std::uint32_t payload_length) { return (0U - payload_length) & 3U; }

/// Writes roce_header_bytes(roce) bytes and returns their end. BTH.Pad is taken from `payload_length`. The
/// opcode must be known.
std::byte* encode_roce_headers(const RocePacket& roce, std::uint32_t payload_length, std::byte* at);

/// Reads a packet whose BTH to last pad byte are `transport` (the ICRC is apart). On kNone, `roce` and
/// `payload` are set and `payload` points into `transport`; otherwise they are unspecified. Reserved bits are
/// ignored.
DropReason decode_roce(std::span<const std::byte> transport, RocePacket& roce, Payload& payload);

}  // namespace wharf::wire
