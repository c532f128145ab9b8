// SPDX-License-Identifier: Apache-2.0
#include "base/zeroed_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace wharf {
namespace {

/// From here on memory is taken when it is touched, a small page at a time until it fills a huge one; what is
/// smaller is cleared, and so taken, when it is made.
constexpr std::size_t kMapped = ZeroedPages::kHugePage / 2;

std::size_t whole_pages(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

std::byte* map_anywhere(std::size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

/// Maps more than is wanted and gives both ends back, so that the rest starts at a multiple of kHugePage.
std::byte* map_aligned(std::size_t bytes) {
  constexpr std::size_t kHuge = ZeroedPages::kHugePage;
  std::byte* const mapped = map_anywhere(bytes + kHuge);
  if (mapped == nullptr) return nullptr;
  const std::size_t before = (kHuge - reinterpret_cast<std::uintptr_t>(mapped) % kHuge) % kHuge;
  if (before > 0) munmap(mapped, before);
  munmap(mapped + before + bytes, kHuge - before);
  return mapped + before;
}

}  // namespace

ZeroedPages::ZeroedPages(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 47U;  // More than any process can have.
  if (bytes == 0 || bytes > kMost) return;
  if (bytes < kMapped) {
    const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, whole));
    if (data_ != nullptr) std::memset(data_, 0, whole);
  } else if (bytes < kHugePage) {
    data_ = map_anywhere(whole_pages(bytes));
    // Beside others of its kind it might be given a huge page in common with them.
    if (data_ != nullptr) static_cast<void>(madvise(data_, whole_pages(bytes), MADV_NOHUGEPAGE));
  } else {
    data_ = map_aligned(whole_pages(bytes));
    // A wish: without huge pages everything works, only slower.
    if (data_ != nullptr) static_cast<void>(madvise(data_, whole_pages(bytes), MADV_HUGEPAGE));
  }
  if (data_ != nullptr) bytes_ = bytes;
}

ZeroedPages::~ZeroedPages() {
  if (bytes_ < kMapped) {
    std::free(data_);
  } else {
    munmap(data_, whole_pages(bytes_));
  }
}

}  // namespace wharf
