// SPDX-License-Identifier: Apache-2.0
// Whether packets travel as parsed structs or as bytes that every hop encodes and decodes. Both give the same
// results; the second proves that nothing passes between hosts which the wire does not carry.
#pragma once

#include <cstdint>

#include "wire/drop_reason.h"
#include "wire/frame.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

enum class WireMode : std::uint8_t { kStructs, kBytes };

/// Encodes `packet` into a frame and replaces it by what a receiver decodes from it; what does not travel is
/// carried beside. The payload then lies in a buffer of `payloads`, whose reference replaces the old one. On
/// failure the reference to the old payload is released and the packet is unspecified. `damage_bit`: the bit
/// of the frame (from its first byte's lowest) that is inverted behind the sender's back, taken modulo the
/// length of the frame; kNoDamage for none.
inline constexpr std::uint64_t kNoDamage = ~std::uint64_t{0};
wire::DropReason pass_as_bytes(wire::Packet& packet, wire::PayloadPool& payloads,
                               const wire::WireOptions& options, std::uint64_t damage_bit);

/// Whether the frame check sequence (IEEE 802.3 CRC-32) of the frame of `packet` notices the inversion of bit
/// `damage_bit`.
bool frame_check_notices(const wire::Packet& packet, wire::PayloadPool& payloads,
                         const wire::WireOptions& options, std::uint64_t damage_bit);

}  // namespace wharf::sim
