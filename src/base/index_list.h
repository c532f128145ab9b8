// SPDX-License-Identifier: Apache-2.0
// FIFO lists of pool indices that are linked through the pooled objects themselves: no memory of their own.
#pragma once

#include <cstdint>

#include "base/slot_pool.h"

namespace wharf {

/// A queue of indices; the object of each has one `std::uint32_t` link per list that it can be on. An object
/// is on a list at most once; the caller knows.
struct IndexList {
  std::uint32_t head = kNoSlot;
  std::uint32_t tail = kNoSlot;

  bool empty() const { return head == kNoSlot; }

  /// `pool[index].*link` is the link.
  template <typename Pool, typename Object>
  void push(Pool& pool, std::uint32_t index, std::uint32_t Object::*link) {
    pool[index].*link = kNoSlot;
    if (tail == kNoSlot) {
      head = index;
    } else {
      pool[tail].*link = index;
    }
    tail = index;
  }
  /// Takes the first one; the list is not empty.
  template <typename Pool, typename Object>
  std::uint32_t pop(Pool& pool, std::uint32_t Object::*link) {
    const std::uint32_t index = head;
    head = pool[index].*link;
    if (head == kNoSlot) tail = kNoSlot;
    return index;
  }
  /// Takes `index` out, wherever it is; false when it is not on the list. Linear.
  template <typename Pool, typename Object>
  bool remove(Pool& pool, std::uint32_t index, std::uint32_t Object::*link) {
    std::uint32_t previous = kNoSlot;
    for (std::uint32_t at = head; at != kNoSlot; previous = at, at = pool[at].*link) {
      if (at != index) continue;
      const std::uint32_t next = pool[at].*link;
      (previous == kNoSlot ? head : pool[previous].*link) = next;
      if (tail == index) tail = previous;
      return true;
    }
    return false;
  }
};

}  // namespace wharf
