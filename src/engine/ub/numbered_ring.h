// SPDX-License-Identifier: Apache-2.0
// A first-in-first-out queue whose elements have numbers. Apart from base/ring.h because what refers to an
// element by number finds it there without knowing where the queue begins.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"

namespace wharf::ub {

/// FIFO of T (default-constructible). Elements are numbered from 0, never anew. Memory is taken only by
/// reserve(); pushing into a full ring is the caller's bug and aborts.
template <typename T>
class NumberedRing {
 public:
  /// Makes room for at least `capacity` elements (rounded up to a power of two); the ring is empty.
  void reserve(std::size_t capacity) {
    WHARF_CHECK(empty());
    slots_.resize(std::bit_ceil(capacity));
    mask_ = slots_.size() - 1;
  }

  /// The number of the oldest element, and that of the next one.
  std::uint64_t first() const { return first_; }
  std::uint64_t end() const { return end_; }
  /// Element `number`, from first() on and before end().
  T& operator[](std::uint64_t number) { return slots_[number & mask_]; }
  const T& operator[](std::uint64_t number) const { return slots_[number & mask_]; }
  T& front() { return (*this)[first_]; }
  const T& front() const { return (*this)[first_]; }
  T& back() { return (*this)[end_ - 1]; }

  /// An element that has the value of an earlier one, for who sets all of it; the ring is not full.
  T& push_stale() {
    WHARF_CHECK(size() != mask_ + 1);
    return slots_[end_++ & mask_];
  }
  /// The same for one who has just found that the ring is not full.
  T& append_stale() { return slots_[end_++ & mask_]; }
  /// Makes an element from `arguments` in its place; the ring is not full.
  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    T& slot = push_stale();
    std::destroy_at(&slot);
    return *std::construct_at(&slot, std::forward<Arguments>(arguments)...);
  }
  /// Removes the oldest element; the ring is not empty.
  void pop_front() {
    WHARF_CHECK(!empty());
    ++first_;
  }

  std::size_t size() const { return end_ - first_; }
  bool empty() const { return first_ == end_; }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const { return slots_.capacity() * sizeof(T); }

 private:
  std::vector<T> slots_;
  std::uint64_t mask_ = ~std::uint64_t{0};
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace wharf::ub
