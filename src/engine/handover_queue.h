// SPDX-License-Identifier: Apache-2.0
// How one thread hands work to the thread of an engine: a bounded queue with one producer and one consumer,
// without locks. Requests go in one queue, completions come back in another.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/line.h"

namespace wharf::engine {

/// FIFO of T between exactly two threads. What the producer did before push() is seen by the consumer after
/// the pop() that returns the element. Neither call waits, allocates or enters the kernel: who finds the
/// queue full or empty decides how to wait. Payload buffers do not travel: a pool belongs to one thread, so
/// hand over bytes, or memory that both may touch.
template <typename T>
class HandoverQueue {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Room for `capacity` elements, a power of two.
  explicit HandoverQueue(std::size_t capacity) : slots_(capacity) {
    WHARF_CHECK(std::has_single_bit(capacity));
  }
  HandoverQueue(const HandoverQueue&) = delete;
  HandoverQueue& operator=(const HandoverQueue&) = delete;

  /// The producer's: false when full.
  bool push(const T& value) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - seen_head_ == slots_.size()) {
      seen_head_ = head_.load(std::memory_order_acquire);
      if (tail - seen_head_ == slots_.size()) return false;
    }
    slots_[tail & (slots_.size() - 1)] = value;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }
  /// The consumer's: false when empty.
  bool pop(T& out) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == seen_tail_) {
      seen_tail_ = tail_.load(std::memory_order_acquire);
      if (head == seen_tail_) return false;
    }
    out = slots_[head & (slots_.size() - 1)];
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

 private:
  std::vector<T> slots_;
  // Each side's counter lies with its memory of the other's, on a line of its own.
  alignas(kLineBytes) std::atomic<std::size_t> tail_{0};
  std::size_t seen_head_ = 0;
  alignas(kLineBytes) std::atomic<std::size_t> head_{0};
  std::size_t seen_tail_ = 0;
};

}  // namespace wharf::engine
