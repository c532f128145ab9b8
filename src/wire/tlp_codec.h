// SPDX-License-Identifier: Apache-2.0
// Transaction layer packets to and from bytes, from the first prefix to the digest. What the data link layer
// puts around them (sequence number, LCRC, framing) is in tlp_framing.h as sizes only.
// [PCIe Base 5.0 2.2, 2.3.1, 2.7]
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/tlp_drop_reason.h"
#include "wire/tlp_packet.h"

namespace wharf::wire {

/// What a receiver was told about its link.
struct TlpRules {
  std::uint32_t max_payload = 4096;             ///< Max_Payload_Size, bytes.
  std::uint32_t read_completion_boundary = 64;  ///< RCB: 64, or 128 of a root complex that says so.
  bool verify_ecrc = true;                      ///< Whether a wrong digest is a reason to drop.
};

/// Reads one packet that fills `bytes`. The data points into `bytes`. A packet that breaks several rules is
/// refused for one of them; `tlp` then holds what was read before.
/// Reserved bits are ignored, as receivers must [2.2.1]; only their encoding differs then.
TlpDropReason decode_tlp(std::span<const std::byte> bytes, Tlp& tlp, const TlpRules& rules = {});

/// Writes `tlp` into `out`, which has room for tlp_bytes(tlp), and returns that number. Reserved bits become
/// 0. A packet that decode_tlp() would refuse is our bug where writing it would overrun, and written
/// otherwise.
std::size_t encode_tlp(const Tlp& tlp, std::span<std::byte> out);

/// The ECRC of a packet whose prefixes, header and data are `bytes` (no digest): CRC-32 over everything but
/// local prefixes, with Type bit 0 and EP, which change under way, taken as 1. Stored least significant byte
/// first, as the bit order of table 2-52 comes to. [2.7.1]
std::uint32_t tlp_ecrc(std::span<const std::byte> bytes);

}  // namespace wharf::wire
