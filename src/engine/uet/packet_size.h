// SPDX-License-Identifier: Apache-2.0
// What a packet counts toward congestion windows: nominal_pktsize. [UE 1.0 3.6]
#pragma once

#include <cstdint>

#include "engine/uet/config.h"
#include "wire/packet.h"

namespace wharf::uet {

/// Transport size (from the UDP or entropy header on) plus this many bytes count.
inline constexpr std::uint32_t kNominalNetworkBytes = 40;

/// What a frame has beside PDS and SES headers and payload.
inline std::uint32_t frame_overhead(const UetConfig& config) {
  wire::Packet empty = wire::uet_packet();
  empty.uet.encapsulation = config.encapsulation;
  empty.uet.protection = config.protection;
  return wire::wire_header_bytes(empty) - wire::uet_header_bytes(empty.uet);
}

/// Window bytes of a packet beside its payload, when its PDS and SES headers have `header_bytes`.
inline std::uint32_t window_overhead(const UetConfig& config, std::uint32_t header_bytes) {
  if (config.window_overhead_bytes != 0) return config.window_overhead_bytes;
  const std::uint32_t transport =
      config.encapsulation == wire::UetEncapsulation::kUdp ? 8U : wire::kUetEntropyBytes;
  const std::uint32_t trailer = config.protection == wire::UetProtection::kCrc ? wire::kUetCrcBytes : 0U;
  return transport + header_bytes + trailer + kNominalNetworkBytes;
}

inline std::uint32_t window_bytes(const UetConfig& config, const wire::Packet& packet) {
  if (config.window_overhead_bytes != 0) return config.window_overhead_bytes + packet.payload.length;
  return window_overhead(config, wire::uet_header_bytes(packet.uet)) + packet.payload.length;
}

}  // namespace wharf::uet
