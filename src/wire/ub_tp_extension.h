// SPDX-License-Identifier: Apache-2.0
// Extended UB transport headers of acknowledgements: CETPH (congestion echo), SAETPH (selective
// acknowledgement), CNPETPH (congestion notification). Order after RTPH: CETPH, SAETPH, then ATAH.
// [UB-Base 2.0.1 6.2; ns-3-UB]
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "wire/psn.h"

namespace wharf::wire {

/// CETPH, 8 bytes: AckSequence32, then for C-AQM rsv6 Location1 I1, C8, Hint16.
struct Cetph {
  std::uint32_t acknowledged_bytes =
      0;                               ///< AckSequence: cumulative payload bytes that the receiver accepted.
  std::uint16_t hint = 0;              ///< Summed increase that the path granted.
  std::uint8_t congested_packets = 0;  ///< C: marked packets that this acknowledgement covers.
  bool location = false;
  bool increase = false;  ///< I.
};
inline constexpr std::uint32_t kCetphBytes = 8;

inline void encode(const Cetph& cetph, std::byte* at) {
  store_be32(at, cetph.acknowledged_bytes);
  store_be32(at + 4, (cetph.location ? 1U << 25U : 0U) | (cetph.increase ? 1U << 24U : 0U) |
                         (std::uint32_t{cetph.congested_packets} << 16U) | cetph.hint);
}
inline Cetph decode_cetph(const std::byte* at) {
  const std::uint32_t word = load_be32(at + 4);
  Cetph cetph;
  cetph.acknowledged_bytes = load_be32(at);
  cetph.location = (word & (1U << 25U)) != 0;
  cetph.increase = (word & (1U << 24U)) != 0;
  cetph.congested_packets = static_cast<std::uint8_t>(word >> 16U);
  cetph.hint = static_cast<std::uint16_t>(word);
  return cetph;
}

/// SAETPH, 4 bytes and a bitmap: rsv5 BitMapSize3, MaxRcvPSN24. Bitmap bit i is bit i%8 (from the least
/// significant) of byte i/8 and stands for PSN base+i, base being RTPH.PSN.
struct Saetph {
  Psn max_received = 0;
  std::uint8_t size_code = 0;  ///< 0..4 for 64, 128, 256, 512, 1024 bits.
};
inline constexpr std::uint32_t kSaetphBytes = 4;  ///< Without the bitmap.
inline constexpr std::uint8_t kLargestSackSizeCode = 4;

/// Bytes of the bitmap for size codes 0..4: 8, 16, 32, 64, 128.
constexpr std::uint32_t sack_bitmap_bytes(std::uint8_t size_code) { return 8U << size_code; }

/// The smallest size code whose bitmap holds `bits` (at most 1024) bits.
constexpr std::uint8_t sack_size_code(std::uint32_t bits) {
  std::uint8_t code = 0;
  while (code < kLargestSackSizeCode && (64U << code) < bits) ++code;
  return code;
}

inline void encode(const Saetph& saetph, std::byte* at) {
  store_be32(at, ((saetph.size_code & 7U) << 24U) | (saetph.max_received & kPsnMask));
}
/// Whether reserved bits are zero and the size code is valid; a packet that fails this is dropped.
inline bool saetph_valid(const std::byte* at) { return load_u8(at) <= kLargestSackSizeCode; }
inline Saetph decode_saetph(const std::byte* at) {
  const std::uint32_t word = load_be32(at);
  return Saetph{word & kPsnMask, static_cast<std::uint8_t>((word >> 24U) & 7U)};
}

/// CNPETPH, 16 bytes: ECN2 Location1 rsv5, fifteen zero bytes.
struct Cnpetph {
  std::uint8_t ecn = 0;  ///< 2 bits.
  bool location = false;
};
inline constexpr std::uint32_t kCnpetphBytes = 16;

inline void encode(const Cnpetph& cnp, std::byte* at) {
  std::memset(at, 0, kCnpetphBytes);
  store_u8(at, static_cast<std::uint8_t>(((cnp.ecn & 3U) << 6U) | (cnp.location ? 0x20U : 0U)));
}
inline Cnpetph decode_cnpetph(const std::byte* at) {
  const std::uint32_t byte = load_u8(at);
  return Cnpetph{static_cast<std::uint8_t>(byte >> 6U), (byte & 0x20U) != 0};
}

}  // namespace wharf::wire
