// SPDX-License-Identifier: Apache-2.0
// BTH, the base transport header of every RoCEv2 packet. [IBTA vol 1 9.2]
//
//   byte 0 OpCode | 1 SE1 M1 Pad2 TVer4 | 2-3 P_Key | 4 FECN1 BECN1 rsv6 | 5-7 DestQP | 8 A1 rsv7 | 9-11 PSN
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wire/psn.h"
#include "wire/roce_opcode.h"

namespace wharf::wire {

inline constexpr std::uint32_t kBthBytes = 12;
inline constexpr std::uint16_t kDefaultPartitionKey = 0xffff;

struct Bth {
  Psn psn = 0;
  std::uint32_t destination_queue_pair = 0;  ///< 24 bits.
  std::uint16_t partition_key = kDefaultPartitionKey;
  RoceOpcode opcode = RoceOpcode::kRcSendOnly;
  std::uint8_t pad = 0;  ///< Zero bytes between payload and ICRC, 0..3. A whole-packet encode sets it itself.
  std::uint8_t version = 0;  ///< TVer; anything but 0 is dropped.
  bool solicited = false;
  bool migration = false;
  bool forward_congestion = false;   ///< FECN.
  bool backward_congestion = false;  ///< BECN.
  bool acknowledge_request = false;
};

inline void encode(const Bth& bth, std::byte* at) {
  store_u8(at, static_cast<std::uint8_t>(bth.opcode));
  store_u8(at + 1, static_cast<std::uint8_t>((bth.solicited ? 0x80U : 0U) | (bth.migration ? 0x40U : 0U) |
                                             ((bth.pad & 3U) << 4U) | (bth.version & 15U)));
  store_be16(at + 2, bth.partition_key);
  store_be32(at + 4, (bth.forward_congestion ? 0x8000'0000U : 0U) |
                         (bth.backward_congestion ? 0x4000'0000U : 0U) |
                         (bth.destination_queue_pair & 0xff'ffffU));
  store_be32(at + 8, (bth.acknowledge_request ? 0x8000'0000U : 0U) | (bth.psn & kPsnMask));
}

/// Reserved bits are ignored.
inline Bth decode_bth(const std::byte* at) {
  const std::uint32_t flags = load_u8(at + 1);
  const std::uint32_t queue_word = load_be32(at + 4);
  const std::uint32_t psn_word = load_be32(at + 8);
  Bth bth;
  bth.opcode = static_cast<RoceOpcode>(load_u8(at));
  bth.solicited = (flags & 0x80U) != 0;
  bth.migration = (flags & 0x40U) != 0;
  bth.pad = static_cast<std::uint8_t>((flags >> 4U) & 3U);
  bth.version = static_cast<std::uint8_t>(flags & 15U);
  bth.partition_key = load_be16(at + 2);
  bth.forward_congestion = (queue_word & 0x8000'0000U) != 0;
  bth.backward_congestion = (queue_word & 0x4000'0000U) != 0;
  bth.destination_queue_pair = queue_word & 0xff'ffffU;
  bth.acknowledge_request = (psn_word & 0x8000'0000U) != 0;
  bth.psn = psn_word & kPsnMask;
  return bth;
}

}  // namespace wharf::wire
