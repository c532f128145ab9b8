// SPDX-License-Identifier: Apache-2.0
// The out-of-band channel between two live processes: a TCP connection, or a Unix one beside shared memory,
// that carries exchange blobs and, by closing, tells that the peer is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "live/secure/seal.h"
#include "live/shm/shm_rendezvous.h"
#include "live/udp/udp_socket.h"

namespace wharf::live {

/// One connection. Messages are a 4-byte big-endian length and that many bytes, at most kLongestMessage, and
/// kSealTagBytes more once they are sealed.
class ControlChannel {
 public:
  static constexpr std::uint32_t kLongestMessage = 8 * 1024;

  ControlChannel(ControlChannel&& other) noexcept;
  ControlChannel& operator=(ControlChannel&& other) noexcept;
  ~ControlChannel();

  /// Connects to a listening peer, trying again until `patience` is over; then an environment error.
  static Result<ControlChannel> connect(const UdpEndpoint& peer, TimePs patience);

  /// The control connection of a link in shared memory, whose client has `port`.
  static ControlChannel in_shared_memory(ShmConnection connection, std::uint16_t port);

  /// From now on every message leaves sealed with `outgoing` and must come sealed with `incoming`.
  void seal(const Key& outgoing, const Key& incoming) { seal_.emplace(outgoing, incoming); }

  /// Waits at most `patience` for room in the connection; a stalled error when there is none or the peer has
  /// closed it.
  Result<void> send(std::span<const std::byte> message, TimePs patience);
  /// Waits for one message; a stalled error when the peer closes the connection or `patience` is over, an
  /// input error when the peer announces a message that is too long.
  Result<std::vector<std::byte>> receive(TimePs patience);
  /// The next message if it has arrived whole, else nothing. Never waits and takes nothing beyond that
  /// message from the connection; errors as receive().
  Result<std::optional<std::vector<std::byte>>> try_receive();

  /// True once the peer has closed or reset the connection. Never waits.
  bool peer_gone() const;
  /// Bytes of the largest IP packet that the path to the peer takes, as far as the system knows.
  std::uint32_t path_mtu() const;
  /// The peer's IPv4 address; the loopback address in shared memory.
  std::uint32_t peer_address() const { return peer_address_; }
  std::uint32_t local_address() const { return local_address_; }
  /// In shared memory: the port of the client's end, which the server chose, and the other process. Else 0.
  std::uint16_t given_port() const { return given_port_; }
  int peer_process() const { return peer_process_; }
  int descriptor() const { return descriptor_; }

 private:
  friend class ControlListener;
  explicit ControlChannel(int descriptor);
  std::uint32_t longest() const;
  /// What `message` holds; an input error when it is not what the peer sealed next.
  Result<std::vector<std::byte>> opened(std::vector<std::byte> message);

  int descriptor_;
  std::optional<MessageSeal> seal_;
  std::vector<std::byte> partial_;  ///< What try_receive() has read of a message.
  std::uint32_t peer_address_ = 0;
  std::uint32_t local_address_ = 0;
  std::uint16_t given_port_ = 0;
  int peer_process_ = 0;
};

/// Listens for control connections.
class ControlListener {
 public:
  /// A busy port is an environment error.
  static Result<ControlListener> open(const UdpEndpoint& local);
  ControlListener(ControlListener&& other) noexcept;
  ControlListener& operator=(ControlListener&&) = delete;
  ~ControlListener();

  const UdpEndpoint& local() const { return local_; }
  int descriptor() const { return descriptor_; }
  /// A connection that has arrived, or nothing. Never waits.
  std::optional<ControlChannel> accept();

 private:
  ControlListener(int descriptor, UdpEndpoint local) : descriptor_(descriptor), local_(local) {}
  int descriptor_;
  UdpEndpoint local_;
};

}  // namespace wharf::live
