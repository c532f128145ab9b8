// SPDX-License-Identifier: Apache-2.0
// A pool of records that are linked anyway: those that are free hang on each other by their own `next`, so
// that taking one and giving it back touch nothing beside it, and a run of them is given back in one piece.
// Apart from base/slot_pool.h because that one keeps its links, and who is in use, in a table of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/slot_pool.h"

namespace wharf::ub {

/// A pool of T, named by small indices. T has `std::uint32_t next`. Objects are default-constructed when they
/// are first acquired, in memory that reserve() has taken, and keep their last value between uses. Indices
/// are handed out last-released first, fresh ones ascending. Who is in use, T or its owner knows.
template <typename T>
class RecordPool {
 public:
  /// Grows to at least `capacity` places; indices stay valid, references do not.
  void reserve(std::uint32_t capacity) {
    if (capacity <= capacity_) return;
    slots_.reserve(capacity);
    capacity_ = capacity;
  }

  /// The index of a place that is nobody else's until release(), or kNoSlot when all are in use.
  std::uint32_t acquire() { return has_used() ? acquire_used() : acquire_fresh(); }
  /// Whether acquire() finds a place that was used before: then it is acquire_used().
  bool has_used() const { return first_free_ != kNoSlot; }
  [[gnu::always_inline]] std::uint32_t acquire_used() {
    const std::uint32_t index = first_free_;
    first_free_ = slots_[index].next;
    return index;
  }

  void release(std::uint32_t index) { release_run(index, index); }
  /// Gives back the places from `first` to `last`, which are linked by `next`.
  void release_run(std::uint32_t first, std::uint32_t last) {
    slots_[last].next = first_free_;
    first_free_ = first;
  }

  T& operator[](std::uint32_t index) { return slots_[index]; }
  const T& operator[](std::uint32_t index) const { return slots_[index]; }

  std::uint32_t capacity() const { return capacity_; }
  /// One past the highest index that was ever handed out.
  std::uint32_t extent() const { return static_cast<std::uint32_t>(slots_.size()); }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const { return slots_.capacity() * sizeof(T); }

 private:
  std::uint32_t acquire_fresh() {
    const std::uint32_t index = extent();
    if (index == capacity_) return kNoSlot;
    slots_.emplace_back();
    return index;
  }

  std::vector<T> slots_;
  std::uint32_t first_free_ = kNoSlot;
  std::uint32_t capacity_ = 0;
};

}  // namespace wharf::ub
