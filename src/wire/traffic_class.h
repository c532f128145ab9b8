// SPDX-License-Identifier: Apache-2.0
// Traffic classes on the wire: DSCP in IP headers, service level in CNA headers.
// Choice: class selectors of RFC 2474, plain data as best effort; SL as ns-3-UB counts it (0 highest, 8 the
// default).
#pragma once

#include <cstdint>

#include "wire/packet.h"

namespace wharf::wire {

/// DSCP, 6 bits.
constexpr std::uint8_t dscp_of(TrafficClass traffic_class) {
  switch (traffic_class) {
    case TrafficClass::kControl:
      return 48;
    case TrafficClass::kAcknowledgement:
      return 40;
    case TrafficClass::kRetransmission:
      return 32;
    case TrafficClass::kLoadStore:
      return 24;
    case TrafficClass::kData:
      return 0;
  }
  return 0;
}
/// Any DSCP that dscp_of() does not give is data.
constexpr TrafficClass traffic_class_of_dscp(std::uint8_t dscp) {
  switch (dscp) {
    case 48:
      return TrafficClass::kControl;
    case 40:
      return TrafficClass::kAcknowledgement;
    case 32:
      return TrafficClass::kRetransmission;
    case 24:
      return TrafficClass::kLoadStore;
    default:
      return TrafficClass::kData;
  }
}

/// SL, 4 bits: twice the enumerator, so data is 8.
constexpr std::uint8_t service_level_of(TrafficClass traffic_class) {
  return static_cast<std::uint8_t>(2 * static_cast<unsigned>(traffic_class));
}
constexpr TrafficClass traffic_class_of_service_level(std::uint8_t level) {
  return level < 8 && level % 2 == 0 ? static_cast<TrafficClass>(level / 2) : TrafficClass::kData;
}

/// The TOS byte of IPv4 or the traffic class byte of IPv6.
constexpr std::uint8_t type_of_service(const Packet& packet) {
  return static_cast<std::uint8_t>((unsigned{dscp_of(packet.traffic_class)} << 2U) |
                                   static_cast<unsigned>(packet.mark));
}

}  // namespace wharf::wire
