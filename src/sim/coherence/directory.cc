// SPDX-License-Identifier: Apache-2.0
#include "sim/coherence/directory.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace wharf::sim {

Directory::Directory(std::uint32_t sets, std::uint32_t ways) : set_mask_(sets - 1), ways_(ways) {
  WHARF_CHECK(std::has_single_bit(sets) && ways >= 1 && ways <= 64 &&
              std::uint64_t{sets} * ways <= (1U << 30U));
  const std::size_t places = std::size_t{sets} * ways;
  used_.resize(sets);
  tags_.resize(places);
  holders_.resize(places);
  stamps_.resize(places);
  owned_.resize(places);
}

std::uint32_t Directory::find(LineNumber line) const {
  const std::uint32_t set = set_of(line);
  for (std::uint64_t left = used_[set]; left != 0; left &= left - 1) {
    const std::uint32_t place = set * ways_ + static_cast<std::uint32_t>(std::countr_zero(left));
    if (tags_[place] == line + 1) return place;
  }
  return kNoPlace;
}

std::uint32_t Directory::insert(LineNumber line) {
  const std::uint32_t at = set_of(line);
  const auto way = static_cast<std::uint32_t>(std::countr_one(used_[at]));
  if (way >= ways_) return kNoPlace;
  const std::uint32_t place = at * ways_ + way;
  used_[at] |= std::uint64_t{1} << way;
  tags_[place] = line + 1;
  set(place, 0, false);
  touch(place);
  ++size_;
  return place;
}

void Directory::erase(std::uint32_t place) {
  WHARF_CHECK(tags_[place] != 0);
  used_[place / ways_] &= ~(std::uint64_t{1} << (place % ways_));
  tags_[place] = 0;
  set(place, 0, false);
  stamps_[place] = 0;
  --size_;
}

bool Directory::has_room(LineNumber line) const {
  return static_cast<std::uint32_t>(std::countr_one(used_[set_of(line)])) < ways_;
}

void Directory::append_state(std::vector<std::byte>& state) const {
  for (std::uint32_t first = 0; first < tags_.size(); first += ways_) {
    std::uint64_t after = 0;
    for (std::uint32_t listed = 0; listed < ways_; ++listed) {
      // Selection by rank: sets are small, and no memory is taken.
      std::uint32_t next = kNoPlace;
      for (std::uint32_t place = first; place < first + ways_; ++place) {
        if (tags_[place] == 0 || stamps_[place] <= after) continue;
        if (next == kNoPlace || stamps_[place] < stamps_[next]) next = place;
      }
      if (next == kNoPlace) break;
      after = stamps_[next];
      append_bytes(state, tags_[next]);
      append_bytes(state, holders_[next]);
      append_bytes(state, owned_[next]);
    }
    append_bytes(state, std::uint64_t{0});
  }
}

}  // namespace wharf::sim
