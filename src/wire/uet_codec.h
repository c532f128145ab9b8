// SPDX-License-Identifier: Apache-2.0
// The Ultra Ethernet header stack, PDS prologue to the last SES extension, to and from bytes. Without network
// headers and trailer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/drop_reason.h"
#include "wire/payload.h"
#include "wire/uet_packet.h"

namespace wharf::wire {

/// Writes uet_header_bytes(uet) bytes and returns their end. `payload_length` (at most kUetPayloadBytesMax)
/// goes into the length fields of segments and of responses with data. The type is no reserved one and not
/// TSS. Flags that the type does not have are written as 0.
std::byte* encode_uet_headers(const UetPacket& uet, std::uint32_t payload_length, std::byte* at);

/// Reads a packet whose prologue to last payload byte are `transport` (a trailer is apart). On kNone, the
/// headers of `uet` and `payload` are set and `payload` points into `transport`; otherwise they are
/// unspecified. Reserved bits and flags are ignored. What only a target can judge passes: unknown opcodes,
/// datatypes, return codes.
DropReason decode_uet(std::span<const std::byte> transport, UetPacket& uet, Payload& payload);

/// Reads what a switch has left of a packet: the PDS header, and the SES headers if they are complete, else
/// they are all zero. No length is checked, and nothing but the PDS header is to be relied on. [UE 1.0 4.1]
/// `header_bytes` is what was read.
DropReason decode_uet_trimmed(std::span<const std::byte> transport, UetPacket& uet,
                              std::uint32_t& header_bytes);

/// CRC-32C (Castagnoli) of `covered`: from the source IP address to the last payload byte. [UE 1.0 3.5.10]
/// `before` is the CRC of bytes that stand before them elsewhere.
std::uint32_t uet_crc(std::span<const std::byte> covered, std::uint32_t before = 0);

}  // namespace wharf::wire
