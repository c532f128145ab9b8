// SPDX-License-Identifier: Apache-2.0
// IPv4 header without options, and its checksum. [RFC 791, RFC 1071, RFC 2474 (DSCP), RFC 3168 (ECN)]
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace wharf::wire {

inline constexpr std::uint32_t kIpv4Bytes = 20;
inline constexpr std::uint8_t kIpProtocolUdp = 17;
inline constexpr std::uint8_t kDefaultHopLimit = 64;

struct Ipv4Header {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint16_t total_length = 0;  ///< Header and everything after it.
  std::uint16_t identification = 0;
  std::uint16_t checksum = 0;         ///< As received; encode computes it.
  std::uint16_t fragment_offset = 0;  ///< 13 bits, in units of 8 bytes.
  std::uint8_t type_of_service = 0;   ///< DSCP in bits 7:2, ECN in 1:0.
  std::uint8_t time_to_live = kDefaultHopLimit;
  std::uint8_t protocol = kIpProtocolUdp;
  bool reserved_flag = false;
  bool do_not_fragment = true;
  bool more_fragments = false;
};

/// The checksum of the 20 header bytes at `at`, as the complement of their one's-complement sum with the
/// checksum field taken as it is: 0 means that a received header is intact.
inline std::uint16_t ipv4_checksum(const std::byte* at) {
  const std::uint64_t first = load_le64(at);
  const std::uint64_t second = load_le64(at + 8);
  std::uint64_t sum = (first & 0xffff'ffffU) + (first >> 32U) + (second & 0xffff'ffffU) + (second >> 32U) +
                      load_le32(at + 16);
  sum = (sum & 0xffffU) + ((sum >> 16U) & 0xffffU) + (sum >> 32U);
  sum = (sum & 0xffffU) + (sum >> 16U);
  sum = (sum & 0xffffU) + (sum >> 16U);
  return __builtin_bswap16(static_cast<std::uint16_t>(~sum));
}

/// The checksum comes from the words before they are stored: reading them back would stall on the stores.
inline void encode(const Ipv4Header& ip, std::byte* at) {
  const std::uint32_t fragment = (std::uint32_t{ip.identification} << 16U) |
                                 (ip.reserved_flag ? 0x8000U : 0U) | (ip.do_not_fragment ? 0x4000U : 0U) |
                                 (ip.more_fragments ? 0x2000U : 0U) | (ip.fragment_offset & 0x1fffU);
  const std::uint32_t first = 0x4500'0000U | (std::uint32_t{ip.type_of_service} << 16U) | ip.total_length;
  const std::uint32_t third = (std::uint32_t{ip.time_to_live} << 24U) | (std::uint32_t{ip.protocol} << 16U);
  const std::uint64_t wide = std::uint64_t{first} + fragment + third + ip.source + ip.destination;
  std::uint64_t sum = (wide & 0xffffU) + ((wide >> 16U) & 0xffffU) + (wide >> 32U);
  sum = (sum & 0xffffU) + (sum >> 16U);
  sum = (sum & 0xffffU) + (sum >> 16U);
  store_be64(at, (std::uint64_t{first} << 32U) | fragment);
  store_be64(at + 8, (std::uint64_t{third | (~sum & 0xffffU)} << 32U) | ip.source);
  store_be32(at + 16, ip.destination);
}

/// The caller has checked that byte 0 is 0x45 (version 4, no options).
inline Ipv4Header decode_ipv4(const std::byte* at) {
  const std::uint32_t fragment = load_be16(at + 6);
  Ipv4Header ip;
  ip.type_of_service = load_u8(at + 1);
  ip.total_length = load_be16(at + 2);
  ip.identification = load_be16(at + 4);
  ip.reserved_flag = (fragment & 0x8000U) != 0;
  ip.do_not_fragment = (fragment & 0x4000U) != 0;
  ip.more_fragments = (fragment & 0x2000U) != 0;
  ip.fragment_offset = static_cast<std::uint16_t>(fragment & 0x1fffU);
  ip.time_to_live = load_u8(at + 8);
  ip.protocol = load_u8(at + 9);
  ip.checksum = load_be16(at + 10);
  ip.source = load_be32(at + 12);
  ip.destination = load_be32(at + 16);
  return ip;
}

}  // namespace wharf::wire
