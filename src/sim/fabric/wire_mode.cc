// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/wire_mode.h"

#include <zlib.h>

#include <cstddef>
#include <span>

namespace wharf::sim {
namespace {

void invert(std::byte* frame, std::size_t length, std::uint64_t bit) {
  const std::uint64_t at = bit % (length * 8);
  frame[at / 8] ^= std::byte{1} << static_cast<int>(at % 8);
}

uLong crc(const std::byte* frame, std::size_t length) {
  return crc32(0, reinterpret_cast<const Bytef*>(frame), static_cast<uInt>(length));
}

}  // namespace

wire::DropReason pass_as_bytes(wire::Packet& packet, wire::PayloadPool& payloads,
                               const wire::WireOptions& options, std::uint64_t damage_bit) {
  const wire::BufferId buffer = payloads.acquire(wire::encoded_bytes(packet, options));
  std::byte* frame = payloads.data(buffer);
  const std::size_t length = wire::encode(packet, {frame, wire::encoded_bytes(packet, options)}, options);
  if (damage_bit != kNoDamage) invert(frame, length, damage_bit);
  const wire::Packet sent = packet;
  const wire::DropReason reason = wire::decode({frame, length}, wire::link_type(sent), packet, options);
  payloads.release(sent.payload.buffer);
  if (reason != wire::DropReason::kNone) {
    payloads.release(buffer);
    return reason;
  }
  wire::carry_over(sent, packet);
  if (packet.payload.kind == wire::PayloadKind::kNone) {
    payloads.release(buffer);
  } else {
    packet.payload.buffer = buffer;
  }
  return reason;
}

bool frame_check_notices(const wire::Packet& packet, wire::PayloadPool& payloads,
                         const wire::WireOptions& options, std::uint64_t damage_bit) {
  const wire::BufferId buffer = payloads.acquire(wire::encoded_bytes(packet, options));
  std::byte* frame = payloads.data(buffer);
  const std::size_t length = wire::encode(packet, {frame, wire::encoded_bytes(packet, options)}, options);
  const uLong before = crc(frame, length);
  invert(frame, length, damage_bit);
  const bool noticed = crc(frame, length) != before;
  payloads.release(buffer);
  return noticed;
}

}  // namespace wharf::sim
