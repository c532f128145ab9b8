// SPDX-License-Identifier: Apache-2.0
// What both ends of an Ultra Ethernet network agree on outside the packets: port, trailer, code points.
#pragma once

#include <cstdint>

#include "wire/packet.h"
#include "wire/udp.h"

namespace wharf::wire {

/// DSCPs, which the operator of the network assigns; 6 bits each. [UE 1.0 3.6.17, 4.1]
/// Choice: data CS0 and acknowledgements EF as the reference provider has them; control CS6, loads CS3 and
/// retransmissions CS4 as for the other protocols; trimmed packets AF21, after the last hop AF22.
struct UetDscp {
  std::uint8_t data = 0;               ///< DSCP_TRIMMABLE: TrafficClass::kData.
  std::uint8_t retransmission = 32;    ///< DSCP_TRIMMABLE_RTX: kRetransmission.
  std::uint8_t load_store = 24;        ///< DSCP_NO_TRIM, which switches drop instead: kLoadStore.
  std::uint8_t acknowledgement = 46;   ///< DSCP_CONTROL: kAcknowledgement (ACK and NACK).
  std::uint8_t control = 48;           ///< DSCP_CONTROL: kControl (CP, credits).
  std::uint8_t trimmed = 18;           ///< DSCP_TRIMMED: TrimState::kTrimmed, whatever the class was.
  std::uint8_t trimmed_last_hop = 20;  ///< DSCP_TRIMMED_LASTHOP.
};

/// The order in which the trailer's four bytes are sent.
enum class UetCrcOrder : std::uint8_t {
  kLeastFirst,  ///< Choice: as the reference provider does on x86, and as iSCSI does.
  kMostFirst,
};

struct UetOptions {
  /// What received packets end with. (What is sent, UetPacket::protection says.)
  UetProtection protection = UetProtection::kCrc;
  UetCrcOrder crc_order = UetCrcOrder::kLeastFirst;
  bool verify_crc = true;  ///< encode computes and decode verifies the CRC; false: zeros, unchecked.
  /// IP protocol number of native packets. Choice: 253, for experiments (RFC 3692), until one is assigned.
  std::uint8_t ip_protocol = 253;
  std::uint16_t udp_port = kUetPort;
  UetDscp dscp;
};

/// The DSCP that `packet` travels with.
constexpr std::uint8_t uet_dscp_of(const Packet& packet, const UetDscp& dscp) {
  switch (packet.trim) {
    case TrimState::kTrimmed:
      return dscp.trimmed;
    case TrimState::kTrimmedLastHop:
      return dscp.trimmed_last_hop;
    case TrimState::kWhole:
      break;
  }
  switch (packet.traffic_class) {
    case TrafficClass::kControl:
      return dscp.control;
    case TrafficClass::kAcknowledgement:
      return dscp.acknowledgement;
    case TrafficClass::kRetransmission:
      return dscp.retransmission;
    case TrafficClass::kLoadStore:
      return dscp.load_store;
    case TrafficClass::kData:
      return dscp.data;
  }
  return dscp.data;
}
/// Trimmed packets and unknown code points are data.
constexpr TrafficClass uet_traffic_class_of(std::uint8_t code, const UetDscp& dscp) {
  if (code == dscp.data) return TrafficClass::kData;
  if (code == dscp.acknowledgement) return TrafficClass::kAcknowledgement;
  if (code == dscp.control) return TrafficClass::kControl;
  if (code == dscp.retransmission) return TrafficClass::kRetransmission;
  return code == dscp.load_store ? TrafficClass::kLoadStore : TrafficClass::kData;
}
constexpr TrimState uet_trim_state_of(std::uint8_t code, const UetDscp& dscp) {
  if (code == dscp.trimmed) return TrimState::kTrimmed;
  return code == dscp.trimmed_last_hop ? TrimState::kTrimmedLastHop : TrimState::kWhole;
}

}  // namespace wharf::wire
