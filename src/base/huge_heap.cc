// SPDX-License-Identifier: Apache-2.0
#include "base/huge_heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace wharf {

void expect_large_heap(std::size_t bytes) {
#if defined(__GLIBC__)
  constexpr std::size_t kLeast = std::size_t{4} << 20U;
  constexpr std::size_t kMost = std::size_t{1} << 30U;
  constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20U;
  constexpr int kPadOfLibrary = 128 << 10;
  constexpr int kLargestInHeap = 32 << 20;
  if (bytes < kLeast) return;
  // What is larger than the threshold would be mapped apart, on small pages.
  mallopt(M_MMAP_THRESHOLD, kLargestInHeap);
  mallopt(M_TOP_PAD, static_cast<int>(std::min(bytes, kMost)));
  // More than what is left at the end of the heap, so that it grows, by the padding too.
  const struct mallinfo2 now = mallinfo2();
  void* const grows = std::malloc(std::min<std::size_t>(now.keepcost + kPadOfLibrary, kLargestInHeap / 2));
  const auto from = (reinterpret_cast<std::uintptr_t>(grows) + kHugePage - 1) / kHugePage * kHugePage;
  const auto to = reinterpret_cast<std::uintptr_t>(sbrk(0)) / kHugePage * kHugePage;
  // Another allocator's memory, as sanitizers bring one, lies elsewhere: then there is nothing to ask for.
  const bool in_heap = grows != nullptr && from < to && to - from <= 2 * kMost;
  if (in_heap) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
  // Freed at the end: all of it is the heap's rest now, and stays, since trimming leaves the padding.
  std::free(grows);
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(std::min(bytes, kMost)));
  mallopt(M_TOP_PAD, kPadOfLibrary);
#else
  (void)bytes;
#endif
}

}  // namespace wharf
