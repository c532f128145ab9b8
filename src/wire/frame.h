// SPDX-License-Identifier: Apache-2.0
// Whole packets to and from bytes: link, network, transport and transaction headers, payload, pad and
// checksums, with the addresses of address_plan.h. Foreign frames, whose addresses are their own, are
// captured_frame.h's.
//
// What does not travel: Packet::operation, trim (UET apart), header_bytes (decode computes it), and where the
// payload is stored. A caller that replaces a packet by its bytes and back copies the first two with
// carry_over().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/drop_reason.h"
#include "wire/link_type.h"
#include "wire/packet.h"
#include "wire/uet_options.h"

namespace wharf::wire {

struct WireOptions {
  bool roce_icrc = true;  ///< encode computes and decode verifies the ICRC; false: zeros, unchecked.
  bool ub_icrc = false;   ///< UB packets end with a CRC-32C; both ends must agree.
  UetOptions uet = {};
};

/// The kind of link that a packet's frame belongs to.
LinkType link_type(const Packet& packet);

/// Bytes of link and network headers before the transport header, without FCS.
std::uint32_t network_header_bytes(const Packet& packet);

/// The length of the frame that encode() writes for `packet`, without FCS.
std::uint32_t encoded_bytes(const Packet& packet, const WireOptions& options = {});

/// Writes the frame of `packet`, without FCS and without Ethernet padding, and returns its length. `frame`
/// holds at least encoded_bytes(); hosts are inside the address plan of the encapsulation; the packet is
/// whole, or of UET: then a trimmed one is written without data and trailer, with the DSCP that says so.
std::size_t encode(const Packet& packet, std::span<std::byte> frame, const WireOptions& options = {});

/// Reads one frame (without FCS). On kNone, `packet` is complete except for what does not travel, and its
/// payload points into `frame`; otherwise it is unspecified.
///
/// Normalised: reserved bits are dropped, ECT(1) is read as ECT(0), IP identification, TTL and unknown DSCP
/// are forgotten, and so is what a switch has left of the data of a trimmed packet.
DropReason decode(std::span<const std::byte> frame, LinkType link, Packet& packet,
                  const WireOptions& options = {});

/// Copies what does not travel on the wire from the packet that was encoded to the one that was decoded.
inline void carry_over(const Packet& sent, Packet& received) {
  received.operation = sent.operation;
  received.trim = sent.trim;
  received.header_bytes = sent.header_bytes;
}

/// The part of a UDP-encapsulated packet (RoCE, or UB or UET with kUdp) that a UDP socket carries: BTH, RTPH
/// or PDS header to ICRC or CRC. The checksum is computed as if the datagram stood in the frame that encode()
/// writes. Returns the length.
std::size_t encode_datagram(const Packet& packet, std::span<std::byte> datagram,
                            const WireOptions& options = {});

/// Reads such a datagram. `packet.protocol`, `ip_version`, `source`, `destination` and `entropy` are set by
/// the caller from what it knows about the socket; traffic class, mark and (of UET) trim stay as they are.
DropReason decode_datagram(std::span<const std::byte> datagram, Packet& packet,
                           const WireOptions& options = {});

/// The longest datagram or frame for payloads of up to `payload_bytes`.
constexpr std::uint32_t largest_frame_bytes(std::uint32_t payload_bytes) { return payload_bytes + 512; }

}  // namespace wharf::wire
