// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/captured_frames.h"

#include <array>

#include "sim/fabric/link_retry.h"

namespace wharf::sim {

std::span<std::byte> CapturedFrames::append(TimePs at, std::uint32_t port, wire::LinkType link,
                                            std::size_t length) {
  frames_.push_back({at, port, link, bytes_.size(), length});
  bytes_.resize(bytes_.size() + length);
  return std::span(bytes_).last(length);
}

void CapturedFrames::add(TimePs at, std::uint32_t port, const wire::Packet& packet,
                         const wire::WireOptions& options) {
  const std::span<std::byte> frame =
      append(at, port, wire::link_type(packet), wire::encoded_bytes(packet, options));
  const std::size_t written = wire::encode(packet, frame, options);
  frames_.back().length = written;
  bytes_.resize(frames_.back().first + written);
}

void CapturedFrames::add_flow_control(TimePs at, std::uint32_t port, std::uint32_t content) {
  constexpr std::uint32_t kPause = 1;
  constexpr std::uint32_t kResume = 2;
  const std::uint32_t kind = content >> 30U;
  if ((kind != kPause && kind != kResume) || (content & kRetryControl) != 0) return;
  // To the address of MAC control, from no address; opcode 0101; classes; how long, in quanta; padding.
  constexpr std::size_t kFrameBytes = 60;
  constexpr std::array<std::uint8_t, 16> kHead{0x01, 0x80, 0xc2, 0, 0,    0x01, 0,    0,
                                               0,    0,    0,    0, 0x88, 0x08, 0x01, 0x01};
  const std::span<std::byte> frame = append(at, port, wire::LinkType::kEthernet, kFrameBytes);
  for (std::size_t i = 0; i < kHead.size(); ++i) frame[i] = std::byte{kHead[i]};
  const std::uint32_t queues = (content >> 24U) & 0x3fU;
  frame[17] = static_cast<std::byte>(queues);
  for (std::size_t queue = 0; kind == kPause && queue < 6; ++queue) {
    if ((queues & (1U << queue)) == 0) continue;
    frame[18 + 2 * queue] = frame[19 + 2 * queue] = std::byte{0xff};
  }
}

}  // namespace wharf::sim
