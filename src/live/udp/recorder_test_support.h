// SPDX-License-Identifier: Apache-2.0
// The packets that an engine makes of its requests, for tests that send them by hand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "live/udp/direct_memory.h"
#include "live/udp/live_protocol.h"
#include "live/udp/udp_socket.h"

namespace wharf::live {

/// Memory, wire and user of a client whose packets are kept instead of sent.
template <typename E>
struct Recorder {
  const UdpEndpoint from;
  const UdpEndpoint to;
  wire::PayloadPool& pool;
  std::vector<std::vector<std::byte>> packets{};
  std::vector<std::uint8_t> services{};

  bool begin(TimePs, const engine::Access& access, engine::AccessResult& result) {
    result = perform(access);
    return true;
  }
  wire::TrafficClassMask open(TimePs) const { return wire::kAllTrafficClasses; }
  void send(TimePs, const wire::Packet& packet) {
    std::array<std::byte, UdpSocket::kFrameBytes> room{};
    const std::size_t length = LiveProtocol<E>::encode(packet, from, to, room);
    packets.emplace_back(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(length));
    services.push_back(LiveProtocol<E>::service(packet));
    pool.release(packet.payload.buffer);
  }
  void completed(TimePs, const verbs::Completion&) {}
};

}  // namespace wharf::live
