// SPDX-License-Identifier: Apache-2.0
// UB network headers in their four forms, the OPtag of UB over Ethernet, and the CC field that all of them
// share. [UB-Base 2.0.1 5.2; OpenURMA 5.2 wire format; ns-3-UB ub-header]
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace wharf::wire {

/// Which layout the 13 low bits of CC have.
enum class CongestionMode : std::uint8_t {
  kCaqm = 0,     ///< Location1 rsv1 Enable1 C1 I1 Hint8
  kFecnRtt = 2,  ///< Location1 Timestamp10 FECN2
  kFecn = 4,     ///< Location1 rsv10 FECN2
};

/// The CC field, 16 bits on the wire: what a switch on the path writes for the sender's controller. The
/// fields of the other modes are ignored.
struct CongestionField {
  CongestionMode mode = CongestionMode::kCaqm;
  bool location =
      false;  ///< One bit about where on the path a mark was set; published without meaning. Send 0.
  bool enabled = false;         ///< C-AQM active.
  bool congested = false;       ///< C-AQM: congestion experienced.
  bool increase = false;        ///< C-AQM: the window increase that was asked for is still granted.
  std::uint8_t hint = 0;        ///< C-AQM: increase asked for.
  std::uint8_t fecn = 0;        ///< FECN modes, 2 bits; 1 is marked.
  std::uint16_t timestamp = 0;  ///< FECN_RTT, 10 bits.
};

/// Reserved modes 1, 3, 5, 6, 7 carry no fields and are written as bare mode numbers.
constexpr std::uint16_t congestion_bits(const CongestionField& cc) {
  std::uint32_t bits = (static_cast<std::uint32_t>(cc.mode) & 7U) << 13U;
  switch (cc.mode) {
    case CongestionMode::kCaqm:
      bits |= (cc.location ? 1U << 12U : 0U) | (cc.enabled ? 1U << 10U : 0U) |
              (cc.congested ? 1U << 9U : 0U) | (cc.increase ? 1U << 8U : 0U) | cc.hint;
      break;
    case CongestionMode::kFecnRtt:
      bits |= (cc.location ? 1U << 12U : 0U) | ((cc.timestamp & 0x3ffU) << 2U) | (cc.fecn & 3U);
      break;
    case CongestionMode::kFecn:
      bits |= (cc.location ? 1U << 12U : 0U) | (cc.fecn & 3U);
      break;
  }
  return static_cast<std::uint16_t>(bits);
}

constexpr CongestionField congestion_field(std::uint16_t bits) {
  CongestionField cc;
  cc.mode = static_cast<CongestionMode>(bits >> 13U);
  switch (cc.mode) {
    case CongestionMode::kCaqm:
      cc.location = (bits & (1U << 12U)) != 0;
      cc.enabled = (bits & (1U << 10U)) != 0;
      cc.congested = (bits & (1U << 9U)) != 0;
      cc.increase = (bits & (1U << 8U)) != 0;
      cc.hint = static_cast<std::uint8_t>(bits);
      break;
    case CongestionMode::kFecnRtt:
      cc.location = (bits & (1U << 12U)) != 0;
      cc.timestamp = static_cast<std::uint16_t>((bits >> 2U) & 0x3ffU);
      cc.fecn = static_cast<std::uint8_t>(bits & 3U);
      break;
    case CongestionMode::kFecn:
      cc.location = (bits & (1U << 12U)) != 0;
      cc.fecn = static_cast<std::uint8_t>(bits & 3U);
      break;
  }
  return cc;
}

/// NTH.NLP: what follows a CNA-addressed network header.
enum class NthNext : std::uint8_t {
  kCtph = 0,
  kBypass = 1,  ///< No transport header: the transaction header follows.
  kRtph = 2,    ///< Not with CNA16, which cannot announce it.
  kUtph = 3,    ///< OpenURMA convention.
};

inline constexpr std::uint32_t kNthIpBytes = 6;
inline constexpr std::uint32_t kNthCna16Bytes = 8;
inline constexpr std::uint32_t kNthCna24Bytes = 10;
inline constexpr std::uint32_t kNthOpenUrmaBytes = 12;
inline constexpr std::uint32_t kPartitionBits = 25;  ///< NPI.

/// The values of a network header. The IP-based form has `cc` and `partition` only; the others have all but
/// `partition`. `routing_type` exists only in the OpenURMA form (native links carry it in the LPH).
struct Nth {
  std::uint32_t source = 0;       ///< SCNA, 16 or 24 bits.
  std::uint32_t destination = 0;  ///< DCNA.
  std::uint32_t partition = 0;    ///< NPI, 25 bits.
  CongestionField cc;
  std::uint8_t entropy = 0;        ///< LB.
  std::uint8_t service_level = 0;  ///< SL, 4 bits.
  bool management = false;
  NthNext next = NthNext::kCtph;
  std::uint8_t routing_type = 0;  ///< RT, 2 bits.
};

namespace nth_detail {
inline std::uint8_t last_byte(const Nth& nth) {
  return static_cast<std::uint8_t>(((nth.service_level & 15U) << 4U) | (nth.management ? 8U : 0U) |
                                   (static_cast<std::uint32_t>(nth.next) & 7U));
}
inline void set_last_byte(Nth& nth, std::uint8_t byte) {
  nth.service_level = static_cast<std::uint8_t>(byte >> 4U);
  nth.management = (byte & 8U) != 0;
  nth.next = static_cast<NthNext>(byte & 7U);
}
}  // namespace nth_detail

/// CC16, rsv7 NPI25.
inline void encode_nth_ip(const Nth& nth, std::byte* at) {
  store_be16(at, congestion_bits(nth.cc));
  store_be32(at + 2, nth.partition & 0x1ff'ffffU);
}
inline Nth decode_nth_ip(const std::byte* at) {
  Nth nth;
  nth.cc = congestion_field(load_be16(at));
  nth.partition = load_be32(at + 2) & 0x1ff'ffffU;
  return nth;
}

/// SCNA16 DCNA16 CC16 LB8 SL4 Mgmt1 NLP3.
inline void encode_nth_cna16(const Nth& nth, std::byte* at) {
  store_be16(at, static_cast<std::uint16_t>(nth.source));
  store_be16(at + 2, static_cast<std::uint16_t>(nth.destination));
  store_be16(at + 4, congestion_bits(nth.cc));
  store_u8(at + 6, nth.entropy);
  store_u8(at + 7, nth_detail::last_byte(nth));
}
inline Nth decode_nth_cna16(const std::byte* at) {
  Nth nth;
  nth.source = load_be16(at);
  nth.destination = load_be16(at + 2);
  nth.cc = congestion_field(load_be16(at + 4));
  nth.entropy = load_u8(at + 6);
  nth_detail::set_last_byte(nth, load_u8(at + 7));
  return nth;
}

/// SCNA24 DCNA24 CC16 LB8 SL4 Mgmt1 NLP3.
inline void encode_nth_cna24(const Nth& nth, std::byte* at) {
  store_be24(at, nth.source);
  store_be24(at + 3, nth.destination);
  store_be16(at + 6, congestion_bits(nth.cc));
  store_u8(at + 8, nth.entropy);
  store_u8(at + 9, nth_detail::last_byte(nth));
}
inline Nth decode_nth_cna24(const std::byte* at) {
  Nth nth;
  nth.source = load_be24(at);
  nth.destination = load_be24(at + 3);
  nth.cc = congestion_field(load_be16(at + 6));
  nth.entropy = load_u8(at + 8);
  nth_detail::set_last_byte(nth, load_u8(at + 9));
  return nth;
}

/// OpenURMA (profile P2): RT2 rsv6, SCNA24, DCNA24, CC16, LBF8, SL4 0 NLP3, rsv8.
inline void encode_nth_openurma(const Nth& nth, std::byte* at) {
  store_u8(at, static_cast<std::uint8_t>((nth.routing_type & 3U) << 6U));
  store_be24(at + 1, nth.source);
  store_be24(at + 4, nth.destination);
  store_be16(at + 7, congestion_bits(nth.cc));
  store_u8(at + 9, nth.entropy);
  store_u8(at + 10, nth_detail::last_byte(nth));
  store_u8(at + 11, 0);
}
inline Nth decode_nth_openurma(const std::byte* at) {
  Nth nth;
  nth.routing_type = static_cast<std::uint8_t>(load_u8(at) >> 6U);
  nth.source = load_be24(at + 1);
  nth.destination = load_be24(at + 4);
  nth.cc = congestion_field(load_be16(at + 7));
  nth.entropy = load_u8(at + 9);
  nth_detail::set_last_byte(nth, load_u8(at + 10));
  return nth;
}

/// OPtag, 8 bytes inserted after the Ethernet addresses as a VLAN tag is: TPID16 CC16 CTRL4 RM2 NPI26, then
/// the EtherType of the IP header.
struct OpTag {
  CongestionField cc;
  std::uint32_t partition = 0;    ///< NPI; the field has 26 bits, values have 25.
  std::uint8_t control = 5;       ///< CTRL: 5 says that UB information is present.
  std::uint8_t routing_mode = 0;  ///< RM, 2 bits.
};
inline constexpr std::uint32_t kOpTagBytes = 8;
/// Choice: the TPID value is unpublished; this is the second local experimental EtherType of IEEE 802.
inline constexpr std::uint16_t kOpTagTpid = 0x88b6;

/// Writes the TPID too.
inline void encode(const OpTag& tag, std::byte* at) {
  store_be16(at, kOpTagTpid);
  store_be16(at + 2, congestion_bits(tag.cc));
  store_be32(at + 4,
             ((tag.control & 15U) << 28U) | ((tag.routing_mode & 3U) << 26U) | (tag.partition & 0x3ff'ffffU));
}
inline OpTag decode_optag(const std::byte* at) {
  const std::uint32_t word = load_be32(at + 4);
  OpTag tag;
  tag.cc = congestion_field(load_be16(at + 2));
  tag.control = static_cast<std::uint8_t>(word >> 28U);
  tag.routing_mode = static_cast<std::uint8_t>((word >> 26U) & 3U);
  tag.partition = word & 0x3ff'ffffU;
  return tag;
}

}  // namespace wharf::wire
