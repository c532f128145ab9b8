// SPDX-License-Identifier: Apache-2.0
#include "live/aperture/mapping.h"

#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/units.h"

namespace wharf::live {
namespace {

Error refused(std::string_view what) {
  return {ErrorKind::kEnvironment, fmt::format("{}: {}", what, std::strerror(errno))};
}

}  // namespace

std::uint64_t Mapping::system_page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

Result<std::unique_ptr<Mapping>> Mapping::create(std::uint64_t pages, bool writable, ApertureMode mode,
                                                 bool write_protect) {
  std::unique_ptr<Mapping> out(new Mapping);
  out->page_bytes_ = system_page_bytes();
  out->access_ = PROT_READ | (writable ? PROT_WRITE : 0);
  if (mode != ApertureMode::kExplicit) out->faults_ = FaultDescriptor::open(mode == ApertureMode::kAllFaults);
  const bool faults = out->faults_.valid();
  const std::uint64_t bytes = pages * out->page_bytes_;
  void* base = ::mmap(nullptr, bytes, faults ? out->access_ : PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return refused(fmt::format("the system gives no {} of addresses", format_bytes(Bytes{bytes})));
  out->base_ = static_cast<std::byte*>(base);
  out->pages_ = pages;
  void* aside = ::mmap(nullptr, out->page_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (aside == MAP_FAILED) return refused("the system gives no page of addresses");
  out->aside_ = static_cast<std::byte*>(aside);
  // Where the program has all its memory locked (mlockall), pages of zeros would be there already.
  if (::munlock(base, bytes) != 0 || ::madvise(base, bytes, MADV_DONTNEED) != 0)
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
    if (::ioctl(out->faults_.get(), UFFDIO_REGISTER, &request) != 0) return false;
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
  if (aside_ != nullptr) ::munmap(aside_, page_bytes_);
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
  if (!faults()) {
    if (::mprotect(at(page), count * page_bytes_, PROT_READ | PROT_WRITE) != 0) return refused("mprotect");
    std::memcpy(at(page), bytes, count * page_bytes_);
    if ((access_ & PROT_WRITE) == 0 && ::mprotect(at(page), count * page_bytes_, PROT_READ) != 0)
      return refused("mprotect");
    return {};
  }
  std::uint64_t done = 0;
  const std::uint64_t length = count * page_bytes_;
  while (done < length) {
    uffdio_copy request{};
    request.dst = reinterpret_cast<std::uint64_t>(at(page)) + done;
    request.src = reinterpret_cast<std::uint64_t>(bytes) + done;
    request.len = length - done;
    request.mode = protect ? UFFDIO_COPY_MODE_WP : 0;
    if (::ioctl(faults_.get(), UFFDIO_COPY, &request) == 0) return {};
    // EAGAIN: the process's map changes just now; `copy` tells how far it came, or is that error again.
    if (errno != EAGAIN) return refused("UFFDIO_COPY");
    if (request.copy > 0) done += static_cast<std::uint64_t>(request.copy);
  }
  return {};
}

void Mapping::protect(std::uint64_t page) {
  uffdio_writeprotect request{};
  request.range = {reinterpret_cast<std::uint64_t>(at(page)), page_bytes_};
  request.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  while (::ioctl(faults_.get(), UFFDIO_WRITEPROTECT, &request) != 0) WHARF_CHECK(errno == EAGAIN);
}

void Mapping::allow(std::uint64_t page) {
  uffdio_writeprotect request{};
  request.range = {reinterpret_cast<std::uint64_t>(at(page)), page_bytes_};
  while (::ioctl(faults_.get(), UFFDIO_WRITEPROTECT, &request) != 0) WHARF_CHECK(errno == EAGAIN);
}

// The program's threads may store meanwhile: words are whole, and the sanitizer for threads need not know.
__attribute__((no_sanitize("thread"))) void Mapping::snapshot(std::uint64_t page, std::byte* into) const {
  const auto* from = reinterpret_cast<const volatile std::uint64_t*>(at(page));
  auto* to = reinterpret_cast<std::uint64_t*>(into);
  for (std::uint64_t word = 0; word < page_bytes_ / sizeof *to; ++word) to[word] = from[word];
}

void Mapping::drop(std::uint64_t page) {
  WHARF_CHECK(::madvise(at(page), page_bytes_, MADV_DONTNEED) == 0);
  if (!faults()) static_cast<void>(::mprotect(at(page), page_bytes_, PROT_NONE));
}

void Mapping::take(std::uint64_t page, std::byte* into) {
  if (faults() && (access_ & PROT_WRITE) != 0) {
    // The page moves with all that was stored; later stores find it absent. [mremap(2): MREMAP_DONTUNMAP]
    void* const moved = ::mremap(at(page), page_bytes_, page_bytes_,
                                 MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, aside_);
    WHARF_CHECK(moved == aside_);
    std::memcpy(into, aside_, page_bytes_);
    WHARF_CHECK(::madvise(aside_, page_bytes_, MADV_DONTNEED) == 0);
    return;
  }
  snapshot(page, into);
  drop(page);
}

std::uint64_t Mapping::lose(std::uint64_t page, std::uint64_t count) {
  // An access behind the end of a mapped file is SIGBUS on every kernel; UFFDIO_POISON came with Linux 6.6.
  const int nothing = ::memfd_create("wharf-lost", MFD_CLOEXEC);
  const auto cover = [&](std::uint64_t first, std::uint64_t pages) {
    const bool file = nothing >= 0;
    return ::mmap(at(first), pages * page_bytes_, file ? PROT_READ | PROT_WRITE : PROT_NONE,
                  MAP_FIXED | (file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS), nothing, 0) != MAP_FAILED;
  };
  if (!cover(page, count)) {
    count = pages_ - page;
    cover(page, count);
  }
  if (nothing >= 0) ::close(nothing);
  wake(page, count);
  return count;
}

void Mapping::wake(std::uint64_t page, std::uint64_t count) {
  if (!faults()) return;
  uffdio_range range{reinterpret_cast<std::uint64_t>(at(page)), count * page_bytes_};
  static_cast<void>(::ioctl(faults_.get(), UFFDIO_WAKE, &range));
}

}  // namespace wharf::live
