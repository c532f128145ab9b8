// SPDX-License-Identifier: Apache-2.0
#include "live/shm/shm_rendezvous.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "live/reactor/live_clock.h"

namespace wharf::live {
namespace {

constexpr std::string_view kPrefix = "shm:";
constexpr std::size_t kNameBytesMax = 64;
constexpr int kBacklog = 128;
/// Magic "WSHM", version, then the ports, big-endian.
constexpr std::uint32_t kMagic = 0x5753484d;
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMessageBytes = 12;
constexpr std::size_t kDescriptors = 2;

struct Address {
  sockaddr_un system{};
  socklen_t length = 0;
};

/// The names of different users are different.
Address address_of(const std::string& name) {
  const std::string text = fmt::format("wharf/{}/{}", ::geteuid(), name);
  Address out;
  out.system.sun_family = AF_UNIX;
  std::memcpy(out.system.sun_path + 1, text.data(), text.size());  // Byte 0: the abstract namespace.
  out.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return out;
}
static_assert(sizeof(sockaddr_un::sun_path) > 1 + sizeof("wharf/4294967295/") + kNameBytesMax);

ucred credentials_of(int socket) {
  ucred who{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
  socklen_t size = sizeof who;
  ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size);
  return who;
}

bool is_name_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
}

struct alignas(cmsghdr) DescriptorRoom {
  std::array<std::byte, CMSG_SPACE(kDescriptors * sizeof(int))> bytes{};
};

Error not_a_link() {
  return input_error("the server handed over something else than a link in shared memory");
}

/// Owns whatever descriptors came with a message.
SharedLink::OtherEnd descriptors_of(msghdr& message, bool& exact) {
  SharedLink::OtherEnd out;
  exact = false;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::array<int, kDescriptors> numbers{-1, -1};
    std::memcpy(numbers.data(), CMSG_DATA(part), std::min(count, kDescriptors) * sizeof(int));
    out = {Descriptor(numbers[0]), Descriptor(numbers[1])};
    exact = count == kDescriptors;
  }
  return out;
}

}  // namespace

bool names_shared_memory(std::string_view text) { return text.substr(0, kPrefix.size()) == kPrefix; }

Result<std::string> parse_shm_name(std::string_view text) {
  const std::string name(text.substr(std::min(kPrefix.size(), text.size())));
  if (!names_shared_memory(text) || name.empty() || name.size() > kNameBytesMax ||
      !std::all_of(name.begin(), name.end(), is_name_letter)) {
    return input_error(
        fmt::format("\"{}\" is no address in shared memory, expected shm: and 1 to {} letters, digits, "
                    "'.', '_' or '-', such as shm:bench",
                    text, kNameBytesMax));
  }
  return name;
}

Result<ShmListener> ShmListener::open(const std::string& name) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const Address address = address_of(name);
  if (!socket.open() ||
      ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address.system), address.length) != 0 ||
      ::listen(socket.number(), kBacklog) != 0) {
    const int reason = errno;
    const Error error{
        ErrorKind::kEnvironment,
        fmt::format("shm:{} cannot be used: {}; another name may be free", name, std::strerror(reason))};
    socket = Descriptor();
    errno = reason;
    return error;
  }
  return ShmListener(std::move(socket));
}

std::optional<ShmConnection> ShmListener::accept() const {
  for (int strangers = 0; strangers < kBacklog; ++strangers) {
    Descriptor control(::accept4(socket_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!control.open()) return std::nullopt;
    const ucred who = credentials_of(control.number());
    if (who.uid == ::geteuid()) return ShmConnection{std::move(control), who.pid};
  }
  return std::nullopt;
}

Result<void> hand_over(const ShmConnection& to, const ShmPorts& ports, const SharedLink::OtherEnd& end) {
  std::array<std::byte, kMessageBytes> bytes{};
  store_be32(bytes.data(), kMagic);
  store_be32(bytes.data() + 4, kVersion);
  store_be16(bytes.data() + 8, ports.client);
  store_be16(bytes.data() + 10, ports.server);
  iovec part{bytes.data(), bytes.size()};
  DescriptorRoom room;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.bytes.data();
  message.msg_controllen = room.bytes.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(kDescriptors * sizeof(int));
  const std::array<int, kDescriptors> numbers{end.memory.number(), end.doorbell.number()};
  std::memcpy(CMSG_DATA(rights), numbers.data(), sizeof numbers);
  // Nothing was sent before: there is room, unless the other side is gone.
  if (::sendmsg(to.control.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(bytes.size())) {
    return Error{ErrorKind::kEnvironment,
                 fmt::format("a link cannot be handed over: {}", std::strerror(errno))};
  }
  return {};
}

Result<ShmConnection> connect_shm(const std::string& name, TimePs patience) {
  const LiveClock clock;
  const Address address = address_of(name);
  for (;;) {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.open()) {
      return Error{ErrorKind::kEnvironment,
                   fmt::format("no Unix socket can be opened: {}", std::strerror(errno))};
    }
    if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address.system), address.length) == 0) {
      const ucred who = credentials_of(socket.number());
      if (who.uid != ::geteuid()) {
        return input_error(fmt::format("shm:{} is served by user {}, expected user {}, who asks", name,
                                       who.uid, ::geteuid()));
      }
      return ShmConnection{std::move(socket), who.pid};
    }
    const int failure = errno;
    if (clock.now() >= patience) {
      return Error{ErrorKind::kEnvironment,
                   fmt::format("shm:{} cannot be reached: {}; is `wharf serve --listen shm:{}` running here?",
                               name, std::strerror(failure), name)};
    }
    ::poll(nullptr, 0, 50);
  }
}

std::optional<Result<SharedLink>> take_over(const ShmConnection& from, ShmPorts& ports) {
  std::array<std::byte, kMessageBytes> bytes{};
  iovec part{bytes.data(), bytes.size()};
  DescriptorRoom room;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.bytes.data();
  message.msg_controllen = room.bytes.size();
  const ssize_t count = ::recvmsg(from.control.number(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (count <= 0) {
    return Error{ErrorKind::kStalled, "the server closed the connection before it handed over shared memory"};
  }
  bool exact = false;
  SharedLink::OtherEnd end = descriptors_of(message, exact);
  const bool whole = count == static_cast<ssize_t>(bytes.size()) && exact &&
                     (static_cast<unsigned>(message.msg_flags) & MSG_CTRUNC) == 0;
  if (!whole || load_be32(bytes.data()) != kMagic || load_be32(bytes.data() + 4) != kVersion)
    return not_a_link();
  ports = {load_be16(bytes.data() + 8), load_be16(bytes.data() + 10)};
  if (ports.client == 0 || ports.server == 0) return not_a_link();
  return SharedLink::adopt(std::move(end));
}

Result<SharedLink> take_over(const ShmConnection& from, ShmPorts& ports, TimePs patience) {
  const LiveClock clock;
  for (;;) {
    if (auto taken = take_over(from, ports)) return *std::move(taken);
    const TimePs now = clock.now();
    if (now >= patience)
      return Error{ErrorKind::kStalled, "the server did not hand over shared memory in time"};
    pollfd wait{from.control.number(), POLLIN, 0};
    const TimePs span = min(max(patience - now, milliseconds(1)), seconds(1));
    ::poll(&wait, 1, static_cast<int>(span / milliseconds(1)));
  }
}

}  // namespace wharf::live
