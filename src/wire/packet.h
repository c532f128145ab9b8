// SPDX-License-Identifier: Apache-2.0
// One packet between two engines: parsed headers, a payload slice, and what the network may see or mark.
// This is what engines, links and switches exchange; frame.h turns it into bytes and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "wire/host_address.h"
#include "wire/payload.h"
#include "wire/roce_packet.h"
#include "wire/ub_packet.h"
#include "wire/uet_packet.h"

namespace wharf::wire {

/// The protocols wharf speaks: a closed set.
enum class Protocol : std::uint8_t { kUb, kRoce, kUet };

/// How urgent a packet is, most urgent first. Switches and transmit schedulers tell packets apart by this
/// alone. On the wire it is the DSCP (IP) or the service level (CNA); see traffic_class.h.
enum class TrafficClass : std::uint8_t {
  kControl,          ///< Congestion notification, management.
  kAcknowledgement,  ///< Acknowledgements and transaction responses without bulk data.
  kRetransmission,   ///< Requests and data sent again.
  kLoadStore,        ///< Loads, stores and their answers.
  kData,             ///< Everything else: requests, bulk data, read responses.
};
inline constexpr std::uint32_t kTrafficClassCount = 5;

/// A set of traffic classes, one bit each.
using TrafficClassMask = std::uint8_t;
constexpr TrafficClassMask mask_of(TrafficClass traffic_class) {
  return static_cast<TrafficClassMask>(1U << static_cast<unsigned>(traffic_class));
}
inline constexpr TrafficClassMask kAllTrafficClasses = (1U << kTrafficClassCount) - 1;

/// The two ECN bits of IP (RFC 3168), with the same numbers.
enum class CongestionMark : std::uint8_t {
  kNone = 0,         ///< Not ECN-capable: a congested switch drops instead of marking.
  kCapable = 2,      ///< ECT(0).
  kExperienced = 3,  ///< CE.
};

/// Whether a switch cut the payload off, and whether it was the last one before the destination, which tells
/// incast from congestion inside the network. UET says it by DSCP (traffic_class.h); no frame format of UB or
/// RoCEv2 can express a trimmed packet, and encode refuses it.
enum class TrimState : std::uint8_t { kWhole, kTrimmed, kTrimmedLastHop };

enum class IpVersion : std::uint8_t { kV4 = 4, kV6 = 6 };

/// Names the application's operation that a packet serves, for attribution. Never on the wire; 0 is "none".
struct OperationTag {
  std::uint64_t value = 0;
  constexpr auto operator<=>(const OperationTag&) const = default;
};

/// Chooses the constructor of Packet that makes `uet` the active member, without writing `ub` first.
struct UetMember {};

struct Packet {
  Packet() : ub() {}
  explicit Packet(UetMember) : protocol(Protocol::kUet), uet() {}
  explicit Packet(UetHeadersToCome to_come) : protocol(Protocol::kUet), uet(to_come) {}

  Protocol protocol = Protocol::kUb;
  TrafficClass traffic_class = TrafficClass::kData;
  CongestionMark mark =
      CongestionMark::kNone;  ///< IP encapsulations. Elsewhere CC carries it; see mark_congestion().
  TrimState trim = TrimState::kWhole;
  IpVersion ip_version = IpVersion::kV4;
  /// Load-balancing entropy: the UDP source port, or its low 8 bits as LB of CNA headers.
  std::uint16_t entropy = 0;
  HostAddress source;
  HostAddress destination;
  /// On-wire bytes of everything but payload and pad, Ethernet header, FCS and ICRC included. Set by
  /// wire_header_bytes(), or to a profile's nominal size; links count it, nothing else reads it.
  std::uint32_t header_bytes = 0;
  OperationTag operation;
  Payload payload;
  union {
    UbPacket ub;
    RocePacket roce;
    UetPacket uet;
  };
};
static_assert(std::is_trivially_copyable_v<Packet>);
static_assert(sizeof(Packet) <= 224);

/// An empty packet whose `ub` (or `roce`, or `uet`) is the active member.
inline Packet ub_packet() { return Packet(); }
inline Packet roce_packet() {
  Packet packet;
  packet.protocol = Protocol::kRoce;
  std::construct_at(&packet.roce);
  return packet;
}
inline Packet uet_packet() { return Packet(UetMember()); }

/// Makes the AckExtension (or CTP, or response) member of a UB packet active, all zero.
inline UbPacket::AckExtension& use_ack(UbPacket& ub) { return *std::construct_at(&ub.ack); }
inline UbPacket::Ctp& use_ctp(UbPacket& ub) {
  ub.transport = UbTransport::kCtp;
  return *std::construct_at(&ub.ctp);
}
inline Atah& use_response(UbPacket& ub) {
  ub.transaction = UbTransaction::kResponse;
  return *std::construct_at(&ub.response);
}
inline Btah& use_request(UbPacket& ub) {
  ub.transaction = UbTransaction::kRequest;
  std::construct_at(&ub.extension);
  return *std::construct_at(&ub.request);
}

// The same for UET: each makes a member active, all zero, and sets what the prologue says about it.

/// `type` is one of the four RUD and ROD types.
inline UetRequest& use_pds_request(UetPacket& uet, UetPdsType type) {
  uet.prologue.type = type;
  return *std::construct_at(&uet.request);
}
/// A plain ACK; use_ack_congestion() makes it an ACK_CC.
inline UetAck& use_ack(UetPacket& uet) {
  uet.prologue.type = UetPdsType::kAck;
  return *std::construct_at(&uet.ack);
}
inline UetAckCongestion& use_ack_congestion(UetPacket& uet, UetPdsType type = UetPdsType::kAckCc) {
  uet.prologue.type = type;
  return *std::construct_at(&uet.ack_congestion);
}
inline UetNack& use_nack(UetPacket& uet, UetNackCode code) {
  uet.prologue.type = UetPdsType::kNack;
  uet.prologue.next = UetNextHeader::kNone;
  UetNack& nack = *std::construct_at(&uet.nack);
  nack.code = code;
  return nack;
}
inline UetNackCongestion& use_nack_congestion(UetPacket& uet) {
  uet.prologue.type = UetPdsType::kNackCcx;
  return *std::construct_at(&uet.nack_congestion);
}
inline UetControl& use_control(UetPacket& uet, UetControlType control) {
  uet.prologue.type = UetPdsType::kControl;
  uet.prologue.next = UetNextHeader::kNone;
  uet.prologue.control = control;
  return *std::construct_at(&uet.control);
}
/// `type` is kRudiRequest or kRudiResponse.
inline UetRudi& use_rudi(UetPacket& uet, UetPdsType type) {
  uet.prologue.type = type;
  return *std::construct_at(&uet.rudi);
}
/// `form` is one of the three request forms.
inline UetSesRequest& use_ses_request(UetPacket& uet, UetNextHeader form, UetOpcode opcode) {
  uet.prologue.next = form;
  UetSesRequest& request = *std::construct_at(&uet.ses);
  request.opcode = opcode;
  return request;
}
/// `form` is one of the three response forms.
inline UetSesResponse& use_ses_response(UetPacket& uet, UetNextHeader form) {
  uet.prologue.next = form;
  return *std::construct_at(&uet.response);
}
inline UetRendezvous& use_rendezvous(UetPacket& uet) { return *std::construct_at(&uet.rendezvous); }
inline UetAtomic& use_atomic(UetPacket& uet) { return *std::construct_at(&uet.atomic); }

/// On-wire bytes of all headers and trailers of `packet` (see Packet::header_bytes). It depends on opcodes
/// and flags, for atomics on MAETAH.Length, and on the size code of SAETPH.
std::uint32_t wire_header_bytes(const Packet& packet);

/// Zero bytes after the payload, 0..3.
std::uint32_t pad_bytes(const Packet& packet);

/// Bytes of the frame: the packet's own `header_bytes`, data and pad. (A selective-acknowledgement bitmap
/// that is stored as payload is already part of the headers.)
std::uint32_t frame_bytes(const Packet& packet);

/// What an Ethernet link is busy for: frame_bytes(), at least 64, plus 8 of preamble and 12 of gap. A profile
/// decides whether links count this or frame_bytes(). On a native UB link it is frame_bytes().
std::uint32_t link_bytes(const Packet& packet);

/// Marks congestion as a switch does: CE in IP (when ECN-capable), and FECN or C in the CC field of UB.
void mark_congestion(Packet& packet);

/// Cuts the data off, as a switch does that has no room for it. `state` is not kWhole. The SES header of UET
/// keeps saying how long the data was, if its form does. `header_bytes` stays: what is kept is the switch's
/// to say.
void trim_packet(Packet& packet, TrimState state);

/// The selective-acknowledgement bitmap of a TPSACK, wherever it is stored. Empty when the packet has none.
std::span<const std::byte> sack_bitmap(const Packet& packet);

/// What the packet is, such as "Write", "TPACK" or "RC SEND Only".
std::string_view packet_name(const Packet& packet);

}  // namespace wharf::wire
