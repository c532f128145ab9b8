// SPDX-License-Identifier: Apache-2.0
// An offer is one packet: its token (16 bytes), the address of its first byte (8), and the descriptor beside
// it.
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

Error offer_error(const char* what) {
  return {ErrorKind::kEnvironment, fmt::format("{}: {}", what, std::strerror(errno))};
}

/// A name without a file: it goes with who has it.
struct Name {
  explicit Name(std::uint16_t port) {
    address.sun_family = AF_UNIX;
    const std::string text = fmt::format("wharf-rdmo-{}", port);
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

Result<OfferToken> offer_memory(std::uint16_t port, const SealedMemory& memory) {
  const Name name(port);
  const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.open() || ::connect(socket.number(), name.get(), name.length) != 0)
    return offer_error("offering memory to the worker");
  if (!is_own_user(socket))
    return Error{ErrorKind::kEnvironment, "offering memory to the worker: it is another user's"};
  OfferToken token;
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
  return token;
}

Result<MemoryOffers> MemoryOffers::listen(std::uint16_t port) {
  MemoryOffers made;
  const Name name(port);
  made.listener_ = Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made.listener_.open() || ::bind(made.listener_.number(), name.get(), name.length) != 0 ||
      ::listen(made.listener_.number(), kBacklog) != 0)
    return offer_error(fmt::format("listening for memory of targets at port {}", port).c_str());
  return made;
}

void MemoryOffers::progress() {
  for (int i = 0; i < kAcceptsMost; ++i) {
    Descriptor caller(::accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!caller.open()) break;
    if (is_own_user(caller)) callers_.push_back(std::move(caller));
  }
  std::erase_if(callers_, [this](const Descriptor& caller) {
    std::optional<MemoryOffer> offer;
    const bool over = receive(caller, offer);
    if (offer) offers_.push_back(*std::move(offer));
    return over;
  });
  while (callers_.size() > kMost) callers_.pop_front();
  while (offers_.size() > kMost) offers_.pop_front();
}

/// Whether the caller has said all that it will.
bool MemoryOffers::receive(const Descriptor& caller, std::optional<MemoryOffer>& offer) {
  std::array<std::byte, kOfferBytes> packet{};
  iovec piece{packet.data(), packet.size()};
  Ancillary ancillary;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.bytes.data();
  message.msg_controllen = ancillary.bytes.size();
  const ssize_t length = ::recvmsg(caller.number(), &message, MSG_CMSG_CLOEXEC);
  if (length < 0) return errno != EAGAIN && errno != EINTR;
  // The kernel closes descriptors beyond the one that there is room for.
  const cmsghdr* const control = CMSG_FIRSTHDR(&message);
  if (control == nullptr || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
      control->cmsg_len != CMSG_LEN(sizeof(int)))
    return true;
  MemoryOffer made;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(control), sizeof file);
  made.file = Descriptor(file);
  if (length != static_cast<ssize_t>(kOfferBytes) || (message.msg_flags & MSG_TRUNC) != 0) return true;
  std::copy_n(packet.begin(), made.token.size(), made.token.begin());
  made.address = load_le64(packet.data() + made.token.size());
  offer = std::move(made);
  return true;
}

std::optional<MemoryOffer> MemoryOffers::take(std::span<const std::byte> token) {
  const auto found = std::find_if(offers_.begin(), offers_.end(), [&](const MemoryOffer& each) {
    return std::equal(each.token.begin(), each.token.end(), token.begin(), token.end());
  });
  if (found == offers_.end()) return std::nullopt;
  MemoryOffer offer = std::move(*found);
  offers_.erase(found);
  return offer;
}

}  // namespace wharf::live
