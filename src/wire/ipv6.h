// SPDX-License-Identifier: Apache-2.0
// IPv6 header without extension headers. [RFC 8200]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "wire/ipv4.h"

namespace wharf::wire {

inline constexpr std::uint32_t kIpv6Bytes = 40;

using Ipv6Address = std::array<std::uint8_t, 16>;

struct Ipv6Header {
  Ipv6Address source{};
  Ipv6Address destination{};
  std::uint32_t flow_label = 0;      ///< 20 bits.
  std::uint16_t payload_length = 0;  ///< Everything after this header.
  std::uint8_t traffic_class = 0;    ///< DSCP in bits 7:2, ECN in 1:0.
  std::uint8_t next_header = kIpProtocolUdp;
  std::uint8_t hop_limit = kDefaultHopLimit;
};

inline void encode(const Ipv6Header& ip, std::byte* at) {
  store_be32(at, 0x6000'0000U | (std::uint32_t{ip.traffic_class} << 20U) | (ip.flow_label & 0xf'ffffU));
  store_be32(at + 4, (std::uint32_t{ip.payload_length} << 16U) | (std::uint32_t{ip.next_header} << 8U) |
                         ip.hop_limit);
  std::memcpy(at + 8, ip.source.data(), 16);
  std::memcpy(at + 24, ip.destination.data(), 16);
}

/// The caller has checked that the version is 6.
inline Ipv6Header decode_ipv6(const std::byte* at) {
  const std::uint32_t word = load_be32(at);
  Ipv6Header ip;
  ip.traffic_class = static_cast<std::uint8_t>(word >> 20U);
  ip.flow_label = word & 0xf'ffffU;
  ip.payload_length = load_be16(at + 4);
  ip.next_header = load_u8(at + 6);
  ip.hop_limit = load_u8(at + 7);
  std::memcpy(ip.source.data(), at + 8, 16);
  std::memcpy(ip.destination.data(), at + 24, 16);
  return ip;
}

}  // namespace wharf::wire
