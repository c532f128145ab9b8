// SPDX-License-Identifier: Apache-2.0
#include "wire/captured_frame.h"

#include <algorithm>
#include <cstring>

#include "wire/address_plan.h"
#include "wire/icrc.h"
#include "wire/roce_codec.h"
#include "wire/traffic_class.h"
#include "wire/ub_codec.h"
#include "wire/uet_codec.h"
#include "wire/uet_frame.h"

namespace wharf::wire {
namespace {

Nth decode_nth(const std::byte* at, UbEncapsulation encapsulation) {
  switch (encapsulation) {
    case UbEncapsulation::kUdp:
      return Nth{};
    case UbEncapsulation::kIpOnLink:
      return decode_nth_ip(at);
    case UbEncapsulation::kCna24OnLink:
      return decode_nth_cna24(at);
    case UbEncapsulation::kCna16OnLink:
    case UbEncapsulation::kMemoryOnLink:
      return decode_nth_cna16(at);
    case UbEncapsulation::kRawEthernet:
      return decode_nth_openurma(at);
  }
  WHARF_UNREACHABLE();
}

std::byte* encode_nth(const Nth& nth, UbEncapsulation encapsulation, std::byte* at) {
  switch (encapsulation) {
    case UbEncapsulation::kUdp:
      return at;
    case UbEncapsulation::kIpOnLink:
      encode_nth_ip(nth, at);
      return at + kNthIpBytes;
    case UbEncapsulation::kCna24OnLink:
      encode_nth_cna24(nth, at);
      return at + kNthCna24Bytes;
    case UbEncapsulation::kCna16OnLink:
    case UbEncapsulation::kMemoryOnLink:
      encode_nth_cna16(nth, at);
      return at + kNthCna16Bytes;
    case UbEncapsulation::kRawEthernet:
      encode_nth_openurma(nth, at);
      return at + kNthOpenUrmaBytes;
  }
  WHARF_UNREACHABLE();
}

/// Ethernet header and the tags that locate() found room for.
void decode_ethernet_headers(std::span<const std::byte> frame, CapturedPacket& captured) {
  const FrameLayout& layout = captured.layout;
  const std::byte* const at = frame.data();
  EncapsulationHeaders& headers = captured.headers;
  headers.ethernet = decode_ethernet(at);
  for (std::size_t i = 0; i < layout.vlan_tags; ++i)
    headers.vlan[i] = VlanTag{static_cast<EtherType>(load_be16(at + 12 + 4 * i)), load_be16(at + 14 + 4 * i)};
  if (layout.operator_tag) headers.operator_tag = decode_optag(at + layout.operator_tag_at);
  // The type that names what follows all tags.
  const std::size_t type_at =
      12 + std::size_t{kVlanTagBytes} * layout.vlan_tags + (layout.operator_tag ? kOpTagBytes : 0);
  headers.ethernet.type = static_cast<EtherType>(load_be16(at + type_at));
}

void decode_encapsulation(std::span<const std::byte> frame, CapturedPacket& captured) {
  const FrameLayout& layout = captured.layout;
  const std::byte* const at = frame.data();
  EncapsulationHeaders& headers = captured.headers;
  if (captured.link == LinkType::kUbLink) headers.lph = decode_lph(at);
  if (layout.nth_at != 0) headers.nth = decode_nth(at + layout.nth_at, layout.encapsulation);
  if (!layout.has_ip) return;
  if (layout.ip_version == IpVersion::kV4) {
    headers.ipv4 = decode_ipv4(at + layout.ip_at);
  } else {
    headers.ipv6 = decode_ipv6(at + layout.ip_at);
  }
  if (layout.protocol == Protocol::kUet && layout.uet_encapsulation == UetEncapsulation::kNativeIp) {
    headers.uet_entropy = load_be32(at + layout.udp_at);
    headers.udp.source_port = static_cast<std::uint16_t>(headers.uet_entropy >> 16U);
  } else {
    headers.udp = decode_udp(at + layout.udp_at);
  }
}

/// What an engine would see: hosts, class, mark and entropy, as far as the plan knows them.
void set_envelope(CapturedPacket& captured) {
  const EncapsulationHeaders& headers = captured.headers;
  Packet& packet = captured.packet;
  packet.ip_version = captured.layout.ip_version;
  std::uint8_t service = 0;
  if (captured.layout.has_ip && packet.ip_version == IpVersion::kV4) {
    packet.source = host_of_ipv4(headers.ipv4.source);
    packet.destination = host_of_ipv4(headers.ipv4.destination);
    service = headers.ipv4.type_of_service;
  } else if (captured.layout.has_ip) {
    packet.source = host_of_ipv6(headers.ipv6.source);
    packet.destination = host_of_ipv6(headers.ipv6.destination);
    service = headers.ipv6.traffic_class;
  } else {
    const bool wide = profile(captured.layout.encapsulation) != UbProfile::kP3Compact;
    packet.source = wide ? host_of_cna24(headers.nth.source) : host_of_cna16(headers.nth.source);
    packet.destination =
        wide ? host_of_cna24(headers.nth.destination) : host_of_cna16(headers.nth.destination);
    packet.entropy = headers.nth.entropy;
    packet.traffic_class = traffic_class_of_service_level(headers.nth.service_level);
    return;
  }
  packet.entropy = headers.udp.source_port;
  const auto dscp = static_cast<std::uint8_t>(service >> 2U);
  packet.traffic_class =
      packet.protocol == Protocol::kUet ? uet_traffic_class_of(dscp, UetDscp{}) : traffic_class_of_dscp(dscp);
  packet.mark = (service & 3U) == 1 ? CongestionMark::kCapable : static_cast<CongestionMark>(service & 3U);
}

DropReason decode_roce_captured(std::span<const std::byte> frame, CapturedPacket& captured) {
  const FrameLayout& layout = captured.layout;
  captured.packet = roce_packet();
  set_envelope(captured);
  const auto transport = frame.subspan(layout.transport_at, layout.transport_end - layout.transport_at);
  if (transport.size() < kBthBytes + kIcrcBytes) return DropReason::kTruncated;
  const auto covered = transport.first(transport.size() - kIcrcBytes);
  captured.received_icrc = load_le32(covered.data() + covered.size());
  captured.computed_icrc = icrc(layout.ip_version, frame.data() + layout.ip_at, covered);
  return decode_roce(covered, captured.packet.roce, captured.packet.payload);
}

DropReason decode_ub_captured(std::span<const std::byte> frame, CapturedPacket& captured) {
  const FrameLayout& layout = captured.layout;
  captured.packet = ub_packet();
  set_envelope(captured);
  UbPacket& ub = captured.packet.ub;
  ub.encapsulation = layout.encapsulation;
  ub.transport = layout.transport;
  ub.operator_tag = layout.operator_tag;
  ub.cc = layout.operator_tag ? captured.headers.operator_tag.cc : captured.headers.nth.cc;
  ub.partition =
      layout.operator_tag ? captured.headers.operator_tag.partition : captured.headers.nth.partition;
  ub.management = captured.headers.nth.management;
  ub.per_packet_balance = captured.headers.lph.per_packet_balance;
  ub.shortest_paths_only = captured.headers.lph.shortest_paths_only;
  UbDecoded decoded;
  const auto transport = frame.subspan(layout.transport_at, layout.transport_end - layout.transport_at);
  const DropReason reason = decode_ub(transport, ub, captured.packet.payload, decoded);
  if (decoded.entities != nullptr) captured.headers.entities = decode_full_eidh(decoded.entities);
  captured.layout.transport_end -= decoded.trailing_bytes;
  return reason;
}

/// Sets protection, byte order and both CRCs of a whole UET packet, as far as they can be told, and reads it.
DropReason decode_uet_whole(std::span<const std::byte> transport, const std::byte* covered_from,
                            CapturedPacket& captured) {
  Packet& packet = captured.packet;
  const auto without =
      transport.first(transport.size() - std::min<std::size_t>(transport.size(), kUetCrcBytes));
  if (without.size() + kUetCrcBytes == transport.size()) {
    const std::byte* const trailer = without.data() + without.size();
    captured.computed_icrc = uet_crc({covered_from, trailer});
    for (const UetCrcOrder order : {UetCrcOrder::kMostFirst, UetCrcOrder::kLeastFirst}) {
      captured.uet_crc_order = order;
      captured.received_icrc = load_uet_crc(trailer, order);
      if (captured.icrc_matches()) return decode_uet(without, packet.uet, packet.payload);
    }
  }
  packet.uet.protection = UetProtection::kNone;
  const DropReason reason = decode_uet(transport, packet.uet, packet.payload);
  if (reason == DropReason::kNone || reason == DropReason::kSecured) return reason;
  Packet with_crc = packet;
  with_crc.uet.protection = UetProtection::kCrc;
  if (decode_uet(without, with_crc.uet, with_crc.payload) != DropReason::kNone) return reason;
  packet = with_crc;
  return DropReason::kNone;
}

DropReason decode_uet_captured(std::span<const std::byte> frame, CapturedPacket& captured) {
  const FrameLayout& layout = captured.layout;
  captured.packet = uet_packet();
  set_envelope(captured);
  UetPacket& uet = captured.packet.uet;
  uet.encapsulation = layout.uet_encapsulation;
  captured.packet.trim = layout.trim;
  const auto transport = frame.subspan(layout.transport_at, layout.transport_end - layout.transport_at);
  if (layout.trim == TrimState::kWhole) {
    const DropReason reason =
        decode_uet_whole(transport, frame.data() + layout.ip_at + uet_crc_start(layout.ip_version), captured);
    captured.uet_header_bytes = reason == DropReason::kNone ? wire::uet_header_bytes(uet) : 0;
    return reason;
  }
  const DropReason reason = decode_uet_trimmed(transport, uet, captured.uet_header_bytes);
  if (reason == DropReason::kNone) captured.uet_left_over = transport.subspan(captured.uet_header_bytes);
  return reason;
}

/// Writes PDS header to trailer of a UET packet; returns the end. `covered_from` is its source IP address.
std::byte* encode_uet_captured(const CapturedPacket& captured, const std::byte* covered_from, std::byte* at) {
  const Packet& packet = captured.packet;
  if (packet.trim != TrimState::kWhole) {
    UetPacket whole = packet.uet;
    if (captured.uet_header_bytes == uet_pds_bytes(whole.prologue.type)) {
      // The SES header is cut: the prologue still names it, the bytes are among those left over.
      std::byte* const end = at + captured.uet_header_bytes;
      const std::uint16_t prologue =
          static_cast<std::uint16_t>(static_cast<std::uint32_t>(whole.prologue.next) << 7U);
      if (whole.prologue.type != UetPdsType::kControl) whole.prologue.next = UetNextHeader::kNone;
      encode_uet_headers(whole, 0, at);
      store_be16(at, static_cast<std::uint16_t>(load_be16(at) | prologue));
      return std::copy(captured.uet_left_over.begin(), captured.uet_left_over.end(), end);
    }
    const std::uint32_t length = is_uet_response_form(whole.prologue.next)  ? whole.response.payload_length
                                 : is_uet_request_form(whole.prologue.next) ? whole.ses.payload_length
                                                                            : 0;
    at = encode_uet_headers(whole, length, at);
    return std::copy(captured.uet_left_over.begin(), captured.uet_left_over.end(), at);
  }
  at = encode_uet_headers(packet.uet, packet.payload.length, at);
  if (packet.payload.length != 0) fill(packet.payload, {at, packet.payload.length});
  at += packet.payload.length;
  if (uet_trailer_bytes(packet) == 0) return at;
  store_uet_crc(uet_crc({covered_from, at}), captured.uet_crc_order, at);
  return at + kUetCrcBytes;
}

/// Writes the link header, tags and NTH; returns their end, where IP or the transport begins.
std::byte* encode_link(const CapturedPacket& captured, std::byte* at) {
  const FrameLayout& layout = captured.layout;
  const EncapsulationHeaders& headers = captured.headers;
  if (captured.link == LinkType::kEthernet) {
    encode(headers.ethernet, at);
    at += 12;
    for (std::size_t i = 0; i < layout.vlan_tags; ++i) {
      store_be16(at, static_cast<std::uint16_t>(headers.vlan[i].protocol));
      store_be16(at + 2, headers.vlan[i].control);
      at += kVlanTagBytes;
    }
    if (layout.operator_tag) {
      encode(headers.operator_tag, at);
      at += kOpTagBytes;
    }
    store_be16(at, static_cast<std::uint16_t>(headers.ethernet.type));
    at += 2;
  } else {
    encode(headers.lph, at);
    at += kLphBytes;
  }
  return encode_nth(headers.nth, layout.encapsulation, at);
}

std::byte* encode_network(const CapturedPacket& captured, std::uint32_t transport_bytes, std::byte* at) {
  const bool native = captured.packet.protocol == Protocol::kUet &&
                      captured.packet.uet.encapsulation == UetEncapsulation::kNativeIp;
  const bool trimmed = captured.packet.trim != TrimState::kWhole;
  const auto udp_length =
      static_cast<std::uint16_t>((native ? kUetEntropyBytes : kUdpBytes) + transport_bytes);
  if (captured.layout.ip_version == IpVersion::kV4) {
    Ipv4Header ip = captured.headers.ipv4;
    // The lengths of a trimmed packet may be those that it had before.
    if (!trimmed) ip.total_length = static_cast<std::uint16_t>(kIpv4Bytes + udp_length);
    encode(ip, at);
    at += kIpv4Bytes;
  } else {
    Ipv6Header ip = captured.headers.ipv6;
    if (!trimmed) ip.payload_length = udp_length;
    encode(ip, at);
    at += kIpv6Bytes;
  }
  if (native) {
    store_be32(at, captured.headers.uet_entropy);
    return at + kUetEntropyBytes;
  }
  UdpHeader udp = captured.headers.udp;
  if (!trimmed) udp.length = udp_length;
  encode(udp, at);
  return at + kUdpBytes;
}

}  // namespace

DropReason decode_captured(std::span<const std::byte> frame, LinkType link, CapturedPacket& captured,
                           std::span<const ProtocolPort> more) {
  captured = CapturedPacket{};
  captured.link = link;
  DropReason reason = locate(frame, link, captured.layout, {}, PortRule::kEither, more);
  if (link == LinkType::kEthernet && frame.size() >= kEthernetBytes) decode_ethernet_headers(frame, captured);
  if (reason == DropReason::kNone && captured.layout.protocol != Protocol::kUb &&
      captured.layout.operator_tag)
    reason = DropReason::kForeign;
  if (reason != DropReason::kNone) return reason;
  decode_encapsulation(frame, captured);
  switch (captured.layout.protocol) {
    case Protocol::kUb:
      reason = decode_ub_captured(frame, captured);
      break;
    case Protocol::kRoce:
      reason = decode_roce_captured(frame, captured);
      break;
    case Protocol::kUet:
      reason = decode_uet_captured(frame, captured);
      break;
  }
  if (reason != DropReason::kNone) return reason;
  captured.packet.header_bytes = wire_header_bytes(captured.packet);
  captured.trailing = frame.subspan(captured.layout.transport_end);
  return DropReason::kNone;
}

std::vector<std::byte> encode_captured(const CapturedPacket& captured) {
  const Packet& packet = captured.packet;
  const bool roce = packet.protocol == Protocol::kRoce;
  const bool uet = packet.protocol == Protocol::kUet;
  const bool bitmap = packet.protocol == Protocol::kUb && payload_is_sack_bitmap(packet.ub);
  const std::uint32_t data = bitmap ? 0 : packet.payload.length;
  const std::uint32_t pad = packet.protocol == Protocol::kUb ? ub_pad(packet.ub, data) : pad_bytes(packet);
  const std::uint32_t headers = uet    ? captured.uet_header_bytes
                                : roce ? roce_header_bytes(packet.roce)
                                       : ub_header_bytes(packet.ub);
  const std::uint32_t trailer = uet ? uet_trailer_bytes(packet) : roce ? kIcrcBytes : 0;
  const std::uint32_t transport =
      headers + data + pad + trailer + static_cast<std::uint32_t>(captured.uet_left_over.size());

  constexpr std::uint32_t kNetworkBytesMax =
      kEthernetBytes + 2 * kVlanTagBytes + kOpTagBytes + kNthOpenUrmaBytes + kIpv6Bytes + kUdpBytes;
  std::vector<std::byte> frame(kNetworkBytesMax + transport + captured.trailing.size());
  std::byte* at = encode_link(captured, frame.data());
  const std::byte* const ip = at;
  if (captured.layout.has_ip) at = encode_network(captured, transport, at);
  if (uet) {
    at = encode_uet_captured(captured, ip + uet_crc_start(captured.layout.ip_version), at);
    at = std::copy(captured.trailing.begin(), captured.trailing.end(), at);
    frame.resize(static_cast<std::size_t>(at - frame.data()));
    return frame;
  }
  std::byte* const start = at;
  at = roce ? encode_roce_headers(packet.roce, data, at)
            : encode_ub_headers(packet.ub, packet.payload, captured.headers.entities, at);
  if (data != 0) fill(packet.payload, {at, data});
  at += data + pad;
  if (roce) {
    store_le32(at, icrc(captured.layout.ip_version, ip, {start, at}));
    at += kIcrcBytes;
  }
  at = std::copy(captured.trailing.begin(), captured.trailing.end(), at);
  frame.resize(static_cast<std::size_t>(at - frame.data()));
  return frame;
}

bool reencode_matches(std::span<const std::byte> frame, LinkType link) {
  CapturedPacket captured;
  if (decode_captured(frame, link, captured) != DropReason::kNone) return false;
  return std::ranges::equal(encode_captured(captured), frame);
}

}  // namespace wharf::wire
