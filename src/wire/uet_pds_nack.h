// SPDX-License-Identifier: Apache-2.0
// Negative acknowledgements of the PDS: NACK and NACK_CCX. [UE 1.0 3.5.10, 3.5.12; UE 1.0.3]
//
//   NACK      0-1 prologue | 2 nack_code | 3 vendor_code | 4-7 nack_psn or nack_pkt_id | 8-9 spdcid | 10-11
//             dpdcid | 12-15 payload
//   NACK_CCX  | 16-23 nccx_type 4 state 60 | 24-31 state
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wire/uet_prologue.h"
#include "wire/uet_psn.h"

namespace wharf::wire {

inline constexpr std::uint32_t kUetNackBytes = 16;
/// Choice: 32 as the reference provider and Wireshark have it; other sources say 24 and 28.
inline constexpr std::uint32_t kUetNackCcxBytes = 32;

/// Why a packet is refused. Values between the listed ones are reserved and ignored by the source.
enum class UetNackCode : std::uint8_t {
  kTrimmed = 0x01,
  kTrimmedLastHop = 0x02,
  kTrimmedAck = 0x03,  ///< Withdrawn in 1.0.3: never sent.
  kNoPdc = 0x04,
  kNoCcc = 0x05,
  kNoBitmap = 0x06,
  kNoPacketBuffer = 0x07,
  kNoGuaranteedDelivery = 0x08,
  kNoMessage = 0x09,
  kNoResource = 0x0a,
  kPsnOutOfWindow = 0x0b,
  kRodOutOfOrder = 0x0d,
  kInvalidDpdcid = 0x0e,
  kPdcHeaderMismatch = 0x0f,
  kClosing = 0x10,
  kClosingInError = 0x11,
  kPacketNotReceived = 0x12,
  kResponseUnavailable = 0x13,
  kAckWithData = 0x14,
  kInvalidSyn = 0x15,
  kPdcModeMismatch = 0x16,
  kNewStartPsn = 0x17,  ///< The payload is the new Start_PSN.
  kSesProcessing = 0x18,
  kUnexpectedEvent = 0x19,
  kReceiverInferredLoss = 0x1a,
  kExperimentalNormal = 0xfd,
  kExperimentalError = 0xfe,
  kExperimentalFatal = 0xff,
};

/// What a code means for the PDC.
enum class UetNackClass : std::uint8_t { kReserved, kNormal, kError, kFatal };

constexpr UetNackClass uet_nack_class(UetNackCode code) {
  switch (code) {
    case UetNackCode::kTrimmed:
    case UetNackCode::kTrimmedLastHop:
    case UetNackCode::kTrimmedAck:
    case UetNackCode::kNoPdc:
    case UetNackCode::kNoCcc:
    case UetNackCode::kNoBitmap:
    case UetNackCode::kNoPacketBuffer:
    case UetNackCode::kNoGuaranteedDelivery:
    case UetNackCode::kNoMessage:
    case UetNackCode::kNoResource:
    case UetNackCode::kPsnOutOfWindow:
    case UetNackCode::kRodOutOfOrder:
    case UetNackCode::kNewStartPsn:
    case UetNackCode::kSesProcessing:
    case UetNackCode::kReceiverInferredLoss:
    case UetNackCode::kExperimentalNormal:
      return UetNackClass::kNormal;
    case UetNackCode::kPacketNotReceived:
    case UetNackCode::kAckWithData:
    case UetNackCode::kExperimentalError:
      return UetNackClass::kError;
    case UetNackCode::kInvalidDpdcid:
    case UetNackCode::kPdcHeaderMismatch:
    case UetNackCode::kClosing:
    case UetNackCode::kClosingInError:
    case UetNackCode::kResponseUnavailable:
    case UetNackCode::kInvalidSyn:
    case UetNackCode::kPdcModeMismatch:
    case UetNackCode::kUnexpectedEvent:
    case UetNackCode::kExperimentalFatal:
      return UetNackClass::kFatal;
  }
  return UetNackClass::kReserved;
}

struct UetNack {
  UetPsn psn = 0;                  ///< nack_psn; nack_pkt_id with NT.
  std::uint32_t payload = 0;       ///< By code: new Start_PSN, else highest received PSN + 1; 0 if unknown.
  std::uint16_t source_pdcid = 0;  ///< 0 when there is no PDC, and with NT.
  std::uint16_t destination_pdcid = 0;  ///< 0 with NT.
  UetNackCode code = UetNackCode::kTrimmed;
  std::uint8_t vendor_code = 0;  ///< For statistics only.
};
static_assert(sizeof(UetNack) == 16);

/// Bytes 2..15.
inline void encode(const UetNack& nack, std::byte* at) {
  store_be16(at + 2,
             static_cast<std::uint16_t>((static_cast<std::uint32_t>(nack.code) << 8U) | nack.vendor_code));
  store_be32(at + 4, nack.psn);
  store_be32(at + 8, (std::uint32_t{nack.source_pdcid} << 16U) | nack.destination_pdcid);
  store_be32(at + 12, nack.payload);
}
inline UetNack decode_uet_nack(const std::byte* at) {
  UetNack nack;
  nack.code = static_cast<UetNackCode>(load_u8(at + 2));
  nack.vendor_code = load_u8(at + 3);
  nack.psn = load_be32(at + 4);
  nack.source_pdcid = load_be16(at + 8);
  nack.destination_pdcid = load_be16(at + 10);
  nack.payload = load_be32(at + 12);
  return nack;
}

/// Congestion state of NACK_CCX, kept as bits.
struct UetNackCongestion {
  std::uint64_t state = 0;  ///< 60 bits.
  std::uint64_t state_extension = 0;
  std::uint8_t type = 0;  ///< nccx_type, 4 bits.
};

/// Bytes 16..31.
inline void encode(const UetNackCongestion& cc, std::byte* at) {
  store_be64(at + 16, (std::uint64_t{cc.type & 15U} << 60U) | (cc.state & 0x0fff'ffff'ffff'ffffU));
  store_be64(at + 24, cc.state_extension);
}
inline UetNackCongestion decode_uet_nack_congestion(const std::byte* at) {
  const std::uint64_t word = load_be64(at + 16);
  return UetNackCongestion{word & 0x0fff'ffff'ffff'ffffU, load_be64(at + 24),
                           static_cast<std::uint8_t>(word >> 60U)};
}

}  // namespace wharf::wire
