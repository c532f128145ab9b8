// SPDX-License-Identifier: Apache-2.0
// Where the headers of a frame stand: the walk over link and network headers that decoding and dissecting
// share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/drop_reason.h"
#include "wire/link_type.h"
#include "wire/packet.h"
#include "wire/uet_options.h"

namespace wharf::wire {

/// Which port of a UDP datagram names its protocol.
enum class PortRule : std::uint8_t {
  kDestination,
  /// The destination's, or else the source's: answers to a port that a live host's system chose.
  kEither,
};

/// A UDP port of which somebody says what it carries: live hosts listen where they are told to.
struct ProtocolPort {
  std::uint16_t port = 0;
  Protocol protocol = Protocol::kUb;
};

/// Byte offsets into one frame. Only the headers that the encapsulation has are set.
struct FrameLayout {
  Protocol protocol = Protocol::kUb;
  UbEncapsulation encapsulation = UbEncapsulation::kUdp;
  UbTransport transport = UbTransport::kRtp;  ///< As the network header announces it.
  UetEncapsulation uet_encapsulation = UetEncapsulation::kUdp;
  TrimState trim = TrimState::kWhole;  ///< UET: as the DSCP says.
  IpVersion ip_version = IpVersion::kV4;
  PortRule ports = PortRule::kDestination;  ///< As locate() was told.
  std::span<const ProtocolPort> more;       ///< The same; empty once it has returned.
  std::uint8_t vlan_tags = 0;               ///< 802.1Q tags after the Ethernet addresses, at most 2.
  bool has_ip = false;
  bool operator_tag = false;  ///< An OPtag stands after the VLAN tags.
  std::uint32_t operator_tag_at = 0;
  std::uint32_t nth_at = 0;
  std::uint32_t ip_at = 0;
  std::uint32_t udp_at = 0;        ///< UDP header, or the entropy header of native UET.
  std::uint32_t transport_at = 0;  ///< BTH, UB transport header, or PDS header.
  std::uint32_t transport_end =
      0;  ///< One past the last pad byte or ICRC trailer; Ethernet padding is beyond.
};

/// Walks `frame` up to its transport header. Checks lengths, the IP checksum, and that lengths of link, IP
/// and UDP agree. The UDP checksum is not checked: all protocols send 0, and ICRC, CRC or FCS cover the data.
/// With PortRule::kEither the ports of `more` are known, too, before those of the specifications.
/// Lengths of a trimmed UET packet may be those that it had before: its transport ends with the frame.
DropReason locate(std::span<const std::byte> frame, LinkType link, FrameLayout& layout,
                  const UetOptions& uet = {}, PortRule ports = PortRule::kDestination,
                  std::span<const ProtocolPort> more = {});

}  // namespace wharf::wire
