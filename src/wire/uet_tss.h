// SPDX-License-Identifier: Apache-2.0
// The header of the transport security sublayer (TSS), which stands before an encrypted PDS header. wharf
// reads it to say what a packet is; it has no keys, so such packets are refused. [UE 1.0 3.7]
//
//   0-3 type5 (1) SP1 rsv1 AN1 SDI24 | SSI 32 when SP | epoch 16 TSC 48
// Choice: 12 or 16 bytes as the reference provider has it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wire/uet_prologue.h"

namespace wharf::wire {

inline constexpr std::uint32_t kUetTssBytes = 12;
inline constexpr std::uint32_t kUetTssSourceBytes = 16;  ///< With SSI.
inline constexpr std::uint32_t kUetTssTagBytes = 16;     ///< The ICV that ends a secured packet.

struct UetTss {
  std::uint64_t counter = 0;  ///< TSC, 48 bits: packets sent under this key.
  std::uint32_t domain = 0;   ///< SDI, 24 bits.
  std::uint32_t source = 0;   ///< SSI, when source_present.
  std::uint16_t epoch = 0;
  bool source_present = false;  ///< SP.
  bool association = false;     ///< AN: generation of the key.
};

/// Bytes of the header, as its first byte announces them.
inline std::uint32_t uet_tss_bytes(const std::byte* at) {
  return (load_u8(at) & 0x04U) != 0 ? kUetTssSourceBytes : kUetTssBytes;
}

/// Writes the header and returns its length.
inline std::uint32_t encode(const UetTss& tss, std::byte* at) {
  store_be32(at, (static_cast<std::uint32_t>(UetPdsType::kTss) << 27U) |
                     (tss.source_present ? 1U << 26U : 0U) | (tss.association ? 1U << 24U : 0U) |
                     (tss.domain & 0xff'ffffU));
  const std::uint32_t rest = tss.source_present ? 8 : 4;
  if (tss.source_present) store_be32(at + 4, tss.source);
  store_be64(at + rest, (std::uint64_t{tss.epoch} << 48U) | (tss.counter & 0xffff'ffff'ffffU));
  return rest + 8;
}
/// Reads uet_tss_bytes(at) bytes.
inline UetTss decode_uet_tss(const std::byte* at) {
  const std::uint32_t word = load_be32(at);
  UetTss tss;
  tss.source_present = ((word >> 26U) & 1U) != 0;
  tss.association = ((word >> 24U) & 1U) != 0;
  tss.domain = word & 0xff'ffffU;
  tss.source = tss.source_present ? load_be32(at + 4) : 0;
  const std::uint64_t rest = load_be64(at + (tss.source_present ? 8 : 4));
  tss.epoch = static_cast<std::uint16_t>(rest >> 48U);
  tss.counter = rest & 0xffff'ffff'ffffU;
  return tss;
}

}  // namespace wharf::wire
