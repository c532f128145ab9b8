// SPDX-License-Identifier: Apache-2.0
// A UDP socket over IPv4 for frames: non-blocking, received and sent in batches by one system call each. The
// IP identification of what it sends is zero and fragmentation is off, so that the invariant CRC of
// InfiniBand can be computed in user space.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "live/reactor/datagram_port.h"

namespace wharf::live {

/// "127.0.0.1:4792"
std::string format_endpoint(const UdpEndpoint& endpoint);
/// Reads "127.0.0.1", "127.0.0.1:4792" or a name in place of the address (find_host()); `port` is used when
/// none is given.
Result<UdpEndpoint> parse_endpoint(const std::string& text, std::uint16_t port);

/// Bytes of the largest IP packet of the interface with this address; of 0.0.0.0: of the interface that
/// carries least. 1500 when the system does not know.
std::uint32_t interface_mtu(std::uint32_t address);

/// What a protocol wants of its sockets.
struct SocketConfig {
  bool udp_checksum = true;    ///< False: 0 is sent, for protocols with a checksum of their own.
  bool service_field = false;  ///< The TOS byte of each datagram is chosen, and seen.
};

class UdpSocket final : public DatagramPort {
 public:
  /// Opens and binds; port 0 lets the system choose. A busy port or missing right is an environment error.
  static Result<UdpSocket> open(const UdpEndpoint& local, const SocketConfig& config = {});
  UdpSocket(UdpSocket&& other) noexcept;
  UdpSocket& operator=(UdpSocket&&) = delete;
  ~UdpSocket() override;

  std::size_t receive() override;

 private:
  UdpSocket(int descriptor, UdpEndpoint local, bool service_field);
  void send_queued(std::size_t count) override;
  std::size_t receive_one();
  std::size_t receive_batch();
  void set_datagram(std::size_t index, std::size_t length, bool truncated);
  void prepare(std::size_t index);

  struct Buffers;
  bool service_field_;
  bool burst_ = false;  ///< The last receive() found something.
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace wharf::live
