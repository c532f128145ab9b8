// SPDX-License-Identifier: Apache-2.0
// Where a process is reached, from what URMA calls it: an EID is an IP address, and the 24 bits of a UASID
// hold the UDP port. So {EID, uasid} alone finds a process, with nobody to ask. docs/decisions/0067
#pragma once

#include <cstdint>
#include <optional>

#include "live/udp/udp_socket.h"
#include "live/urma/include/urma_types.h"

namespace wharf::live::urma {

/// UASIDs have 24 bits; 0 is the kernel's.
inline constexpr std::uint32_t kUasidMask = 0xff'ffff;
/// Ports below are for the system's services.
inline constexpr std::uint32_t kFirstPort = 1024;

/// The UDP port of a process with this UASID: its low 16 bits. Those below kFirstPort lie at the end of the
/// range.
constexpr std::uint16_t port_of(std::uint32_t uasid) {
  const std::uint32_t low = uasid & 0xffffU;
  return static_cast<std::uint16_t>(low >= kFirstPort ? low : 65536U - kFirstPort + low);
}

/// IPv4-mapped: eight bytes zero, 00 00 ff ff, the address. [UB-Base 2.0.1; URMA API, urma_eid]
constexpr urma_eid_t eid_of(std::uint32_t address) {
  urma_eid_t eid{};
  eid.raw[10] = eid.raw[11] = 0xff;
  for (unsigned i = 0; i < 4; ++i) eid.raw[12 + i] = static_cast<std::uint8_t>(address >> (24U - 8U * i));
  return eid;
}

/// The address of an IPv4-mapped EID; nothing for another.
constexpr std::optional<std::uint32_t> address_of(const urma_eid_t& eid) {
  std::uint32_t address = 0;
  for (unsigned i = 0; i < 12; ++i) {
    if (eid.raw[i] != (i == 10 || i == 11 ? 0xff : 0)) return std::nullopt;
  }
  for (unsigned i = 12; i < 16; ++i) address = (address << 8U) | eid.raw[i];
  return address;
}

/// The socket of a process; nothing for what is no process of this network.
constexpr std::optional<UdpEndpoint> endpoint_of(const urma_eid_t& eid, std::uint32_t uasid) {
  const std::optional<std::uint32_t> address = address_of(eid);
  if (!address || *address == 0 || (uasid & kUasidMask) == 0 || uasid > kUasidMask) return std::nullopt;
  return UdpEndpoint{*address, port_of(uasid)};
}

}  // namespace wharf::live::urma
