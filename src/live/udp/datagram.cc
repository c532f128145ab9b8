// SPDX-License-Identifier: Apache-2.0
#include "live/udp/datagram.h"

#include <array>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/icrc.h"
#include "wire/roce_codec.h"
#include "wire/ub_codec.h"

namespace wharf::live {
namespace {

constexpr std::size_t kIcrcBytes = 4;
constexpr std::size_t kIpBytes = 20;
constexpr std::size_t kUdpBytes = 8;

/// The ICRC over `transport` as the kernel sends it: identification 0, don't fragment. What the ICRC masks
/// may hold anything here. [IBTA vol 1 A17.3.3]
std::uint32_t datagram_icrc(std::span<const std::byte> transport, const UdpEndpoint& from,
                            const UdpEndpoint& to) {
  std::array<std::byte, kIpBytes + kUdpBytes> head{};
  const std::size_t udp_length = kUdpBytes + transport.size() + kIcrcBytes;
  store_u8(head.data(), 0x45);
  store_be16(&head[2], static_cast<std::uint16_t>(kIpBytes + udp_length));
  store_be16(&head[6], 0x4000);
  store_u8(&head[9], IPPROTO_UDP);
  store_be32(&head[12], from.address);
  store_be32(&head[16], to.address);
  store_be16(&head[20], from.port);
  store_be16(&head[22], to.port);
  store_be16(&head[24], static_cast<std::uint16_t>(udp_length));
  return wire::icrc(wire::IpVersion::kV4, head.data(), transport);
}

}  // namespace

std::size_t encode_datagram(const wire::Packet& packet, const UdpEndpoint& from, const UdpEndpoint& to,
                            std::span<std::byte> room) {
  const bool roce = packet.protocol == wire::Protocol::kRoce;
  std::byte* at = room.data();
  if (roce) {
    at = wire::encode_roce_headers(packet.roce, packet.payload.length, at);
  } else {
    at = wire::encode_ub_headers(packet.ub, packet.payload, {}, at);
  }
  const std::uint32_t pad = wire::pad_bytes(packet);
  const bool data = roce || !wire::payload_is_sack_bitmap(packet.ub);
  const std::size_t left = room.size() - static_cast<std::size_t>(at - room.data());
  WHARF_CHECK(left >= packet.payload.length + pad + kIcrcBytes);
  if (data) {
    wire::fill(packet.payload, std::span(at, packet.payload.length));
    at += packet.payload.length;
  }
  for (std::uint32_t i = 0; i < pad; ++i) *at++ = std::byte{0};
  std::size_t length = static_cast<std::size_t>(at - room.data());
  if (roce) {
    store_le32(at, datagram_icrc(room.first(length), from, to));
    length += kIcrcBytes;
  }
  return length;
}

wire::DropReason decode_datagram(wire::Protocol protocol, std::span<const std::byte> bytes,
                                 const UdpEndpoint& from, const UdpEndpoint& to, wire::Packet& packet) {
  if (protocol == wire::Protocol::kUb) {
    packet = wire::ub_packet();
    packet.ub.encapsulation = wire::UbEncapsulation::kUdp;
    packet.ub.transport = wire::UbTransport::kRtp;
    wire::UbDecoded decoded;
    return wire::decode_ub(bytes, packet.ub, packet.payload, decoded);
  }
  packet = wire::roce_packet();
  if (bytes.size() < wire::kBthBytes + kIcrcBytes) return wire::DropReason::kTruncated;
  const std::span<const std::byte> transport = bytes.first(bytes.size() - kIcrcBytes);
  if (load_le32(bytes.data() + transport.size()) != datagram_icrc(transport, from, to)) {
    return wire::DropReason::kBadIcrc;
  }
  return wire::decode_roce(transport, packet.roce, packet.payload);
}

}  // namespace wharf::live
