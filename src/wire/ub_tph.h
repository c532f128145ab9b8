// SPDX-License-Identifier: Apache-2.0
// UB transport headers: RTPH (reliable), UTPH (unreliable), CTPH (compact), and the partition and entity
// headers UPIH and EIDH that may follow them. [UB-Base 2.0.1 6.2; OpenURMA 5.2; ns-3-UB ub-header]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "wire/psn.h"
#include "wire/ub_opcode.h"

namespace wharf::wire {

/// TPH.NLP: what follows a transport header.
enum class TphNext : std::uint8_t {
  kTransaction = 0,      ///< The transaction header (compact after CTPH).
  kFullEntities = 1,     ///< UPIH 32 bit and EIDH 256 bit, then the transaction header.
  kCompactEntities = 2,  ///< CTPH only: UPIH 16 bit and EIDH 40 bit, then the transaction header.
  kCiph = 3,             ///< Confidentiality header; unpublished. Rejected.
};

/// RTPH, 16 bytes.
///   0 Last1 TPOpcode7 | 1 TPVer2 Pad2 NLP4 | 2-4 SrcTPN | 5-7 DstTPN | 8 A1 F1 rsv6 | 9-11 PSN
///   12 RSPST3 RSPINFO5 | 13-15 TPMSN
struct Rtph {
  std::uint32_t source_tpn = 0;       ///< TP channel number, 24 bits.
  std::uint32_t destination_tpn = 0;  ///< 24 bits; the receiver demultiplexes on it.
  Psn psn = 0;    ///< Data: this packet. Acknowledgement: cumulative, base or expected number.
  Psn tpmsn = 0;  ///< TP message number.
  TpOpcode opcode = TpOpcode::kReliable;
  TphNext next = TphNext::kTransaction;  ///< A whole-packet encode sets it itself.
  std::uint8_t version = 0;
  std::uint8_t pad = 0;  ///< Zero bytes after the payload, 0..3. A whole-packet encode sets it itself.
  UbResponseStatus status = UbResponseStatus::kSuccess;  ///< RSPST, acknowledgements only.
  std::uint8_t info = 0;                                 ///< RSPINFO, 5 bits.
  bool last = false;                                     ///< Last packet of the TP message.
  bool acknowledge_request = false;
  bool flag = false;  ///< F. Choice: sent as 0, ignored on receive; congestion marks travel in CC.
};
inline constexpr std::uint32_t kRtphBytes = 16;

inline void encode(const Rtph& rtph, std::byte* at) {
  const std::uint32_t first =
      (rtph.last ? 0x8000U : 0U) | ((static_cast<std::uint32_t>(rtph.opcode) & 0x7fU) << 8U) |
      ((rtph.version & 3U) << 6U) | ((rtph.pad & 3U) << 4U) | (static_cast<std::uint32_t>(rtph.next) & 15U);
  store_be64(at, (std::uint64_t{first} << 48U) | (std::uint64_t{rtph.source_tpn & 0xff'ffffU} << 24U) |
                     (rtph.destination_tpn & 0xff'ffffU));
  const std::uint32_t psn_word = (rtph.acknowledge_request ? 0x8000'0000U : 0U) |
                                 (rtph.flag ? 0x4000'0000U : 0U) | (rtph.psn & kPsnMask);
  store_be64(at + 8, (std::uint64_t{psn_word} << 32U) |
                         ((static_cast<std::uint32_t>(rtph.status) & 7U) << 29U) |
                         ((rtph.info & 31U) << 24U) | (rtph.tpmsn & kPsnMask));
}

/// Byte 1 of RTPH and UTPH at version 0, for encoders that know pad and next header better than the
/// structure.
constexpr std::uint8_t rtph_second_byte(std::uint32_t pad, TphNext next) {
  return static_cast<std::uint8_t>(((pad & 3U) << 4U) | (static_cast<std::uint32_t>(next) & 15U));
}

inline Rtph decode_rtph(const std::byte* at) {
  const std::uint64_t channels = load_be64(at);
  const std::uint64_t numbers = load_be64(at + 8);
  const auto first = static_cast<std::uint32_t>(channels >> 48U);
  const auto psn_word = static_cast<std::uint32_t>(numbers >> 32U);
  const auto message_word = static_cast<std::uint32_t>(numbers);
  Rtph rtph;
  rtph.last = (first & 0x8000U) != 0;
  rtph.opcode = static_cast<TpOpcode>((first >> 8U) & 0x7fU);
  rtph.version = static_cast<std::uint8_t>((first >> 6U) & 3U);
  rtph.pad = static_cast<std::uint8_t>((first >> 4U) & 3U);
  rtph.next = static_cast<TphNext>(first & 15U);
  rtph.source_tpn = static_cast<std::uint32_t>(channels >> 24U) & 0xff'ffffU;
  rtph.destination_tpn = static_cast<std::uint32_t>(channels) & 0xff'ffffU;
  rtph.acknowledge_request = (psn_word & 0x8000'0000U) != 0;
  rtph.flag = (psn_word & 0x4000'0000U) != 0;
  rtph.psn = psn_word & kPsnMask;
  rtph.status = static_cast<UbResponseStatus>(message_word >> 29U);
  rtph.info = static_cast<std::uint8_t>((message_word >> 24U) & 31U);
  rtph.tpmsn = message_word & kPsnMask;
  return rtph;
}

/// UTPH, 16 bytes: byte 0 TPOpcode (0x00), byte 1 as RTPH, the rest reserved.
struct Utph {
  TphNext next = TphNext::kTransaction;
  std::uint8_t version = 0;
  std::uint8_t pad = 0;
  bool last = false;  ///< Bit 7 of byte 0, as in RTPH.
};
inline constexpr std::uint32_t kUtphBytes = 16;

inline void encode(const Utph& utph, std::byte* at) {
  std::memset(at, 0, kUtphBytes);
  store_u8(at, utph.last ? 0x80U : 0U);
  store_u8(at + 1, static_cast<std::uint8_t>(((utph.version & 3U) << 6U) | ((utph.pad & 3U) << 4U) |
                                             (static_cast<std::uint32_t>(utph.next) & 15U)));
}
inline Utph decode_utph(const std::byte* at) {
  const std::uint32_t second = load_u8(at + 1);
  Utph utph;
  utph.last = (load_u8(at) & 0x80U) != 0;
  utph.version = static_cast<std::uint8_t>(second >> 6U);
  utph.pad = static_cast<std::uint8_t>((second >> 4U) & 3U);
  utph.next = static_cast<TphNext>(second & 15U);
  return utph;
}

/// CTPH, 1 byte: TPOpcode2 Pad2 NLP4.
struct Ctph {
  CtpOpcode opcode = CtpOpcode::kData;
  TphNext next = TphNext::kTransaction;
  std::uint8_t pad = 0;  ///< A whole-packet encode sets it itself.
};
inline constexpr std::uint32_t kCtphBytes = 1;

inline void encode(const Ctph& ctph, std::byte* at) {
  store_u8(
      at, static_cast<std::uint8_t>(((static_cast<std::uint32_t>(ctph.opcode) & 3U) << 6U) |
                                    ((ctph.pad & 3U) << 4U) | (static_cast<std::uint32_t>(ctph.next) & 15U)));
}
inline Ctph decode_ctph(const std::byte* at) {
  const std::uint32_t byte = load_u8(at);
  Ctph ctph;
  ctph.opcode = static_cast<CtpOpcode>(byte >> 6U);
  ctph.pad = static_cast<std::uint8_t>((byte >> 4U) & 3U);
  ctph.next = static_cast<TphNext>(byte & 15U);
  return ctph;
}

/// Compact UPIH, 2 bytes: rsv1 UPI15. Full UPIH, 4 bytes: UPI32.
inline constexpr std::uint32_t kCompactUpihBytes = 2;
inline constexpr std::uint32_t kFullUpihBytes = 4;
/// The partition that everybody is in. Choice: all bits, as InfiniBand's default partition; what partitions
/// do is unpublished, so that a receiver does not look at it.
inline constexpr std::uint32_t kDefaultUpi = 0x7fff;

/// Whether a transport header behind UDP is CTPH, where nothing before it says which one it is. Choice,
/// public sources being silent: it announces compact entity ids, which no other transport header does, and
/// bits 11 to 8 of UPI, which stand where RTPH has its NLP, are no NLP that there is (above 3; kDefaultUpi).
/// The first byte alone would also be that of a TPACK without Last.
inline bool is_compact_behind_udp(const std::byte* at) {
  return (load_u8(at) & 0x8fU) == static_cast<std::uint32_t>(TphNext::kCompactEntities) &&
         (load_u8(at + 1) & 15U) > static_cast<std::uint32_t>(TphNext::kCiph);
}
constexpr bool travels_behind_udp(std::uint32_t upi) {
  return ((upi >> 8U) & 15U) > static_cast<std::uint32_t>(TphNext::kCiph);
}

/// Compact EIDH, 5 bytes: SEID20 DEID20.
struct CompactEidh {
  std::uint32_t source = 0;       ///< 20 bits.
  std::uint32_t destination = 0;  ///< 20 bits.
};
inline constexpr std::uint32_t kCompactEidhBytes = 5;

inline void encode(const CompactEidh& eidh, std::byte* at) {
  store_be32(at, ((eidh.source & 0xf'ffffU) << 12U) | ((eidh.destination & 0xf'ffffU) >> 8U));
  store_u8(at + 4, static_cast<std::uint8_t>(eidh.destination));
}
inline CompactEidh decode_compact_eidh(const std::byte* at) {
  const std::uint32_t word = load_be32(at);
  return CompactEidh{word >> 12U, ((word & 0xfffU) << 8U) | load_u8(at + 4)};
}

/// A 128-bit entity id in network order.
using EntityId = std::array<std::uint8_t, 16>;

/// Full EIDH, 32 bytes: SEID128 DEID128.
struct FullEidh {
  EntityId source{};
  EntityId destination{};
};
inline constexpr std::uint32_t kFullEidhBytes = 32;

inline void encode(const FullEidh& eidh, std::byte* at) {
  std::memcpy(at, eidh.source.data(), 16);
  std::memcpy(at + 16, eidh.destination.data(), 16);
}
inline FullEidh decode_full_eidh(const std::byte* at) {
  FullEidh eidh;
  std::memcpy(eidh.source.data(), at, 16);
  std::memcpy(eidh.destination.data(), at + 16, 16);
  return eidh;
}

}  // namespace wharf::wire
