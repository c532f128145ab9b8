// SPDX-License-Identifier: Apache-2.0
// Counts what a test program takes from the heap. It replaces the program's allocator, so exactly one file of
// a program includes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace wharf::test {

inline std::uint64_t allocations = 0;  ///< Since the start, or since the test set it to 0.
inline bool count_allocations = true;  ///< False: allocations pass uncounted.
inline std::uint64_t heap_bytes = 0;   ///< Asked for and not given back, whatever count_allocations says.

/// Before every allocation stands its size.
inline constexpr std::size_t kSizeBytes = alignof(std::max_align_t);

inline void* counted_allocation(std::size_t bytes) {
  if (count_allocations) ++allocations;
  auto* const memory = static_cast<std::byte*>(std::malloc(kSizeBytes + bytes));
  if (memory == nullptr) return nullptr;
  std::memcpy(memory, &bytes, sizeof bytes);
  heap_bytes += bytes;
  return memory + kSizeBytes;
}
inline void counted_release(void* memory) {
  if (memory == nullptr) return;
  std::byte* const begin = static_cast<std::byte*>(memory) - kSizeBytes;
  std::size_t bytes = 0;
  std::memcpy(&bytes, begin, sizeof bytes);
  heap_bytes -= bytes;
  std::free(begin);
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
[[gnu::noinline]] void operator delete(void* memory) noexcept { wharf::test::counted_release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  wharf::test::counted_release(memory);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  wharf::test::counted_release(memory);
}
// The array forms too: the usual ones call the above, those of a sanitizer do not.
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return operator new(bytes); }
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return wharf::test::counted_allocation(bytes);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept { wharf::test::counted_release(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  wharf::test::counted_release(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  wharf::test::counted_release(memory);
}
