// SPDX-License-Identifier: Apache-2.0
#include "sim/coherence/directory.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace wharf::sim {

Directory::Directory(std::uint32_t sets, std::uint32_t ways)
    : set_mask_(sets - 1), set_bits_(static_cast<std::uint32_t>(std::countr_zero(sets))), ways_(ways) {
  WHARF_CHECK(std::has_single_bit(sets) && ways >= 1 && ways <= 64 &&
              std::uint64_t{sets} * ways <= (1U << 30U));
  const std::size_t places = std::size_t{sets} * ways;
  used_.resize(sets);
  places_.resize(places);
}

std::uint32_t Directory::find(LineNumber line) const {
  const std::uint32_t set = set_of(line);
  for (std::uint64_t left = used_[set]; left != 0; left &= left - 1) {
    const std::uint32_t place = place_of(set, static_cast<std::uint32_t>(std::countr_zero(left)));
    if (places_[place].tag == line + 1) return place;
  }
  return kNoPlace;
}

std::uint32_t Directory::insert(LineNumber line) {
  const std::uint32_t at = set_of(line);
  const auto way = static_cast<std::uint32_t>(std::countr_one(used_[at]));
  if (way >= ways_) return kNoPlace;
  const std::uint32_t place = place_of(at, way);
  used_[at] |= std::uint64_t{1} << way;
  places_[place].tag = line + 1;
  set(place, 0, false);
  touch(place);
  ++size_;
  return place;
}

void Directory::erase(std::uint32_t place) {
  WHARF_CHECK(places_[place].tag != 0);
  used_[place & set_mask_] &= ~(std::uint64_t{1} << (place >> set_bits_));
  places_[place].tag = 0;
  set(place, 0, false);
  places_[place].stamp = 0;
  --size_;
}

bool Directory::has_room(LineNumber line) const {
  return static_cast<std::uint32_t>(std::countr_one(used_[set_of(line)])) < ways_;
}

void Directory::append_state(std::vector<std::byte>& state) const {
  for (std::uint32_t set = 0; set <= set_mask_; ++set) {
    std::uint64_t after = 0;
    for (std::uint32_t listed = 0; listed < ways_; ++listed) {
      // Selection by rank: sets are small, and no memory is taken.
      std::uint32_t next = kNoPlace;
      for (std::uint32_t way = 0; way < ways_; ++way) {
        const std::uint32_t place = place_of(set, way);
        if (places_[place].tag == 0 || places_[place].stamp <= after) continue;
        if (next == kNoPlace || places_[place].stamp < places_[next].stamp) next = place;
      }
      if (next == kNoPlace) break;
      after = places_[next].stamp;
      append_bytes(state, places_[next].tag);
      append_bytes(state, places_[next].holders);
      append_bytes(state, static_cast<std::uint8_t>(places_[next].is_owned ? 1 : 0));
    }
    append_bytes(state, std::uint64_t{0});
  }
}

}  // namespace wharf::sim
