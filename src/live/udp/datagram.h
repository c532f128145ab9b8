// SPDX-License-Identifier: Apache-2.0
// Packets to and from UDP payloads. The network headers are the kernel's; for the ICRC of RoCE they are
// rebuilt here as the kernel writes them.
#pragma once

#include <cstddef>
#include <span>

#include "live/udp/udp_socket.h"
#include "wire/drop_reason.h"
#include "wire/packet.h"

namespace wharf::live {

/// Writes what follows the UDP header of `packet`; the length. `from` and `to` are needed for the ICRC. The
/// room must hold headers, payload, pad and ICRC (UdpSocket::kFrameBytes does).
std::size_t encode_datagram(const wire::Packet& packet, const UdpEndpoint& from, const UdpEndpoint& to,
                            std::span<std::byte> room);

/// Reads a UDP payload of `protocol`. On kNone the headers and payload of `packet` are set and the payload
/// points into `bytes`; source and destination hosts are the caller's to set. Everything a hostile sender can
/// do ends in a reason.
wire::DropReason decode_datagram(wire::Protocol protocol, std::span<const std::byte> bytes,
                                 const UdpEndpoint& from, const UdpEndpoint& to, wire::Packet& packet);

}  // namespace wharf::live
