// SPDX-License-Identifier: Apache-2.0
#include "wire/uet_codec.h"

#include <isa-l/crc.h>

#include <array>
#include <memory>
#include <new>

#include "base/check.h"

namespace wharf::wire {
namespace {

/// Next headers that a type may carry, one bit each. RUD and ROD requests carry responses too: read data
/// returns as requests of the other direction.
constexpr std::uint32_t allowed_next(UetPdsType type) {
  constexpr std::uint32_t kNothing = 1U << static_cast<unsigned>(UetNextHeader::kNone);
  constexpr std::uint32_t kRequests = 7U << static_cast<unsigned>(UetNextHeader::kRequestSmall);
  constexpr std::uint32_t kResponses = 7U << static_cast<unsigned>(UetNextHeader::kResponse);
  switch (type) {
    case UetPdsType::kRudRequest:
    case UetPdsType::kRodRequest:
    case UetPdsType::kRudCcRequest:
    case UetPdsType::kRodCcRequest:
      return kRequests | kResponses;
    case UetPdsType::kRudiRequest:
    case UetPdsType::kUudRequest:
      return kRequests;
    case UetPdsType::kRudiResponse:
      return kResponses;
    case UetPdsType::kAck:
    case UetPdsType::kAckCc:
    case UetPdsType::kAckCcx:
      return kNothing | kResponses;
    case UetPdsType::kNack:
    case UetPdsType::kNackCcx:
    case UetPdsType::kControl:
      return kNothing;
    case UetPdsType::kReserved:
    case UetPdsType::kTss:
      return 0;
  }
  return 0;
}

/// What the first two bytes of a packet of one type mean.
struct TypeRules {
  std::uint8_t header_bytes = 0;
  std::uint8_t flags = 0;
  std::uint8_t next = 0;
};
constexpr auto kTypeRules = [] {
  std::array<TypeRules, 32> rules{};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto type = static_cast<UetPdsType>(i);
    rules[i] = TypeRules{static_cast<std::uint8_t>(uet_pds_bytes(type)), uet_defined_flags(type),
                         static_cast<std::uint8_t>(allowed_next(type))};
  }
  return rules;
}();

/// Reserved flags are sent as 0.
std::byte* encode_pds(const UetPacket& uet, std::byte* at) {
  UetPrologue prologue = uet.prologue;
  prologue.flags &= kTypeRules[static_cast<std::size_t>(prologue.type)].flags;
  encode(prologue, at);
  switch (uet.prologue.type) {
    case UetPdsType::kRudRequest:
    case UetPdsType::kRodRequest:
      encode(uet.request, at);
      return at + kUetRequestBytes;
    case UetPdsType::kRudCcRequest:
    case UetPdsType::kRodCcRequest:
      encode(uet.request, at);
      encode_request_cc(uet.request, at);
      return at + kUetCcRequestBytes;
    case UetPdsType::kAck:
      encode(uet.ack, at);
      return at + kUetAckBytes;
    case UetPdsType::kAckCc:
      encode(uet.ack, at);
      encode(uet.ack_congestion, at);
      return at + kUetAckCcBytes;
    case UetPdsType::kAckCcx:
      encode(uet.ack, at);
      encode(uet.ack_congestion, at);
      encode_state_extension(uet.ack_congestion, at);
      return at + kUetAckCcxBytes;
    case UetPdsType::kNack:
      encode(uet.nack, at);
      return at + kUetNackBytes;
    case UetPdsType::kNackCcx:
      encode(uet.nack, at);
      encode(uet.nack_congestion, at);
      return at + kUetNackCcxBytes;
    case UetPdsType::kControl:
      encode(uet.control, at);
      return at + kUetControlBytes;
    case UetPdsType::kRudiRequest:
    case UetPdsType::kRudiResponse:
      encode(uet.rudi, at);
      return at + kUetRudiBytes;
    case UetPdsType::kUudRequest:
      store_be16(at + 2, 0);
      return at + kUetUudBytes;
    case UetPdsType::kReserved:
    case UetPdsType::kTss:
      break;
  }
  WHARF_UNREACHABLE();
}

// Members are made in place by `new`: construct_at() would copy a temporary, and loads of what was just
// stored in smaller pieces cost more than the whole header.

/// The PDS header after its prologue; its bytes are there.
[[gnu::always_inline]] inline void decode_pds(const std::byte* at, UetPacket& uet) {
  switch (uet.prologue.type) {
    case UetPdsType::kRudRequest:
    case UetPdsType::kRodRequest:
      ::new (&uet.request) UetRequest(decode_uet_request(at));
      return;
    case UetPdsType::kRudCcRequest:
    case UetPdsType::kRodCcRequest:
      decode_request_cc(at, *::new (&uet.request) UetRequest(decode_uet_request(at)));
      return;
    case UetPdsType::kAck:
      ::new (&uet.ack) UetAck(decode_uet_ack(at));
      return;
    case UetPdsType::kAckCc:
      ::new (&uet.ack) UetAck(decode_uet_ack(at));
      ::new (&uet.ack_congestion) UetAckCongestion(decode_uet_ack_congestion(at));
      return;
    case UetPdsType::kAckCcx:
      ::new (&uet.ack) UetAck(decode_uet_ack(at));
      decode_state_extension(at,
                             *::new (&uet.ack_congestion) UetAckCongestion(decode_uet_ack_congestion(at)));
      return;
    case UetPdsType::kNack:
      ::new (&uet.nack) UetNack(decode_uet_nack(at));
      return;
    case UetPdsType::kNackCcx:
      ::new (&uet.nack) UetNack(decode_uet_nack(at));
      ::new (&uet.nack_congestion) UetNackCongestion(decode_uet_nack_congestion(at));
      return;
    case UetPdsType::kControl:
      ::new (&uet.control) UetControl(decode_uet_control(at));
      return;
    case UetPdsType::kRudiRequest:
    case UetPdsType::kRudiResponse:
      ::new (&uet.rudi) UetRudi(decode_uet_rudi(at));
      return;
    case UetPdsType::kUudRequest:
    case UetPdsType::kReserved:
    case UetPdsType::kTss:
      return;
  }
}

/// Prologue and PDS header. `header_bytes` is their length.
[[gnu::always_inline]] inline DropReason decode_pds_checked(std::span<const std::byte> transport,
                                                            UetPacket& uet, std::uint32_t& header_bytes) {
  if (transport.size() < kUetPrologueBytes) return DropReason::kTruncated;
  UetPrologue prologue = decode_uet_prologue(transport.data());
  const TypeRules rules = kTypeRules[static_cast<std::size_t>(prologue.type)];
  prologue.flags &= rules.flags;
  uet.prologue = prologue;
  const auto next = static_cast<unsigned>(prologue.next);
  if (((rules.next >> next) & 1U) == 0 || prologue.control > UetControlType::kNegotiation) [[unlikely]] {
    if (prologue.type == UetPdsType::kTss) return DropReason::kSecured;
    if (rules.header_bytes == 0) return DropReason::kUnknownTransport;
    if (next > static_cast<unsigned>(UetNextHeader::kResponseDataSmall))
      return DropReason::kUnknownNextHeader;
    return prologue.control > UetControlType::kNegotiation ? DropReason::kUnknownOpcode
                                                           : DropReason::kForbiddenHeader;
  }
  header_bytes = rules.header_bytes;
  if (transport.size() < header_bytes) return DropReason::kTruncated;
  decode_pds(transport.data(), uet);
  return DropReason::kNone;
}

/// Whether the request form has every field that the operation needs. The table names no form for unknown
/// opcodes.
constexpr bool form_allowed(UetNextHeader form, UetOpcode opcode) {
  constexpr std::uint32_t kSmall = (1U << static_cast<unsigned>(UetOpcode::kWrite)) |
                                   (1U << static_cast<unsigned>(UetOpcode::kRead)) |
                                   (1U << static_cast<unsigned>(UetOpcode::kAtomic)) |
                                   (1U << static_cast<unsigned>(UetOpcode::kFetchingAtomic));
  constexpr std::uint32_t kMedium = kSmall | (1U << static_cast<unsigned>(UetOpcode::kSend)) |
                                    (1U << static_cast<unsigned>(UetOpcode::kDatagramSend)) |
                                    (1U << static_cast<unsigned>(UetOpcode::kTaggedSend)) |
                                    (1U << static_cast<unsigned>(UetOpcode::kTaggedSendAtomic)) |
                                    (1U << static_cast<unsigned>(UetOpcode::kTaggedSendFetchAtomic));
  if (form == UetNextHeader::kRequestStandard || !is_known(opcode)) return true;
  return (((form == UetNextHeader::kRequestSmall ? kSmall : kMedium) >> static_cast<unsigned>(opcode)) &
          1U) != 0;
}

/// Operations whose packets carry no data.
constexpr bool has_no_payload(const UetPacket& uet) {
  switch (uet.ses.opcode) {
    case UetOpcode::kNoOp:
    case UetOpcode::kRead:
    case UetOpcode::kDeferrableReadyToRestart:
    case UetOpcode::kMessageError:
      return true;
    case UetOpcode::kAtomic:
    case UetOpcode::kFetchingAtomic:
    case UetOpcode::kTaggedSendAtomic:
    case UetOpcode::kTaggedSendFetchAtomic:
      return uet_has_compare_swap(uet.atomic.opcode);
    case UetOpcode::kWrite:
    case UetOpcode::kSend:
    case UetOpcode::kRendezvousSend:
    case UetOpcode::kDatagramSend:
    case UetOpcode::kDeferrableSend:
    case UetOpcode::kTaggedSend:
    case UetOpcode::kRendezvousTaggedSend:
    case UetOpcode::kDeferrableTaggedSend:
    case UetOpcode::kExtended:
      return false;
  }
  return false;
}

/// The lengths that a request announces, against the `payload` bytes that are there.
DropReason check_request(const UetPacket& uet, std::uint32_t payload) {
  const UetSesRequest& ses = uet.ses;
  if (payload > kUetPayloadBytesMax) return DropReason::kBadPayloadLength;
  const bool standard = uet.prologue.next == UetNextHeader::kRequestStandard;
  if (!standard && (!ses.first() || !ses.last())) return DropReason::kBadSegment;
  if (has_no_payload(uet)) return payload == 0 ? DropReason::kNone : DropReason::kBadPayloadLength;
  if (!standard) {
    const bool right = payload == ses.request_length || (payload == 0 && ses.initiator_error());
    return right || !is_known(ses.opcode) ? DropReason::kNone : DropReason::kBadPayloadLength;
  }
  if (!ses.first() && ses.payload_length != payload) return DropReason::kBadPayloadLength;
  if (std::uint64_t{ses.message_offset} + payload > ses.request_length && is_known(ses.opcode))
    return DropReason::kBadSegment;
  return DropReason::kNone;
}

/// SES request and extension at `at`, of which `left` bytes are there. `bytes` is their length.
[[gnu::always_inline]] inline DropReason decode_request(const std::byte* at, std::uint32_t left,
                                                        UetPacket& uet, std::uint32_t& bytes) {
  bytes = uet_ses_bytes(uet.prologue.next);
  if (left < bytes) return DropReason::kTruncated;
  if (uet_ses_version(at) != 0) return DropReason::kBadTransportVersion;
  if (uet.prologue.next == UetNextHeader::kRequestStandard) {
    ::new (&uet.ses) UetSesRequest(decode_standard(at));
  } else if (uet.prologue.next == UetNextHeader::kRequestMedium) {
    ::new (&uet.ses) UetSesRequest(decode_medium(at));
  } else {
    ::new (&uet.ses) UetSesRequest(decode_small(at));
  }
  if (!form_allowed(uet.prologue.next, uet.ses.opcode)) return DropReason::kForbiddenHeader;
  const UetExtension extension = uet_extension(uet.ses.opcode);
  if (extension == UetExtension::kNone) [[likely]]
    return DropReason::kNone;
  at += bytes;
  left -= bytes;
  if (extension == UetExtension::kRendezvous) {
    if (left < kUetRendezvousBytes) return DropReason::kTruncated;
    ::new (&uet.rendezvous) UetRendezvous(decode_uet_rendezvous(at));
    bytes += kUetRendezvousBytes;
    return DropReason::kNone;
  }
  if (left < kUetAtomicBytes) return DropReason::kTruncated;
  UetAtomic& atomic = *::new (&uet.atomic) UetAtomic(decode_atomic_start(at));
  const std::uint32_t atomic_bytes = uet_atomic_bytes(atomic.opcode);
  if (left < atomic_bytes) return DropReason::kTruncated;
  if (atomic_bytes == kUetCompareSwapBytes) decode_compare_swap(at, atomic);
  bytes += atomic_bytes;
  return DropReason::kNone;
}

/// SES response at `at`, of which `left` bytes are there. `bytes` is its length.
DropReason decode_response(const std::byte* at, std::uint32_t left, UetPacket& uet, std::uint32_t& bytes) {
  bytes = uet_ses_bytes(uet.prologue.next);
  if (left < bytes) return DropReason::kTruncated;
  if (uet_ses_version(at) != 0) return DropReason::kBadTransportVersion;
  if (uet.prologue.next == UetNextHeader::kResponse) {
    ::new (&uet.response) UetSesResponse(wire::decode_response(at));
  } else if (uet.prologue.next == UetNextHeader::kResponseData) {
    ::new (&uet.response) UetSesResponse(decode_response_data(at));
  } else {
    ::new (&uet.response) UetSesResponse(decode_response_data_small(at));
  }
  return DropReason::kNone;
}

}  // namespace

std::byte* encode_uet_headers(const UetPacket& uet, std::uint32_t payload_length, std::byte* at) {
  at = encode_pds(uet, at);
  switch (uet.prologue.next) {
    case UetNextHeader::kNone:
      return at;
    case UetNextHeader::kRequestSmall:
      encode_small(uet.ses, at);
      at += kUetSmallBytes;
      break;
    case UetNextHeader::kRequestMedium:
      encode_medium(uet.ses, at);
      at += kUetMediumBytes;
      break;
    case UetNextHeader::kRequestStandard:
      encode_standard(uet.ses, payload_length, at);
      at += kUetStandardBytes;
      break;
    case UetNextHeader::kResponse:
      encode_response(uet.response, at);
      return at + kUetResponseBytes;
    case UetNextHeader::kResponseData:
      encode_response_data(uet.response, payload_length, at);
      return at + kUetResponseDataBytes;
    case UetNextHeader::kResponseDataSmall:
      encode_response_data_small(uet.response, payload_length, at);
      return at + kUetResponseDataSmallBytes;
  }
  switch (uet_extension(uet.ses.opcode)) {
    case UetExtension::kNone:
      return at;
    case UetExtension::kRendezvous:
      encode(uet.rendezvous, at);
      return at + kUetRendezvousBytes;
    case UetExtension::kAtomic:
      encode_atomic_start(uet.atomic, at);
      if (!uet_has_compare_swap(uet.atomic.opcode)) return at + kUetAtomicBytes;
      encode_compare_swap(uet.atomic, at);
      return at + kUetCompareSwapBytes;
  }
  WHARF_UNREACHABLE();
}

DropReason decode_uet(std::span<const std::byte> transport, UetPacket& uet, Payload& payload) {
  std::uint32_t pds_bytes = 0;
  DropReason reason = decode_pds_checked(transport, uet, pds_bytes);
  if (reason != DropReason::kNone) return reason;
  const std::byte* const ses = transport.data() + pds_bytes;
  const auto left = static_cast<std::uint32_t>(transport.size()) - pds_bytes;
  std::uint32_t ses_bytes = 0;
  bool data_allowed = false;
  if (is_uet_request_form(uet.prologue.next)) {
    reason = decode_request(ses, left, uet, ses_bytes);
    if (reason == DropReason::kNone) reason = check_request(uet, left - ses_bytes);
    data_allowed = true;
  } else if (is_uet_response_form(uet.prologue.next)) {
    reason = decode_response(ses, left, uet, ses_bytes);
    if (reason == DropReason::kNone && uet.response.payload_length != left - ses_bytes)
      reason = DropReason::kBadPayloadLength;
    data_allowed = uet.prologue.next != UetNextHeader::kResponse;
  } else {
    data_allowed = uet.prologue.control == UetControlType::kNegotiation;
  }
  if (reason != DropReason::kNone) return reason;
  const std::uint32_t rest = left - ses_bytes;
  if (rest != 0 && !data_allowed) return DropReason::kBadPayloadLength;
  payload = bytes_payload(ses + ses_bytes, rest);
  return DropReason::kNone;
}

DropReason decode_uet_trimmed(std::span<const std::byte> transport, UetPacket& uet,
                              std::uint32_t& header_bytes) {
  const DropReason reason = decode_pds_checked(transport, uet, header_bytes);
  if (reason != DropReason::kNone) return reason;
  const std::byte* const ses = transport.data() + header_bytes;
  const auto left = static_cast<std::uint32_t>(transport.size()) - header_bytes;
  std::uint32_t ses_bytes = 0;
  if (is_uet_request_form(uet.prologue.next)) {
    if (decode_request(ses, left, uet, ses_bytes) == DropReason::kNone) {
      header_bytes += ses_bytes;
    } else {
      std::construct_at(&uet.ses);
    }
  } else if (is_uet_response_form(uet.prologue.next)) {
    if (decode_response(ses, left, uet, ses_bytes) == DropReason::kNone) {
      header_bytes += ses_bytes;
    } else {
      std::construct_at(&uet.response);
    }
  }
  return DropReason::kNone;
}

std::uint32_t uet_crc(std::span<const std::byte> covered, std::uint32_t before) {
  // ISA-L's CRC-32C leaves initial value and final complement to the caller, and takes a pointer to non-const
  // that it never writes through.
  auto* bytes = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(covered.data()));
  return ~crc32_iscsi(bytes, static_cast<int>(covered.size()), ~before);
}

}  // namespace wharf::wire
