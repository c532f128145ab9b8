// SPDX-License-Identifier: Apache-2.0
// Turns every packet of a test wire into bytes and back, and damages the bytes where the wire says so.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "wire/frame.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::test {

/// For WireOptions::transform. A damaged frame has one bit flipped behind its network headers, where the
/// invariant CRC sees it; it is dropped when decode() refuses it.
inline bool through_bytes(wire::Packet& packet, bool damaged, RandomStream& random, wire::PayloadPool& pool) {
  const std::uint32_t bytes = wire::encoded_bytes(packet);
  const wire::BufferId buffer = pool.acquire(bytes);
  const std::span<std::byte> frame(pool.data(buffer), bytes);
  wire::encode(packet, frame);
  if (damaged) {
    const std::uint32_t first = wire::network_header_bytes(packet);
    frame[first + random.below(bytes - first)] ^= std::byte{1} << random.below(8);
  }
  wire::Packet decoded;
  if (wire::decode(frame, wire::link_type(packet), decoded) != wire::DropReason::kNone) {
    pool.release(buffer);
    return false;
  }
  wire::carry_over(packet, decoded);
  pool.release(packet.payload.buffer);
  decoded.payload.buffer = decoded.payload.kind == wire::PayloadKind::kBytes ? buffer : wire::kNoBuffer;
  if (decoded.payload.buffer == wire::kNoBuffer) pool.release(buffer);
  packet = decoded;
  return true;
}

}  // namespace wharf::test
