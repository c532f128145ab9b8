// SPDX-License-Identifier: Apache-2.0
// Invariant checksums. RoCEv2: the CRC-32 over everything that no switch changes. UB: an optional CRC-32C
// trailer. [IBTA vol 1 7.8.1, Annex A17.3.3]
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/packet.h"

namespace wharf::wire {

/// The zlib CRC-32 of the eight bytes of ones that stand for the masked LRH: where the ICRC of every packet
/// starts.
inline constexpr std::uint32_t kIcrcSeed = 0x2144'df1c;

/// The ICRC of a RoCEv2 packet. `ip_and_udp` is its IP header (20 bytes without options, or 40) and UDP
/// header, `transport` everything from the BTH to the last pad byte (at least a BTH). Written to the wire
/// least significant byte first. Covered: all but TOS, TTL, the header checksum (traffic class, flow label,
/// hop limit), the UDP checksum and BTH byte 4, which count as ones.
std::uint32_t icrc(IpVersion version, const std::byte* ip_and_udp, std::span<const std::byte> transport);

/// CRC-32C of UB packets over transport header, transaction headers, payload and pad; stored big-endian after
/// the pad. Choice: documents only name the trailer. Network headers stay out because switches write CC, TTL
/// and ECN.
std::uint32_t ub_icrc(std::span<const std::byte> transport);

}  // namespace wharf::wire
