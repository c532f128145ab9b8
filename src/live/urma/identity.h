// SPDX-License-Identifier: Apache-2.0
// Where a process is reached, from what URMA calls it: an EID is an IP address or a place in shared memory,
// and the 24 bits of a UASID hold the port. So {EID, uasid} alone finds a process, with nobody to ask.
// docs/decisions/0067, 0101
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

/// Places in shared memory, as WHARF_URMA_DEVICES numbers them, stand where addresses do: 0.0.0.0/8 has no
/// hosts that a datagram could be sent to. [RFC 1122 3.2.1.3]
inline constexpr std::uint32_t kShmPlacesMost = 0xffff;
constexpr bool is_shared_memory(std::uint32_t address) { return address != 0 && address <= kShmPlacesMost; }

/// IPv4-mapped: eight bytes zero, 00 00 ff ff, the address. [UB-Base 2.0.1; URMA API, urma_eid]
constexpr urma_eid_t mapped_eid(std::uint32_t address) {
  urma_eid_t eid{};
  eid.raw[10] = eid.raw[11] = 0xff;
  for (unsigned i = 0; i < 4; ++i) eid.raw[12 + i] = static_cast<std::uint8_t>(address >> (24U - 8U * i));
  return eid;
}

/// The EID of an address, or of a place in shared memory: a unique local IPv6 address [RFC 4193] whose 40
/// bits of site are those who can share memory, "wshm", and the place.
urma_eid_t eid_of(std::uint32_t address);
/// The address or place of an EID; nothing for another, nor for a place where others share memory.
std::optional<std::uint32_t> address_of(const urma_eid_t& eid);
/// Finds out who shares memory with this process: user, network namespace and this run of the kernel.
void find_site();

/// Whether an end at `from` can reach one at `to`: a socket reaches sockets, shared memory its own kind.
constexpr bool same_way(std::uint32_t from, std::uint32_t to) {
  return is_shared_memory(from) == is_shared_memory(to);
}

/// The end of a process; nothing for what is no process that can be reached.
inline std::optional<UdpEndpoint> endpoint_of(const urma_eid_t& eid, std::uint32_t uasid) {
  const std::optional<std::uint32_t> address = address_of(eid);
  if (!address || *address == 0 || (uasid & kUasidMask) == 0 || uasid > kUasidMask) return std::nullopt;
  return UdpEndpoint{*address, port_of(uasid)};
}

}  // namespace wharf::live::urma
