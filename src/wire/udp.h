// SPDX-License-Identifier: Apache-2.0
// UDP header. All protocols send checksum 0, which IPv4 allows (RFC 768) and IPv6 tolerates for tunnels (RFC
// 6935).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace wharf::wire {

inline constexpr std::uint32_t kUdpBytes = 8;
inline constexpr std::uint16_t kRocePort = 4791;  ///< [IBTA Annex A17]
inline constexpr std::uint16_t kUboePort = 4792;  ///< UB over Ethernet. [UMDK User Guide]
/// Ultra Ethernet. Choice: as Wireshark has it; placeholders elsewhere say 49150, 2887 and 4739.
inline constexpr std::uint16_t kUetPort = 4793;

struct UdpHeader {
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint16_t length = 0;  ///< This header and everything after it.
  std::uint16_t checksum = 0;
};

inline void encode(const UdpHeader& udp, std::byte* at) {
  store_be64(at, (std::uint64_t{udp.source_port} << 48U) | (std::uint64_t{udp.destination_port} << 32U) |
                     (std::uint64_t{udp.length} << 16U) | udp.checksum);
}
inline UdpHeader decode_udp(const std::byte* at) {
  return UdpHeader{load_be16(at), load_be16(at + 2), load_be16(at + 4), load_be16(at + 6)};
}

}  // namespace wharf::wire
