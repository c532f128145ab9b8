// SPDX-License-Identifier: Apache-2.0
// Ethernet and IP headers of the frames that encode() writes, shared by the protocols that travel in IP.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/address_plan.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/packet.h"

namespace wharf::wire {

/// Writes the Ethernet header of IP packets and returns its end. Same bytes as mac_of(), in three stores.
inline std::byte* encode_ethernet(const Packet& packet, std::byte* at) {
  constexpr std::uint16_t kMacPrefix = 0x0200;
  store_be16(at, kMacPrefix);
  store_be32(at + 2, ipv4_of(packet.destination));
  store_be16(at + 6, kMacPrefix);
  store_be32(at + 8, ipv4_of(packet.source));
  store_be16(at + 12, static_cast<std::uint16_t>(packet.ip_version == IpVersion::kV4 ? EtherType::kIpv4
                                                                                     : EtherType::kIpv6));
  return at + kEthernetBytes;
}

/// Writes an IP header for `bytes` after it and returns its end. `service` is the TOS or traffic class byte.
/// Choice: identification 0 with DF, as RFC 6864 allows for datagrams that are never fragmented.
inline std::byte* encode_ip(const Packet& packet, std::uint8_t protocol, std::uint8_t service,
                            std::uint32_t bytes, std::byte* at) {
  WHARF_CHECK(packet.source.number < kIpHosts && packet.destination.number < kIpHosts);
  if (packet.ip_version == IpVersion::kV4) {
    Ipv4Header ip;
    ip.source = ipv4_of(packet.source);
    ip.destination = ipv4_of(packet.destination);
    ip.total_length = static_cast<std::uint16_t>(kIpv4Bytes + bytes);
    ip.type_of_service = service;
    ip.protocol = protocol;
    encode(ip, at);
    return at + kIpv4Bytes;
  }
  Ipv6Header ip;
  ip.source = ipv6_of(packet.source);
  ip.destination = ipv6_of(packet.destination);
  ip.payload_length = static_cast<std::uint16_t>(bytes);
  ip.traffic_class = service;
  ip.next_header = protocol;
  encode(ip, at);
  return at + kIpv6Bytes;
}

/// Reads the hosts of the IP header at `at`, whose version is `packet.ip_version`, into `packet`; `service`
/// is its TOS or traffic class byte. False when the address plan lacks one of them.
inline bool decode_ip(const std::byte* at, Packet& packet, std::uint8_t& service) {
  if (packet.ip_version == IpVersion::kV4) {
    service = load_u8(at + 1);
    packet.source = host_of_ipv4(load_be32(at + 12));
    packet.destination = host_of_ipv4(load_be32(at + 16));
  } else {
    const Ipv6Header header = decode_ipv6(at);
    service = header.traffic_class;
    packet.source = host_of_ipv6(header.source);
    packet.destination = host_of_ipv6(header.destination);
  }
  const unsigned ecn = service & 3U;
  packet.mark = ecn == 1 ? CongestionMark::kCapable : static_cast<CongestionMark>(ecn);
  return packet.source != kNoHost && packet.destination != kNoHost;
}

}  // namespace wharf::wire
