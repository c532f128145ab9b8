// SPDX-License-Identifier: Apache-2.0
// Which agents have which lines, in a bounded number of places. Apart from the home, which decides what to do
// about it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/coherence/message.h"

namespace wharf::sim {

/// A set-associative table of lines with a full vector of sharers each and true LRU per set. The set of a
/// line is the low bits of its number. No call after construction takes memory.
class Directory {
 public:
  /// "No place": the line is not listed, or its set is full.
  static constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};

  /// `sets` is a power of two, `ways` 1 to 64, both together at most 2^30.
  Directory(std::uint32_t sets, std::uint32_t ways);

  /// The place of a line that is listed, or kNoPlace.
  std::uint32_t find(LineNumber line) const;
  /// Lists `line`, which is not listed, without holders, as most recently used; kNoPlace when its set is
  /// full.
  std::uint32_t insert(LineNumber line);
  void erase(std::uint32_t place);
  /// Makes a place the most recently used of its set.
  void touch(std::uint32_t place) { places_[place].stamp = ++clock_; }

  /// One bit for each agent with a copy; exactly one when it is owned.
  std::uint64_t holders(std::uint32_t place) const { return places_[place].holders; }
  /// The one holder may have written its copy.
  bool is_owned(std::uint32_t place) const { return places_[place].is_owned; }
  void set(std::uint32_t place, std::uint64_t holders, bool is_owned) {
    places_[place].holders = holders;
    places_[place].is_owned = is_owned;
  }

  /// The least recently used line of the set of `line` for which `may_leave(line)` holds; its place, or
  /// kNoPlace.
  template <typename Predicate>
  std::uint32_t victim(LineNumber line, Predicate may_leave) const {
    std::uint32_t best = kNoPlace;
    for (std::uint64_t left = used_[set_of(line)]; left != 0; left &= left - 1) {
      const std::uint32_t place = place_of(set_of(line), static_cast<std::uint32_t>(std::countr_zero(left)));
      if (!may_leave(places_[place].tag - 1)) continue;
      if (best == kNoPlace || places_[place].stamp < places_[best].stamp) best = place;
    }
    return best;
  }
  LineNumber line_at(std::uint32_t place) const { return places_[place].tag - 1; }
  bool same_set(LineNumber one, LineNumber other) const { return set_of(one) == set_of(other); }
  /// The set of `line` has a place left.
  bool has_room(LineNumber line) const;

  /// Lines that are listed now.
  std::uint32_t size() const { return size_; }
  /// Per set, its lines from the least recently used on.
  void append_state(std::vector<std::byte>& state) const;

 private:
  /// Side by side: who looks at one of them looks at most of them. Those of one way lie in the order of their
  /// sets: of lines that follow each other, most have the same way.
  struct Place {
    std::uint64_t tag = 0;  ///< Line plus 1, or 0.
    std::uint64_t holders = 0;
    std::uint64_t stamp = 0;
    bool is_owned = false;
  };

  std::uint32_t set_of(LineNumber line) const { return static_cast<std::uint32_t>(line) & set_mask_; }
  std::uint32_t place_of(std::uint32_t set, std::uint32_t way) const { return way << set_bits_ | set; }

  // Constant after construction.
  std::uint32_t set_mask_;
  std::uint32_t set_bits_;
  std::uint32_t ways_;

  std::vector<std::uint64_t> used_;  ///< By set, one bit for each place that lists a line.
  std::vector<Place> places_;
  std::uint64_t clock_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace wharf::sim
