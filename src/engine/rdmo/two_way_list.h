// SPDX-License-Identifier: Apache-2.0
// Lists of pool indices, linked through the pooled objects in both directions: any of them leaves at once.
#pragma once

#include <cstdint>

#include "base/index_list.h"

namespace wharf::rdmo {

/// The place of an object on a list; says nothing while it is on none.
struct TwoWayLinks {
  std::uint32_t next;
  std::uint32_t previous;
};

/// As IndexList, but remove() is a step, not a walk.
struct TwoWayList {
  std::uint32_t head = kNoSlot;
  std::uint32_t tail = kNoSlot;

  bool empty() const { return head == kNoSlot; }

  template <typename Pool, typename Object>
  void push(Pool& pool, std::uint32_t index, TwoWayLinks Object::*links) {
    pool[index].*links = {kNoSlot, tail};
    (tail == kNoSlot ? head : (pool[tail].*links).next) = index;
    tail = index;
  }
  /// The caller knows that it is on the list.
  template <typename Pool, typename Object>
  void remove(Pool& pool, std::uint32_t index, TwoWayLinks Object::*links) {
    const TwoWayLinks at = pool[index].*links;
    (at.previous == kNoSlot ? head : (pool[at.previous].*links).next) = at.next;
    (at.next == kNoSlot ? tail : (pool[at.next].*links).previous) = at.previous;
  }
};

}  // namespace wharf::rdmo
