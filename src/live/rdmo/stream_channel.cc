// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/stream_channel.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "live/reactor/host_name.h"
#include "live/reactor/live_clock.h"

namespace wharf::live {
namespace {

constexpr std::size_t kLengthBytes = 8;
/// No message of either protocol is longer; who says so is no peer.
constexpr std::uint64_t kMessageBytesMax = 4096;
/// What a peer that does not read may leave unsent.
constexpr std::size_t kUnsentMax = 1U << 20U;
constexpr std::size_t kUntakenMax = 64U << 10U;

Error system_error(const std::string& what) {
  return {ErrorKind::kEnvironment, fmt::format("{}: {}", what, std::strerror(errno))};
}

Result<sockaddr_in> system_address(const StreamAddress& address) {
  const auto found = find_host(address.host);
  if (!found) return found.error();
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(address.port);
  result.sin_addr.s_addr = htonl(*found);
  return result;
}

/// Whether `descriptor` becomes ready before `clock` shows `end`.
bool wait_until(int descriptor, short events, const LiveClock& clock, TimePs end) {
  constexpr std::int64_t kPsPerMs = 1'000'000'000;
  for (;;) {
    const std::int64_t left = (end - clock.now()).ps;
    if (left <= 0) return false;
    pollfd wait{descriptor, events, 0};
    const auto step = static_cast<int>(std::min<std::int64_t>(left / kPsPerMs + 1, 60'000));
    const int ready = ::poll(&wait, 1, step);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace

Result<StreamAddress> parse_stream_address(const std::string& text, std::uint16_t default_port) {
  StreamAddress address;
  address.port = default_port;
  const std::size_t colon = text.find(':');
  if (colon != 0 && !text.empty()) address.host = text.substr(0, colon);
  if (address.host == "localhost") address.host = "127.0.0.1";
  if (colon != std::string::npos) {
    const char* first = text.data() + colon + 1;
    const auto [end, error] = std::from_chars(first, text.data() + text.size(), address.port);
    if (error != std::errc{} || end != text.data() + text.size())
      return input_error(fmt::format("found {}, expected HOST:PORT such as 127.0.0.1:18515", text));
  }
  auto checked = system_address(address);
  if (!checked) return checked.error();
  return address;
}

StreamChannel::StreamChannel(int descriptor) : descriptor_(descriptor) {
  if (descriptor < 0) return;
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
StreamChannel::StreamChannel(StreamChannel&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)) {}
StreamChannel& StreamChannel::operator=(StreamChannel&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(in_, other.in_);
  std::swap(out_, other.out_);
  return *this;
}
StreamChannel::~StreamChannel() { close(); }

void StreamChannel::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Result<StreamChannel> StreamChannel::connect(const StreamAddress& address, TimePs patience) {
  const auto where = [&] { return fmt::format("connecting to {}:{}", address.host, address.port); };
  auto to = system_address(address);
  if (!to) return input_error(where() + ": " + to.error().message);
  StreamChannel channel(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!channel.open()) return system_error("socket");
  if (::connect(channel.descriptor_, reinterpret_cast<const sockaddr*>(&*to), sizeof *to) == 0)
    return channel;
  // It goes on by itself, after a signal, too.
  if (errno != EINPROGRESS && errno != EINTR) return system_error(where());
  if (!wait_until(channel.descriptor_, POLLOUT, LiveClock(), patience))
    return Error{ErrorKind::kStalled, where() + ": no answer in time"};
  int failure = 0;
  socklen_t size = sizeof failure;
  if (::getsockopt(channel.descriptor_, SOL_SOCKET, SO_ERROR, &failure, &size) == 0) errno = failure;
  if (errno != 0) return system_error(where());
  return channel;
}

void StreamChannel::write(std::span<const std::byte> message) {
  if (!open()) return;
  std::byte length[kLengthBytes];
  store_le64(length, message.size());
  out_.insert(out_.end(), length, length + kLengthBytes);
  out_.insert(out_.end(), message.begin(), message.end());
  progress();
}

void StreamChannel::progress() {
  while (open() && !out_.empty()) {
    const ssize_t done = ::send(descriptor_, out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done > 0) {
      out_.erase(out_.begin(), out_.begin() + done);
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) close();
    break;
  }
  if (out_.size() > kUnsentMax) close();
  // What nobody takes stays with its sender.
  while (open() && in_.size() < kUntakenMax) {
    std::byte buffer[4096];
    const ssize_t done = ::recv(descriptor_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (done > 0) {
      in_.insert(in_.end(), buffer, buffer + done);
      continue;
    }
    if (done == 0 || (errno != EAGAIN && errno != EINTR)) close();
    return;
  }
}

bool StreamChannel::take(std::vector<std::byte>& message) {
  if (in_.size() < kLengthBytes) return false;
  const std::uint64_t length = load_le64(in_.data());
  if (length > kMessageBytesMax) {
    in_.clear();
    close();
    return false;
  }
  if (in_.size() - kLengthBytes < length) return false;
  const auto first = in_.begin() + kLengthBytes;
  const auto last = first + static_cast<std::ptrdiff_t>(length);
  message.assign(first, last);
  in_.erase(in_.begin(), last);
  return true;
}

bool StreamChannel::wait_for(std::vector<std::byte>& message, TimePs patience) {
  const LiveClock clock;
  for (;;) {
    progress();
    if (take(message)) return true;
    if (!open() || !wait_until(descriptor_, POLLIN, clock, patience)) return false;
  }
}

StreamListener::StreamListener(StreamListener&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), port_(other.port_) {}
StreamListener& StreamListener::operator=(StreamListener&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  port_ = other.port_;
  return *this;
}
StreamListener::~StreamListener() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<StreamListener> StreamListener::listen(const StreamAddress& address) {
  auto at = system_address(address);
  if (!at) return input_error("listening: " + at.error().message);
  StreamListener listener;
  listener.descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener.descriptor_ < 0) return system_error("socket");
  const int on = 1;
  ::setsockopt(listener.descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  socklen_t size = sizeof *at;
  if (::bind(listener.descriptor_, reinterpret_cast<const sockaddr*>(&*at), size) != 0 ||
      ::listen(listener.descriptor_, 64) != 0 ||
      ::getsockname(listener.descriptor_, reinterpret_cast<sockaddr*>(&*at), &size) != 0)
    return system_error(fmt::format("listening on {}:{}", address.host, address.port));
  listener.port_ = ntohs(at->sin_port);
  return listener;
}

StreamChannel StreamListener::accept() {
  const int descriptor = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
  exhausted_ = descriptor < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  return StreamChannel(descriptor);
}

}  // namespace wharf::live
