// SPDX-License-Identifier: Apache-2.0
// The addresses of host number n in every network, and back:
//
//   MAC    02:00:0a:xx:xx:xx, the low 24 bits n + 1 (locally administered)
//   IPv4   10.0.0.0/8, the low 24 bits n + 1            (n = 0 is 10.0.0.1)
//   IPv6   fd77:6172:66::/64, the low 32 bits n + 1     (RFC 4193)
//   CNA16  n << 4, for n < 4096; the low nibble is the port, 0 being the node itself
//   CNA24  n << 8, for n < 65536; the low byte is the port
//   EID    IPv4-mapped as UMDK does: 8 zero bytes, 00 00 ff ff, the IPv4 address; compact EID (20 bits): n
//
// Choice: one plan for all runs, so that a capture can be read without the scenario.
#pragma once

#include <cstdint>

#include "wire/ethernet.h"
#include "wire/host_address.h"
#include "wire/ipv6.h"
#include "wire/ub_tph.h"

namespace wharf::wire {

/// Host numbers below these have an address of the kind.
inline constexpr std::uint32_t kIpHosts = (1U << 24U) - 2;
inline constexpr std::uint32_t kCna16Hosts = 1U << 12U;
inline constexpr std::uint32_t kCna24Hosts = 1U << 16U;
inline constexpr std::uint32_t kCompactEntityHosts = 1U << 20U;

constexpr std::uint32_t ipv4_of(HostAddress host) { return 0x0a00'0000U | ((host.number + 1) & 0xff'ffffU); }
constexpr HostAddress host_of_ipv4(std::uint32_t address) {
  const std::uint32_t low = address & 0xff'ffffU;
  return address >> 24U == 10 && low != 0 && low <= kIpHosts ? HostAddress{low - 1} : kNoHost;
}

constexpr MacAddress mac_of(HostAddress host) {
  const std::uint32_t low = ipv4_of(host);
  return {2,
          0,
          static_cast<std::uint8_t>(low >> 24U),
          static_cast<std::uint8_t>(low >> 16U),
          static_cast<std::uint8_t>(low >> 8U),
          static_cast<std::uint8_t>(low)};
}

constexpr Ipv6Address ipv6_of(HostAddress host) {
  const std::uint32_t low = host.number + 1;
  return {0xfd,
          0x77,
          0x61,
          0x72,
          0,
          0x66,
          0,
          0,
          0,
          0,
          0,
          0,
          static_cast<std::uint8_t>(low >> 24U),
          static_cast<std::uint8_t>(low >> 16U),
          static_cast<std::uint8_t>(low >> 8U),
          static_cast<std::uint8_t>(low)};
}
constexpr HostAddress host_of_ipv6(const Ipv6Address& address) {
  const std::uint32_t low = (std::uint32_t{address[12]} << 24U) | (std::uint32_t{address[13]} << 16U) |
                            (std::uint32_t{address[14]} << 8U) | address[15];
  return low != 0 && low <= kIpHosts && ipv6_of(HostAddress{low - 1}) == address ? HostAddress{low - 1}
                                                                                 : kNoHost;
}

constexpr std::uint32_t cna16_of(HostAddress host) { return (host.number << 4U) & 0xffffU; }
constexpr HostAddress host_of_cna16(std::uint32_t address) {
  return (address & 15U) == 0 ? HostAddress{address >> 4U} : kNoHost;
}
constexpr std::uint32_t cna24_of(HostAddress host) { return (host.number << 8U) & 0xff'ffffU; }
constexpr HostAddress host_of_cna24(std::uint32_t address) {
  return (address & 255U) == 0 ? HostAddress{address >> 8U} : kNoHost;
}

constexpr EntityId entity_of(HostAddress host) {
  const std::uint32_t ip = ipv4_of(host);
  return {0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0xff,
          0xff,
          static_cast<std::uint8_t>(ip >> 24U),
          static_cast<std::uint8_t>(ip >> 16U),
          static_cast<std::uint8_t>(ip >> 8U),
          static_cast<std::uint8_t>(ip)};
}
constexpr std::uint32_t compact_entity_of(HostAddress host) { return host.number & 0xf'ffffU; }

}  // namespace wharf::wire
