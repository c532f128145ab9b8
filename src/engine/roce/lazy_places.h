// SPDX-License-Identifier: Apache-2.0
// Room that is promised when a queue pair is made and taken when it is used. Apart from the rings and pools
// that live in it, which say how much of it they have touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace wharf::roce {

/// Uninitialised memory of one owner. The addresses are the owner's from reserve() on, and nobody else can
/// take them; the system gives a page when its first byte is written. No destructor runs.
class LazyPlaces {
 public:
  static constexpr std::size_t kAlignment = 64;

  LazyPlaces() = default;
  LazyPlaces(LazyPlaces&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  LazyPlaces& operator=(LazyPlaces&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~LazyPlaces() { std::free(memory_); }

  /// Makes room for `bytes`; the first `kept` bytes stay as they are, addresses do not. Control side only.
  void reserve(std::size_t bytes, std::size_t kept = 0) {
    if (bytes <= bytes_) return;
    LazyPlaces larger;
    larger.bytes_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    larger.memory_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, larger.bytes_));
    WHARF_CHECK(larger.memory_ != nullptr && kept <= bytes_);
    if (kept > 0) std::memcpy(larger.memory_, memory_, kept);
    *this = std::move(larger);
  }
  std::byte* data() const { return memory_; }
  std::size_t bytes_reserved() const { return bytes_; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Cuts the places of several rings out of one LazyPlaces, in the order of the calls.
class PlaceCutter {
 public:
  explicit PlaceCutter(const LazyPlaces& places) : next_(places.data()), left_(places.bytes_reserved()) {}

  /// `count` places; there is room for them.
  template <typename T>
  T* take(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    static_assert(alignof(T) == 8 && sizeof(T) % 8 == 0, "what follows must be aligned, too");
    const std::size_t bytes = count * sizeof(T);
    WHARF_CHECK(bytes <= left_);
    left_ -= bytes;
    return reinterpret_cast<T*>(std::exchange(next_, next_ + bytes));
  }

 private:
  std::byte* next_;
  std::size_t left_;
};

}  // namespace wharf::roce
