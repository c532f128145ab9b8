// SPDX-License-Identifier: Apache-2.0
// A UDP socket over IPv4 for frames: non-blocking, received and sent in batches by one system call each. The
// IP identification of what it sends is zero and fragmentation is off, so that the invariant CRC of
// InfiniBand can be computed in user space; but see SocketConfig::trains.
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
  /// Frames of one length to one peer leave in one piece, which the system or the card cuts (segmentation
  /// offload), and what it has joined on arrival is cut here (receive coalescing). Not for protocols whose
  /// checksum covers the IP identification, which the system counts up within a train, nor without UDP
  /// checksums, which it then insists on.
  bool trains = false;
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
  UdpSocket(int descriptor, UdpEndpoint local, const SocketConfig& config);
  void send_queued(std::size_t count) override;
  std::size_t train_length(std::size_t first, std::size_t count) const;
  void couple(std::size_t piece, std::size_t first, std::size_t length);
  void send_singly(std::size_t piece, std::size_t first, std::size_t length);
  void land();
  std::size_t cut(std::size_t count);
  void prepare(std::size_t index);

  struct Landing;
  struct Departures;
  SocketConfig config_;
  bool cuts_ = false;   ///< The system takes trains.
  bool burst_ = false;  ///< The last receive() found something.
  /// What has landed: of the last receive(), which its caller may still read, and of this one.
  std::array<std::unique_ptr<Landing>, 2> landings_;
  std::size_t landing_ = 0;  ///< The one whose frames are handed out.
  std::unique_ptr<Departures> departures_;
};

}  // namespace wharf::live
