// SPDX-License-Identifier: Apache-2.0
#include "sim/coherence/cache_lines.h"

#include <bit>

#include "base/check.h"

namespace wharf::sim {

namespace {

/// The place from `first` to `end` with the smallest stamp above `after` for which `counts` holds, or
/// kNoPlace. Sets are small: selection by rank needs no memory.
template <typename Counts>
std::uint32_t oldest(const std::vector<std::uint64_t>& stamps, std::uint32_t first, std::uint32_t end,
                     std::uint64_t after, Counts counts) {
  std::uint32_t best = CacheLines::kNoPlace;
  for (std::uint32_t place = first; place < end; ++place) {
    if (stamps[place] <= after || !counts(place)) continue;
    if (best == CacheLines::kNoPlace || stamps[place] < stamps[best]) best = place;
  }
  return best;
}

}  // namespace

CacheLines::CacheLines(const CacheLinesConfig& config)
    : set_mask_(config.level2_sets - 1),
      ways_(config.level2_ways),
      level1_set_mask_(config.level1_sets - 1),
      level1_ways_(config.level1_ways) {
  WHARF_CHECK(std::has_single_bit(config.level2_sets) && config.level2_ways >= 1);
  WHARF_CHECK(std::has_single_bit(config.level1_sets));
  WHARF_CHECK(std::uint64_t{config.level2_sets} * config.level2_ways <= (1U << 30U));
  const std::size_t places = std::size_t{config.level2_sets} * config.level2_ways;
  tags_.resize(places);
  stamps_.resize(places);
  states_.resize(places);
  reserved_.resize(places);
  level1_places_.resize(places, kNoPlace);
  bytes_.resize(places);
  const std::size_t level1_places = std::size_t{config.level1_sets} * config.level1_ways;
  level1_.resize(level1_places, kNoPlace);
  level1_stamps_.resize(level1_places);
}

bool CacheLines::use(std::uint32_t place) {
  const std::uint32_t in_level1 = level1_places_[place];
  if (in_level1 != kNoPlace) {
    level1_stamps_[in_level1] = ++clock_;
    return true;
  }
  stamps_[place] = ++clock_;
  if (level1_ways_ == 0) return false;
  const std::uint32_t first = (static_cast<std::uint32_t>(line_at(place)) & level1_set_mask_) * level1_ways_;
  std::uint32_t best = first;
  for (std::uint32_t at = first; at < first + level1_ways_; ++at) {
    if (level1_stamps_[at] < level1_stamps_[best]) best = at;
  }
  if (level1_[best] != kNoPlace) level1_places_[level1_[best]] = kNoPlace;
  level1_[best] = place;
  level1_places_[place] = best;
  level1_stamps_[best] = ++clock_;
  return false;
}

std::uint32_t CacheLines::candidate(LineNumber line) const {
  const std::uint32_t first = (static_cast<std::uint32_t>(line) & set_mask_) * ways_;
  for (std::uint32_t place = first; place < first + ways_; ++place) {
    if (tags_[place] == 0) return place;
  }
  return oldest(stamps_, first, first + ways_, 0,
                [this](std::uint32_t place) { return reserved_[place] == 0; });
}

void CacheLines::reserve(std::uint32_t place, LineNumber line) {
  WHARF_CHECK(tags_[place] == 0);
  tags_[place] = line + 1;
  stamps_[place] = ++clock_;
  states_[place] = CopyState::kInvalid;
  reserved_[place] = 1;
}

void CacheLines::erase(std::uint32_t place) {
  const std::uint32_t in_level1 = level1_places_[place];
  if (in_level1 != kNoPlace) {
    level1_[in_level1] = kNoPlace;
    level1_stamps_[in_level1] = 0;
    level1_places_[place] = kNoPlace;
  }
  tags_[place] = 0;
  states_[place] = CopyState::kInvalid;
  reserved_[place] = 0;
}

void CacheLines::append_state(std::vector<std::byte>& state) const {
  for (std::uint32_t first = 0; first < tags_.size(); first += ways_) {
    std::uint64_t after = 0;
    for (;;) {
      const std::uint32_t place =
          oldest(stamps_, first, first + ways_, after, [this](std::uint32_t at) { return tags_[at] != 0; });
      if (place == kNoPlace) break;
      after = stamps_[place];
      append_bytes(state, tags_[place]);
      append_bytes(state, states_[place]);
      append_bytes(state, reserved_[place]);
      if (states_[place] != CopyState::kInvalid) append_bytes(state, bytes_[place]);
    }
    append_bytes(state, std::uint64_t{0});
  }
  for (std::uint32_t first = 0; first < level1_.size(); first += level1_ways_) {
    std::uint64_t after = 0;
    for (;;) {
      const std::uint32_t at = oldest(level1_stamps_, first, first + level1_ways_, after,
                                      [this](std::uint32_t here) { return level1_[here] != kNoPlace; });
      if (at == kNoPlace) break;
      after = level1_stamps_[at];
      append_bytes(state, tags_[level1_[at]]);
    }
    append_bytes(state, std::uint64_t{0});
  }
}

}  // namespace wharf::sim
