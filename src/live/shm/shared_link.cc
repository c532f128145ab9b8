// SPDX-License-Identifier: Apache-2.0
#include "live/shm/shared_link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace wharf::live {
namespace {

/// A page for what readers tell, then the cells of either ring.
constexpr std::size_t kControlBytes = 4096;
constexpr std::size_t kRingBytes = std::size_t{kLinkRingCells} * kRingCellBytes;
constexpr std::size_t kLinkBytes = kControlBytes + 2 * kRingBytes;
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

/// The ring in which the client writes is the first, the server's the second.
FrameRing ring_of(std::byte* memory, std::size_t which) {
  return {reinterpret_cast<FrameRingControl*>(memory) + which, memory + kControlBytes + which * kRingBytes,
          kLinkRingCells};
}
static_assert(2 * sizeof(FrameRingControl) <= kControlBytes);

Error no_link(const char* what) {
  return Error{ErrorKind::kEnvironment,
               fmt::format("no shared memory for a client: {}: {}", what, std::strerror(errno))};
}

Result<std::byte*> map(int memory) {
  void* const at = ::mmap(nullptr, kLinkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (at == MAP_FAILED) return no_link("mmap");
  return static_cast<std::byte*>(at);
}

/// -1: it is no socket.
int socket_option(const Descriptor& socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket.number(), SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

}  // namespace

Result<SharedLink> SharedLink::create(OtherEnd& other) {
  Descriptor memory(::memfd_create("wharf_link", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.open()) return no_link("memfd_create");
  if (::ftruncate(memory.number(), kLinkBytes) != 0) return no_link("ftruncate");
  if (::fcntl(memory.number(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) return no_link("F_ADD_SEALS");
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    return no_link("socketpair");
  Descriptor doorbell(ends[0]);
  other = {std::move(memory), Descriptor(ends[1])};
  const auto mapped = map(other.memory.number());
  if (!mapped) return mapped.error();
  return SharedLink(*mapped, Side::kServer, std::move(doorbell));
}

Result<SharedLink> SharedLink::adopt(OtherEnd end) {
  struct stat is {};
  const int seals = ::fcntl(end.memory.number(), F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals || ::fstat(end.memory.number(), &is) != 0 ||
      is.st_size != static_cast<off_t>(kLinkBytes)) {
    return input_error(
        fmt::format("the server handed over other memory than {} bytes whose size is sealed", kLinkBytes));
  }
  // Other files may make whoever waits for them, or closes them, wait for somebody.
  if (socket_option(end.doorbell, SO_DOMAIN) != AF_UNIX ||
      socket_option(end.doorbell, SO_TYPE) != SOCK_STREAM)
    return input_error("the server handed over another doorbell than a local stream socket");
  const auto mapped = map(end.memory.number());
  if (!mapped) return mapped.error();
  return SharedLink(*mapped, Side::kClient, std::move(end.doorbell));
}

SharedLink::SharedLink(std::byte* memory, Side side, Descriptor doorbell)
    : memory_(memory),
      doorbell_(std::move(doorbell)),
      writer_(ring_of(memory, side == Side::kClient ? 0 : 1)),
      reader_(ring_of(memory, side == Side::kClient ? 1 : 0), DatagramPort::kFrameBytes) {}

SharedLink::SharedLink(SharedLink&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      doorbell_(std::move(other.doorbell_)),
      writer_(other.writer_),
      reader_(other.reader_) {}

SharedLink::~SharedLink() {
  if (memory_ != nullptr) ::munmap(memory_, kLinkBytes);
}

void SharedLink::ring() const {
  constexpr std::byte kStroke{1};
  // No room: it has rung and nobody has looked yet.
  static_cast<void>(::send(doorbell_.number(), &kStroke, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
}

bool SharedLink::quiet() const {
  std::array<std::byte, 64> strokes;
  const ssize_t count = ::recv(doorbell_.number(), strokes.data(), strokes.size(), MSG_DONTWAIT);
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

bool SharedLink::is_open() const {
  std::byte stroke;
  const ssize_t count = ::recv(doorbell_.number(), &stroke, 1, MSG_DONTWAIT | MSG_PEEK);
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

void SharedLink::keep_from_children() const { ::madvise(memory_, kLinkBytes, MADV_DONTFORK); }

}  // namespace wharf::live
