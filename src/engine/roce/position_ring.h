// SPDX-License-Identifier: Apache-2.0
// A ring addressed by absolute positions: hardware rings are read, retried and completed by position, not
// from the front alone.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace wharf::roce {

/// Position in a ring: counts pushes since the ring was made, modulo 2^32.
using Position = std::uint32_t;

/// FIFO of T whose elements keep their position from push to pop. It lives in places that its owner attaches.
/// Whenever it is empty, it begins again at the first of them: the cache still has that one, and a ring that
/// never holds many elements never touches many places.
template <typename T>
class PositionRing {
 public:
  /// Takes `capacity` places (a power of two) at `memory`; the ring is empty and positions go on counting.
  void attach(T* memory, std::uint32_t capacity) {
    WHARF_CHECK(empty() && std::has_single_bit(capacity));
    begin_again();
    if (memory != memory_) touched_ = 0;
    memory_ = memory;
    mask_ = capacity - 1;
  }

  bool empty() const { return head_ == tail_; }
  bool full() const { return tail_ - head_ > mask_; }
  std::uint32_t size() const { return tail_ - head_; }
  std::uint32_t capacity() const { return mask_ + 1; }
  Position head() const { return head_; }
  Position tail() const { return tail_; }
  bool contains(Position position) const { return position - head_ < size(); }

  T& operator[](Position position) { return memory_[(position - origin_) & mask_]; }
  const T& operator[](Position position) const { return memory_[(position - origin_) & mask_]; }
  T& front() { return (*this)[head_]; }
  const T& front() const { return (*this)[head_]; }
  T& back() { return (*this)[tail_ - 1]; }

  /// The element at the tail with whatever was there before; the caller sets every field that will be read.
  /// The ring is not full.
  [[gnu::always_inline]] T& push_stale() {
    WHARF_CHECK(!full());
    return push_known();
  }
  /// The same where the caller has just seen that the ring is not full.
  [[gnu::always_inline]] T& push_known() {
    if (empty()) begin_again();
    return memory_[(tail_++ - origin_) & mask_];
  }
  /// A reset element at the tail; the ring is not full.
  T& push() {
    T& slot = push_stale();
    slot = T{};
    return slot;
  }
  [[gnu::always_inline]] void pop() {
    WHARF_CHECK(!empty());
    ++head_;
  }
  /// The same where the caller has just seen that there is one.
  [[gnu::always_inline]] void pop_known() { ++head_; }
  /// Takes the newest element back: its position serves the next.
  void pop_back() {
    WHARF_CHECK(!empty());
    touched_ = touched();
    --tail_;
  }
  /// Forgets every element; positions go on counting.
  void clear() {
    touched_ = touched();
    head_ = origin_ = tail_;
  }

  /// Bytes of the places that were ever used.
  std::size_t bytes_touched() const { return std::size_t{touched()} * sizeof(T); }

 private:
  /// The ring is empty: the next element goes to the first place.
  [[gnu::always_inline]] void begin_again() {
    touched_ = touched();
    origin_ = tail_;
  }
  /// Places before this one were used.
  [[gnu::always_inline]] std::uint32_t touched() const {
    return std::max(touched_, std::min(tail_ - origin_, mask_ + 1));
  }

  T* memory_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t touched_ = 0;  ///< As touched() was when the ring last began again.
  Position origin_ = 0;        ///< The position that lies in the first place.
  Position head_ = 0;
  Position tail_ = 0;
};

}  // namespace wharf::roce
