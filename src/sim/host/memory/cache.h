// SPDX-License-Identifier: Apache-2.0
// One level of cache: which lines it holds, which of them are dirty and in what order they were used. Tags
// only; timing and what happens to victims belong to the hierarchy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/line.h"
#include "base/lru_index.h"
#include "sim/host/config/cache_config.h"

namespace wharf::sim {

/// "No place": the line is absent.
inline constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};

/// A set-associative tag array with true LRU per set. The set of a line is the low bits of its number. No
/// call after construction and track_places() takes memory.
class Cache {
 public:
  /// A line that left, or "none" when `valid` is false.
  struct Victim {
    LineNumber line = 0;
    std::uint32_t place = 0;  ///< Where it was. Only with track_places().
    bool valid = false;
    bool dirty = false;
  };

  /// `shape` must pass validate_cache_shape().
  explicit Cache(const CacheShape& shape);

  /// From now on, while the cache is still empty, every line has a place of its own.
  void track_places();
  /// The place of a line, below shape().lines and the same as long as the line stays, or kNoPlace. Only with
  /// track_places().
  std::uint32_t place_of(LineNumber line) const {
    if (index_.has_value()) return index_->find(line);
    const std::uint64_t* entry = find(line);
    if (entry == nullptr) return kNoPlace;
    return static_cast<std::uint32_t>(set_of(line) - entries_.data()) +
           ways_[static_cast<std::size_t>(entry - entries_.data())];
  }

  /// The place that a line will have which is inserted next into the set of this one. Only with
  /// track_places(); kNoPlace in wide caches, which would have to search.
  std::uint32_t next_place(LineNumber line) const {
    if (index_.has_value()) return kNoPlace;
    const auto first = static_cast<std::size_t>(set_of(line) - entries_.data());
    return static_cast<std::uint32_t>(first) + ways_[first + shape_.ways - 1];
  }

  /// On a hit makes `line` the most recent of its set, dirty if `store`, and returns true. A miss changes
  /// nothing.
  bool touch(LineNumber line, bool store) {
    if (index_.has_value()) return touch_indexed(line, store);
    std::uint64_t* set = set_of(line);
    const std::uint64_t clean = line << 1U;
    if ((set[0] | 1U) == (clean | 1U)) {
      set[0] |= static_cast<std::uint64_t>(store);
      return true;
    }
    return touch_older(set, clean, store);
  }

  /// Adds `line`, which is absent, as the most recent of its set; gives the least recent line that had to
  /// leave.
  Victim insert(LineNumber line, bool dirty);
  /// Removes `line`; gives it back if it was present.
  Victim remove(LineNumber line);
  /// Makes `line` clean where it is; true when it was present and dirty.
  bool clean(LineNumber line);

  bool contains(LineNumber line) const;
  bool is_dirty(LineNumber line) const;

  /// Calls visit(line) for each dirty line and makes it clean, in an order that depends on the history only.
  template <typename Visit>
  void clean_all(Visit&& visit) {
    if (index_.has_value()) {
      for (std::uint32_t slot = 0; slot < shape_.lines; ++slot) {
        if (dirty_slots_[slot] == 0) continue;
        dirty_slots_[slot] = 0;
        visit(LineNumber{index_->key_of(slot)});
      }
      return;
    }
    for (std::uint64_t& entry : entries_) {
      if (entry == kEmpty || (entry & 1U) == 0) continue;
      entry &= ~std::uint64_t{1};
      visit(LineNumber{entry >> 1U});
    }
  }

  const CacheShape& shape() const { return shape_; }

 private:
  /// Sets of up to this many ways are short arrays in order of use; wider ones use an index.
  static constexpr std::uint32_t kMaxOrderedWays = 32;
  /// No line number has 63 bits, so no used entry looks like this.
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  std::uint64_t* set_of(LineNumber line) { return entries_.data() + (line & set_mask_) * shape_.ways; }
  const std::uint64_t* set_of(LineNumber line) const {
    return entries_.data() + (line & set_mask_) * shape_.ways;
  }
  bool touch_older(std::uint64_t* set, std::uint64_t clean, bool store);
  bool touch_indexed(LineNumber line, bool store);
  /// The entry of `line`, or null. Ordered sets only.
  const std::uint64_t* find(LineNumber line) const;
  /// Moves the first `count` ways of the set at `first` one back; what stood behind them comes to the front.
  void rotate_ways(std::size_t first, std::uint32_t count);

  CacheShape shape_;
  std::uint64_t set_mask_ = 0;
  /// Ordered sets: line * 2 + dirty, most recent first; the eight ways of a set fill one line of the machine
  /// that simulates.
  std::vector<std::uint64_t> entries_;
  /// With track_places(): which way of its set each entry stands for. The entries move, the ways do not.
  std::vector<std::uint8_t> ways_;
  /// Fully associative caches wider than kMaxOrderedWays.
  std::optional<LruIndex> index_;
  std::vector<std::uint8_t> dirty_slots_;
};

}  // namespace wharf::sim
