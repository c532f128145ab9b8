// SPDX-License-Identifier: Apache-2.0
#include "wire/frame_layout.h"

#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/ub_lph.h"
#include "wire/udp.h"

namespace wharf::wire {
namespace {

/// A trimmed packet ends where the frame or its IP datagram does; its UDP length may be stale.
DropReason locate_udp(std::span<const std::byte> frame, std::uint32_t ip_end, FrameLayout& layout) {
  layout.transport_at = layout.udp_at + kUdpBytes;
  layout.transport_end = ip_end;
  if (layout.trim != TrimState::kWhole) return DropReason::kNone;
  const std::byte* const udp = frame.data() + layout.udp_at;
  const std::uint32_t length = load_be16(udp + 4);
  return length < kUdpBytes || layout.udp_at + length != ip_end ? DropReason::kBadUdpLength
                                                                : DropReason::kNone;
}

/// Sets the protocol from the UDP port; false for any other port.
bool known_port(std::uint16_t port, const UetOptions& uet, FrameLayout& layout) {
  const bool ethernet = layout.encapsulation == UbEncapsulation::kUdp;
  if (port == kUboePort) {
    layout.protocol = Protocol::kUb;
    return true;
  }
  layout.protocol = port == kRocePort ? Protocol::kRoce : Protocol::kUet;
  return ethernet && (port == kRocePort || port == uet.udp_port);
}

/// The same for the ports that locate() was told of.
bool named_port(std::uint16_t port, FrameLayout& layout) {
  if (layout.encapsulation != UbEncapsulation::kUdp) return false;
  for (const ProtocolPort& named : layout.more) {
    if (named.port != port) continue;
    layout.protocol = named.protocol;
    return true;
  }
  return false;
}

/// The destination's port, or else the source's. Who names a port knows better than a specification does.
bool either_port(const std::byte* udp, const UetOptions& uet, FrameLayout& layout) {
  for (const std::uint16_t port : {load_be16(udp + 2), load_be16(udp)}) {
    if (named_port(port, layout) || known_port(port, uet, layout)) return true;
  }
  return false;
}

/// What stands at layout.udp_at, whose first eight bytes are in the frame: UDP with a known port, or the
/// entropy header of native UET. `service` is the TOS or traffic class byte.
bool known_protocol(const std::byte* udp, std::uint8_t protocol, std::uint8_t service, const UetOptions& uet,
                    FrameLayout& layout) {
  if (protocol != kIpProtocolUdp) {
    layout.protocol = Protocol::kUet;
    layout.uet_encapsulation = UetEncapsulation::kNativeIp;
  } else if (layout.ports == PortRule::kDestination ? !known_port(load_be16(udp + 2), uet, layout)
                                                    : !either_port(udp, uet, layout)) {
    return false;
  }
  if (layout.protocol == Protocol::kUet)
    layout.trim = uet_trim_state_of(static_cast<std::uint8_t>(service >> 2U), uet.dscp);
  return true;
}

bool is_native_uet(std::uint8_t protocol, const UetOptions& uet, const FrameLayout& layout) {
  return protocol == uet.ip_protocol && layout.encapsulation == UbEncapsulation::kUdp;
}

/// The rest of either IP version: `datagram` bytes are announced from the IP header on, `left` are there.
DropReason locate_after_ip(std::span<const std::byte> frame, std::uint32_t datagram, std::uint32_t left,
                           FrameLayout& layout) {
  if (datagram > left) {
    if (layout.trim == TrimState::kWhole) return DropReason::kTruncated;
    datagram = left;
  }
  if (layout.uet_encapsulation == UetEncapsulation::kUdp)
    return locate_udp(frame, layout.ip_at + datagram, layout);
  layout.transport_at = layout.udp_at + kUetEntropyBytes;
  layout.transport_end = layout.ip_at + datagram;
  return DropReason::kNone;
}

DropReason locate_ipv4(std::span<const std::byte> frame, const UetOptions& uet, FrameLayout& layout) {
  layout.ip_version = IpVersion::kV4;
  const std::uint32_t left = static_cast<std::uint32_t>(frame.size()) - layout.ip_at;
  if (left < kIpv4Bytes) return DropReason::kTruncated;
  const std::byte* const ip = frame.data() + layout.ip_at;
  if (load_u8(ip) >> 4U != 4) return DropReason::kBadIpHeader;
  const std::uint8_t protocol = load_u8(ip + 9);
  if (protocol != kIpProtocolUdp && !is_native_uet(protocol, uet, layout)) return DropReason::kForeign;
  if ((load_be16(ip + 6) & 0x3fffU) != 0) return DropReason::kIpFragment;
  if (load_u8(ip) != 0x45) return DropReason::kBadIpHeader;
  if (left < kIpv4Bytes + kUdpBytes) return DropReason::kTruncated;
  if (!known_protocol(ip + kIpv4Bytes, protocol, load_u8(ip + 1), uet, layout)) return DropReason::kForeign;
  const std::uint32_t total = load_be16(ip + 2);
  if (total < kIpv4Bytes + kUdpBytes) return DropReason::kBadIpHeader;
  if (total > left && layout.trim == TrimState::kWhole) return DropReason::kTruncated;
  if (ipv4_checksum(ip) != 0) return DropReason::kBadIpChecksum;
  layout.udp_at = layout.ip_at + kIpv4Bytes;
  return locate_after_ip(frame, total, left, layout);
}

DropReason locate_ipv6(std::span<const std::byte> frame, const UetOptions& uet, FrameLayout& layout) {
  layout.ip_version = IpVersion::kV6;
  const std::uint32_t left = static_cast<std::uint32_t>(frame.size()) - layout.ip_at;
  if (left < kIpv6Bytes) return DropReason::kTruncated;
  const std::byte* const ip = frame.data() + layout.ip_at;
  if (load_u8(ip) >> 4U != 6) return DropReason::kBadIpHeader;
  const std::uint8_t protocol = load_u8(ip + 6);
  if (protocol != kIpProtocolUdp && !is_native_uet(protocol, uet, layout)) return DropReason::kForeign;
  if (left < kIpv6Bytes + kUdpBytes) return DropReason::kTruncated;
  const auto service = static_cast<std::uint8_t>(load_be16(ip) >> 4U);
  if (!known_protocol(ip + kIpv6Bytes, protocol, service, uet, layout)) return DropReason::kForeign;
  const std::uint32_t length = load_be16(ip + 4);
  if (length < kUdpBytes) return DropReason::kBadIpHeader;
  layout.udp_at = layout.ip_at + kIpv6Bytes;
  return locate_after_ip(frame, kIpv6Bytes + length, left, layout);
}

/// The transport that NTH.NLP announces; CNA16 headers know only CTPH and bypass, OpenURMA has no CTPH.
DropReason locate_cna(std::span<const std::byte> frame, std::uint32_t nth_bytes, FrameLayout& layout) {
  if (frame.size() < layout.nth_at + nth_bytes) return DropReason::kTruncated;
  const std::uint32_t last =
      layout.encapsulation == UbEncapsulation::kRawEthernet ? nth_bytes - 2 : nth_bytes - 1;
  layout.transport_at = layout.nth_at + nth_bytes;
  layout.transport_end = static_cast<std::uint32_t>(frame.size());
  const bool compact_profile = profile(layout.encapsulation) == UbProfile::kP3Compact;
  switch (static_cast<NthNext>(load_u8(frame.data() + layout.nth_at + last) & 7U)) {
    case NthNext::kCtph:
      layout.transport = UbTransport::kCtp;
      return layout.encapsulation == UbEncapsulation::kRawEthernet ? DropReason::kUnknownTransport
                                                                   : DropReason::kNone;
    case NthNext::kBypass:
      layout.transport = UbTransport::kBypass;
      return DropReason::kNone;
    case NthNext::kRtph:
      layout.transport = UbTransport::kRtp;
      return compact_profile ? DropReason::kUnknownTransport : DropReason::kNone;
    case NthNext::kUtph:
      layout.transport = UbTransport::kUtp;
      return compact_profile ? DropReason::kUnknownTransport : DropReason::kNone;
  }
  return DropReason::kUnknownTransport;
}

DropReason locate_ethernet(std::span<const std::byte> frame, const UetOptions& uet, FrameLayout& layout) {
  std::uint32_t at = kEthernetBytes;
  if (frame.size() < at) return DropReason::kTruncated;
  auto type = static_cast<EtherType>(load_be16(frame.data() + at - 2));
  while (layout.vlan_tags < 2 && (type == EtherType::kVlan || type == EtherType::kServiceVlan)) {
    at += kVlanTagBytes;
    if (frame.size() < at) return DropReason::kTruncated;
    ++layout.vlan_tags;
    type = static_cast<EtherType>(load_be16(frame.data() + at - 2));
  }
  if (static_cast<std::uint16_t>(type) == kOpTagTpid) {
    if (frame.size() < at + kOpTagBytes) return DropReason::kTruncated;
    layout.operator_tag = true;
    layout.operator_tag_at = at - 2;
    at += kOpTagBytes;
    type = static_cast<EtherType>(load_be16(frame.data() + at - 2));
  }
  layout.encapsulation = UbEncapsulation::kUdp;
  switch (type) {
    case EtherType::kIpv4:
      layout.has_ip = true;
      layout.ip_at = at;
      return locate_ipv4(frame, uet, layout);
    case EtherType::kIpv6:
      layout.has_ip = true;
      layout.ip_at = at;
      return locate_ipv6(frame, uet, layout);
    case EtherType::kUbRaw:
      layout.encapsulation = UbEncapsulation::kRawEthernet;
      layout.nth_at = at;
      // The only tags that are allowed stand before IP.
      if (layout.operator_tag) return DropReason::kForeign;
      return locate_cna(frame, kNthOpenUrmaBytes, layout);
    case EtherType::kArp:
    case EtherType::kVlan:
    case EtherType::kServiceVlan:
      return DropReason::kForeign;
  }
  return DropReason::kForeign;
}

DropReason locate_link(std::span<const std::byte> frame, const UetOptions& uet, FrameLayout& layout) {
  if (frame.size() < kLphBytes) return DropReason::kTruncated;
  layout.nth_at = kLphBytes;
  const LinkConfig config = decode_lph(frame.data()).config;
  switch (config) {
    case LinkConfig::kIpv4:
    case LinkConfig::kIpv6:
      layout.encapsulation = UbEncapsulation::kIpOnLink;
      layout.has_ip = true;
      layout.ip_at = kLphBytes + kNthIpBytes;
      if (frame.size() < layout.ip_at) return DropReason::kTruncated;
      return config == LinkConfig::kIpv4 ? locate_ipv4(frame, uet, layout) : locate_ipv6(frame, uet, layout);
    case LinkConfig::kCna16:
      layout.encapsulation = UbEncapsulation::kCna16OnLink;
      return locate_cna(frame, kNthCna16Bytes, layout);
    case LinkConfig::kMemory:
      layout.encapsulation = UbEncapsulation::kMemoryOnLink;
      return locate_cna(frame, kNthCna16Bytes, layout);
    case LinkConfig::kCna24:
      layout.encapsulation = UbEncapsulation::kCna24OnLink;
      return locate_cna(frame, kNthCna24Bytes, layout);
    case LinkConfig::kControl:
      return DropReason::kBadLinkHeader;
  }
  return DropReason::kBadLinkHeader;
}

}  // namespace

DropReason locate(std::span<const std::byte> frame, LinkType link, FrameLayout& layout, const UetOptions& uet,
                  PortRule ports, std::span<const ProtocolPort> more) {
  layout = FrameLayout{};
  layout.ports = ports;
  layout.more = more;
  // Capture files have link types that nobody here reads, and TLPs are no packets of a network.
  const DropReason reason = link == LinkType::kEthernet ? locate_ethernet(frame, uet, layout)
                            : link == LinkType::kUbLink ? locate_link(frame, uet, layout)
                                                        : DropReason::kForeign;
  layout.more = {};
  return reason;
}

}  // namespace wharf::wire
