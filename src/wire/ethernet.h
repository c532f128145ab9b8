// SPDX-License-Identifier: Apache-2.0
// Ethernet header and 802.1Q tag. [IEEE 802.3 3.1, 802.1Q 9.3]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace wharf::wire {

using MacAddress = std::array<std::uint8_t, 6>;

/// What a frame carries. kUbRaw is the local experimental EtherType that OpenURMA uses.
enum class EtherType : std::uint16_t {
  kIpv4 = 0x0800,
  kArp = 0x0806,
  kVlan = 0x8100,
  kServiceVlan = 0x88a8,
  kIpv6 = 0x86dd,
  kUbRaw = 0x88b5,
};

struct EthernetHeader {
  MacAddress destination{};
  MacAddress source{};
  EtherType type = EtherType::kIpv4;
};
inline constexpr std::uint32_t kEthernetBytes = 14;
inline constexpr std::uint32_t kVlanTagBytes = 4;
/// Frame check sequence; added and checked by hardware, absent from captures.
inline constexpr std::uint32_t kFcsBytes = 4;
/// Shortest frame, FCS included.
inline constexpr std::uint32_t kEthernetFrameBytesMin = 64;
/// Preamble with start delimiter, and inter-packet gap: time on the link that is not in the frame.
inline constexpr std::uint32_t kPreambleBytes = 8;
inline constexpr std::uint32_t kInterpacketGapBytes = 12;

inline void encode(const EthernetHeader& ethernet, std::byte* at) {
  std::memcpy(at, ethernet.destination.data(), 6);
  std::memcpy(at + 6, ethernet.source.data(), 6);
  store_be16(at + 12, static_cast<std::uint16_t>(ethernet.type));
}
inline EthernetHeader decode_ethernet(const std::byte* at) {
  EthernetHeader ethernet;
  std::memcpy(ethernet.destination.data(), at, 6);
  std::memcpy(ethernet.source.data(), at + 6, 6);
  ethernet.type = static_cast<EtherType>(load_be16(at + 12));
  return ethernet;
}

}  // namespace wharf::wire
