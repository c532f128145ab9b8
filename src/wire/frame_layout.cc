// SPDX-License-Identifier: Apache-2.0
#include "wire/frame_layout.h"

#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/ub_lph.h"
#include "wire/udp.h"

namespace wharf::wire {
namespace {

DropReason locate_udp(std::span<const std::byte> frame, std::uint32_t ip_end, FrameLayout& layout) {
  const std::byte* const udp = frame.data() + layout.udp_at;
  const std::uint32_t length = load_be16(udp + 4);
  if (length < kUdpBytes || layout.udp_at + length != ip_end) return DropReason::kBadUdpLength;
  layout.transport_at = layout.udp_at + kUdpBytes;
  layout.transport_end = ip_end;
  return DropReason::kNone;
}

/// Sets the protocol from the UDP port; false for any other port.
bool known_port(std::uint16_t port, FrameLayout& layout) {
  layout.protocol = port == kRocePort ? Protocol::kRoce : Protocol::kUb;
  return port == kUboePort || (port == kRocePort && layout.encapsulation == UbEncapsulation::kUdp);
}

DropReason locate_ipv4(std::span<const std::byte> frame, FrameLayout& layout) {
  layout.ip_version = IpVersion::kV4;
  const std::uint32_t left = static_cast<std::uint32_t>(frame.size()) - layout.ip_at;
  if (left < kIpv4Bytes) return DropReason::kTruncated;
  const std::byte* const ip = frame.data() + layout.ip_at;
  if (load_u8(ip) >> 4U != 4) return DropReason::kBadIpHeader;
  if (load_u8(ip + 9) != kIpProtocolUdp) return DropReason::kForeign;
  if ((load_be16(ip + 6) & 0x3fffU) != 0) return DropReason::kIpFragment;
  if (load_u8(ip) != 0x45) return DropReason::kBadIpHeader;
  if (left < kIpv4Bytes + kUdpBytes) return DropReason::kTruncated;
  if (!known_port(load_be16(ip + kIpv4Bytes + 2), layout)) return DropReason::kForeign;
  const std::uint32_t total = load_be16(ip + 2);
  if (total < kIpv4Bytes + kUdpBytes) return DropReason::kBadIpHeader;
  if (total > left) return DropReason::kTruncated;
  if (ipv4_checksum(ip) != 0) return DropReason::kBadIpChecksum;
  layout.udp_at = layout.ip_at + kIpv4Bytes;
  return locate_udp(frame, layout.ip_at + total, layout);
}

DropReason locate_ipv6(std::span<const std::byte> frame, FrameLayout& layout) {
  layout.ip_version = IpVersion::kV6;
  const std::uint32_t left = static_cast<std::uint32_t>(frame.size()) - layout.ip_at;
  if (left < kIpv6Bytes) return DropReason::kTruncated;
  const std::byte* const ip = frame.data() + layout.ip_at;
  if (load_u8(ip) >> 4U != 6) return DropReason::kBadIpHeader;
  if (load_u8(ip + 6) != kIpProtocolUdp) return DropReason::kForeign;
  if (left < kIpv6Bytes + kUdpBytes) return DropReason::kTruncated;
  if (!known_port(load_be16(ip + kIpv6Bytes + 2), layout)) return DropReason::kForeign;
  const std::uint32_t length = load_be16(ip + 4);
  if (length < kUdpBytes) return DropReason::kBadIpHeader;
  if (kIpv6Bytes + length > left) return DropReason::kTruncated;
  layout.udp_at = layout.ip_at + kIpv6Bytes;
  return locate_udp(frame, layout.ip_at + kIpv6Bytes + length, layout);
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

DropReason locate_ethernet(std::span<const std::byte> frame, FrameLayout& layout) {
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
      return locate_ipv4(frame, layout);
    case EtherType::kIpv6:
      layout.has_ip = true;
      layout.ip_at = at;
      return locate_ipv6(frame, layout);
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

DropReason locate_link(std::span<const std::byte> frame, FrameLayout& layout) {
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
      return config == LinkConfig::kIpv4 ? locate_ipv4(frame, layout) : locate_ipv6(frame, layout);
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

DropReason locate(std::span<const std::byte> frame, LinkType link, FrameLayout& layout) {
  layout = FrameLayout{};
  return link == LinkType::kEthernet ? locate_ethernet(frame, layout) : locate_link(frame, layout);
}

}  // namespace wharf::wire
