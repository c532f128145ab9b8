// SPDX-License-Identifier: Apache-2.0
// The parsed header stack of one Ultra Ethernet packet: PDS header, SES header, extension. Which union
// members are meant follows from the prologue and the SES opcodes alone.
#pragma once

#include <cstdint>
#include <type_traits>

#include "wire/uet_pds_ack.h"
#include "wire/uet_pds_control.h"
#include "wire/uet_pds_nack.h"
#include "wire/uet_pds_request.h"
#include "wire/uet_prologue.h"
#include "wire/uet_ses.h"

namespace wharf::wire {

/// What stands between IP and the PDS header. [UE 1.0 3.5.10]
enum class UetEncapsulation : std::uint8_t {
  kUdp,       ///< UDP 4793; the entropy value is the source port.
  kNativeIp,  ///< An IP protocol of its own and the 4-byte entropy header.
};

/// What ends a packet (UET_Data_Protect). A receiver knows it from its configuration.
enum class UetProtection : std::uint8_t { kNone = 0, kCrc = 1 };

/// CRC-32C trailer.
inline constexpr std::uint32_t kUetCrcBytes = 4;
/// Entropy header of native IP: entropy 16, reserved 16.
inline constexpr std::uint32_t kUetEntropyBytes = 4;

/// Chooses the constructors that leave the unions without an active member: who takes it makes them.
struct UetHeadersToCome {};

struct UetPacket {
  UetPacket() : request(), ses(), atomic() {}
  explicit UetPacket(UetHeadersToCome) {}

  UetPrologue prologue;
  UetEncapsulation encapsulation = UetEncapsulation::kUdp;
  UetProtection protection = UetProtection::kCrc;
  union {
    UetRequest request;  ///< RUD and ROD, with and without CC.
    UetAck ack;          ///< kAck, kAckCc, kAckCcx.
    UetNack nack;        ///< kNack, kNackCcx.
    UetControl control;  ///< kControl.
    UetRudi rudi;        ///< kRudiRequest, kRudiResponse.
  };
  union {
    UetSesRequest ses;        ///< prologue.next names a request form.
    UetSesResponse response;  ///< prologue.next names a response form.
  };
  union {
    UetRendezvous rendezvous;           ///< Requests with uet_extension(ses.opcode) == kRendezvous.
    UetAtomic atomic;                   ///< Requests with uet_extension(ses.opcode) == kAtomic.
    UetAckCongestion ack_congestion;    ///< kAckCc, kAckCcx.
    UetNackCongestion nack_congestion;  ///< kNackCcx.
  };

  /// The PDS number for people: psn, ACK_PSN, nack_psn or pkt_id. 0 for UUD, which has none.
  UetPsn psn() const {
    if (is_uet_pdc_request(prologue.type)) return request.psn;
    if (is_uet_ack(prologue.type)) return prologue.answers_probe() ? ack.cumulative_psn : ack.ack_psn();
    if (is_uet_nack(prologue.type)) return nack.psn;
    if (prologue.type == UetPdsType::kControl) return control.psn;
    if (prologue.type == UetPdsType::kRudiRequest || prologue.type == UetPdsType::kRudiResponse)
      return rudi.packet_id;
    return 0;
  }
};
static_assert(std::is_trivially_copyable_v<UetPacket>);
static_assert(sizeof(UetPacket) <= 120);

constexpr bool is_uet_request_form(UetNextHeader next) {
  return next >= UetNextHeader::kRequestSmall && next <= UetNextHeader::kRequestStandard;
}
constexpr bool is_uet_response_form(UetNextHeader next) {
  return next >= UetNextHeader::kResponse && next <= UetNextHeader::kResponseDataSmall;
}

/// Bytes of the PDS header; 0 for reserved types.
constexpr std::uint32_t uet_pds_bytes(UetPdsType type) {
  switch (type) {
    case UetPdsType::kRudRequest:
    case UetPdsType::kRodRequest:
      return kUetRequestBytes;
    case UetPdsType::kRudCcRequest:
    case UetPdsType::kRodCcRequest:
      return kUetCcRequestBytes;
    case UetPdsType::kRudiRequest:
    case UetPdsType::kRudiResponse:
      return kUetRudiBytes;
    case UetPdsType::kUudRequest:
      return kUetUudBytes;
    case UetPdsType::kAck:
      return kUetAckBytes;
    case UetPdsType::kAckCc:
      return kUetAckCcBytes;
    case UetPdsType::kAckCcx:
      return kUetAckCcxBytes;
    case UetPdsType::kNack:
      return kUetNackBytes;
    case UetPdsType::kNackCcx:
      return kUetNackCcxBytes;
    case UetPdsType::kControl:
      return kUetControlBytes;
    case UetPdsType::kReserved:
    case UetPdsType::kTss:
      return 0;
  }
  return 0;
}

/// Bytes of the SES header without extension; 0 for none and reserved ones.
constexpr std::uint32_t uet_ses_bytes(UetNextHeader next) {
  switch (next) {
    case UetNextHeader::kNone:
      return 0;
    case UetNextHeader::kRequestSmall:
      return kUetSmallBytes;
    case UetNextHeader::kRequestMedium:
      return kUetMediumBytes;
    case UetNextHeader::kRequestStandard:
      return kUetStandardBytes;
    case UetNextHeader::kResponse:
      return kUetResponseBytes;
    case UetNextHeader::kResponseData:
      return kUetResponseDataBytes;
    case UetNextHeader::kResponseDataSmall:
      return kUetResponseDataSmallBytes;
  }
  return 0;
}

/// Bytes of PDS header, SES header and extension.
inline std::uint32_t uet_header_bytes(const UetPacket& uet) {
  std::uint32_t bytes = uet_pds_bytes(uet.prologue.type) + uet_ses_bytes(uet.prologue.next);
  if (is_uet_request_form(uet.prologue.next)) {
    const UetExtension extension = uet_extension(uet.ses.opcode);
    if (extension == UetExtension::kRendezvous) bytes += kUetRendezvousBytes;
    if (extension == UetExtension::kAtomic) bytes += uet_atomic_bytes(uet.atomic.opcode);
  }
  return bytes;
}

}  // namespace wharf::wire
