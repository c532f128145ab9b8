// SPDX-License-Identifier: Apache-2.0
// UB extension transaction headers and inline blocks. Order on the wire: BTAH, MAETAH, TVETAH, MTETAH, then
// the immediate, notify, invalidate or atomic operand block, then data. [UB-Base 2.0.1 7.3; ns-3-UB;
// OpenURMA 5.2; UMDK]
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wire/ub_opcode.h"

namespace wharf::wire {

/// MAETAH, 16 bytes: Address64, TokenID20 (P1: bits 27:8 of its word; P2: bits 19:0), Length32.
struct Maetah {
  std::uint64_t address = 0;
  std::uint32_t token_id = 0;  ///< 20 bits.
  std::uint32_t length =
      0;  ///< Write: this packet's data bytes. Read: bytes asked for. Atomic: operand width.
};
inline constexpr std::uint32_t kMaetahBytes = 16;

inline void encode(const Maetah& maetah, std::byte* at) {
  store_be64(at, maetah.address);
  store_be32(at + 8, (maetah.token_id & 0xf'ffffU) << 8U);
  store_be32(at + 12, maetah.length);
}
inline Maetah decode_maetah(const std::byte* at) {
  return Maetah{load_be64(at), (load_be32(at + 8) >> 8U) & 0xf'ffffU, load_be32(at + 12)};
}
inline void encode_openurma(const Maetah& maetah, std::byte* at) {
  store_be64(at, maetah.address);
  store_be32(at + 8, maetah.token_id & 0xf'ffffU);
  store_be32(at + 12, maetah.length);
}
inline Maetah decode_openurma_maetah(const std::byte* at) {
  return Maetah{load_be64(at), load_be32(at + 8) & 0xf'ffffU, load_be32(at + 12)};
}

/// Compact MAETAH, 12 bytes: Addr[63:6] AffinityHint2 StrongOrder1 Len3, then rsv4 TokenID20 rsv8.
struct CompactMaetah {
  std::uint64_t address = 0;       ///< A multiple of 64.
  std::uint32_t token_id = 0;      ///< 20 bits.
  std::uint8_t length_code = 0;    ///< 0..7 for 64 << code bytes.
  std::uint8_t affinity_hint = 0;  ///< 2 bits.
  bool strong_order = false;
};
inline constexpr std::uint32_t kCompactMaetahBytes = 12;

/// Whether a compact header can express an access of `length` bytes at `address`.
constexpr bool compact_access(std::uint64_t address, std::uint32_t length) {
  // std::has_single_bit() is a call where the processor is not known to count bits.
  return address % 64 == 0 && (length & (length - 1)) == 0 && length >= 64 && length <= 8192;
}
constexpr std::uint32_t compact_length(std::uint8_t code) { return 64U << (code & 7U); }
/// The code of 64 .. 8192, a power of two.
constexpr std::uint8_t compact_length_code(std::uint32_t length) {
  return static_cast<std::uint8_t>((std::countr_zero(length) - 6) & 7);
}

inline void encode(const CompactMaetah& maetah, std::byte* at) {
  store_be64(at, (maetah.address & ~std::uint64_t{63}) | ((maetah.affinity_hint & 3U) << 4U) |
                     (maetah.strong_order ? 8U : 0U) | (maetah.length_code & 7U));
  store_be32(at + 8, (maetah.token_id & 0xf'ffffU) << 8U);
}
inline CompactMaetah decode_compact_maetah(const std::byte* at) {
  const std::uint64_t word = load_be64(at);
  CompactMaetah maetah;
  maetah.address = word & ~std::uint64_t{63};
  maetah.affinity_hint = static_cast<std::uint8_t>((word >> 4U) & 3U);
  maetah.strong_order = (word & 8U) != 0;
  maetah.length_code = static_cast<std::uint8_t>(word & 7U);
  maetah.token_id = (load_be32(at + 8) >> 8U) & 0xf'ffffU;
  return maetah;
}

/// MTETAH, 4 bytes: Hint8, TGT_TC_Type2 rsv2 TGT_TC_ID20.
struct Mtetah {
  std::uint32_t target_id = 0;  ///< 20 bits: Jetty, JFR or Jetty group.
  TargetContextType target_type = TargetContextType::kJfr;
  std::uint8_t hint = 0;  ///< Jetty group hash hint.
};
inline constexpr std::uint32_t kMtetahBytes = 4;

inline void encode(const Mtetah& mtetah, std::byte* at) {
  store_be32(at, (std::uint32_t{mtetah.hint} << 24U) |
                     ((static_cast<std::uint32_t>(mtetah.target_type) & 3U) << 22U) |
                     (mtetah.target_id & 0xf'ffffU));
}
inline Mtetah decode_mtetah(const std::byte* at) {
  const std::uint32_t word = load_be32(at);
  return Mtetah{word & 0xf'ffffU, static_cast<TargetContextType>((word >> 22U) & 3U),
                static_cast<std::uint8_t>(word >> 24U)};
}

/// TVETAH, 4 bytes: TokenValue32.
inline constexpr std::uint32_t kTvetahBytes = 4;

/// Immediate, 8 bytes. Choice: a big-endian number.
inline constexpr std::uint32_t kUbImmediateBytes = 8;

/// Notify block, 24 bytes. Choice: Address64, rsv4 TokenID20 rsv8, TokenValue32, Data64; no document shows
/// its form.
struct Notify {
  std::uint64_t address = 0;
  std::uint64_t data = 0;  ///< Written to `address` after the data of the Write.
  std::uint32_t token_id = 0;
  std::uint32_t token_value = 0;
};
inline constexpr std::uint32_t kNotifyBytes = 24;

inline void encode(const Notify& notify, std::byte* at) {
  store_be64(at, notify.address);
  store_be32(at + 8, (notify.token_id & 0xf'ffffU) << 8U);
  store_be32(at + 12, notify.token_value);
  store_be64(at + 16, notify.data);
}
inline Notify decode_notify(const std::byte* at) {
  return Notify{load_be64(at), load_be64(at + 16), (load_be32(at + 8) >> 8U) & 0xf'ffffU, load_be32(at + 12)};
}

/// Token to invalidate, 8 bytes. Choice: rsv4 TokenID20 rsv8, TokenValue32.
struct Invalidate {
  std::uint32_t token_id = 0;
  std::uint32_t token_value = 0;
};
inline constexpr std::uint32_t kInvalidateBytes = 8;

inline void encode(const Invalidate& invalidate, std::byte* at) {
  store_be32(at, (invalidate.token_id & 0xf'ffffU) << 8U);
  store_be32(at + 4, invalidate.token_value);
}
inline Invalidate decode_invalidate(const std::byte* at) {
  return Invalidate{(load_be32(at) >> 8U) & 0xf'ffffU, load_be32(at + 4)};
}

/// Management message extension, 4 bytes: sub_msg_code4 msg_code3 type1, rsp_status8, rsv4 payload_len12.
struct MessageExtension {
  std::uint16_t payload_length = 0;  ///< 12 bits.
  std::uint8_t sub_code = 0;         ///< 4 bits.
  std::uint8_t code = 0;             ///< 3 bits.
  std::uint8_t status = 0;
  bool response = false;
};
inline constexpr std::uint32_t kMessageExtensionBytes = 4;

inline void encode(const MessageExtension& message, std::byte* at) {
  store_be32(at, ((message.sub_code & 15U) << 28U) | ((message.code & 7U) << 25U) |
                     (message.response ? 1U << 24U : 0U) | (std::uint32_t{message.status} << 16U) |
                     (message.payload_length & 0xfffU));
}
inline MessageExtension decode_message_extension(const std::byte* at) {
  const std::uint32_t word = load_be32(at);
  MessageExtension message;
  message.sub_code = static_cast<std::uint8_t>(word >> 28U);
  message.code = static_cast<std::uint8_t>((word >> 25U) & 7U);
  message.response = (word & (1U << 24U)) != 0;
  message.status = static_cast<std::uint8_t>((word >> 16U) & 255U);
  message.payload_length = static_cast<std::uint16_t>(word & 0xfffU);
  return message;
}

/// The operands of an atomic as numbers of MAETAH.Length (4, 8 or 16) bytes; the high halves are for 16 bytes
/// only.
struct AtomicOperands {
  std::uint64_t operand = 0;  ///< Swap value of compare-and-swap, else the operand.
  std::uint64_t operand_high = 0;
  std::uint64_t compare = 0;
  std::uint64_t compare_high = 0;
};

/// One operand, big-endian, of `width` 4, 8 or 16 bytes.
inline void encode_operand(std::uint64_t low, std::uint64_t high, std::uint32_t width, std::byte* at) {
  if (width == 4) {
    store_be32(at, static_cast<std::uint32_t>(low));
  } else if (width == 8) {
    store_be64(at, low);
  } else {
    store_be64(at, high);
    store_be64(at + 8, low);
  }
}
inline void decode_operand(const std::byte* at, std::uint32_t width, std::uint64_t& low,
                           std::uint64_t& high) {
  high = width == 16 ? load_be64(at) : 0;
  low = width == 4 ? load_be32(at) : load_be64(width == 16 ? at + 8 : at);
}

/// Byte-enable mask of Write_with_be. Choice: one bit per data byte, least significant first, padded to 4
/// bytes, between MAETAH and the data. Bytes of the mask for `data_length` bytes of data.
constexpr std::uint32_t byte_enable_bytes(std::uint32_t data_length) { return (data_length + 31) / 32 * 4; }

}  // namespace wharf::wire
