// SPDX-License-Identifier: Apache-2.0
// The IP and UDP headers of a datagram as the kernel writes them, which user space does not see: checksums
// of transports cover some of their fields, and captures show them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "live/udp/udp_socket.h"
#include "wire/ipv4.h"
#include "wire/udp.h"

namespace wharf::live {

using NetworkHeaders = std::array<std::byte, wire::kIpv4Bytes + wire::kUdpBytes>;

/// UDP checksum 0. `service` is the TOS byte, `transport_bytes` follow the UDP header.
inline NetworkHeaders network_headers(const UdpEndpoint& from, const UdpEndpoint& to, std::uint8_t service,
                                      std::size_t transport_bytes, const IpIdentity& identity = {}) {
  NetworkHeaders headers;
  const auto udp_length = static_cast<std::uint16_t>(wire::kUdpBytes + transport_bytes);
  wire::Ipv4Header ip;
  ip.source = from.address;
  ip.destination = to.address;
  ip.total_length = static_cast<std::uint16_t>(wire::kIpv4Bytes + udp_length);
  ip.type_of_service = service;
  ip.identification = identity.identification;
  ip.do_not_fragment = identity.do_not_fragment;
  wire::encode(ip, headers.data());
  wire::encode(wire::UdpHeader{from.port, to.port, udp_length, 0}, headers.data() + wire::kIpv4Bytes);
  return headers;
}

}  // namespace wharf::live
