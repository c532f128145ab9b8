// SPDX-License-Identifier: Apache-2.0
// The TCP side of a perftest run: pieces of a length that both ends know, the client's before the server's.
// While one waits for a piece, its packets go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "live/perftest/key_message.h"
#include "live/udp/control_channel.h"

namespace wharf::live {

class Conversation {
 public:
  enum class Side : std::uint8_t { kClient, kServer };
  /// Lets the packets go on for a millisecond at most; an error ends the conversation.
  using Turn = std::function<Result<void>()>;

  Conversation(ControlChannel channel, Side side, Turn turn)
      : channel_(std::move(channel)), side_(side), turn_(std::move(turn)) {}

  Side side() const { return side_; }
  /// The client writes, then reads; the server reads, then writes. Returns the peer's piece, which is as
  /// long.
  Result<std::vector<std::byte>> swap(std::span<const std::byte> ours);
  Result<KeyMessage> swap_keys(const KeyMessage& ours);
  /// What both ends settle on first.
  struct Opening {
    std::uint32_t path_mtu = 0;  ///< The lower of both.
    /// Bandwidth tests go round in memory of so many bytes at least, message beside message: the larger page
    /// of both.
    std::uint32_t round_bytes = 0;
  };
  Result<Opening> open(std::uint32_t path_mtu);
  /// The last word. The peer may be gone already.
  void say_done();
  bool peer_gone() const { return channel_.peer_gone(); }

 private:
  Result<void> write(std::span<const std::byte> bytes);
  Result<std::vector<std::byte>> read(std::size_t length);

  ControlChannel channel_;
  Side side_;
  Turn turn_;
};

}  // namespace wharf::live
