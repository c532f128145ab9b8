// SPDX-License-Identifier: Apache-2.0
// The prologue that begins every PDS (packet delivery sublayer) header of Ultra Ethernet: what kind of packet
// it is and which SES header follows. [UE 1.0 3.5.10]
//
//   bits 15:11 type | 10:7 next header, or control type of control packets | 6:0 flags, whose meaning the
//   type gives
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace wharf::wire {

inline constexpr std::uint32_t kUetPrologueBytes = 2;

/// Bits 15:11. 15..31 are reserved.
enum class UetPdsType : std::uint8_t {
  kReserved = 0,
  kTss = 1,          ///< Not a prologue: the header of the transport security sublayer (uet_tss.h).
  kRudRequest = 2,   ///< Reliable, unordered delivery.
  kRodRequest = 3,   ///< Reliable, ordered delivery.
  kRudiRequest = 4,  ///< Reliable, unordered, idempotent: no PDC.
  kRudiResponse = 5,
  kUudRequest = 6,  ///< Unreliable, unordered: no PDC.
  kAck = 7,
  kAckCc = 8,   ///< ACK with SACK and congestion state.
  kAckCcx = 9,  ///< The same with 64 bits of state more.
  kNack = 10,
  kControl = 11,  ///< Control packet (CP).
  kNackCcx = 12,
  kRudCcRequest = 13,  ///< RUD request with CCC id and credit target.
  kRodCcRequest = 14,
};

/// Bits 10:7: the SES header that follows. 7..15 are reserved.
enum class UetNextHeader : std::uint8_t {
  kNone = 0,
  kRequestSmall = 1,
  kRequestMedium = 2,
  kRequestStandard = 3,
  kResponse = 4,
  kResponseData = 5,
  kResponseDataSmall = 6,
};

/// Bits 10:7 of a control packet. 10..15 are reserved. [UE 1.0 3.5.16]
enum class UetControlType : std::uint8_t {
  kNoop = 0,          ///< Consumes a PSN; opens or keeps a PDC.
  kAckRequest = 1,    ///< Asks what became of a PSN.
  kClearCommand = 2,  ///< Payload: CLEAR_PSN.
  kClearRequest = 3,  ///< Payload: the PSN to clear.
  kCloseCommand = 4,  ///< Consumes a PSN.
  kCloseRequest = 5,
  kProbe = 6,          ///< Payload: the SACK base that is wanted.
  kCredit = 7,         ///< Payload: cumulative credit, 24 bits.
  kCreditRequest = 8,  ///< Payload: credit target, 24 bits.
  kNegotiation = 9,    ///< [UE 1.0.3] Negotiation data may follow.
};

// Flags, bits 6:0, by type; a flag that its type does not have is sent as 0 and ignored.
inline constexpr std::uint8_t kUetRetransmit = 0x10;    ///< RETX. All but UUD; ACK and NACK echo it.
inline constexpr std::uint8_t kUetAckRequested = 0x08;  ///< AR: requests and CP. Acknowledge at once.
inline constexpr std::uint8_t kUetSyn = 0x04;     ///< SYN: requests and CP. Not yet acknowledged by the peer.
inline constexpr std::uint8_t kUetMarked = 0x20;  ///< M: ACK, NACK, RUDI response. The trigger was CE-marked.
inline constexpr std::uint8_t kUetProbeAnswer = 0x08;  ///< P: ACK. It answers a Probe.
inline constexpr std::uint8_t kUetNackRudi = 0x08;     ///< NT: NACK. It names a RUDI packet.
inline constexpr std::uint8_t kUetIsRod = 0x20;        ///< ISROD: CP. The PDC is an ordered one.
inline constexpr std::uint8_t kUetRequestMask = 0x06;  ///< REQ: ACK. See UetAckRequest.

/// What an ACK asks of the source, REQ. 3 is reserved.
enum class UetAckRequest : std::uint8_t { kNone = 0, kClear = 1, kClose = 2, kReserved = 3 };

struct UetPrologue {
  UetPdsType type = UetPdsType::kRudRequest;
  UetNextHeader next = UetNextHeader::kNone;       ///< kNone for kControl.
  UetControlType control = UetControlType::kNoop;  ///< kControl only.
  std::uint8_t flags = 0;                          ///< 7 bits, kUet... above.

  bool retransmitted() const { return (flags & kUetRetransmit) != 0; }
  bool ack_requested() const { return (flags & kUetAckRequested) != 0; }
  bool syn() const { return (flags & kUetSyn) != 0; }
  bool marked() const { return (flags & kUetMarked) != 0; }
  bool answers_probe() const { return (flags & kUetProbeAnswer) != 0; }
  bool names_rudi() const { return (flags & kUetNackRudi) != 0; }
  bool is_rod() const { return (flags & kUetIsRod) != 0; }
  UetAckRequest ack_request() const { return static_cast<UetAckRequest>((flags & kUetRequestMask) >> 1U); }
};
static_assert(sizeof(UetPrologue) == 4);

/// The REQ bits of an ACK's flags.
constexpr std::uint8_t uet_request_flags(UetAckRequest request) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(request) << 1U);
}

/// The flags that packets of a type have; the others are reserved. EPSN (0x40 of an ACK) is only defined for
/// secured PDCs, which wharf does not speak: it is reserved.
constexpr std::uint8_t uet_defined_flags(UetPdsType type) {
  switch (type) {
    case UetPdsType::kRudRequest:
    case UetPdsType::kRodRequest:
    case UetPdsType::kRudCcRequest:
    case UetPdsType::kRodCcRequest:
      return kUetRetransmit | kUetAckRequested | kUetSyn;
    case UetPdsType::kAck:
    case UetPdsType::kAckCc:
    case UetPdsType::kAckCcx:
      return kUetMarked | kUetRetransmit | kUetProbeAnswer | kUetRequestMask;
    case UetPdsType::kNack:
    case UetPdsType::kNackCcx:
      return kUetMarked | kUetRetransmit | kUetNackRudi;
    case UetPdsType::kControl:
      return kUetIsRod | kUetRetransmit | kUetAckRequested | kUetSyn;
    case UetPdsType::kRudiRequest:
      return kUetRetransmit;
    case UetPdsType::kRudiResponse:
      return kUetMarked | kUetRetransmit;
    case UetPdsType::kUudRequest:
    case UetPdsType::kReserved:
    case UetPdsType::kTss:
      return 0;
  }
  return 0;
}

constexpr bool is_uet_ack(UetPdsType type) { return type >= UetPdsType::kAck && type <= UetPdsType::kAckCcx; }
constexpr bool is_uet_nack(UetPdsType type) {
  return type == UetPdsType::kNack || type == UetPdsType::kNackCcx;
}
/// Whether it is a request of a PDC: RUD or ROD, with or without CC fields.
constexpr bool is_uet_pdc_request(UetPdsType type) {
  return type == UetPdsType::kRudRequest || type == UetPdsType::kRodRequest ||
         type == UetPdsType::kRudCcRequest || type == UetPdsType::kRodCcRequest;
}
constexpr bool has_uet_request_cc(UetPdsType type) {
  return type == UetPdsType::kRudCcRequest || type == UetPdsType::kRodCcRequest;
}
constexpr bool is_uet_ordered(UetPdsType type) {
  return type == UetPdsType::kRodRequest || type == UetPdsType::kRodCcRequest;
}

inline void encode(const UetPrologue& prologue, std::byte* at) {
  const std::uint32_t next = prologue.type == UetPdsType::kControl
                                 ? static_cast<std::uint32_t>(prologue.control)
                                 : static_cast<std::uint32_t>(prologue.next);
  store_be16(at, static_cast<std::uint16_t>((static_cast<std::uint32_t>(prologue.type) << 11U) |
                                            ((next & 15U) << 7U) | (prologue.flags & 0x7fU)));
}

/// Any value decodes; the flags are as they came. The caller refuses reserved types and next headers.
inline UetPrologue decode_uet_prologue(const std::byte* at) {
  const std::uint32_t word = load_be16(at);
  const auto type = static_cast<UetPdsType>(word >> 11U);
  const auto next = static_cast<std::uint8_t>((word >> 7U) & 15U);
  UetPrologue prologue;
  prologue.type = type;
  prologue.next = type == UetPdsType::kControl ? UetNextHeader::kNone : static_cast<UetNextHeader>(next);
  prologue.control = type == UetPdsType::kControl ? static_cast<UetControlType>(next) : UetControlType::kNoop;
  prologue.flags = static_cast<std::uint8_t>(word & 0x7fU);
  return prologue;
}

}  // namespace wharf::wire
