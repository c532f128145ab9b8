// SPDX-License-Identifier: Apache-2.0
#include "wire/uet_frame.h"

#include <memory>
#include <new>

#include "base/check.h"
#include "wire/frame.h"
#include "wire/ip_frame.h"
#include "wire/udp.h"
#include "wire/uet_codec.h"

namespace wharf::wire {
namespace {

/// Writes IP and UDP or entropy header for `transport_bytes` of transport and returns their end.
std::byte* encode_network(const Packet& packet, std::uint32_t transport_bytes, const UetOptions& options,
                          std::byte* at) {
  const auto service = static_cast<std::uint8_t>((unsigned{uet_dscp_of(packet, options.dscp)} << 2U) |
                                                 static_cast<unsigned>(packet.mark));
  if (packet.uet.encapsulation == UetEncapsulation::kNativeIp) {
    at = encode_ip(packet, options.ip_protocol, service, kUetEntropyBytes + transport_bytes, at);
    store_be32(at, std::uint32_t{packet.entropy} << 16U);
    return at + kUetEntropyBytes;
  }
  const auto udp_length = static_cast<std::uint16_t>(kUdpBytes + transport_bytes);
  at = encode_ip(packet, kIpProtocolUdp, service, udp_length, at);
  encode(UdpHeader{packet.entropy, options.udp_port, udp_length, 0}, at);
  return at + kUdpBytes;
}

/// Writes headers from the PDS header on and data; returns their end. A trimmed packet has the lengths that
/// it had before, and no data.
std::byte* encode_transport(const Packet& packet, std::byte* at) {
  std::uint32_t length = packet.payload.length;
  if (packet.trim != TrimState::kWhole) [[unlikely]]
    length = is_uet_response_form(packet.uet.prologue.next)  ? packet.uet.response.payload_length
             : is_uet_request_form(packet.uet.prologue.next) ? packet.uet.ses.payload_length
                                                             : 0;
  at = encode_uet_headers(packet.uet, length, at);
  if (packet.payload.length == 0 || packet.trim != TrimState::kWhole) return at;
  fill(packet.payload, {at, packet.payload.length});
  return at + packet.payload.length;
}

/// Reads PDS header to trailer; `crc` is that of everything covered, and is asked for only when it matters.
template <typename Crc>
DropReason decode_transport(std::span<const std::byte> transport, const UetOptions& options, Crc&& crc,
                            Packet& packet) {
  if (packet.trim != TrimState::kWhole) [[unlikely]] {
    std::uint32_t header_bytes = 0;
    packet.payload = Payload{};
    return decode_uet_trimmed(transport, packet.uet, header_bytes);
  }
  packet.uet.protection = options.protection;
  // A secured packet ends with a tag in the place of the CRC.
  const bool secured =
      !transport.empty() && load_u8(transport.data()) >> 3U == static_cast<unsigned>(UetPdsType::kTss);
  if (options.protection == UetProtection::kCrc && !secured) {
    if (transport.size() < kUetCrcBytes) return DropReason::kTruncated;
    transport = transport.first(transport.size() - kUetCrcBytes);
    if (options.verify_crc &&
        crc(transport) != load_uet_crc(transport.data() + transport.size(), options.crc_order))
      return DropReason::kBadIcrc;
  }
  return decode_uet(transport, packet.uet, packet.payload);
}

DropReason decode_network(const std::byte* frame, const FrameLayout& layout, const UetOptions& options,
                          Packet& packet) {
  std::uint8_t service = 0;
  packet.ip_version = layout.ip_version;
  if (!decode_ip(frame + layout.ip_at, packet, service)) return DropReason::kAddressNotInPlan;
  packet.traffic_class = uet_traffic_class_of(static_cast<std::uint8_t>(service >> 2U), options.dscp);
  packet.trim = layout.trim;
  // Entropy stands first in the UDP header and in the entropy header.
  packet.entropy = load_be16(frame + layout.udp_at);
  return DropReason::kNone;
}

}  // namespace

std::size_t encode_uet_frame(const Packet& packet, std::byte* frame, const UetOptions& options) {
  std::byte* const ip = encode_ethernet(packet, frame);
  // The transport comes first: its length is then known for the network headers.
  std::byte* const start = frame + network_header_bytes(packet);
  std::byte* const end = encode_transport(packet, start);
  const std::uint32_t trailer = uet_trailer_bytes(packet);
  encode_network(packet, static_cast<std::uint32_t>(end - start) + trailer, options, ip);
  if (trailer != 0)
    store_uet_crc(options.verify_crc ? uet_crc({ip + uet_crc_start(packet.ip_version), end}) : 0,
                  options.crc_order, end);
  return static_cast<std::size_t>(end - frame) + trailer;
}

DropReason decode_uet_frame(std::span<const std::byte> frame, const FrameLayout& layout,
                            const UetOptions& options, Packet& packet) {
  ::new (&packet) Packet(UetMember());
  packet.uet.encapsulation = layout.uet_encapsulation;
  DropReason reason = decode_network(frame.data(), layout, options, packet);
  if (reason != DropReason::kNone) return reason;
  const std::byte* const covered = frame.data() + layout.ip_at + uet_crc_start(layout.ip_version);
  reason = decode_transport(
      frame.subspan(layout.transport_at, layout.transport_end - layout.transport_at), options,
      [covered](std::span<const std::byte> transport) {
        return uet_crc({covered, transport.data() + transport.size()});
      },
      packet);
  if (reason != DropReason::kNone) return reason;
  packet.header_bytes =
      layout.transport_end - packet.payload.length - kVlanTagBytes * layout.vlan_tags + kFcsBytes;
  return DropReason::kNone;
}

std::size_t encode_uet_datagram(const Packet& packet, std::byte* datagram, const UetOptions& options) {
  WHARF_CHECK(packet.uet.encapsulation == UetEncapsulation::kUdp);
  std::byte* const end = encode_transport(packet, datagram);
  const std::uint32_t trailer = uet_trailer_bytes(packet);
  if (trailer != 0) {
    std::uint32_t crc = 0;
    if (options.verify_crc) {
      std::byte network[kIpv6Bytes + kUdpBytes];
      const std::byte* const network_end =
          encode_network(packet, static_cast<std::uint32_t>(end - datagram) + trailer, options, network);
      crc = uet_crc({datagram, end}, uet_crc({network + uet_crc_start(packet.ip_version), network_end}));
    }
    store_uet_crc(crc, options.crc_order, end);
  }
  return static_cast<std::size_t>(end - datagram) + trailer;
}

DropReason decode_uet_datagram(std::span<const std::byte> datagram, const UetOptions& options,
                               Packet& packet) {
  if (packet.source.number >= kIpHosts || packet.destination.number >= kIpHosts)
    return DropReason::kAddressNotInPlan;
  std::construct_at(&packet.uet);
  const DropReason reason = decode_transport(
      datagram, options,
      [&](std::span<const std::byte> transport) {
        std::byte network[kIpv6Bytes + kUdpBytes];
        const std::byte* const end =
            encode_network(packet, static_cast<std::uint32_t>(datagram.size()), options, network);
        return uet_crc(transport, uet_crc({network + uet_crc_start(packet.ip_version), end}));
      },
      packet);
  if (reason != DropReason::kNone) return reason;
  packet.header_bytes = kEthernetBytes + (packet.ip_version == IpVersion::kV4 ? kIpv4Bytes : kIpv6Bytes) +
                        kUdpBytes + static_cast<std::uint32_t>(datagram.size()) - packet.payload.length +
                        kFcsBytes;
  return DropReason::kNone;
}

}  // namespace wharf::wire
