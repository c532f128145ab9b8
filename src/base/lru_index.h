// SPDX-License-Identifier: Apache-2.0
// Which of up to N keys were used most recently: the bookkeeping of caches (contexts, pages, lines). The
// cached records themselves live in the caller's array, at the slot that this index assigns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/flat_map.h"
#include "base/slot_pool.h"

namespace wharf {

/// LRU order over 64-bit keys, each in one of `capacity` slots. All operations take constant time and no
/// memory.
class LruIndex {
 public:
  struct Insertion {
    std::uint32_t slot = kNoSlot;   ///< The slot of the new key, 0 .. capacity-1.
    bool evicted = false;           ///< A key was displaced; it had the same slot.
    std::uint64_t evicted_key = 0;  ///< Which one.
  };

  /// `capacity` from 1 to 2^31 keys.
  explicit LruIndex(std::uint32_t capacity) : map_(capacity), nodes_(capacity) {
    WHARF_CHECK(capacity >= 1 && capacity <= (1U << 31U));
  }

  /// The slot of `key`, or kNoSlot; the order does not change.
  std::uint32_t find(std::uint64_t key) const {
    const std::uint32_t* slot = map_.find(key);
    return slot == nullptr ? kNoSlot : *slot;
  }

  /// The slot of `key`, which becomes the most recent, or kNoSlot.
  std::uint32_t touch(std::uint64_t key) {
    const std::uint32_t slot = find(key);
    if (slot != kNoSlot && slot != newest_) {
      unlink(slot);
      link_newest(slot);
    }
    return slot;
  }

  /// Adds `key` (absent so far) as the most recent, in a free slot or in that of the oldest key, which
  /// leaves.
  Insertion insert(std::uint64_t key) {
    WHARF_CHECK(find(key) == kNoSlot);
    Insertion result;
    if (size() == capacity()) {
      result.evicted = true;
      result.evicted_key = oldest_key();
      erase(result.evicted_key);
    }
    if (first_free_ != kNoSlot) {
      result.slot = first_free_;
      first_free_ = nodes_[result.slot].older;
    } else {
      result.slot = fresh_++;
    }
    map_.insert(key, result.slot);
    nodes_[result.slot].key = key;
    link_newest(result.slot);
    return result;
  }

  /// Removes `key`; false when it is absent.
  bool erase(std::uint64_t key) {
    const std::uint32_t slot = find(key);
    if (slot == kNoSlot) return false;
    unlink(slot);
    map_.erase(key);
    nodes_[slot].older = first_free_;
    first_free_ = slot;
    return true;
  }

  /// The key that insert() would displace next. The index is not empty.
  std::uint64_t oldest_key() const {
    WHARF_CHECK(size() > 0);
    return nodes_[oldest_].key;
  }
  /// The key in a used slot.
  std::uint64_t key_of(std::uint32_t slot) const { return nodes_[slot].key; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(map_.size()); }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(nodes_.size()); }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const { return map_.bytes_held() + nodes_.capacity() * sizeof(Node); }

 private:
  struct Node {
    std::uint64_t key = 0;
    std::uint32_t newer = kNoSlot;
    std::uint32_t older = kNoSlot;  ///< Next free slot while the slot is free.
  };

  void unlink(std::uint32_t slot) {
    const Node& node = nodes_[slot];
    (node.newer == kNoSlot ? newest_ : nodes_[node.newer].older) = node.older;
    (node.older == kNoSlot ? oldest_ : nodes_[node.older].newer) = node.newer;
  }
  void link_newest(std::uint32_t slot) {
    nodes_[slot].newer = kNoSlot;
    nodes_[slot].older = newest_;
    (newest_ == kNoSlot ? oldest_ : nodes_[newest_].newer) = slot;
    newest_ = slot;
  }

  FlatMap map_;
  std::vector<Node> nodes_;
  std::uint32_t newest_ = kNoSlot;
  std::uint32_t oldest_ = kNoSlot;
  std::uint32_t first_free_ = kNoSlot;
  std::uint32_t fresh_ = 0;  ///< Slots from here on were never used.
};

}  // namespace wharf
