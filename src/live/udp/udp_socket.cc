// SPDX-License-Identifier: Apache-2.0
#include "live/udp/udp_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "live/reactor/host_name.h"

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
  // An IPv6 address has more colons, and is told as a whole what it is.
  const auto colon = text.find(':') == text.rfind(':') ? text.find(':') : std::string::npos;
  const auto closed = text.starts_with('[') ? text.find(']') : std::string::npos;
  const auto address =
      find_host(closed == std::string::npos ? text.substr(0, colon) : text.substr(1, closed - 1));
  if (!address) return address.error();
  if (colon != std::string::npos) {
    const std::string_view digits = std::string_view(text).substr(colon + 1);
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (status != std::errc{} || end != digits.data() + digits.size()) {
      return input_error(
          fmt::format("\"{}\" has no valid port, expected a number from 0 to 65535 after the colon", text));
    }
  }
  return UdpEndpoint{*address, port};
}

std::uint32_t interface_mtu(std::uint32_t address) {
  constexpr std::uint32_t kUnknown = 1500;
  ifaddrs* first = nullptr;
  const int descriptor = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0 || ::getifaddrs(&first) != 0) {
    if (descriptor >= 0) ::close(descriptor);
    return kUnknown;
  }
  std::uint32_t least = 0;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    const std::uint32_t own = from_system(*reinterpret_cast<const sockaddr_in*>(each->ifa_addr)).address;
    // All of 127.0.0.0/8 is the loopback interface.
    const bool same = own == address || (own >> 24U == 127 && address >> 24U == 127);
    if (address != 0 && !same) continue;
    ifreq request{};
    std::strncpy(request.ifr_name, each->ifa_name, IFNAMSIZ - 1);
    if (::ioctl(descriptor, SIOCGIFMTU, &request) != 0 || request.ifr_mtu <= 0) continue;
    const auto bytes = static_cast<std::uint32_t>(request.ifr_mtu);
    least = least == 0 ? bytes : std::min(least, bytes);
  }
  ::freeifaddrs(first);
  ::close(descriptor);
  return least == 0 ? kUnknown : least;
}

namespace {

/// Room for the TOS byte beside a datagram, as the system passes it: a byte in, an integer out.
struct alignas(cmsghdr) ServiceField {
  std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes;
};

/// What came beside a datagram.
std::uint8_t service_of(msghdr& header) {
  for (const cmsghdr* field = CMSG_FIRSTHDR(&header); field != nullptr;
       field = CMSG_NXTHDR(&header, const_cast<cmsghdr*>(field))) {
    if (field->cmsg_level == IPPROTO_IP && field->cmsg_type == IP_TOS) return *CMSG_DATA(field);
  }
  return 0;
}

void write_service(ServiceField& room, std::uint8_t service) {
  auto* field = reinterpret_cast<cmsghdr*>(room.bytes.data());
  field->cmsg_level = IPPROTO_IP;
  field->cmsg_type = IP_TOS;
  field->cmsg_len = CMSG_LEN(sizeof(int));
  const int value = service;
  std::memcpy(CMSG_DATA(field), &value, sizeof value);
}

}  // namespace

struct UdpSocket::Buffers {
  std::array<std::array<std::byte, kFrameBytes>, kBatch> incoming;
  std::array<iovec, kBatch> incoming_vectors;
  std::array<iovec, kBatch> outgoing_vectors;
  std::array<sockaddr_in, kBatch> sources;
  std::array<sockaddr_in, kBatch> targets;
  std::array<mmsghdr, kBatch> incoming_headers;
  std::array<mmsghdr, kBatch> outgoing_headers;
  std::array<ServiceField, kBatch> incoming_services;
  std::array<ServiceField, kBatch> outgoing_services;
};

UdpSocket::UdpSocket(int descriptor, UdpEndpoint local, bool service_field)
    : DatagramPort(descriptor, local), service_field_(service_field), buffers_(std::make_unique<Buffers>()) {
  Buffers& b = *buffers_;
  for (std::size_t i = 0; i < kBatch; ++i) {
    b.incoming_vectors[i] = {b.incoming[i].data(), kFrameBytes};
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

Result<UdpSocket> UdpSocket::open(const UdpEndpoint& local, const SocketConfig& config) {
  const int descriptor = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    return Error{ErrorKind::kEnvironment,
                 fmt::format("no UDP socket can be opened: {}", std::strerror(errno))};
  }
  const int discover = IP_PMTUDISC_DO;
  ::setsockopt(descriptor, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover);
  const int on = 1;
  if (!config.udp_checksum) ::setsockopt(descriptor, SOL_SOCKET, SO_NO_CHECK, &on, sizeof on);
  if (config.service_field) ::setsockopt(descriptor, IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kSocketBufferBytes, sizeof kSocketBufferBytes);
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &kSocketBufferBytes, sizeof kSocketBufferBytes);
  sockaddr_in address = to_system(local);
  socklen_t size = sizeof address;
  if (::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const int reason = errno;
    const Error error{ErrorKind::kEnvironment,
                      fmt::format("UDP {} cannot be used: {}; another port may be free",
                                  format_endpoint(local), std::strerror(reason))};
    ::close(descriptor);
    errno = reason;
    return error;
  }
  Descriptor owner(descriptor);  // Its buffers may find no memory.
  UdpSocket made(descriptor, from_system(address), config.service_field);
  owner.release();
  return made;
}

UdpSocket::UdpSocket(UdpSocket&& other) noexcept
    : DatagramPort(std::move(other)),
      service_field_(other.service_field_),
      burst_(other.burst_),
      buffers_(std::move(other.buffers_)) {
  other.descriptor_ = -1;
}

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
  ssize_t length = 0;
  if (service_field_) {
    prepare(0);
    length = ::recvmsg(descriptor_, &b.incoming_headers[0].msg_hdr, MSG_DONTWAIT | MSG_TRUNC);
  } else {
    socklen_t size = sizeof(sockaddr_in);
    length = ::recvfrom(descriptor_, b.incoming[0].data(), kFrameBytes, MSG_DONTWAIT | MSG_TRUNC,
                        reinterpret_cast<sockaddr*>(&b.sources[0]), &size);
  }
  if (length < 0) return 0;
  set_datagram(0, static_cast<std::size_t>(length), static_cast<std::size_t>(length) > kFrameBytes);
  return 1;
}

std::size_t UdpSocket::receive_batch() {
  Buffers& b = *buffers_;
  for (std::size_t i = 0; i < kBatch; ++i) prepare(i);
  const int count = ::recvmmsg(descriptor_, b.incoming_headers.data(), kBatch, MSG_DONTWAIT, nullptr);
  if (count <= 0) return 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const mmsghdr& header = b.incoming_headers[i];
    set_datagram(i, header.msg_len, (header.msg_hdr.msg_flags & MSG_TRUNC) != 0);
  }
  return static_cast<std::size_t>(count);
}

/// The system has written lengths into the header of the datagram before.
void UdpSocket::prepare(std::size_t index) {
  msghdr& header = buffers_->incoming_headers[index].msg_hdr;
  header.msg_namelen = sizeof(sockaddr_in);
  if (!service_field_) return;
  header.msg_control = &buffers_->incoming_services[index];
  header.msg_controllen = sizeof(ServiceField);
}

void UdpSocket::set_datagram(std::size_t index, std::size_t length, bool truncated) {
  Buffers& b = *buffers_;
  datagrams_[index] = {from_system(b.sources[index]),
                       std::span(b.incoming[index]).first(truncated ? 0 : length),
                       service_field_ ? service_of(b.incoming_headers[index].msg_hdr) : std::uint8_t{0}};
}

void UdpSocket::send_queued(std::size_t count) {
  Buffers& b = *buffers_;
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<std::byte> frame = outgoing_frame(i);
    b.targets[i] = to_system(outgoing(i).to);
    b.outgoing_vectors[i] = {frame.data(), frame.size()};
    if (!service_field_) continue;
    write_service(b.outgoing_services[i], outgoing(i).service);
    msghdr& header = b.outgoing_headers[i].msg_hdr;
    header.msg_control = &b.outgoing_services[i];
    header.msg_controllen = sizeof(ServiceField);
  }
  std::size_t sent = 0;
  while (sent < count) {
    const int done =
        ::sendmmsg(descriptor_, b.outgoing_headers.data() + sent, static_cast<unsigned>(count - sent), 0);
    if (done <= 0) {
      if (done < 0 && errno == EINTR) continue;
      ++dropped_;  // The first one failed: the network lost it.
      ++sent;
      continue;
    }
    sent += static_cast<std::size_t>(done);
  }
}

}  // namespace wharf::live
