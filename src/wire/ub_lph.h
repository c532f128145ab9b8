// SPDX-License-Identifier: Apache-2.0
// LPH, the 4-byte header of a packet on a native UB link. [UB-Base 2.0.1 4; ns-3-UB ub-header]
//
//   byte 0 Credit1 ACK1 CreditTargetVL4 rsv1 PacketVL[3] | 1 PacketVL[2:0] rsv1 Config4
//   byte 2 LBMode1 RoutingPolicy1 PktLenBlocks4 LastBlkLen[4:3] | 3 LastBlkLen[2:0] TailPayloadLen5
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace wharf::wire {

/// LPH.Config: what follows the link header.
enum class LinkConfig : std::uint8_t {
  kControl = 0,  ///< Credit and control blocks.
  kIpv4 = 3,
  kIpv6 = 4,
  kCna16 = 6,
  kCna24 = 7,
  kMemory = 9,  ///< CNA16 addressing, compact transaction headers.
};

inline constexpr std::uint32_t kLphBytes = 4;

struct Lph {
  bool credit = false;
  bool acknowledge = false;
  std::uint8_t credit_target_lane = 0;  ///< 4 bits.
  std::uint8_t packet_lane = 0;         ///< Virtual lane, 4 bits.
  LinkConfig config = LinkConfig::kCna16;
  bool per_packet_balance = false;   ///< LBMode: false per flow, true per packet.
  bool shortest_paths_only = false;  ///< RoutingPolicy.
  // The length fields belong to the flit layer. Choice: sent as 0 (as ns-3-UB does), kept when received.
  std::uint8_t length_blocks = 0;      ///< 4 bits.
  std::uint8_t last_block_length = 0;  ///< 5 bits.
  std::uint8_t tail_length = 0;        ///< 5 bits.
};

inline void encode(const Lph& lph, std::byte* at) {
  store_be32(at, (lph.credit ? 1U << 31U : 0U) | (lph.acknowledge ? 1U << 30U : 0U) |
                     ((lph.credit_target_lane & 15U) << 26U) | ((lph.packet_lane & 15U) << 21U) |
                     ((static_cast<std::uint32_t>(lph.config) & 15U) << 16U) |
                     (lph.per_packet_balance ? 1U << 15U : 0U) | (lph.shortest_paths_only ? 1U << 14U : 0U) |
                     ((lph.length_blocks & 15U) << 10U) | ((lph.last_block_length & 31U) << 5U) |
                     (lph.tail_length & 31U));
}

inline Lph decode_lph(const std::byte* at) {
  const std::uint32_t word = load_be32(at);
  Lph lph;
  lph.credit = ((word >> 31U) & 1U) != 0;
  lph.acknowledge = ((word >> 30U) & 1U) != 0;
  lph.credit_target_lane = static_cast<std::uint8_t>((word >> 26U) & 15U);
  lph.packet_lane = static_cast<std::uint8_t>((word >> 21U) & 15U);
  lph.config = static_cast<LinkConfig>((word >> 16U) & 15U);
  lph.per_packet_balance = ((word >> 15U) & 1U) != 0;
  lph.shortest_paths_only = ((word >> 14U) & 1U) != 0;
  lph.length_blocks = static_cast<std::uint8_t>((word >> 10U) & 15U);
  lph.last_block_length = static_cast<std::uint8_t>((word >> 5U) & 31U);
  lph.tail_length = static_cast<std::uint8_t>(word & 31U);
  return lph;
}

}  // namespace wharf::wire
