// SPDX-License-Identifier: Apache-2.0
#include "live/udp/udp_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace wharf::live {
namespace {

constexpr int kSocketBufferBytes = 4 * 1024 * 1024;

sockaddr_in to_system(const UdpEndpoint& endpoint) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(endpoint.address);
  out.sin_port = htons(endpoint.port);
  return out;
}

UdpEndpoint from_system(const sockaddr_in& in) { return {ntohl(in.sin_addr.s_addr), ntohs(in.sin_port)}; }

}  // namespace

std::string format_endpoint(const UdpEndpoint& endpoint) {
  return fmt::format("{}.{}.{}.{}:{}", endpoint.address >> 24U, (endpoint.address >> 16U) & 0xffU,
                     (endpoint.address >> 8U) & 0xffU, endpoint.address & 0xffU, endpoint.port);
}

Result<UdpEndpoint> parse_endpoint(const std::string& text, std::uint16_t port) {
  const auto colon = text.find(':');
  const std::string host = text.substr(0, colon);
  in_addr address{};
  if (::inet_pton(AF_INET, host.c_str(), &address) != 1) {
    return input_error(
        fmt::format("\"{}\" is no IPv4 address, expected one such as 127.0.0.1 or 127.0.0.1:4792", text));
  }
  if (colon != std::string::npos) {
    const std::string_view digits = std::string_view(text).substr(colon + 1);
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (status != std::errc{} || end != digits.data() + digits.size()) {
      return input_error(
          fmt::format("\"{}\" has no valid port, expected a number from 0 to 65535 after the colon", text));
    }
  }
  return UdpEndpoint{ntohl(address.s_addr), port};
}

struct UdpSocket::Buffers {
  std::array<std::array<std::byte, kFrameBytes>, kBatch> incoming;
  std::array<std::array<std::byte, kFrameBytes>, kBatch> outgoing;
  std::array<iovec, kBatch> incoming_vectors;
  std::array<iovec, kBatch> outgoing_vectors;
  std::array<sockaddr_in, kBatch> sources;
  std::array<sockaddr_in, kBatch> targets;
  std::array<mmsghdr, kBatch> incoming_headers;
  std::array<mmsghdr, kBatch> outgoing_headers;
};

UdpSocket::UdpSocket(int descriptor, UdpEndpoint local)
    : descriptor_(descriptor), local_(local), buffers_(std::make_unique<Buffers>()) {
  Buffers& b = *buffers_;
  for (std::size_t i = 0; i < kBatch; ++i) {
    b.incoming_vectors[i] = {b.incoming[i].data(), kFrameBytes};
    b.outgoing_vectors[i] = {b.outgoing[i].data(), 0};
    b.incoming_headers[i] = {};
    b.incoming_headers[i].msg_hdr.msg_iov = &b.incoming_vectors[i];
    b.incoming_headers[i].msg_hdr.msg_iovlen = 1;
    b.incoming_headers[i].msg_hdr.msg_name = &b.sources[i];
    b.outgoing_headers[i] = {};
    b.outgoing_headers[i].msg_hdr.msg_iov = &b.outgoing_vectors[i];
    b.outgoing_headers[i].msg_hdr.msg_iovlen = 1;
    b.outgoing_headers[i].msg_hdr.msg_name = &b.targets[i];
    b.outgoing_headers[i].msg_hdr.msg_namelen = sizeof(sockaddr_in);
  }
}

Result<UdpSocket> UdpSocket::open(const UdpEndpoint& local) {
  const int descriptor = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    return Error{ErrorKind::kEnvironment,
                 fmt::format("no UDP socket can be opened: {}", std::strerror(errno))};
  }
  const int discover = IP_PMTUDISC_DO;
  ::setsockopt(descriptor, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover);
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kSocketBufferBytes, sizeof kSocketBufferBytes);
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &kSocketBufferBytes, sizeof kSocketBufferBytes);
  sockaddr_in address = to_system(local);
  socklen_t size = sizeof address;
  if (::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const Error error{ErrorKind::kEnvironment,
                      fmt::format("UDP {} cannot be used: {}; another port may be free",
                                  format_endpoint(local), std::strerror(errno))};
    ::close(descriptor);
    return error;
  }
  return UdpSocket(descriptor, from_system(address));
}

UdpSocket::UdpSocket(UdpSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      local_(other.local_),
      queued_(other.queued_),
      burst_(other.burst_),
      dropped_by_kernel_(other.dropped_by_kernel_),
      datagrams_(other.datagrams_),
      buffers_(std::move(other.buffers_)) {}

UdpSocket::~UdpSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t UdpSocket::receive() {
  // One datagram is cheaper to take alone; a batch pays when the last call found something too.
  const std::size_t count = burst_ ? receive_batch() : receive_one();
  burst_ = count != 0;
  return count;
}

std::size_t UdpSocket::receive_one() {
  Buffers& b = *buffers_;
  socklen_t size = sizeof(sockaddr_in);
  const ssize_t length = ::recvfrom(descriptor_, b.incoming[0].data(), kFrameBytes, MSG_DONTWAIT | MSG_TRUNC,
                                    reinterpret_cast<sockaddr*>(&b.sources[0]), &size);
  if (length < 0) return 0;
  set_datagram(0, static_cast<std::size_t>(length), static_cast<std::size_t>(length) > kFrameBytes);
  return 1;
}

std::size_t UdpSocket::receive_batch() {
  Buffers& b = *buffers_;
  for (mmsghdr& header : b.incoming_headers) header.msg_hdr.msg_namelen = sizeof(sockaddr_in);
  const int count = ::recvmmsg(descriptor_, b.incoming_headers.data(), kBatch, MSG_DONTWAIT, nullptr);
  if (count <= 0) return 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const mmsghdr& header = b.incoming_headers[i];
    set_datagram(i, header.msg_len, (header.msg_hdr.msg_flags & MSG_TRUNC) != 0);
  }
  return static_cast<std::size_t>(count);
}

void UdpSocket::set_datagram(std::size_t index, std::size_t length, bool truncated) {
  Buffers& b = *buffers_;
  datagrams_[index] = {from_system(b.sources[index]),
                       std::span(b.incoming[index]).first(truncated ? 0 : length)};
}

std::span<std::byte> UdpSocket::queue(const UdpEndpoint& to) {
  if (queued_ == kBatch) flush();
  Buffers& b = *buffers_;
  b.targets[queued_] = to_system(to);
  return b.outgoing[queued_++];
}

void UdpSocket::set_queued_length(std::size_t length) {
  buffers_->outgoing_vectors[queued_ - 1].iov_len = length;
}

void UdpSocket::flush() {
  Buffers& b = *buffers_;
  std::size_t sent = 0;
  while (sent < queued_) {
    const int count =
        ::sendmmsg(descriptor_, b.outgoing_headers.data() + sent, static_cast<unsigned>(queued_ - sent), 0);
    if (count <= 0) {
      if (count < 0 && errno == EINTR) continue;
      ++dropped_by_kernel_;  // The first one failed: the network lost it.
      ++sent;
      continue;
    }
    sent += static_cast<std::size_t>(count);
  }
  queued_ = 0;
}

}  // namespace wharf::live
