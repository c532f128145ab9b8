// SPDX-License-Identifier: Apache-2.0
// One frame of a capture, kept so completely that it can be written again byte for byte: the packet, and
// beside it what a Packet does not hold (addresses outside the plan, VLAN tags, TTL, IP identification,
// lanes, trailing bytes).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/drop_reason.h"
#include "wire/ethernet.h"
#include "wire/frame_layout.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/packet.h"
#include "wire/ub_lph.h"
#include "wire/ub_nth.h"
#include "wire/udp.h"

namespace wharf::wire {

/// An 802.1Q tag: TPID and priority, DEI and VLAN id.
struct VlanTag {
  EtherType protocol = EtherType::kVlan;
  std::uint16_t control = 0;
};

/// Link and network headers as they stood in the frame. Which are valid is FrameLayout's to say.
struct EncapsulationHeaders {
  EthernetHeader ethernet;
  std::array<VlanTag, 2> vlan{};
  OpTag operator_tag;
  Lph lph;
  Nth nth;
  Ipv4Header ipv4;
  Ipv6Header ipv6;
  UdpHeader udp;
  std::uint32_t uet_entropy = 0;  ///< Native UET: the word of the entropy header, entropy in its high half.
  FullEidh entities;
};

struct CapturedPacket {
  LinkType link = LinkType::kEthernet;
  FrameLayout layout;
  EncapsulationHeaders headers;
  Packet packet;                    ///< Hosts are kNoHost where an address is not in the plan.
  std::uint32_t received_icrc = 0;  ///< RoCE: as read, least significant byte first. UET: its CRC.
  std::uint32_t computed_icrc = 0;
  UetCrcOrder uet_crc_order = UetCrcOrder::kLeastFirst;
  /// UET, trimmed: what was left after the headers that are whole, half a SES header or data.
  std::span<const std::byte> uet_left_over;
  std::uint32_t uet_header_bytes = 0;   ///< UET: bytes of the headers that are whole.
  std::span<const std::byte> trailing;  ///< Ethernet padding after the packet.

  bool icrc_matches() const { return received_icrc == computed_icrc; }
};

/// Reads a frame as far as its packet, whatever its addresses; a wrong ICRC is reported in the result, not as
/// a reason. UB frames have no ICRC trailer. Whether a UET packet ends with a CRC is found out: it matches in
/// either byte order, or the lengths of the headers only fit with one (then it is wrong). Payload and
/// trailing bytes point into `frame`. When a reason is returned, `captured.layout` holds what was found
/// before. `more`: see locate().
DropReason decode_captured(std::span<const std::byte> frame, LinkType link, CapturedPacket& captured,
                           std::span<const ProtocolPort> more = {});

/// Writes the frame again: lengths, pad and checksums are computed anew, everything else is taken from
/// `captured`.
std::vector<std::byte> encode_captured(const CapturedPacket& captured);

/// Whether decoding and encoding `frame` gives the very same bytes, lengths and checksums included.
bool reencode_matches(std::span<const std::byte> frame, LinkType link);

}  // namespace wharf::wire
