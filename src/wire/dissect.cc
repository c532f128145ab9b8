// SPDX-License-Identifier: Apache-2.0
#include "wire/dissect.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/captured_frame.h"
#include "wire/dissect_roce.h"
#include "wire/dissect_tlp.h"
#include "wire/dissect_tree.h"
#include "wire/dissect_ub.h"
#include "wire/dissect_uet.h"

namespace wharf::wire {
namespace {

std::string mac_text(const MacAddress& mac) { return fmt::format("{:02x}", fmt::join(mac, ":")); }

std::string ipv4_text(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24U, (address >> 16U) & 255U, (address >> 8U) & 255U,
                     address & 255U);
}

/// All eight groups, without the shortening of zeros.
std::string ipv6_text(const Ipv6Address& address) {
  std::string text;
  for (std::size_t i = 0; i < 16; i += 2)
    text += fmt::format("{}{:x}", i == 0 ? "" : ":", address[i] * 256U + address[i + 1]);
  return text;
}

std::string protocol_text(std::uint8_t protocol) {
  switch (protocol) {
    case 1:
      return "ICMP";
    case 6:
      return "TCP";
    case 17:
      return "UDP";
    case 58:
      return "ICMPv6";
    default:
      return fmt::format("IP protocol {}", protocol);
  }
}

/// What a foreign frame is, as far as its link and IP headers tell.
std::string foreign_text(std::span<const std::byte> frame, LinkType link, const FrameLayout& layout) {
  if (link == LinkType::kUbLink) return "UB link frame with foreign content";
  if (link != LinkType::kEthernet) return fmt::format("link type {}", static_cast<unsigned>(link));
  if (layout.has_ip) {
    const std::byte* const ip = frame.data() + layout.ip_at;
    const bool v4 = layout.ip_version == IpVersion::kV4;
    const std::uint8_t protocol = load_u8(ip + (v4 ? 9 : 6));
    std::string text = fmt::format("{} {}", v4 ? "IPv4" : "IPv6", protocol_text(protocol));
    // Where UDP was reached, its header is there.
    if (protocol == kIpProtocolUdp)
      text += fmt::format(" to port {}", load_be16(ip + (v4 ? kIpv4Bytes : kIpv6Bytes) + 2));
    return text;
  }
  const std::size_t type_at =
      12 + std::size_t{kVlanTagBytes} * layout.vlan_tags + (layout.operator_tag ? kOpTagBytes : 0);
  const std::uint16_t type = load_be16(frame.data() + type_at);
  if (static_cast<EtherType>(type) == EtherType::kArp) return "ARP";
  return fmt::format("EtherType {:#06x}", type);
}

void dissect_ethernet(const CapturedPacket& captured, DissectTree& tree) {
  const FrameLayout& layout = captured.layout;
  const EthernetHeader& ethernet = captured.headers.ethernet;
  tree.header("Ethernet", fmt::format("{} > {}", mac_text(ethernet.source), mac_text(ethernet.destination)),
              0, kEthernetBytes + kVlanTagBytes * layout.vlan_tags);
  tree.field("destination", mac_text(ethernet.destination), 0, 6);
  tree.field("source", mac_text(ethernet.source), 6, 6);
  std::uint32_t at = 12;
  for (std::size_t i = 0; i < layout.vlan_tags; ++i, at += kVlanTagBytes)
    tree.field("VLAN",
               fmt::format("id {}, priority {}", captured.headers.vlan[i].control & 0xfffU,
                           captured.headers.vlan[i].control >> 13U),
               at, kVlanTagBytes);
  if (layout.operator_tag) at += kOpTagBytes;
  tree.field("type", fmt::format("{:#06x}", static_cast<unsigned>(ethernet.type)), at, 2);
}

void dissect_ip(const CapturedPacket& captured, DissectTree& tree) {
  const FrameLayout& layout = captured.layout;
  const std::uint32_t at = layout.ip_at;
  if (layout.ip_version == IpVersion::kV4) {
    const Ipv4Header& ip = captured.headers.ipv4;
    tree.header("IPv4", fmt::format("{} > {}", ipv4_text(ip.source), ipv4_text(ip.destination)), at,
                kIpv4Bytes);
    tree.field("DSCP", fmt::format("{}", ip.type_of_service >> 2U), at + 1, 1);
    tree.field("ECN", fmt::format("{}", ip.type_of_service & 3U), at + 1, 1);
    tree.field("total length", fmt::format("{}", ip.total_length), at + 2, 2);
    tree.field("identification", fmt::format("{:#06x}", ip.identification), at + 4, 2);
    tree.field("do not fragment", ip.do_not_fragment ? "yes" : "no", at + 6, 1);
    tree.field("time to live", fmt::format("{}", ip.time_to_live), at + 8, 1);
    tree.field("header checksum", fmt::format("{:#06x}", ip.checksum), at + 10, 2);
  } else {
    const Ipv6Header& ip = captured.headers.ipv6;
    tree.header("IPv6", fmt::format("{} > {}", ipv6_text(ip.source), ipv6_text(ip.destination)), at,
                kIpv6Bytes);
    tree.field("DSCP", fmt::format("{}", ip.traffic_class >> 2U), at, 2);
    tree.field("ECN", fmt::format("{}", ip.traffic_class & 3U), at, 2);
    tree.field("flow label", fmt::format("{:#07x}", ip.flow_label), at + 1, 3);
    tree.field("payload length", fmt::format("{}", ip.payload_length), at + 4, 2);
    tree.field("hop limit", fmt::format("{}", ip.hop_limit), at + 7, 1);
  }
  if (layout.protocol == Protocol::kUet && layout.uet_encapsulation == UetEncapsulation::kNativeIp) {
    const std::uint32_t word = captured.headers.uet_entropy;
    tree.header("entropy header", fmt::format("entropy {}", word >> 16U), layout.udp_at, kUetEntropyBytes);
    tree.field("entropy", fmt::format("{}", word >> 16U), layout.udp_at, 2);
    tree.field("reserved", fmt::format("{:#06x}", word & 0xffffU), layout.udp_at + 2, 2);
    return;
  }
  const UdpHeader& udp = captured.headers.udp;
  tree.header("UDP", fmt::format("{} > {}", udp.source_port, udp.destination_port), layout.udp_at, kUdpBytes);
  tree.field("source port", fmt::format("{}", udp.source_port), layout.udp_at, 2);
  tree.field("destination port", fmt::format("{}", udp.destination_port), layout.udp_at + 2, 2);
  tree.field("length", fmt::format("{}", udp.length), layout.udp_at + 4, 2);
  tree.field("checksum", fmt::format("{:#06x}", udp.checksum), layout.udp_at + 6, 2);
}

void set_addresses(const CapturedPacket& captured, Dissection& dissection) {
  const EncapsulationHeaders& headers = captured.headers;
  if (!captured.layout.has_ip) {
    dissection.source = fmt::format("CNA {:#x}", headers.nth.source);
    dissection.destination = fmt::format("CNA {:#x}", headers.nth.destination);
  } else if (captured.layout.ip_version == IpVersion::kV4) {
    dissection.source = ipv4_text(headers.ipv4.source);
    dissection.destination = ipv4_text(headers.ipv4.destination);
  } else {
    dissection.source = ipv6_text(headers.ipv6.source);
    dissection.destination = ipv6_text(headers.ipv6.destination);
  }
}

/// Data, pad, ICRC and what follows them.
void dissect_end(std::span<const std::byte> frame, const CapturedPacket& captured, DissectTree& tree,
                 Dissection& dissection) {
  const Packet& packet = captured.packet;
  const auto offset_of = [&](const std::byte* at) { return static_cast<std::uint32_t>(at - frame.data()); };
  const bool bitmap = packet.protocol == Protocol::kUb && payload_is_sack_bitmap(packet.ub);
  if (packet.payload.length != 0 && !bitmap) {
    constexpr std::uint32_t kShown = 16;
    const std::uint32_t at = offset_of(packet.payload.bytes);
    std::string preview;
    for (std::uint32_t i = 0; i < std::min(kShown, packet.payload.length); ++i)
      preview += fmt::format("{:02x}", std::to_integer<unsigned>(packet.payload.bytes[i]));
    tree.header("payload",
                fmt::format("{} bytes: {}{}", packet.payload.length, preview,
                            packet.payload.length > kShown ? "..." : ""),
                at, packet.payload.length);
    if (const std::uint32_t pad = pad_bytes(packet); pad != 0)
      tree.header("pad", fmt::format("{} bytes", pad), at + packet.payload.length, pad);
  }
  const bool crc = packet.protocol == Protocol::kUet && packet.trim == TrimState::kWhole &&
                   packet.uet.protection == UetProtection::kCrc;
  if (packet.protocol == Protocol::kRoce || crc) {
    dissection.icrc = captured.icrc_matches() ? IcrcState::kGood : IcrcState::kBad;
    tree.header(crc ? "CRC" : "ICRC",
                captured.icrc_matches() ? fmt::format("{:#010x} (good)", captured.received_icrc)
                                        : fmt::format("{:#010x} (bad: expected {:#010x})",
                                                      captured.received_icrc, captured.computed_icrc),
                captured.layout.transport_end - kIcrcBytes, kIcrcBytes);
  }
  if (!captured.uet_left_over.empty())
    tree.header("left over", fmt::format("{} bytes of what was trimmed", captured.uet_left_over.size()),
                offset_of(captured.uet_left_over.data()),
                static_cast<std::uint32_t>(captured.uet_left_over.size()));
  if (!captured.trailing.empty())
    tree.header("Ethernet padding", fmt::format("{} bytes", captured.trailing.size()),
                offset_of(captured.trailing.data()), static_cast<std::uint32_t>(captured.trailing.size()));
}

}  // namespace

Dissection dissect(std::span<const std::byte> frame, LinkType link, std::span<const ProtocolPort> more) {
  if (link == LinkType::kPcieTlp) return dissect_tlp(frame);
  Dissection dissection;
  CapturedPacket captured;
  dissection.reason = decode_captured(frame, link, captured, more);
  DissectTree tree(dissection.lines);
  const FrameLayout& layout = captured.layout;
  const bool located = layout.transport_at != 0;
  if (link == LinkType::kEthernet && frame.size() >= kEthernetBytes) {
    dissection.source = mac_text(captured.headers.ethernet.source);
    dissection.destination = mac_text(captured.headers.ethernet.destination);
    dissect_ethernet(captured, tree);
  }
  if (located) {
    if (captured.packet.protocol == Protocol::kUb) dissect_ub_network(captured, tree);
    if (layout.has_ip) dissect_ip(captured, tree);
    set_addresses(captured, dissection);
  }
  const auto size = static_cast<std::uint32_t>(frame.size());
  if (dissection.reason == DropReason::kForeign) {
    dissection.foreign = foreign_text(frame, link, layout);
    dissection.summary = "foreign: " + dissection.foreign;
    return dissection;
  }
  if (dissection.reason != DropReason::kNone) {
    std::uint32_t at = std::min(located ? layout.transport_at : 0, size);
    if (dissection.reason == DropReason::kSecured) at = dissect_uet_tss(frame, at, tree);
    dissection.summary = fmt::format("refused: {}", drop_reason_text(dissection.reason));
    tree.header("refused", std::string(drop_reason_text(dissection.reason)), at, size - at);
    return dissection;
  }
  switch (captured.packet.protocol) {
    case Protocol::kUb:
      dissection.summary = dissect_ub(captured, tree);
      break;
    case Protocol::kRoce:
      dissection.summary = dissect_roce(captured.packet, layout.transport_at, tree);
      break;
    case Protocol::kUet:
      dissection.summary = dissect_uet(captured, tree);
      break;
  }
  dissect_end(frame, captured, tree, dissection);
  if (dissection.icrc == IcrcState::kBad)
    dissection.summary += captured.packet.protocol == Protocol::kUet ? ", bad CRC" : ", bad ICRC";
  dissection.reencodes = std::ranges::equal(encode_captured(captured), frame);
  return dissection;
}

std::string_view dissection_status(const Dissection& dissection) {
  return dissection.reason == DropReason::kBadTlp ? tlp_drop_reason_text(dissection.tlp_reason)
                                                  : drop_reason_text(dissection.reason);
}

std::string_view icrc_state_text(IcrcState state) {
  switch (state) {
    case IcrcState::kAbsent:
      return "absent";
    case IcrcState::kGood:
      return "good";
    case IcrcState::kBad:
      return "bad";
  }
  return "unknown";
}

std::string dissection_text(const Dissection& dissection) {
  std::string text;
  for (const DissectLine& line : dissection.lines)
    text += fmt::format("{:>4}+{:<4} {:{}}{}: {}\n", line.offset, line.length, "", 2 * line.depth, line.name,
                        line.value);
  return text;
}

}  // namespace wharf::wire
