// SPDX-License-Identifier: Apache-2.0
// Bump allocation for the memory of engines: taken when a queue, segment or connection is made, given back
// all at once.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

namespace wharf {

/// An arena that several engines of one thread may share. What it hands out lives as long as the arena;
/// nothing is freed before, and destructors do not run.
class Arena {
 public:
  /// `block_bytes`: how much is taken from the heap at a time; larger requests get a block of their own.
  explicit Arena(std::size_t block_bytes = 64 * 1024) : block_bytes_(block_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// `bytes` of zeroed memory at a multiple of `align` (a power of two, at most 4096).
  void* allocate(std::size_t bytes, std::size_t align);

  /// `count` value-initialised objects.
  template <typename T>
  std::span<T> make_span(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
    T* first = static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
    for (std::size_t i = 0; i < count; ++i) ::new (static_cast<void*>(first + i)) T{};
    return {first, count};
  }

  /// Bytes handed out so far, alignment gaps included.
  std::size_t bytes_used() const { return bytes_used_; }
  /// Bytes taken from the heap.
  std::size_t bytes_held() const { return bytes_held_; }

 private:
  std::size_t block_bytes_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;  ///< First free byte of the current block.
  std::byte* end_ = nullptr;
  std::size_t bytes_used_ = 0;
  std::size_t bytes_held_ = 0;
};

}  // namespace wharf
