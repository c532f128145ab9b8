// SPDX-License-Identifier: Apache-2.0
// Frames that left the observed ports of one partition, as bytes, until somebody writes them to files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "wire/frame.h"

namespace wharf::sim {

class CapturedFrames {
 public:
  struct Frame {
    TimePs at;  ///< When the last byte left the port.
    std::uint32_t port = 0;
    wire::LinkType link = wire::LinkType::kEthernet;
    std::size_t first = 0;  ///< Of its bytes.
    std::size_t length = 0;
  };

  void add(TimePs at, std::uint32_t port, const wire::Packet& packet, const wire::WireOptions& options);
  /// A pause or resume frame as IEEE 802.1Qbb has it: opcode 0101, one bit and one time per class; a queue
  /// stands for the priority of its number. Credits are ordered sets below the frames and are left out.
  /// `content` is PacketHead::flow.
  void add_flow_control(TimePs at, std::uint32_t port, std::uint32_t content);

  const std::vector<Frame>& frames() const { return frames_; }
  std::span<const std::byte> bytes(const Frame& frame) const {
    return std::span(bytes_).subspan(frame.first, frame.length);
  }
  void clear() {
    frames_.clear();
    bytes_.clear();
  }

 private:
  std::span<std::byte> append(TimePs at, std::uint32_t port, wire::LinkType link, std::size_t length);

  std::vector<Frame> frames_;
  std::vector<std::byte> bytes_;
};

}  // namespace wharf::sim
