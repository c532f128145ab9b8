// SPDX-License-Identifier: Apache-2.0
// What transaction layer packets take on a link, and which credits: sizes only, nothing here makes symbols.
// Flit mode, whose flits have a fixed size, is out of scope. [PCIe Base 5.0 3.6.2, 4.2.1.2, 4.2.2.3, 2.6.1]
#pragma once

#include <cstdint>

#include "wire/tlp_packet.h"

namespace wharf::wire {

/// From 8 GT/s on (128b/130b): the STP token with the 12-bit sequence number, its length and their checks.
inline constexpr std::uint32_t kStpTokenBytes = 4;
/// Up to 5 GT/s (8b/10b): STP and END symbols, and 4 reserved bits with the sequence number.
inline constexpr std::uint32_t kStpEndSymbolBytes = 2;
inline constexpr std::uint32_t kTlpSequenceBytes = 2;
inline constexpr std::uint32_t kLcrcBytes = 4;

/// What is put around every packet: 8 bytes at every rate. Acknowledgements and credit updates (DLLPs, 8
/// bytes each), ordered sets and the encoding itself are not counted.
inline constexpr std::uint32_t kTlpFramingBytes = kStpTokenBytes + kLcrcBytes;
static_assert(kTlpFramingBytes == kStpEndSymbolBytes + kTlpSequenceBytes + kLcrcBytes);

/// Bytes on the wire of a packet whose data is `data_bytes` long and starts `lead` bytes (0..3) into a double
/// word. `prefixes` is their number. 24 + data for a MWr with a long header, 20 + data for a CplD.
constexpr std::uint32_t tlp_link_bytes(TlpType type, std::uint64_t address, std::uint32_t data_bytes,
                                       std::uint32_t prefixes = 0, bool digest = false) {
  const auto lead = static_cast<std::uint32_t>(address & 3U);
  const std::uint32_t data = tlp_carries_data(type) ? (lead + data_bytes + 3) / 4 * 4 : 0;
  return kTlpFramingBytes + kTlpPrefixBytes * prefixes + tlp_header_bytes(type, address) + data +
         (digest ? kTlpDigestBytes : 0U);
}
inline std::uint32_t tlp_link_bytes(const Tlp& tlp) { return kTlpFramingBytes + tlp_bytes(tlp); }

/// Data credits of `type` (its header always needs one): one for each 16 bytes or part of them.
constexpr std::uint32_t tlp_data_credits(TlpType type, std::uint32_t dwords) {
  return tlp_carries_data(type) ? (dwords + 3) / 4 : 0;
}

}  // namespace wharf::wire
