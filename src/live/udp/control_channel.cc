// SPDX-License-Identifier: Apache-2.0
#include "live/udp/control_channel.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "live/reactor/live_clock.h"
#include "live/shm/shm_port.h"

namespace wharf::live {
namespace {

/// Connections that the system keeps until they are accepted.
constexpr int kBacklog = 128;

sockaddr_in to_system(const UdpEndpoint& endpoint) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(endpoint.address);
  out.sin_port = htons(endpoint.port);
  return out;
}

Error peer_closed() {
  return Error{ErrorKind::kStalled, "the peer closed the connection before the exchange was complete"};
}

/// Milliseconds for poll(), at least one and at most a second.
int poll_milliseconds(TimePs span) {
  return static_cast<int>(min(max(span, milliseconds(1)), seconds(1)) / milliseconds(1));
}

Error too_long(std::uint32_t length, std::uint32_t longest) {
  return input_error(
      fmt::format("the peer announced a control message of {} bytes, expected at most {}", length, longest));
}

/// Connects `descriptor`, which does not block, before `limit`; 0 or the system's error number.
int connect_before(int descriptor, const sockaddr_in& address, const LiveClock& clock, TimePs limit) {
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  for (;;) {
    pollfd wait{descriptor, POLLOUT, 0};
    const int ready = ::poll(&wait, 1, poll_milliseconds(limit - clock.now()));
    if (ready > 0) break;
    if (clock.now() >= limit) return ETIMEDOUT;
  }
  int failure = 0;
  socklen_t size = sizeof failure;
  ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &size);
  return failure;
}

/// Reads exactly `out.size()` bytes before `limit`.
Result<void> read_fully(int descriptor, std::span<std::byte> out, const LiveClock& clock, TimePs limit) {
  while (!out.empty()) {
    const ssize_t count = ::recv(descriptor, out.data(), out.size(), MSG_DONTWAIT);
    if (count > 0) {
      out = out.subspan(static_cast<std::size_t>(count));
      continue;
    }
    if (count == 0) return peer_closed();
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return peer_closed();
    const TimePs now = clock.now();
    if (now >= limit) return Error{ErrorKind::kStalled, "the peer did not answer in time"};
    pollfd wait{descriptor, POLLIN, 0};
    ::poll(&wait, 1, poll_milliseconds(limit - now));
  }
  return {};
}

}  // namespace

ControlChannel ControlChannel::in_shared_memory(ShmConnection connection, std::uint16_t port) {
  ControlChannel out(connection.control.release());
  out.peer_address_ = out.local_address_ = kShmAddress;
  out.given_port_ = port;
  out.peer_process_ = connection.process;
  return out;
}

ControlChannel::ControlChannel(int descriptor) : descriptor_(descriptor) {
  const int on = 1;
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    peer_address_ = ntohl(address.sin_addr.s_addr);
  }
  size = sizeof address;
  if (::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    local_address_ = ntohl(address.sin_addr.s_addr);
  }
}

ControlChannel::ControlChannel(ControlChannel&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      seal_(std::move(other.seal_)),
      partial_(std::move(other.partial_)),
      peer_address_(other.peer_address_),
      local_address_(other.local_address_),
      given_port_(other.given_port_),
      peer_process_(other.peer_process_) {}

ControlChannel& ControlChannel::operator=(ControlChannel&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  seal_ = std::move(other.seal_);
  partial_ = std::move(other.partial_);
  peer_address_ = other.peer_address_;
  local_address_ = other.local_address_;
  given_port_ = other.given_port_;
  peer_process_ = other.peer_process_;
  return *this;
}

ControlChannel::~ControlChannel() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<ControlChannel> ControlChannel::connect(const UdpEndpoint& peer, TimePs patience) {
  const LiveClock clock;
  const sockaddr_in address = to_system(peer);
  for (;;) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
      return Error{ErrorKind::kEnvironment,
                   fmt::format("no TCP socket can be opened: {}", std::strerror(errno))};
    }
    const int failure = connect_before(descriptor, address, clock, patience);
    if (failure == 0) return ControlChannel(descriptor);
    ::close(descriptor);
    if (clock.now() >= patience) {
      return Error{ErrorKind::kEnvironment,
                   fmt::format("{} cannot be reached: {}; is `wharf serve` running there?",
                               format_endpoint(peer), std::strerror(failure))};
    }
    ::poll(nullptr, 0, 50);
  }
}

std::uint32_t ControlChannel::longest() const { return kLongestMessage + (seal_ ? kSealTagBytes : 0U); }

Result<std::vector<std::byte>> ControlChannel::opened(std::vector<std::byte> message) {
  if (!seal_) return message;
  auto plain = seal_->open(message);
  if (!plain) return input_error("a control message was not sealed by the peer, or changed on its way");
  return *std::move(plain);
}

Result<void> ControlChannel::send(std::span<const std::byte> message, TimePs patience) {
  const LiveClock clock;
  WHARF_CHECK(message.size() <= kLongestMessage);
  std::vector<std::byte> sealed;
  if (seal_) {
    sealed = seal_->seal(message);
    message = sealed;
  }
  std::vector<std::byte> framed(4 + message.size());
  store_be32(framed.data(), static_cast<std::uint32_t>(message.size()));
  if (!message.empty()) std::memcpy(framed.data() + 4, message.data(), message.size());
  std::span<const std::byte> rest = framed;
  while (!rest.empty()) {
    const ssize_t count = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      const TimePs now = clock.now();
      if (now >= patience) return Error{ErrorKind::kStalled, "the peer does not read its control messages"};
      pollfd wait{descriptor_, POLLOUT, 0};
      ::poll(&wait, 1, poll_milliseconds(patience - now));
      continue;
    }
    if (count <= 0) return peer_closed();
    rest = rest.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::vector<std::byte>> ControlChannel::receive(TimePs patience) {
  const LiveClock clock;
  std::array<std::byte, 4> head{};
  WHARF_TRY(read_fully(descriptor_, head, clock, patience));
  const std::uint32_t length = load_be32(head.data());
  if (length > longest()) return too_long(length, longest());
  std::vector<std::byte> message(length);
  WHARF_TRY(read_fully(descriptor_, message, clock, patience));
  return opened(std::move(message));
}

Result<std::optional<std::vector<std::byte>>> ControlChannel::try_receive() {
  for (;;) {
    std::size_t wanted = 4;
    if (partial_.size() >= 4) {
      const std::uint32_t length = load_be32(partial_.data());
      if (length > longest()) return too_long(length, longest());
      wanted += length;
      if (partial_.size() == wanted) {
        auto message = opened(std::vector<std::byte>(partial_.begin() + 4, partial_.end()));
        partial_.clear();
        if (!message) return message.error();
        return std::optional(*std::move(message));
      }
    }
    const std::size_t held = partial_.size();
    partial_.resize(wanted);
    const ssize_t count = ::recv(descriptor_, partial_.data() + held, wanted - held, MSG_DONTWAIT);
    const int failure = errno;
    partial_.resize(held + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count > 0 || (count < 0 && failure == EINTR)) continue;
    if (count < 0 && failure == EAGAIN) return std::optional<std::vector<std::byte>>();
    return peer_closed();
  }
}

std::uint32_t ControlChannel::path_mtu() const {
  if (given_port_ != 0) return DatagramPort::kFrameBytes;
  int bytes = 0;
  socklen_t size = sizeof bytes;
  if (::getsockopt(descriptor_, IPPROTO_IP, IP_MTU, &bytes, &size) != 0 || bytes <= 0) return 1500;
  return static_cast<std::uint32_t>(bytes);
}

bool ControlChannel::peer_gone() const {
  // What it said before it closed may still wait to be read.
  pollfd wait{descriptor_, POLLRDHUP, 0};
  if (::poll(&wait, 1, 0) < 0) return false;
  return (static_cast<unsigned>(wait.revents) & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

Result<ControlListener> ControlListener::open(const UdpEndpoint& local) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    return Error{ErrorKind::kEnvironment,
                 fmt::format("no TCP socket can be opened: {}", std::strerror(errno))};
  }
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = to_system(local);
  socklen_t size = sizeof address;
  if (::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(descriptor, kBacklog) != 0 ||
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const Error error{ErrorKind::kEnvironment,
                      fmt::format("TCP {} cannot be used: {}; another port may be free",
                                  format_endpoint(local), std::strerror(errno))};
    ::close(descriptor);
    return error;
  }
  return ControlListener(descriptor, {ntohl(address.sin_addr.s_addr), ntohs(address.sin_port)});
}

ControlListener::ControlListener(ControlListener&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), local_(other.local_) {}

ControlListener::~ControlListener() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<ControlChannel> ControlListener::accept() {
  const int descriptor = ::accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  return ControlChannel(descriptor);
}

}  // namespace wharf::live
