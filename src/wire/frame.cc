// SPDX-License-Identifier: Apache-2.0
#include "wire/frame.h"

#include <cstring>
#include <memory>

#include "base/check.h"
#include "wire/address_plan.h"
#include "wire/ethernet.h"
#include "wire/frame_layout.h"
#include "wire/icrc.h"
#include "wire/ip_frame.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/roce_codec.h"
#include "wire/traffic_class.h"
#include "wire/ub_codec.h"
#include "wire/ub_lph.h"
#include "wire/udp.h"
#include "wire/uet_frame.h"

namespace wharf::wire {
namespace {

/// No stack of headers and trailers is longer: 70 of network, 16 + 8 + 132 + 36 of transport, 72 of
/// transaction.
constexpr std::uint32_t kOverheadBytesMax = 384;

std::uint32_t trailer_bytes(const Packet& packet, const WireOptions& options) {
  return packet.protocol == Protocol::kRoce || options.ub_icrc ? kIcrcBytes : 0;
}

/// Payload that stands after the headers; a selective-acknowledgement bitmap stands inside them.
std::uint32_t data_bytes(const Packet& packet) {
  return packet.protocol == Protocol::kUb && payload_is_sack_bitmap(packet.ub) ? 0 : packet.payload.length;
}

/// Writes an IP and a UDP header for `transport_bytes` of transport and returns their end.
std::byte* encode_ip_udp(const Packet& packet, std::uint32_t transport_bytes, std::byte* at) {
  const auto udp_length = static_cast<std::uint16_t>(kUdpBytes + transport_bytes);
  at = encode_ip(packet, kIpProtocolUdp, type_of_service(packet), udp_length, at);
  encode(UdpHeader{packet.entropy, packet.protocol == Protocol::kRoce ? kRocePort : kUboePort, udp_length, 0},
         at);
  return at + kUdpBytes;
}

NthNext next_of(UbTransport transport) {
  switch (transport) {
    case UbTransport::kRtp:
      return NthNext::kRtph;
    case UbTransport::kUtp:
      return NthNext::kUtph;
    case UbTransport::kCtp:
      return NthNext::kCtph;
    case UbTransport::kBypass:
      return NthNext::kBypass;
  }
  WHARF_UNREACHABLE();
}

Nth nth_of(const Packet& packet) {
  const UbPacket& ub = packet.ub;
  Nth nth;
  nth.partition = ub.partition;
  nth.cc = ub.cc;
  nth.entropy = static_cast<std::uint8_t>(packet.entropy);
  nth.service_level = service_level_of(packet.traffic_class);
  nth.management = ub.management;
  nth.next = next_of(ub.transport);
  nth.routing_type =
      static_cast<std::uint8_t>((ub.per_packet_balance ? 2U : 0U) | (ub.shortest_paths_only ? 1U : 0U));
  return nth;
}

Lph lph_of(const Packet& packet, LinkConfig config) {
  Lph lph;
  lph.packet_lane = service_level_of(packet.traffic_class);
  lph.config = config;
  lph.per_packet_balance = packet.ub.per_packet_balance;
  lph.shortest_paths_only = packet.ub.shortest_paths_only;
  return lph;
}

std::byte* encode_cna16(const Packet& packet, LinkConfig config, std::byte* at) {
  WHARF_CHECK(packet.source.number < kCna16Hosts && packet.destination.number < kCna16Hosts);
  encode(lph_of(packet, config), at);
  Nth nth = nth_of(packet);
  nth.source = cna16_of(packet.source);
  nth.destination = cna16_of(packet.destination);
  encode_nth_cna16(nth, at + kLphBytes);
  return at + kLphBytes + kNthCna16Bytes;
}

/// Writes link and network headers of a UB packet and returns their end.
std::byte* encode_ub_network(const Packet& packet, std::uint32_t transport_bytes, std::byte* at) {
  const UbPacket& ub = packet.ub;
  switch (ub.encapsulation) {
    case UbEncapsulation::kUdp: {
      at = encode_ethernet(packet, at);
      if (ub.operator_tag) {
        const std::uint16_t type = load_be16(at - 2);
        encode(OpTag{ub.cc, ub.partition}, at - 2);
        at += kOpTagBytes;
        store_be16(at - 2, type);
      }
      return encode_ip_udp(packet, transport_bytes, at);
    }
    case UbEncapsulation::kIpOnLink:
      encode(lph_of(packet, packet.ip_version == IpVersion::kV4 ? LinkConfig::kIpv4 : LinkConfig::kIpv6), at);
      encode_nth_ip(nth_of(packet), at + kLphBytes);
      return encode_ip_udp(packet, transport_bytes, at + kLphBytes + kNthIpBytes);
    case UbEncapsulation::kCna16OnLink:
      return encode_cna16(packet, LinkConfig::kCna16, at);
    case UbEncapsulation::kMemoryOnLink:
      return encode_cna16(packet, LinkConfig::kMemory, at);
    case UbEncapsulation::kCna24OnLink:
    case UbEncapsulation::kRawEthernet: {
      WHARF_CHECK(packet.source.number < kCna24Hosts && packet.destination.number < kCna24Hosts);
      Nth nth = nth_of(packet);
      nth.source = cna24_of(packet.source);
      nth.destination = cna24_of(packet.destination);
      if (ub.encapsulation == UbEncapsulation::kCna24OnLink) {
        encode(lph_of(packet, LinkConfig::kCna24), at);
        encode_nth_cna24(nth, at + kLphBytes);
        return at + kLphBytes + kNthCna24Bytes;
      }
      // OpenURMA sends to the broadcast address from address 0.
      std::memset(at, 0xff, 6);
      std::memset(at + 6, 0, 6);
      store_be16(at + 12, static_cast<std::uint16_t>(EtherType::kUbRaw));
      encode_nth_openurma(nth, at + kEthernetBytes);
      return at + kEthernetBytes + kNthOpenUrmaBytes;
    }
  }
  WHARF_UNREACHABLE();
}

std::uint32_t data_and_pad_bytes(const Packet& packet) {
  const std::uint32_t data = data_bytes(packet);
  return data == 0 ? 0 : data + pad_bytes(packet);
}

/// Writes headers from the transport header on, data and pad; returns their end.
std::byte* encode_transport(const Packet& packet, std::byte* at) {
  if (packet.protocol == Protocol::kRoce) {
    at = encode_roce_headers(packet.roce, packet.payload.length, at);
  } else if (packet.ub.entities == UbEntities::kFull) [[unlikely]] {
    at = encode_ub_headers(packet.ub, packet.payload,
                           FullEidh{entity_of(packet.source), entity_of(packet.destination)}, at);
  } else {
    static constexpr FullEidh kNoEntities{};
    at = encode_ub_headers(packet.ub, packet.payload, kNoEntities, at);
  }
  const std::uint32_t data = data_bytes(packet);
  if (data == 0) return at;
  fill(packet.payload, {at, data});
  at += data;
  for (std::uint32_t pad = pad_bytes(packet); pad != 0; --pad) *at++ = std::byte{0};
  return at;
}

/// Writes the checksum over the transport bytes from `start` to `at` and returns its end. `ip_and_udp` points
/// at the IP header of a RoCE packet.
std::byte* encode_trailer(const Packet& packet, const WireOptions& options, const std::byte* ip_and_udp,
                          const std::byte* start, std::byte* at) {
  if (packet.protocol == Protocol::kRoce) {
    store_le32(at, options.roce_icrc ? icrc(packet.ip_version, ip_and_udp, {start, at}) : 0);
    return at + kIcrcBytes;
  }
  if (!options.ub_icrc) return at;
  store_be32(at, ub_icrc({start, at}));
  return at + kIcrcBytes;
}

bool roce_icrc_matches(IpVersion version, const std::byte* ip_and_udp, std::span<const std::byte> transport) {
  const std::size_t covered = transport.size() - kIcrcBytes;
  return icrc(version, ip_and_udp, transport.first(covered)) == load_le32(transport.data() + covered);
}

/// Reads BTH or UB transport headers to the end. `ip_and_udp` is null for encapsulations without IP.
[[gnu::always_inline]] inline DropReason decode_transport(std::span<const std::byte> transport,
                                                          const std::byte* ip_and_udp,
                                                          const WireOptions& options, Packet& packet,
                                                          std::uint32_t& trailing_bytes) {
  trailing_bytes = 0;
  if (packet.protocol == Protocol::kRoce) {
    if (transport.size() < kBthBytes + kIcrcBytes) return DropReason::kTruncated;
    if (options.roce_icrc && !roce_icrc_matches(packet.ip_version, ip_and_udp, transport))
      return DropReason::kBadIcrc;
    return decode_roce(transport.first(transport.size() - kIcrcBytes), packet.roce, packet.payload);
  }
  if (options.ub_icrc) {
    if (transport.size() < kIcrcBytes) return DropReason::kTruncated;
    const std::size_t covered = transport.size() - kIcrcBytes;
    if (ub_icrc(transport.first(covered)) != load_be32(transport.data() + covered))
      return DropReason::kBadIcrc;
    transport = transport.first(covered);
  }
  UbDecoded decoded;
  const DropReason reason = decode_ub(transport, packet.ub, packet.payload, decoded);
  trailing_bytes = decoded.trailing_bytes;
  if (reason != DropReason::kNone || packet.ub.entities != UbEntities::kFull) return reason;
  const FullEidh entities = decode_full_eidh(decoded.entities);
  const bool planned =
      entities.source == entity_of(packet.source) && entities.destination == entity_of(packet.destination);
  return planned ? DropReason::kNone : DropReason::kAddressNotInPlan;
}

/// The mark that CC carries where there is no IP header.
CongestionMark mark_of(const CongestionField& cc) {
  switch (cc.mode) {
    case CongestionMode::kCaqm:
      if (!cc.enabled) return CongestionMark::kNone;
      return cc.congested ? CongestionMark::kExperienced : CongestionMark::kCapable;
    case CongestionMode::kFecn:
    case CongestionMode::kFecnRtt:
      return cc.fecn == 1 ? CongestionMark::kExperienced : CongestionMark::kCapable;
  }
  return CongestionMark::kNone;
}

DropReason decode_network(const std::byte* ip, const std::byte* udp, Packet& packet) {
  std::uint8_t service = 0;
  if (!decode_ip(ip, packet, service)) return DropReason::kAddressNotInPlan;
  packet.traffic_class = traffic_class_of_dscp(service >> 2U);
  packet.entropy = load_be16(udp);
  return DropReason::kNone;
}

/// LPH and NTH of native links, NTH of P2, OPtag of UBoE.
DropReason decode_ub_network(const std::byte* frame, const FrameLayout& layout, Packet& packet) {
  UbPacket& ub = packet.ub;
  ub.encapsulation = layout.encapsulation;
  ub.transport = layout.transport;
  if (layout.encapsulation == UbEncapsulation::kUdp) {
    if (!layout.operator_tag) return DropReason::kNone;
    const OpTag tag = decode_optag(frame + layout.operator_tag_at);
    ub.operator_tag = true;
    ub.cc = tag.cc;
    ub.partition = tag.partition & 0x1ff'ffffU;
    return DropReason::kNone;
  }
  const std::byte* const at = frame + layout.nth_at;
  if (layout.encapsulation == UbEncapsulation::kRawEthernet) {
    const Nth nth = decode_nth_openurma(at);
    ub.per_packet_balance = (nth.routing_type & 2U) != 0;
    ub.shortest_paths_only = (nth.routing_type & 1U) != 0;
  } else {
    const Lph lph = decode_lph(frame);
    ub.per_packet_balance = lph.per_packet_balance;
    ub.shortest_paths_only = lph.shortest_paths_only;
  }
  if (layout.encapsulation == UbEncapsulation::kIpOnLink) {
    const Nth nth = decode_nth_ip(at);
    ub.cc = nth.cc;
    ub.partition = nth.partition;
    return DropReason::kNone;
  }
  Nth nth;
  if (profile(layout.encapsulation) == UbProfile::kP3Compact) {
    nth = decode_nth_cna16(at);
    packet.source = host_of_cna16(nth.source);
    packet.destination = host_of_cna16(nth.destination);
  } else {
    nth = layout.encapsulation == UbEncapsulation::kRawEthernet ? decode_nth_openurma(at)
                                                                : decode_nth_cna24(at);
    packet.source = host_of_cna24(nth.source);
    packet.destination = host_of_cna24(nth.destination);
  }
  if (packet.source == kNoHost || packet.destination == kNoHost) return DropReason::kAddressNotInPlan;
  ub.cc = nth.cc;
  ub.management = nth.management;
  packet.entropy = nth.entropy;
  packet.traffic_class = traffic_class_of_service_level(nth.service_level);
  packet.mark = mark_of(nth.cc);
  return DropReason::kNone;
}

}  // namespace

LinkType link_type(const Packet& packet) {
  if (packet.protocol != Protocol::kUb) return LinkType::kEthernet;
  switch (packet.ub.encapsulation) {
    case UbEncapsulation::kUdp:
    case UbEncapsulation::kRawEthernet:
      return LinkType::kEthernet;
    case UbEncapsulation::kIpOnLink:
    case UbEncapsulation::kCna24OnLink:
    case UbEncapsulation::kCna16OnLink:
    case UbEncapsulation::kMemoryOnLink:
      return LinkType::kUbLink;
  }
  WHARF_UNREACHABLE();
}

std::uint32_t encoded_bytes(const Packet& packet, const WireOptions& options) {
  if (packet.protocol == Protocol::kUet)
    return network_header_bytes(packet) + uet_header_bytes(packet.uet) + uet_trailer_bytes(packet) +
           (packet.trim == TrimState::kWhole ? packet.payload.length : 0);
  const bool roce = packet.protocol == Protocol::kRoce;
  const std::uint32_t headers = roce ? roce_header_bytes(packet.roce) : ub_header_bytes(packet.ub);
  const std::uint32_t data = data_bytes(packet);
  return network_header_bytes(packet) + headers + data + (data == 0 ? 0 : pad_bytes(packet)) +
         trailer_bytes(packet, options);
}

std::size_t encode(const Packet& packet, std::span<std::byte> frame, const WireOptions& options) {
  if (frame.size() < kOverheadBytesMax + packet.payload.length)
    WHARF_CHECK(frame.size() >= encoded_bytes(packet, options));
  if (packet.protocol == Protocol::kUet) return encode_uet_frame(packet, frame.data(), options.uet);
  WHARF_CHECK(packet.trim == TrimState::kWhole);
  // The transport comes first: its length is then known for the network headers.
  std::byte* const start = frame.data() + network_header_bytes(packet);
  std::byte* const end = encode_transport(packet, start);
  const auto transport_bytes = static_cast<std::uint32_t>(end - start) + trailer_bytes(packet, options);
  const std::byte* ip_and_udp = nullptr;
  if (packet.protocol == Protocol::kRoce) {
    std::byte* const ip = encode_ethernet(packet, frame.data());
    encode_ip_udp(packet, transport_bytes, ip);
    ip_and_udp = ip;
  } else {
    encode_ub_network(packet, transport_bytes, frame.data());
  }
  return static_cast<std::size_t>(encode_trailer(packet, options, ip_and_udp, start, end) - frame.data());
}

DropReason decode(std::span<const std::byte> frame, LinkType link, Packet& packet,
                  const WireOptions& options) {
  FrameLayout layout;
  DropReason reason = locate(frame, link, layout, options.uet);
  if (reason != DropReason::kNone) return reason;
  if (layout.protocol == Protocol::kUet)
    return layout.operator_tag ? DropReason::kForeign : decode_uet_frame(frame, layout, options.uet, packet);
  if (layout.protocol == Protocol::kRoce) {
    std::construct_at(&packet);
    packet.protocol = Protocol::kRoce;
    std::construct_at(&packet.roce);
    if (layout.operator_tag) return DropReason::kForeign;
  } else {
    std::construct_at(&packet);
    reason = decode_ub_network(frame.data(), layout, packet);
    if (reason != DropReason::kNone) return reason;
  }
  packet.ip_version = layout.ip_version;
  const std::byte* const ip = frame.data() + layout.ip_at;
  if (layout.has_ip) {
    reason = decode_network(ip, frame.data() + layout.udp_at, packet);
    if (reason != DropReason::kNone) return reason;
  }
  std::uint32_t trailing_bytes = 0;
  reason = decode_transport(frame.subspan(layout.transport_at, layout.transport_end - layout.transport_at),
                            layout.has_ip ? ip : nullptr, options, packet, trailing_bytes);
  if (reason != DropReason::kNone) return reason;
  // Everything but data and pad, so that nothing is laid out a second time; equal to wire_header_bytes().
  const std::uint32_t not_counted = kVlanTagBytes * layout.vlan_tags + trailing_bytes +
                                    data_and_pad_bytes(packet) +
                                    (layout.protocol == Protocol::kUb && options.ub_icrc ? kIcrcBytes : 0);
  packet.header_bytes = layout.transport_end - not_counted + (link == LinkType::kEthernet ? kFcsBytes : 0);
  return DropReason::kNone;
}

std::size_t encode_datagram(const Packet& packet, std::span<std::byte> datagram, const WireOptions& options) {
  if (datagram.size() < kOverheadBytesMax + packet.payload.length)
    WHARF_CHECK(datagram.size() >= encoded_bytes(packet, options) - network_header_bytes(packet));
  if (packet.protocol == Protocol::kUet) return encode_uet_datagram(packet, datagram.data(), options.uet);
  WHARF_CHECK(packet.trim == TrimState::kWhole);
  WHARF_CHECK(packet.protocol == Protocol::kRoce || packet.ub.encapsulation == UbEncapsulation::kUdp);
  std::byte* const start = datagram.data();
  std::byte* const end = encode_transport(packet, start);
  const auto transport_bytes = static_cast<std::uint32_t>(end - start) + trailer_bytes(packet, options);
  std::byte network[kIpv6Bytes + kUdpBytes];
  if (packet.protocol == Protocol::kRoce && options.roce_icrc)
    encode_ip_udp(packet, transport_bytes, network);
  return static_cast<std::size_t>(encode_trailer(packet, options, network, start, end) - start);
}

DropReason decode_datagram(std::span<const std::byte> datagram, Packet& packet, const WireOptions& options) {
  if (packet.protocol == Protocol::kUet) return decode_uet_datagram(datagram, options.uet, packet);
  std::byte network[kIpv6Bytes + kUdpBytes];
  if (packet.protocol == Protocol::kRoce) {
    if (packet.source.number >= kIpHosts || packet.destination.number >= kIpHosts)
      return DropReason::kAddressNotInPlan;
    if (options.roce_icrc) encode_ip_udp(packet, static_cast<std::uint32_t>(datagram.size()), network);
    std::construct_at(&packet.roce);
  } else {
    std::construct_at(&packet.ub);
  }
  std::uint32_t trailing_bytes = 0;
  const DropReason reason = decode_transport(datagram, network, options, packet, trailing_bytes);
  if (reason != DropReason::kNone) return reason;
  const std::uint32_t trailer = packet.protocol == Protocol::kUb && options.ub_icrc ? kIcrcBytes : 0;
  packet.header_bytes = kEthernetBytes + (packet.ip_version == IpVersion::kV4 ? kIpv4Bytes : kIpv6Bytes) +
                        kUdpBytes + static_cast<std::uint32_t>(datagram.size()) - data_and_pad_bytes(packet) -
                        trailer + kFcsBytes;
  return DropReason::kNone;
}

}  // namespace wharf::wire
