// SPDX-License-Identifier: Apache-2.0
// Counts what a test program takes from the heap. It replaces the program's allocator, so exactly one file of
// a program includes it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace wharf::test {

inline std::uint64_t allocations = 0;  ///< Since the start, or since the test set it to 0.
inline bool count_allocations = true;  ///< False: allocations pass uncounted.

inline void* counted_allocation(std::size_t bytes) {
  if (count_allocations) ++allocations;
  return std::malloc(bytes);
}

}  // namespace wharf::test

// Kept out of line, so that the compiler does not pair malloc() with a delete that it sees through.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* memory = wharf::test::counted_allocation(bytes)) return memory;
  std::abort();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return wharf::test::counted_allocation(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
