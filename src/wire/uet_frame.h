// SPDX-License-Identifier: Apache-2.0
// Whole Ultra Ethernet packets to and from frames and datagrams: the UET part of frame.h, which calls it.
// [UE 1.0 3.5.10; trimming 4.1]
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/drop_reason.h"
#include "wire/frame_layout.h"
#include "wire/packet.h"
#include "wire/uet_options.h"

namespace wharf::wire {

/// Trailer of `packet`: 4 with CRC. A trimmed packet has none.
constexpr std::uint32_t uet_trailer_bytes(const Packet& packet) {
  return packet.uet.protection == UetProtection::kCrc && packet.trim == TrimState::kWhole ? kUetCrcBytes : 0;
}

/// Offset of the source address in an IP header, from which on the CRC covers a frame.
constexpr std::uint32_t uet_crc_start(IpVersion version) { return version == IpVersion::kV4 ? 12 : 8; }

/// See encode() and decode() of frame.h. `layout` is what locate() found.
std::size_t encode_uet_frame(const Packet& packet, std::byte* frame, const UetOptions& options);
DropReason decode_uet_frame(std::span<const std::byte> frame, const FrameLayout& layout,
                            const UetOptions& options, Packet& packet);

/// See encode_datagram() and decode_datagram() of frame.h; `packet.trim` too is the receiving caller's to
/// set, from the DSCP.
std::size_t encode_uet_datagram(const Packet& packet, std::byte* datagram, const UetOptions& options);
DropReason decode_uet_datagram(std::span<const std::byte> datagram, const UetOptions& options,
                               Packet& packet);

/// The trailer in the order of `options`.
inline void store_uet_crc(std::uint32_t crc, UetCrcOrder order, std::byte* at) {
  if (order == UetCrcOrder::kLeastFirst) {
    store_le32(at, crc);
  } else {
    store_be32(at, crc);
  }
}
inline std::uint32_t load_uet_crc(const std::byte* at, UetCrcOrder order) {
  return order == UetCrcOrder::kLeastFirst ? load_le32(at) : load_be32(at);
}

}  // namespace wharf::wire
