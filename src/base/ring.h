// SPDX-License-Identifier: Apache-2.0
// A first-in-first-out queue in one contiguous block whose size is a power of two.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/prefetch.h"

namespace wharf {

/// FIFO of T (default-constructible, movable). Memory is taken only by reserve(); pushing into a full ring is
/// the caller's bug and aborts.
template <typename T>
class Ring {
 public:
  Ring() = default;
  explicit Ring(std::size_t capacity) { reserve(capacity); }

  /// Makes room for at least `capacity` elements (rounded up to a power of two); keeps content and order.
  void reserve(std::size_t capacity) {
    if (capacity <= slots_.size()) return;
    std::vector<T> larger(std::bit_ceil(capacity));
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) larger[i] = std::move((*this)[i]);
    slots_ = std::move(larger);
    mask_ = slots_.size() - 1;
    head_ = 0;
    tail_ = count;
  }

  void push_back(T value) {
    WHARF_CHECK(!full());
    slots_[tail_++ & mask_] = std::move(value);
  }
  /// An element that has its last value, for who sets all of it; the ring is not full.
  T& push_stale() {
    WHARF_CHECK(!full());
    return slots_[tail_++ & mask_];
  }
  /// Makes an element from `arguments` in its place, for types that are dear to copy; the ring is not full.
  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    WHARF_CHECK(!full());
    T& slot = slots_[tail_++ & mask_];
    std::destroy_at(&slot);
    return *std::construct_at(&slot, std::forward<Arguments>(arguments)...);
  }
  /// Removes the oldest element; the ring is not empty.
  void pop_front() {
    WHARF_CHECK(!empty());
    ++head_;
    // The next element goes where the cache still has the last one.
    if (head_ == tail_) clear();
  }
  /// The oldest element; the ring is not empty.
  T& front() { return slots_[head_ & mask_]; }
  const T& front() const { return slots_[head_ & mask_]; }
  /// The newest element; the ring is not empty.
  T& back() { return slots_[(tail_ - 1) & mask_]; }
  const T& back() const { return slots_[(tail_ - 1) & mask_]; }
  /// The `i`-th oldest element, i below size().
  T& operator[](std::size_t i) { return slots_[(head_ + i) & mask_]; }
  const T& operator[](std::size_t i) const { return slots_[(head_ + i) & mask_]; }

  /// Fetches ahead the place of the next element.
  [[gnu::always_inline]] void prefetch() const {
    if (!slots_.empty()) prefetch_object(slots_.data() + (tail_ & mask_));
  }

  void clear() { head_ = tail_ = 0; }
  std::size_t size() const { return tail_ - head_; }
  std::size_t capacity() const { return mask_ + 1; }
  bool empty() const { return head_ == tail_; }
  bool full() const { return size() == mask_ + 1; }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const { return slots_.capacity() * sizeof(T); }

 private:
  std::vector<T> slots_;
  /// Capacity minus 1, which the vector would have to divide for.
  std::size_t mask_ = ~std::size_t{0};
  // Counters of pops and pushes since the ring was last empty.
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace wharf
