// SPDX-License-Identifier: Apache-2.0
// A UDP socket over IPv4 for frames: non-blocking, received and sent in batches. The IP identification of
// what it sends is zero and fragmentation is off, so that the invariant CRC of RoCE can be computed in user
// space.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace wharf::live {

/// IPv4 address and port, host byte order.
struct UdpEndpoint {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  bool operator==(const UdpEndpoint&) const = default;
};

/// "127.0.0.1:4792"
std::string format_endpoint(const UdpEndpoint& endpoint);
/// Reads "127.0.0.1" or "127.0.0.1:4792"; `port` is used when none is given.
Result<UdpEndpoint> parse_endpoint(const std::string& text, std::uint16_t port);

/// Bytes of the largest IP packet of the interface with this address; of 0.0.0.0: of the interface that
/// carries least. 1500 when the system does not know.
std::uint32_t interface_mtu(std::uint32_t address);

/// What a protocol wants of its sockets.
struct SocketConfig {
  bool udp_checksum = true;    ///< False: 0 is sent, for protocols with a checksum of their own.
  bool service_field = false;  ///< The TOS byte of each datagram is chosen, and seen.
};

class UdpSocket {
 public:
  static constexpr std::size_t kBatch = 32;
  static constexpr std::size_t kFrameBytes = 9216;

  /// Opens and binds; port 0 lets the system choose. A busy port or missing right is an environment error.
  static Result<UdpSocket> open(const UdpEndpoint& local, const SocketConfig& config = {});
  UdpSocket(UdpSocket&& other) noexcept;
  UdpSocket& operator=(UdpSocket&&) = delete;
  ~UdpSocket();

  int descriptor() const { return descriptor_; }
  const UdpEndpoint& local() const { return local_; }

  /// One datagram; `bytes` stays valid until the next receive() and is empty when it was longer than
  /// kFrameBytes.
  struct Datagram {
    UdpEndpoint source;
    std::span<std::byte> bytes;
    std::uint8_t service = 0;  ///< TOS; 0 unless SocketConfig::service_field.
  };
  /// Takes up to kBatch datagrams that have arrived; the count.
  std::size_t receive();
  const Datagram& datagram(std::size_t index) const { return datagrams_[index]; }

  /// Room for one datagram to `to`, sent at the next flush(). Flushes by itself when the batch is full.
  /// `service` is its TOS byte, if the socket has that.
  std::span<std::byte> queue(const UdpEndpoint& to, std::uint8_t service = 0);
  /// Sets the length of the datagram queued last.
  void set_queued_length(std::size_t length);
  /// Sends what is queued. Datagrams that the kernel has no room for are dropped, as a network would.
  void flush();

  std::uint64_t dropped_by_kernel() const { return dropped_by_kernel_; }

 private:
  UdpSocket(int descriptor, UdpEndpoint local, bool service_field);
  std::size_t receive_one();
  std::size_t receive_batch();
  void set_datagram(std::size_t index, std::size_t length, bool truncated);
  void prepare(std::size_t index);

  struct Buffers;
  int descriptor_;
  UdpEndpoint local_;
  bool service_field_;
  std::size_t queued_ = 0;
  bool burst_ = false;  ///< The last receive() found something.
  std::uint64_t dropped_by_kernel_ = 0;
  std::array<Datagram, kBatch> datagrams_{};
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace wharf::live
