// SPDX-License-Identifier: Apache-2.0
// A pool of objects named by small indices: acquiring and releasing on the packet path is a free-list step;
// memory is taken only by reserve(), in control paths.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/prefetch.h"

namespace wharf {

/// "No slot": returned by acquire() when the pool is exhausted.
inline constexpr std::uint32_t kNoSlot = std::numeric_limits<std::uint32_t>::max();

/// A pool of T. Objects are default-constructed when they are first acquired, in memory that reserve() has
/// taken (so that places which are never used cost addresses, not pages), and keep their last value between
/// uses. Indices are handed out last-released first, fresh ones ascending, so equal histories give equal
/// indices.
template <typename T>
class SlotPool {
 public:
  SlotPool() = default;
  explicit SlotPool(std::uint32_t capacity) { reserve(capacity); }

  /// Grows to at least `capacity` slots; indices stay valid, references to slots do not.
  void reserve(std::uint32_t capacity) {
    if (capacity <= capacity_) return;
    WHARF_CHECK(capacity < kInUse);
    slots_.reserve(capacity);
    next_.reserve(capacity);
    capacity_ = capacity;
  }

  /// The same for owners whose needs grow step by step: at least doubles, so that many steps cost little.
  void grow(std::uint32_t capacity) {
    if (capacity > capacity_) reserve(std::max(capacity, std::min(capacity_, kInUse / 4) * 2));
  }

  /// The index of a slot that is nobody else's until release(), or kNoSlot when all are in use.
  std::uint32_t acquire() { return has_used() ? acquire_used() : acquire_fresh(); }

  /// Whether acquire() finds a slot that was used before: then it is acquire_used(), without a way to fresh
  /// ones.
  bool has_used() const { return first_free_ != kNoSlot; }
  [[gnu::always_inline]] std::uint32_t acquire_used() {
    const std::uint32_t index = first_free_;
    first_free_ = next_[index];
    next_[index] = kInUse;
    ++in_use_;
    return index;
  }

  /// Gives back a slot from acquire(); releasing it twice aborts.
  void release(std::uint32_t index) {
    WHARF_CHECK(is_used(index));
    next_[index] = first_free_;
    first_free_ = index;
    --in_use_;
  }

  /// Fetches ahead what the next acquire() and its slot will touch.
  [[gnu::always_inline]] void prefetch() const {
    if (first_free_ == kNoSlot) return;
    prefetch_object(slots_.data() + first_free_);
    __builtin_prefetch(next_.data() + first_free_, 1);
  }

  bool is_used(std::uint32_t index) const { return index < extent_ && next_[index] == kInUse; }

  T& operator[](std::uint32_t index) { return slots_[index]; }
  const T& operator[](std::uint32_t index) const { return slots_[index]; }

  std::uint32_t capacity() const { return capacity_; }
  /// One past the highest index that was ever handed out.
  std::uint32_t extent() const { return extent_; }
  std::uint32_t in_use() const { return in_use_; }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const {
    return slots_.capacity() * sizeof(T) + next_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t kInUse = kNoSlot - 1;

  std::uint32_t acquire_fresh() {
    const std::uint32_t index = extent();
    if (index == capacity_) return kNoSlot;
    slots_.emplace_back();
    next_.push_back(kInUse);
    ++extent_;
    ++in_use_;
    return index;
  }

  std::vector<T> slots_;
  std::vector<std::uint32_t> next_;  ///< Next free slot, or kInUse.
  std::uint32_t first_free_ = kNoSlot;
  std::uint32_t in_use_ = 0;
  std::uint32_t capacity_ = 0;
  std::uint32_t extent_ = 0;  ///< Of both vectors.
};

}  // namespace wharf
