// SPDX-License-Identifier: Apache-2.0
// Why a received frame is not a packet for an engine. On the packet path a reason is an enumerator to be
// counted; text is made only for people.
#pragma once

#include <cstdint>
#include <string_view>

namespace wharf::wire {

enum class DropReason : std::uint8_t {
  kNone,                 ///< Not dropped.
  kTruncated,            ///< The frame ends before its headers, or before the length that they announce.
  kForeign,              ///< Not UB, RoCEv2 or UET: another EtherType, IP protocol or UDP port.
  kBadLinkHeader,        ///< UB link header: a Config value that carries no packet.
  kBadIpHeader,          ///< IP version, header length or total length are wrong, or options are present.
  kIpFragment,           ///< A fragment; no protocol here fragments.
  kBadIpChecksum,        ///< The IPv4 header checksum does not match.
  kBadUdpLength,         ///< The UDP length is below 8 or beyond the IP datagram.
  kAddressNotInPlan,     ///< A network address that stands for no host of the address plan.
  kBadTransportVersion,  ///< BTH.TVer, TPH.TPVer, TAH.TAVer or SES version is not 0.
  kUnknownTransport,     ///< NTH.NLP, TPOpcode or PDS type announces an unknown or reserved header.
  kUnknownNextHeader,    ///< TPH.NLP or PDS next header is reserved, or announces the unpublished CIPH.
  kUnknownOpcode,        ///< A transaction, BTH or control packet opcode that is not in the table.
  kBadSackSize,          ///< SAETPH with a bitmap size code of 5..7 or non-zero reserved bits.
  kBadRequesterType,     ///< INI_RC_Type 3.
  kUnsupportedHeader,    ///< A user-defined ETAH (UD_FLG), whose form is the vendor's.
  kBadPadding,           ///< The pad count does not fit the length, or a pad byte is not zero.
  kBadPayloadLength,     ///< Data after an opcode that has none, or operands of a wrong width.
  kBadIcrc,              ///< The invariant CRC, or the CRC of UET, does not match.
  kForbiddenHeader,  ///< UET: a SES header that its PDS type, or an operation that its SES form, cannot be.
  kBadSegment,       ///< UET: a segment that reaches beyond its message, or a short form with two packets.
  kSecured,          ///< UET: a TSS packet, for which there are no keys.
  kBadTlp,           ///< A PCIe transaction layer packet in a capture; TlpDropReason says more.
};
inline constexpr std::uint32_t kDropReasonCount = static_cast<std::uint32_t>(DropReason::kBadTlp) + 1;

/// A short lower-case phrase such as "bad invariant CRC".
std::string_view drop_reason_text(DropReason reason);

}  // namespace wharf::wire
