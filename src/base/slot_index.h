// SPDX-License-Identifier: Apache-2.0
// Finds the slots of a pool by 64-bit keys of which neighbours are in use together: lines of memory, pages.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/slot_pool.h"

namespace wharf {

/// A hash table of chains. Keys that follow each other have chains that follow each other, sixteen to a line
/// of the cache, so that a stream of them touches few (a FlatMap spreads them over all of its table). It
/// cannot be iterated, so that its order never reaches a result. Takes memory when it is made and none later;
/// copies are independent.
class SlotIndex {
 public:
  SlotIndex() = default;
  /// For slots 0 to `slots` - 1; best with up to `keys` keys at once.
  SlotIndex(std::size_t slots, std::size_t keys)
      : first_(std::bit_ceil(keys < 2 ? std::size_t{2} : keys), kNoSlot),
        nodes_(slots),
        mask_(first_.size() - 1) {}

  /// The slot of `key`, or kNoSlot.
  std::uint32_t find(std::uint64_t key) const {
    std::uint32_t slot = first_[home(key)];
    while (slot != kNoSlot && nodes_[slot].key != key) slot = nodes_[slot].next;
    return slot;
  }
  bool contains(std::uint64_t key) const { return find(key) != kNoSlot; }

  /// Adds `key`, which is absent, with a slot that no other key has.
  void insert(std::uint64_t key, std::uint32_t slot) {
    std::uint32_t& first = first_[home(key)];
    nodes_[slot] = Node{key, first};
    first = slot;
  }
  /// Removes `key`; false when it is absent.
  bool erase(std::uint64_t key) {
    std::uint32_t* at = &first_[home(key)];
    while (*at != kNoSlot && nodes_[*at].key != key) at = &nodes_[*at].next;
    if (*at == kNoSlot) return false;
    *at = nodes_[*at].next;
    return true;
  }
  /// Gives `key`, which is present, another slot.
  void move(std::uint64_t key, std::uint32_t slot) {
    WHARF_CHECK(erase(key));
    insert(key, slot);
  }

 private:
  struct Node {
    std::uint64_t key = 0;
    std::uint32_t next = kNoSlot;  ///< In its chain.
  };

  /// The low bits, moved by what the high ones come to: keys at a distance of a power of two are spread.
  std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>(key + ((key >> 10U) * 0x9E3779B97F4A7C15ULL >> 32U)) & mask_;
  }

  std::vector<std::uint32_t> first_;  ///< Of each chain; as many as a power of two.
  std::vector<Node> nodes_;           ///< By slot.
  std::size_t mask_ = 0;
};

}  // namespace wharf
