// SPDX-License-Identifier: Apache-2.0
// The lines of a private cache hierarchy with their bytes: one array for level 2, of which level 1 is a part.
// Apart from the controller, which decides when lines come, change and go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/coherence/message.h"

namespace wharf::sim {

/// Shapes of both levels; sets are powers of two. Level 1 is left out with level1_ways 0.
struct CacheLinesConfig {
  std::uint32_t level1_sets = 512;
  std::uint32_t level1_ways = 2;
  std::uint32_t level2_sets = 512;
  std::uint32_t level2_ways = 8;
};

/// Level 2 includes level 1: a line has one place, in level 2, which carries its bytes and state; level 1 is
/// a smaller set of tags that point at such places. A line that leaves level 2 leaves level 1 with it. True
/// LRU per set in both; an access that hits in level 1 does not reach level 2 and does not count as a use
/// there. No call after construction takes memory.
class CacheLines {
 public:
  static constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};

  explicit CacheLines(const CacheLinesConfig& config);

  /// The place of `line`, reserved or not, or kNoPlace.
  std::uint32_t find(LineNumber line) const {
    const std::uint32_t first = (static_cast<std::uint32_t>(line) & set_mask_) * ways_;
    for (std::uint32_t place = first; place < first + ways_; ++place) {
      if (tags_[place] == line + 1) return place;
    }
    return kNoPlace;
  }
  /// Marks a use; true when level 1 had the line. If not, it is in level 1 from now on.
  bool use(std::uint32_t place);

  /// Where a line of the set of `line` may be put: a free place, or the least recently used one that is not
  /// reserved, or kNoPlace.
  std::uint32_t candidate(LineNumber line) const;
  bool is_free(std::uint32_t place) const { return tags_[place] == 0; }
  /// Reserves a free place for `line`, whose bytes are on their way.
  void reserve(std::uint32_t place, LineNumber line);
  /// Reserved places are not evicted; their state says what is there meanwhile (kInvalid, or kShared for an
  /// upgrade).
  bool is_reserved(std::uint32_t place) const { return reserved_[place] != 0; }
  void set_reserved(std::uint32_t place, bool is_reserved) { reserved_[place] = is_reserved ? 1 : 0; }
  /// Frees a place in both levels.
  void erase(std::uint32_t place);

  LineNumber line_at(std::uint32_t place) const { return tags_[place] - 1; }
  CopyState state(std::uint32_t place) const { return states_[place]; }
  void set_state(std::uint32_t place, CopyState state) { states_[place] = state; }
  LineBytes& bytes(std::uint32_t place) { return bytes_[place]; }
  const LineBytes& bytes(std::uint32_t place) const { return bytes_[place]; }
  std::uint32_t places() const { return static_cast<std::uint32_t>(tags_.size()); }

  /// Per set of each level, its lines from the least recently used on.
  void append_state(std::vector<std::byte>& state) const;

 private:
  // Constant after construction.
  std::uint32_t set_mask_;
  std::uint32_t ways_;
  std::uint32_t level1_set_mask_;
  std::uint32_t level1_ways_;

  std::vector<std::uint64_t> tags_;  ///< Line plus 1, or 0.
  std::vector<std::uint64_t> stamps_;
  std::vector<CopyState> states_;
  std::vector<std::uint8_t> reserved_;
  std::vector<std::uint32_t> level1_places_;  ///< Of each place: where level 1 has it, or kNoPlace.
  std::vector<LineBytes> bytes_;
  std::vector<std::uint32_t> level1_;  ///< The place, or kNoPlace.
  std::vector<std::uint64_t> level1_stamps_;
  std::uint64_t clock_ = 0;
};

}  // namespace wharf::sim
