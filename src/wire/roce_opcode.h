// SPDX-License-Identifier: Apache-2.0
// RoCEv2 opcodes and the headers that follow the BTH for each. [IBTA vol 1 9.2, tables 38 and 39; Annex A17]
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace wharf::wire {

/// BTH opcode: transport in bits 7:5, operation in bits 4:0.
enum class RoceOpcode : std::uint8_t {
  kRcSendFirst = 0x00,
  kRcSendMiddle = 0x01,
  kRcSendLast = 0x02,
  kRcSendLastImmediate = 0x03,
  kRcSendOnly = 0x04,
  kRcSendOnlyImmediate = 0x05,
  kRcWriteFirst = 0x06,
  kRcWriteMiddle = 0x07,
  kRcWriteLast = 0x08,
  kRcWriteLastImmediate = 0x09,
  kRcWriteOnly = 0x0a,
  kRcWriteOnlyImmediate = 0x0b,
  kRcReadRequest = 0x0c,
  kRcReadResponseFirst = 0x0d,
  kRcReadResponseMiddle = 0x0e,
  kRcReadResponseLast = 0x0f,
  kRcReadResponseOnly = 0x10,
  kRcAcknowledge = 0x11,
  kRcAtomicAcknowledge = 0x12,
  kRcCompareSwap = 0x13,
  kRcFetchAdd = 0x14,
  kRcSendLastInvalidate = 0x16,
  kRcSendOnlyInvalidate = 0x17,
  kRcFlush = 0x1c,
  kRcAtomicWrite = 0x1d,
  kUcSendFirst = 0x20,
  kUcSendMiddle = 0x21,
  kUcSendLast = 0x22,
  kUcSendLastImmediate = 0x23,
  kUcSendOnly = 0x24,
  kUcSendOnlyImmediate = 0x25,
  kUcWriteFirst = 0x26,
  kUcWriteMiddle = 0x27,
  kUcWriteLast = 0x28,
  kUcWriteLastImmediate = 0x29,
  kUcWriteOnly = 0x2a,
  kUcWriteOnlyImmediate = 0x2b,
  kUdSendOnly = 0x64,
  kUdSendOnlyImmediate = 0x65,
  kCnp = 0x81,  ///< Hardware sends 0x81; some software tables list 0x80.
};

/// Where the transport stands in an opcode: 0 RC, 1 UC, 3 UD.
inline constexpr unsigned kRoceTransportShift = 5;

/// What follows the BTH. Bits in wire order: FETH, DETH, RETH, AtomicETH, AETH, AtomicAckETH, ImmDt, IETH,
/// then data.
enum RoceHeaders : std::uint16_t {
  kRoceKnown = 1U << 0U,  ///< The opcode is in the table.
  kRoceFeth = 1U << 1U,
  kRoceDeth = 1U << 2U,
  kRoceReth = 1U << 3U,
  kRoceAtomicEth = 1U << 4U,
  kRoceAeth = 1U << 5U,
  kRoceAtomicAckEth = 1U << 6U,
  kRoceImmediate = 1U << 7U,
  kRoceIeth = 1U << 8U,
  kRocePayload = 1U << 9U,
  kRoceCnpReserved = 1U << 10U,  ///< The 16 zero bytes of a CNP.
};

namespace roce_detail {

constexpr std::array<std::uint16_t, 256> make_header_sets() {
  std::array<std::uint16_t, 256> sets{};
  // RC 0x00..0x0b and UC 0x20..0x2b share sends and writes.
  for (const unsigned base : {0x00U, 0x20U}) {
    for (const unsigned op : {0x00U, 0x01U, 0x02U, 0x04U, 0x07U, 0x08U})
      sets[base + op] = kRoceKnown | kRocePayload;
    for (const unsigned op : {0x03U, 0x05U, 0x09U})
      sets[base + op] = kRoceKnown | kRoceImmediate | kRocePayload;
    for (const unsigned op : {0x06U, 0x0aU}) sets[base + op] = kRoceKnown | kRoceReth | kRocePayload;
    sets[base + 0x0bU] = kRoceKnown | kRoceReth | kRoceImmediate | kRocePayload;
  }
  sets[0x0c] = kRoceKnown | kRoceReth;
  for (const unsigned op : {0x0dU, 0x0fU, 0x10U}) sets[op] = kRoceKnown | kRoceAeth | kRocePayload;
  sets[0x0e] = kRoceKnown | kRocePayload;
  sets[0x11] = kRoceKnown | kRoceAeth;
  sets[0x12] = kRoceKnown | kRoceAeth | kRoceAtomicAckEth;
  sets[0x13] = sets[0x14] = kRoceKnown | kRoceAtomicEth;
  sets[0x16] = sets[0x17] = kRoceKnown | kRoceIeth | kRocePayload;
  sets[0x1c] = kRoceKnown | kRoceFeth | kRoceReth;
  sets[0x1d] = kRoceKnown | kRoceReth | kRocePayload;
  sets[0x64] = kRoceKnown | kRoceDeth | kRocePayload;
  sets[0x65] = kRoceKnown | kRoceDeth | kRoceImmediate | kRocePayload;
  sets[0x81] = kRoceKnown | kRoceCnpReserved;
  return sets;
}

constexpr std::uint32_t set_bytes(std::uint16_t set) {
  std::uint32_t bytes = 0;
  if ((set & kRoceFeth) != 0) bytes += 4;
  if ((set & kRoceDeth) != 0) bytes += 8;
  if ((set & kRoceReth) != 0) bytes += 16;
  if ((set & kRoceAtomicEth) != 0) bytes += 28;
  if ((set & kRoceAeth) != 0) bytes += 4;
  if ((set & kRoceAtomicAckEth) != 0) bytes += 8;
  if ((set & kRoceImmediate) != 0) bytes += 4;
  if ((set & kRoceIeth) != 0) bytes += 4;
  if ((set & kRoceCnpReserved) != 0) bytes += 16;
  return bytes;
}

constexpr std::array<std::uint8_t, 256> make_header_bytes() {
  std::array<std::uint8_t, 256> bytes{};
  const auto sets = make_header_sets();
  for (unsigned op = 0; op < 256; ++op) bytes[op] = static_cast<std::uint8_t>(set_bytes(sets[op]));
  return bytes;
}

inline constexpr auto kHeaderSets = make_header_sets();
inline constexpr auto kHeaderBytes = make_header_bytes();

}  // namespace roce_detail

/// The RoceHeaders bits of an opcode; 0 when the opcode is not known.
constexpr std::uint16_t roce_headers(RoceOpcode opcode) {
  return roce_detail::kHeaderSets[static_cast<std::uint8_t>(opcode)];
}

/// Bytes of the extension headers after the BTH, 0..28.
constexpr std::uint32_t roce_extension_bytes(RoceOpcode opcode) {
  return roce_detail::kHeaderBytes[static_cast<std::uint8_t>(opcode)];
}

/// "RC SEND First" and so on, or "unknown".
std::string_view roce_opcode_name(RoceOpcode opcode);

}  // namespace wharf::wire
