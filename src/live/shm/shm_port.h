// SPDX-License-Identifier: Apache-2.0
// Frames over links in shared memory: one link at a client, one for each client at a server. An end is named
// as a UDP socket of the loopback interface would be: the server has the protocol's port, clients have ports
// that the server gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "live/reactor/datagram_port.h"
#include "live/reactor/live_clock.h"
#include "live/shm/shared_link.h"

namespace wharf::live {

inline constexpr std::uint32_t kShmAddress = 0x7f000001;
/// The first of the ports that a server gives to clients, and how many there are. [RFC 6335 6: dynamic ports]
inline constexpr std::uint16_t kShmFirstClientPort = 49'152;
inline constexpr std::uint16_t kShmClientPorts = 4'096;

class ShmPort final : public DatagramPort {
 public:
  /// `local_port`: its own. The ports of the others begin at `first_remote`.
  static Result<std::unique_ptr<ShmPort>> create(std::uint16_t local_port, std::uint16_t first_remote);

  /// The lowest port that has no link, if one may still be added. Control path, as what follows.
  std::optional<std::uint16_t> free_port() const;
  /// `port` is reached over `link` from now on. An environment error when the system has no room to wait for
  /// it.
  Result<void> add(std::uint16_t port, SharedLink link);
  void remove(std::uint16_t port);

  std::size_t receive() override;
  bool prepare_wait() override;
  void waited() override;

 private:
  /// How the way to the other side is. A link that is crowded holds the port's sending back. Where there are
  /// others it does so for kPatience; then what has no room is dropped, until half of its ring is empty.
  enum class Way : std::uint8_t { kFree, kCrowded, kGivenUp };
  static constexpr TimePs kPatience = microseconds(200);

  struct Link {
    UdpEndpoint remote;
    SharedLink shared;
    bool taken = false;    ///< From its reader, since the last receive().
    bool written = false;  ///< To its writer, in this batch.
    Way way = Way::kFree;
    TimePs crowded_since{};
  };

  ShmPort(Descriptor waits, std::uint16_t local_port, std::uint16_t first_remote);
  void send_queued(std::size_t count) override;
  bool is_full() override;
  bool holds_back(Link& link);
  std::size_t take_from(Link& link, std::size_t at, std::size_t most);
  Link* find(const UdpEndpoint& to) const;
  void stop_waiting_for(const Link& link) const;

  Descriptor waits_;  ///< An epoll of all doorbells.
  LiveClock clock_;
  std::uint16_t first_remote_;
  std::vector<std::unique_ptr<Link>> by_port_;
  std::vector<Link*> links_;
  std::size_t next_ = 0;  ///< In links_: whose turn it is.
};

}  // namespace wharf::live
