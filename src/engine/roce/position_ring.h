// SPDX-License-Identifier: Apache-2.0
// A bounded FIFO whose elements are named by positions that never repeat, so that a late answer about an
// element that is gone is recognised as late.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "base/arena.h"
#include "base/check.h"

namespace wharf::roce {

/// Number of an element since the ring was made; wraps after 2^32, far beyond the ring's capacity.
using Position = std::uint32_t;

/// Elements live at positions [head, tail). Memory is taken only by reserve().
template <typename T>
class PositionRing {
 public:
  /// Makes room for `capacity` (a power of two) elements; the ring is empty and positions go on counting.
  /// Takes memory of `arena` when it never had as much.
  void reserve(Arena& arena, std::uint32_t capacity) {
    WHARF_CHECK(empty() && std::has_single_bit(capacity));
    if (capacity > memory_.size()) memory_ = arena.make_span<T>(capacity);
    slots_ = memory_.first(capacity);
  }

  bool empty() const { return head_ == tail_; }
  bool full() const { return tail_ - head_ == slots_.size(); }
  std::uint32_t size() const { return tail_ - head_; }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(slots_.size()); }
  Position head() const { return head_; }
  Position tail() const { return tail_; }
  bool contains(Position position) const { return position - head_ < size(); }

  T& operator[](Position position) { return slots_[position & (slots_.size() - 1)]; }
  const T& operator[](Position position) const { return slots_[position & (slots_.size() - 1)]; }
  T& front() { return (*this)[head_]; }
  const T& front() const { return (*this)[head_]; }
  T& back() { return (*this)[tail_ - 1]; }

  /// The element at the tail with whatever it held before; the caller sets every field. The ring is not full.
  T& push_stale() {
    WHARF_CHECK(!full());
    return (*this)[tail_++];
  }
  /// A reset element at the tail; the ring is not full.
  T& push() {
    WHARF_CHECK(!full());
    T& slot = (*this)[tail_++];
    slot = T{};
    return slot;
  }
  void pop() {
    WHARF_CHECK(!empty());
    ++head_;
  }
  /// Forgets every element; positions go on counting.
  void clear() { head_ = tail_; }

  std::size_t bytes_held() const { return memory_.size_bytes(); }

 private:
  std::span<T> memory_;
  std::span<T> slots_;  ///< What is used of it.
  Position head_ = 0;
  Position tail_ = 0;
};

}  // namespace wharf::roce
