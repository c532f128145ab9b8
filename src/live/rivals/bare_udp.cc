// SPDX-License-Identifier: Apache-2.0
#include "live/rivals/bare_udp.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "base/check.h"
#include "live/reactor/live_clock.h"

namespace wharf::live {
namespace {

/// How long an end waits before it looks whether it has been stopped, or whether its datagram is lost.
constexpr TimePs kPatience = milliseconds(100);
constexpr int kLossesMost = 20;

class Socket {
 public:
  static Result<Socket> open() {
    Socket made(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof made.own_;
    const timeval patience{0, kPatience.ps / 1'000'000};
    if (made.descriptor_ < 0 ||
        ::bind(made.descriptor_, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
        ::getsockname(made.descriptor_, reinterpret_cast<sockaddr*>(&made.own_), &length) != 0 ||
        ::setsockopt(made.descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
      return Error{ErrorKind::kEnvironment, fmt::format("a bare UDP socket: {}", std::strerror(errno))};
    return made;
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), own_(other.own_) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  /// Takes datagrams of this one alone from now on, and sends to it.
  bool connect(const Socket& to) const {
    return ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&to.own_), sizeof to.own_) == 0;
  }
  void send(std::vector<std::byte>& bytes, std::uint32_t length) const {
    static_cast<void>(::send(descriptor_, bytes.data(), length, 0));
  }
  /// False: none came in time, or `stop` was set.
  bool receive(std::vector<std::byte>& into, bool spins, const std::atomic<bool>& stop) const {
    if (!spins) return ::recv(descriptor_, into.data(), into.size(), 0) >= 0;
    const LiveClock clock;
    while (::recv(descriptor_, into.data(), into.size(), MSG_DONTWAIT) < 0) {
      if (stop.load(std::memory_order_relaxed) || clock.now() > kPatience) return false;
    }
    return true;
  }

 private:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
  sockaddr_in own_{};
};

}  // namespace

Result<Histogram> bare_udp_trips(const BareUdpRun& run, const std::atomic<bool>& stop) {
  WHARF_CHECK(run.there >= 1 && run.there <= kBareUdpMost && run.back >= 1 && run.back <= kBareUdpMost);
  auto near = Socket::open();
  if (!near) return near.error();
  auto far = Socket::open();
  if (!far) return far.error();
  if (!near->connect(*far) || !far->connect(*near))
    return Error{ErrorKind::kEnvironment, fmt::format("a bare UDP socket: {}", std::strerror(errno))};
  std::atomic<bool> done{false};
  std::thread echo([&] {
    std::vector<std::byte> bytes(std::max(run.there, run.back));
    while (!done.load(std::memory_order_relaxed)) {
      if (far->receive(bytes, run.spins, done)) far->send(bytes, run.back);
    }
  });
  Histogram trips;
  std::vector<std::byte> bytes(std::max(run.there, run.back));
  const LiveClock clock;
  int losses = 0;
  for (std::uint64_t trip = 0; trip < run.warm_up + run.trips && losses < kLossesMost;) {
    if (stop.load(std::memory_order_relaxed)) break;
    // The answer carries the number of the question: one that was only late answers no later one.
    const auto number = static_cast<std::byte>((trip + static_cast<std::uint64_t>(losses)) & 0xffU);
    bytes[0] = number;
    const TimePs begin = clock.now();
    near->send(bytes, run.there);
    bool came = near->receive(bytes, run.spins, stop);
    while (came && bytes[0] != number) came = near->receive(bytes, run.spins, stop);
    if (!came) {
      ++losses;
      continue;
    }
    losses = 0;
    if (trip++ >= run.warm_up) trips.record((clock.now() - begin).ps);
  }
  done = true;
  echo.join();
  if (losses == kLossesMost)
    return Error{ErrorKind::kStalled,
                 fmt::format("bare UDP: {} datagrams in a row did not come back", losses)};
  return trips;
}

}  // namespace wharf::live
