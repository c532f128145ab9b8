// SPDX-License-Identifier: Apache-2.0
#include "live/udp/udp_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/udp.h>
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

/// Room for what goes beside a datagram: its TOS byte, which the system takes as an integer and gives as a
/// byte, and the length of a train's frames, which it takes as 16 bits and gives as an integer.
struct alignas(cmsghdr) Beside {
  std::array<std::byte, 2 * CMSG_SPACE(sizeof(int))> bytes;
};

/// The bytes that one UDP datagram over IPv4 carries at most: those of a train.
constexpr std::size_t kTrainBytes = 65'507;

/// What came beside a datagram.
struct Told {
  std::uint8_t service = 0;
  std::size_t frame_bytes = 0;  ///< Of each frame of a train but the last; 0: it is no train.
};

Told told_beside(msghdr& header) {
  Told told;
  for (const cmsghdr* field = CMSG_FIRSTHDR(&header); field != nullptr;
       field = CMSG_NXTHDR(&header, const_cast<cmsghdr*>(field))) {
    if (field->cmsg_level == IPPROTO_IP && field->cmsg_type == IP_TOS) told.service = *CMSG_DATA(field);
    if (field->cmsg_level != IPPROTO_UDP || field->cmsg_type != UDP_GRO) continue;
    int bytes = 0;
    std::memcpy(&bytes, CMSG_DATA(field), sizeof bytes);
    told.frame_bytes = bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  }
  return told;
}

/// Writes fields beside a datagram that leaves.
class BesideWriter {
 public:
  explicit BesideWriter(Beside& room) : room_(room) {}
  template <typename Value>
  void add(int level, int type, const Value& value) {
    auto* field = reinterpret_cast<cmsghdr*>(room_.bytes.data() + length_);
    field->cmsg_level = level;
    field->cmsg_type = type;
    field->cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(CMSG_DATA(field), &value, sizeof value);
    length_ += CMSG_SPACE(sizeof value);
  }
  std::size_t length() const { return length_; }

 private:
  Beside& room_;
  std::size_t length_ = 0;
};

}  // namespace

/// Datagrams that one system call has brought, and how far they have been handed out.
struct UdpSocket::Landing {
  explicit Landing(std::size_t datagram_bytes)
      : bytes(std::make_unique_for_overwrite<std::byte[]>(kBatch * datagram_bytes)) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      vectors[i] = {bytes.get() + i * datagram_bytes, datagram_bytes};
      headers[i] = {};
      headers[i].msg_hdr.msg_iov = &vectors[i];
      headers[i].msg_hdr.msg_iovlen = 1;
      headers[i].msg_hdr.msg_name = &sources[i];
    }
  }
  bool empty() const { return at == count; }

  std::unique_ptr<std::byte[]> bytes;
  std::array<iovec, kBatch> vectors{};
  std::array<sockaddr_in, kBatch> sources{};
  std::array<mmsghdr, kBatch> headers{};
  std::array<Beside, kBatch> beside{};
  std::size_t count = 0;
  std::size_t at = 0;      ///< The datagram whose frames come next,
  std::size_t offset = 0;  ///< and where in it.
  Told told;               ///< What came beside that one, once its first frame has been handed out.
};

struct UdpSocket::Departures {
  Departures() {
    for (std::size_t i = 0; i < kBatch; ++i) {
      headers[i] = {};
      headers[i].msg_hdr.msg_name = &targets[i];
      headers[i].msg_hdr.msg_namelen = sizeof(sockaddr_in);
    }
  }
  std::array<iovec, 2 * kBatch> vectors{};       ///< Of each frame what was written, and its data, if any.
  std::array<std::size_t, kBatch + 1> starts{};  ///< The first of each frame.
  std::array<sockaddr_in, kBatch> targets{};
  std::array<mmsghdr, kBatch> headers{};
  std::array<Beside, kBatch> beside{};
};

UdpSocket::UdpSocket(int descriptor, UdpEndpoint local, const SocketConfig& config)
    : DatagramPort(descriptor, local),
      config_(config),
      cuts_(config.trains),
      departures_(std::make_unique<Departures>()) {
  landings_[0] = std::make_unique<Landing>(config.trains ? kTrainBytes : kFrameBytes);
  if (config.trains) landings_[1] = std::make_unique<Landing>(kTrainBytes);
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
  // A system without it hands out frame by frame.
  if (config.trains) ::setsockopt(descriptor, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
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
  UdpSocket made(descriptor, from_system(address), config);
  owner.release();
  return made;
}

UdpSocket::UdpSocket(UdpSocket&& other) noexcept
    : DatagramPort(std::move(other)),
      config_(other.config_),
      cuts_(other.cuts_),
      burst_(other.burst_),
      landings_(std::move(other.landings_)),
      landing_(other.landing_),
      departures_(std::move(other.departures_)) {
  other.descriptor_ = -1;
}

UdpSocket::~UdpSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// --- Arrivals
// ---------------------------------------------------------------------------------------------------

std::size_t UdpSocket::receive() {
  std::size_t count = cut(0);  // What the last call had no place for.
  if (count < kBatch) {
    if (config_.trains) landing_ = 1 - landing_;
    land();
    count = cut(count);
  }
  burst_ = count != 0;
  return count;
}

/// Takes what has arrived. One datagram is cheaper to take alone; a batch pays when the last call found
/// something too.
void UdpSocket::land() {
  Landing& landing = *landings_[landing_];
  landing.at = landing.offset = 0;
  landing.count = 0;
  if (burst_) {
    for (std::size_t i = 0; i < kBatch; ++i) prepare(i);
    const int taken = ::recvmmsg(descriptor_, landing.headers.data(), kBatch, MSG_DONTWAIT, nullptr);
    landing.count = taken > 0 ? static_cast<std::size_t>(taken) : 0;
    return;
  }
  ssize_t length = 0;
  mmsghdr& first = landing.headers[0];
  if (config_.service_field || config_.trains) {
    prepare(0);
    length = ::recvmsg(descriptor_, &first.msg_hdr, MSG_DONTWAIT | MSG_TRUNC);
  } else {
    socklen_t size = sizeof(sockaddr_in);
    length = ::recvfrom(descriptor_, landing.vectors[0].iov_base, landing.vectors[0].iov_len,
                        MSG_DONTWAIT | MSG_TRUNC, reinterpret_cast<sockaddr*>(&landing.sources[0]), &size);
    first.msg_hdr.msg_flags = 0;
  }
  if (length < 0) return;
  first.msg_len = static_cast<unsigned>(length);
  if (first.msg_len > landing.vectors[0].iov_len) first.msg_hdr.msg_flags |= MSG_TRUNC;
  landing.count = 1;
}

/// The system has written lengths into the header of the datagram before.
void UdpSocket::prepare(std::size_t index) {
  Landing& landing = *landings_[landing_];
  msghdr& header = landing.headers[index].msg_hdr;
  header.msg_namelen = sizeof(sockaddr_in);
  if (!config_.service_field && !config_.trains) return;
  header.msg_control = &landing.beside[index];
  header.msg_controllen = sizeof(Beside);
}

/// Hands out frames of what has landed behind the first `count`, as far as there is place. Nothing is shown
/// of a frame that is too long.
std::size_t UdpSocket::cut(std::size_t count) {
  Landing& landing = *landings_[landing_];
  const bool tells = config_.service_field || config_.trains;
  for (; !landing.empty() && count < kBatch; ++count) {
    mmsghdr& header = landing.headers[landing.at];
    if (landing.offset == 0) landing.told = tells ? told_beside(header.msg_hdr) : Told{};
    const Told& told = landing.told;
    const std::size_t left = header.msg_len - landing.offset;
    const std::size_t length = told.frame_bytes == 0 ? left : std::min(left, told.frame_bytes);
    const bool whole = (header.msg_hdr.msg_flags & MSG_TRUNC) == 0 && length <= kFrameBytes;
    const auto* bytes = static_cast<const std::byte*>(landing.vectors[landing.at].iov_base) + landing.offset;
    datagrams_[count] = {from_system(landing.sources[landing.at]), std::span(bytes, whole ? length : 0),
                         config_.service_field ? told.service : std::uint8_t{0}};
    landing.offset += length;
    if (landing.offset < header.msg_len) continue;
    ++landing.at;
    landing.offset = 0;
  }
  return count;
}

// --- Departures
// -------------------------------------------------------------------------------------------------

/// How many frames from `first` on, of `count`, may leave as one train: of one length, but for the last,
/// which may be shorter, to one peer. [Linux udp(7), UDP_SEGMENT]
std::size_t UdpSocket::train_length(std::size_t first, std::size_t count) const {
  const Outgoing& engine = outgoing(first);
  std::size_t bytes = engine.bytes();
  std::size_t next = first + 1;
  for (; next < count; ++next) {
    const Outgoing& wagon = outgoing(next);
    if (wagon.bytes() > engine.bytes() || wagon.bytes() == 0 || wagon.to != engine.to ||
        wagon.service != engine.service || bytes + wagon.bytes() > kTrainBytes)
      break;
    bytes += wagon.bytes();
    if (wagon.bytes() < engine.bytes()) return next + 1 - first;
  }
  return next - first;
}

/// Makes one piece for the system of `length` frames from `first` on.
void UdpSocket::couple(std::size_t piece, std::size_t first, std::size_t length) {
  Departures& leaving = *departures_;
  const Outgoing& engine = outgoing(first);
  leaving.targets[piece] = to_system(engine.to);
  msghdr& header = leaving.headers[piece].msg_hdr;
  header.msg_iov = &leaving.vectors[leaving.starts[first]];
  header.msg_iovlen = leaving.starts[first + length] - leaving.starts[first];
  BesideWriter beside(leaving.beside[piece]);
  if (config_.service_field) beside.add(IPPROTO_IP, IP_TOS, static_cast<int>(engine.service));
  if (length > 1) beside.add(IPPROTO_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(engine.bytes()));
  header.msg_control = beside.length() == 0 ? nullptr : &leaving.beside[piece];
  header.msg_controllen = beside.length();
}

void UdpSocket::send_queued(std::size_t count) {
  Departures& leaving = *departures_;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<std::byte> frame = outgoing_frame(i);
    const std::span<const std::byte> data = outgoing(i).data;
    leaving.starts[i] = at;
    leaving.vectors[at++] = {frame.data(), frame.size()};
    if (!data.empty())
      leaving.vectors[at++] = {const_cast<std::byte*>(data.data()), data.size()};  // Only read.
  }
  leaving.starts[count] = at;
  std::array<std::size_t, kBatch + 1> firsts{};  // Of each piece.
  std::size_t pieces = 0;
  for (std::size_t first = 0; first < count;) {
    const std::size_t length = cuts_ ? train_length(first, count) : 1;
    couple(pieces, first, length);
    first += length;
    firsts[++pieces] = first;
  }
  for (std::size_t sent = 0; sent < pieces;) {
    const int done =
        ::sendmmsg(descriptor_, leaving.headers.data() + sent, static_cast<unsigned>(pieces - sent), 0);
    if (done > 0) {
      sent += static_cast<std::size_t>(done);
      continue;
    }
    if (done < 0 && errno == EINTR) continue;
    // The first one failed. The network lost it, or it is a train that this way does not take: one whose
    // frames are longer than the interface carries, or whose interface makes no checksums.
    const std::size_t length = firsts[sent + 1] - firsts[sent];
    if (length == 1) {
      ++dropped_;
    } else {
      if (errno == EIO || errno == EOPNOTSUPP || errno == ENOPROTOOPT) cuts_ = false;
      send_singly(sent, firsts[sent], length);
    }
    ++sent;
  }
}

/// The frames of a piece that the system did not take.
void UdpSocket::send_singly(std::size_t piece, std::size_t first, std::size_t length) {
  for (std::size_t i = first; i < first + length; ++i) {
    couple(piece, i, 1);
    while (::sendmsg(descriptor_, &departures_->headers[piece].msg_hdr, 0) < 0) {
      if (errno == EINTR) continue;
      ++dropped_;
      break;
    }
  }
}

}  // namespace wharf::live
