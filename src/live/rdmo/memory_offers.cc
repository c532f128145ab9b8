// SPDX-License-Identifier: Apache-2.0
// An offer is one packet: its token (16 bytes), the address of its first byte (8), and the descriptor beside
// it. One byte comes back when it is mapped.
#include "live/rdmo/memory_offers.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace wharf::live {
namespace {

constexpr std::size_t kOfferBytes = 24;
constexpr int kBacklog = 64;
constexpr int kAcceptsMost = 16;
constexpr std::byte kMapped{1};

Error offer_error(const char* what) {
  return {ErrorKind::kEnvironment, fmt::format("{}: {}", what, std::strerror(errno))};
}

/// FNV-1a. Two workers that meet by chance or malice cost an offer, which is not answered then.
std::uint64_t digest(std::span<const std::byte> bytes) {
  std::uint64_t value = 0xcbf2'9ce4'8422'2325;
  for (const std::byte each : bytes) value = (value ^ std::to_integer<std::uint64_t>(each)) * 0x100'0000'01b3;
  return value;
}

/// A name without a file: it goes with who has it.
struct Name {
  explicit Name(std::span<const std::byte> worker) {
    address.sun_family = AF_UNIX;
    const std::string text = fmt::format("wharf-rdmo-{:016x}", digest(worker));
    text.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t length = 0;
};

/// The other end may be anybody who knows the name.
bool is_own_user(const Descriptor& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

struct Ancillary {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

}  // namespace

Result<OfferedMemory> OfferedMemory::offer(std::span<const std::byte> worker, const SealedMemory& memory) {
  const Name name(worker);
  OfferedMemory made;
  made.connection_ = Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const Descriptor& socket = made.connection_;
  if (!socket.open() || ::connect(socket.number(), name.get(), name.length) != 0)
    return offer_error("offering memory to the worker");
  if (!is_own_user(socket))
    return Error{ErrorKind::kEnvironment, "offering memory to the worker: it is another user's"};
  OfferToken& token = made.token_;
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size()))
    return offer_error("drawing a number");
  std::array<std::byte, kOfferBytes> packet{};
  std::copy(token.begin(), token.end(), packet.begin());
  store_le64(packet.data() + token.size(), reinterpret_cast<std::uint64_t>(memory.bytes().data()));
  iovec piece{packet.data(), packet.size()};
  Ancillary ancillary;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.bytes.data();
  message.msg_controllen = ancillary.bytes.size();
  cmsghdr* const control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  const int file = memory.file().number();
  std::memcpy(CMSG_DATA(control), &file, sizeof file);
  if (::sendmsg(socket.number(), &message, MSG_NOSIGNAL) != static_cast<ssize_t>(packet.size()))
    return offer_error("offering memory to the worker");
  return made;
}

bool OfferedMemory::mapped() const {
  std::byte said{};
  return ::recv(connection_.number(), &said, sizeof said, MSG_DONTWAIT) == 1 && said == kMapped;
}

void MemoryOffer::confirm() const {
  (void)::send(connection.number(), &kMapped, sizeof kMapped, MSG_DONTWAIT | MSG_NOSIGNAL);
}

Result<MemoryOffers> MemoryOffers::listen(std::span<const std::byte> worker) {
  MemoryOffers made;
  const Name name(worker);
  made.listener_ = Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made.listener_.open() || ::bind(made.listener_.number(), name.get(), name.length) != 0 ||
      ::listen(made.listener_.number(), kBacklog) != 0)
    return offer_error("listening for memory of targets");
  return made;
}

void MemoryOffers::progress(TimePs now) {
  for (int i = 0; i < kAcceptsMost; ++i) {
    Descriptor caller(::accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!caller.open()) break;
    if (!is_own_user(caller)) continue;
    callers_.push_back({now, false, {}});
    callers_.back().offer.connection = std::move(caller);
  }
  std::erase_if(callers_, [now](Caller& caller) { return now - caller.since > kStands || !hear(caller); });
  while (callers_.size() > kMost) callers_.pop_front();
}

bool MemoryOffers::hear(Caller& caller) {
  std::array<std::byte, kOfferBytes> packet{};
  iovec piece{packet.data(), packet.size()};
  Ancillary ancillary;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.bytes.data();
  message.msg_controllen = ancillary.bytes.size();
  const ssize_t length = ::recvmsg(caller.offer.connection.number(), &message, MSG_CMSG_CLOEXEC);
  if (length < 0) return errno == EAGAIN || errno == EINTR;
  // The kernel closes descriptors beyond the one that there is room for.
  const cmsghdr* const control = CMSG_FIRSTHDR(&message);
  if (control == nullptr || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
      control->cmsg_len != CMSG_LEN(sizeof(int)))
    return false;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(control), sizeof file);
  Descriptor given(file);  // Closed if the offer is none.
  if (caller.offered || length != static_cast<ssize_t>(kOfferBytes) || (message.msg_flags & MSG_TRUNC) != 0)
    return false;
  caller.offered = true;
  caller.offer.file = std::move(given);
  std::copy_n(packet.begin(), caller.offer.token.size(), caller.offer.token.begin());
  caller.offer.address = load_le64(packet.data() + caller.offer.token.size());
  return true;
}

std::optional<MemoryOffer> MemoryOffers::take(std::span<const std::byte> token) {
  const auto found = std::find_if(callers_.begin(), callers_.end(), [&](const Caller& each) {
    return each.offered &&
           std::equal(each.offer.token.begin(), each.offer.token.end(), token.begin(), token.end());
  });
  if (found == callers_.end()) return std::nullopt;
  MemoryOffer offer = std::move(found->offer);
  callers_.erase(found);
  return offer;
}

}  // namespace wharf::live
