// SPDX-License-Identifier: Apache-2.0
#include "live/aperture/mapping.h"

#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/units.h"

namespace wharf::live {
namespace {

Error refused(std::string_view what) {
  return {ErrorKind::kEnvironment, fmt::format("{}: {}", what, std::strerror(errno))};
}

// UFFDIO_POISON, which the headers of the system are too old for.
struct Poison {
  uffdio_range range;
  std::uint64_t mode;
  std::int64_t updated;
};
constexpr unsigned long kPoison = _IOWR(UFFDIO, 0x08, Poison);

}  // namespace

std::uint64_t Mapping::system_page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

Result<std::unique_ptr<Mapping>> Mapping::create(std::uint64_t pages, bool writable, ApertureMode mode,
                                                 bool write_protect, KernelCalls& kernel) {
  std::unique_ptr<Mapping> out(new Mapping(kernel));
  out->page_bytes_ = system_page_bytes();
  out->access_ = PROT_READ | (writable ? PROT_WRITE : 0);
  if (mode != ApertureMode::kExplicit) out->faults_ = FaultDescriptor::open(mode == ApertureMode::kAllFaults);
  // Before 5.7 nothing takes a page from threads that store to it: those that are changed cannot go.
  if (writable && out->faults_.valid() && !can_move_away(kernel)) out->faults_.close();
  const bool faults = out->faults_.valid();
  const std::uint64_t bytes = pages * out->page_bytes_;
  void* base = ::mmap(nullptr, bytes, faults ? out->access_ : PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return refused(fmt::format("the system gives no {} of addresses", format_bytes(Bytes{bytes})));
  out->base_ = static_cast<std::byte*>(base);
  out->pages_ = pages;
  // Where the program has all its memory locked (mlockall), pages of zeros would be there already.
  if (::munlock(base, bytes) != 0 || !out->discard(out->base_, bytes))
    return refused("munlock and madvise(MADV_DONTNEED)");
  // A child would find zeros where nobody answers its faults. Huge pages would come and go as one.
  if (::madvise(base, bytes, MADV_DONTFORK) != 0) return refused("madvise(MADV_DONTFORK)");
  static_cast<void>(::madvise(base, bytes, MADV_NOHUGEPAGE));  // Some kernels have none.
  if (!faults) return out;
  out->mode_ =
      out->faults_.way() == FaultWay::kUserMode ? ApertureMode::kUserFaults : ApertureMode::kAllFaults;
  const auto enter = [&](std::uint64_t kinds, std::uint64_t& calls) {
    uffdio_register request{};
    request.range = {reinterpret_cast<std::uint64_t>(base), bytes};
    request.mode = kinds;
    if (kernel.ioctl(out->faults_.get(), UFFDIO_REGISTER, &request) != 0) return false;
    calls = request.ioctls;
    return true;
  };
  std::uint64_t calls = 0;
  if (write_protect && writable && out->faults_.write_protect() &&
      enter(UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP, calls)) {
    out->protects_ = (calls & (std::uint64_t{1} << _UFFDIO_WRITEPROTECT)) != 0;
  }
  if (!out->protects_ && !enter(UFFDIO_REGISTER_MODE_MISSING, calls)) return refused("UFFDIO_REGISTER");
  return out;
}

Mapping::~Mapping() {
  const std::uint64_t bytes = pages_ * page_bytes_;
  if (base_ != nullptr) {
    // In this order nobody who waits finds ordinary memory, whose bytes go nowhere. A child may have the
    // descriptor, too, so that closing it would not end their wait.
    static_cast<void>(::mprotect(base_, bytes, PROT_NONE));
    if (faults()) {
      uffdio_range range{reinterpret_cast<std::uint64_t>(base_), bytes};
      static_cast<void>(::ioctl(faults_.get(), UFFDIO_UNREGISTER, &range));
      wake(0, pages_);
    }
    faults_.close();
    ::munmap(base_, bytes);
  }
}

bool Mapping::next_fault(Fault& out) {
  if (!faults()) return false;
  uffd_msg message{};
  while (::read(faults_.get(), &message, sizeof message) == sizeof message) {
    if (message.event != UFFD_EVENT_PAGEFAULT) continue;
    out.page = (message.arg.pagefault.address - reinterpret_cast<std::uint64_t>(base_)) / page_bytes_;
    out.store = (message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0;
    out.protect = (message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP) != 0;
    return true;
  }
  return false;
}

Result<void> Mapping::install(std::uint64_t page, std::uint64_t count, const std::byte* bytes, bool protect) {
  const std::uint64_t length = count * page_bytes_;
  if (!faults()) {
    if (kernel_.mprotect(at(page), length, PROT_READ | PROT_WRITE) == 0) {
      std::memcpy(at(page), bytes, length);
      if ((access_ & PROT_WRITE) != 0 || kernel_.mprotect(at(page), length, PROT_READ) == 0) return {};
    }
    const Error error = refused("mprotect");
    // A part of it may have got its rights.
    discard(at(page), length);
    static_cast<void>(kernel_.mprotect(at(page), length, PROT_NONE));
    return error;
  }
  std::uint64_t done = 0;
  while (done < length) {
    uffdio_copy request{};
    request.dst = reinterpret_cast<std::uint64_t>(at(page)) + done;
    request.src = reinterpret_cast<std::uint64_t>(bytes) + done;
    request.len = length - done;
    request.mode = protect ? UFFDIO_COPY_MODE_WP : 0;
    if (kernel_.ioctl(faults_.get(), UFFDIO_COPY, &request) == 0) return {};
    // EAGAIN: the process's map changes just now, or a part has come; `copy` tells how much, or is an error.
    if (errno != EAGAIN) {
      const Error error = refused("UFFDIO_COPY");
      // Those that came can only have been loaded from: of pages for stores one is installed at a time.
      if (done > 0) discard(at(page), done);
      return error;
    }
    if (request.copy > 0) done += static_cast<std::uint64_t>(request.copy);
  }
  return {};
}

bool Mapping::write_protect(std::uint64_t page, std::uint64_t mode) {
  uffdio_writeprotect request{};
  request.range = {reinterpret_cast<std::uint64_t>(at(page)), page_bytes_};
  request.mode = mode;
  while (kernel_.ioctl(faults_.get(), UFFDIO_WRITEPROTECT, &request) != 0) {
    if (errno != EAGAIN) return false;
  }
  return true;
}

bool Mapping::protect(std::uint64_t page) { return write_protect(page, UFFDIO_WRITEPROTECT_MODE_WP); }
bool Mapping::allow(std::uint64_t page) { return write_protect(page, 0); }

// The program's threads may store meanwhile: words are whole, and the sanitizer for threads need not know.
__attribute__((no_sanitize("thread"))) void Mapping::snapshot(std::uint64_t page, std::byte* into) const {
  const auto* from = reinterpret_cast<const volatile std::uint64_t*>(at(page));
  auto* to = reinterpret_cast<std::uint64_t*>(into);
  for (std::uint64_t word = 0; word < page_bytes_ / sizeof *to; ++word) to[word] = from[word];
}

// Whole pages that are there give way to none.
bool Mapping::discard(std::byte* at, std::uint64_t bytes) {
  if (kernel_.madvise(at, bytes, MADV_DONTNEED) == 0) return true;
  // The program has locked it since. All of the range at once, so that it does not fall into pieces.
  if (errno != EINVAL) return false;
  static_cast<void>(kernel_.munlock(base_, pages_ * page_bytes_));
  return kernel_.madvise(at, bytes, MADV_DONTNEED) == 0;
}

Result<void> Mapping::drop(std::uint64_t page) {
  // First what may want room for another piece of the range.
  if (!faults() && kernel_.mprotect(at(page), page_bytes_, PROT_NONE) != 0) return refused("mprotect");
  if (discard(at(page), page_bytes_)) return {};
  const Error error = refused("madvise(MADV_DONTNEED)");
  if (!faults()) static_cast<void>(kernel_.mprotect(at(page), page_bytes_, access_));
  return error;
}

bool Mapping::can_move_away(KernelCalls& kernel) {
  const std::uint64_t page = system_page_bytes();
  void* const at = ::mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return false;
  void* const moved = kernel.move_away(at, page);
  ::munmap(at, page);
  if (moved == MAP_FAILED) return false;
  ::munmap(moved, page);
  return true;
}

// The page moves with all that was stored; later stores find it absent.
bool Mapping::take_whole(std::uint64_t page, std::byte* into) {
  void* const moved = kernel_.move_away(at(page), page_bytes_);
  if (moved == MAP_FAILED) return false;
  std::memcpy(into, moved, page_bytes_);
  ::munmap(moved, page_bytes_);
  return true;
}

Result<void> Mapping::take(std::uint64_t page, std::byte* into) {
  const bool stores = (access_ & PROT_WRITE) != 0;
  if (faults() && stores) {
    if (take_whole(page, into)) return {};
    const Error error = refused("mremap");
    // No room for another piece of the range. Protected it can be copied in its place.
    if (!protects_ || !protect(page)) return error;
  } else if (stores && kernel_.mprotect(at(page), page_bytes_, PROT_READ) != 0) {
    return refused("mprotect");
  }
  snapshot(page, into);
  auto gone = drop(page);
  if (gone.ok() || !stores) return gone;
  if (faults()) {
    static_cast<void>(allow(page));
  } else {
    static_cast<void>(kernel_.mprotect(at(page), page_bytes_, access_));
  }
  return gone;
}

bool Mapping::lose(std::uint64_t page, std::uint64_t count) {
  // An access behind the end of a mapped file is SIGBUS on every kernel.
  const int nothing = ::memfd_create("wharf-lost", MFD_CLOEXEC);
  bool done = nothing >= 0 && kernel_.map_over(at(page), count * page_bytes_, PROT_READ | PROT_WRITE,
                                               MAP_SHARED, nothing) != MAP_FAILED;
  if (nothing >= 0) ::close(nothing);
  if (!done && faults()) {
    Poison request{};
    request.range = {reinterpret_cast<std::uint64_t>(at(page)), count * page_bytes_};
    done = kernel_.ioctl(faults_.get(), kPoison, &request) == 0;
  }
  if (done) wake(page, count);
  return done;
}

void Mapping::wake(std::uint64_t page, std::uint64_t count) {
  if (!faults()) return;
  uffdio_range range{reinterpret_cast<std::uint64_t>(at(page)), count * page_bytes_};
  static_cast<void>(::ioctl(faults_.get(), UFFDIO_WAKE, &range));
}

ApertureSupport aperture_support() {
  const FaultDescriptor descriptor = FaultDescriptor::open(true);
  return describe_support(descriptor.valid() ? descriptor.way() : FaultWay::kNone, descriptor.write_protect(),
                          descriptor.error(), Mapping::can_move_away());
}

}  // namespace wharf::live
