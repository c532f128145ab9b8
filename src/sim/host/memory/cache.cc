// SPDX-License-Identifier: Apache-2.0
#include "sim/host/memory/cache.h"

#include <cstring>

#include "base/check.h"

namespace wharf::sim {

Cache::Cache(const CacheShape& shape) : shape_(shape) {
  WHARF_CHECK(validate_cache_shape(shape, "cache").ok());
  set_mask_ = shape.lines / shape.ways - 1;
  if (shape.ways <= kMaxOrderedWays) {
    entries_.assign(shape.lines, kEmpty);
  } else {
    index_.emplace(shape.lines);
    dirty_slots_.assign(shape.lines, 0);
  }
}

namespace {

constexpr std::uint32_t kOuterWays = 16;

/// Whether any of `kWays` entries is `clean` or its dirty twin. Without branches, which takes half the time
/// of a loop that finds nothing.
template <std::uint32_t kWays>
bool any_holds(const std::uint64_t* entries, std::uint64_t clean) {
  bool present = false;
#pragma GCC unroll 16
  for (std::uint32_t way = 0; way < kWays; ++way) present |= (entries[way] ^ clean) <= 1;
  return present;
}

/// Puts `entry` before the first `count` entries, over the one behind them.
void move_back(std::uint64_t* entries, std::uint32_t count, std::uint64_t entry) {
  std::memmove(entries + 1, entries, count * sizeof *entries);
  entries[0] = entry;
}

}  // namespace

bool Cache::touch_older(std::uint64_t* set, std::uint64_t clean, bool store) {
  // Outer levels, the wide ones, mostly miss; the narrow first level mostly hits in an early way.
  if (shape_.ways == kOuterWays && !any_holds<kOuterWays - 1>(set + 1, clean)) return false;
  for (std::uint32_t way = 1; way < shape_.ways; ++way) {
    if ((set[way] | 1U) != (clean | 1U)) continue;
    const std::uint64_t entry = set[way] | static_cast<std::uint64_t>(store);
    for (std::uint32_t at = way; at > 0; --at) set[at] = set[at - 1];
    set[0] = entry;
    if (!ways_.empty()) rotate_ways(static_cast<std::size_t>(set - entries_.data()), way);
    return true;
  }
  return false;
}

bool Cache::touch_indexed(LineNumber line, bool store) {
  const std::uint32_t slot = index_->touch(line);
  if (slot == kNoSlot) return false;
  dirty_slots_[slot] |= static_cast<std::uint8_t>(store);
  return true;
}

Cache::Victim Cache::insert(LineNumber line, bool dirty) {
  Victim victim;
  if (index_.has_value()) {
    const LruIndex::Insertion insertion = index_->insert(line);
    if (insertion.evicted) {
      victim = Victim{insertion.evicted_key, insertion.slot, true, dirty_slots_[insertion.slot] != 0};
    }
    dirty_slots_[insertion.slot] = static_cast<std::uint8_t>(dirty);
    return victim;
  }
  std::uint64_t* set = set_of(line);
  const std::uint64_t last = set[shape_.ways - 1];
  if (last != kEmpty) victim = Victim{last >> 1U, 0, true, (last & 1U) != 0};
  move_back(set, shape_.ways - 1, (line << 1U) | static_cast<std::uint64_t>(dirty));
  if (!ways_.empty()) {
    const auto first = static_cast<std::size_t>(set - entries_.data());
    rotate_ways(first, shape_.ways - 1);
    victim.place = static_cast<std::uint32_t>(first) + ways_[first];
  }
  return victim;
}

Cache::Victim Cache::remove(LineNumber line) {
  if (index_.has_value()) {
    const std::uint32_t slot = index_->find(line);
    if (slot == kNoSlot) return {};
    const Victim removed{line, slot, true, dirty_slots_[slot] != 0};
    dirty_slots_[slot] = 0;
    index_->erase(line);
    return removed;
  }
  std::uint64_t* set = set_of(line);
  for (std::uint32_t way = 0; way < shape_.ways; ++way) {
    if (set[way] == kEmpty || set[way] >> 1U != line) continue;
    Victim removed{line, 0, true, (set[way] & 1U) != 0};
    for (std::uint32_t at = way; at + 1 < shape_.ways; ++at) set[at] = set[at + 1];
    set[shape_.ways - 1] = kEmpty;
    if (!ways_.empty()) {
      std::uint8_t* ways = ways_.data() + (set - entries_.data());
      const std::uint8_t freed = ways[way];
      removed.place = static_cast<std::uint32_t>(set - entries_.data()) + freed;
      std::memmove(ways + way, ways + way + 1, shape_.ways - way - 1);
      ways[shape_.ways - 1] = freed;
    }
    return removed;
  }
  return {};
}

void Cache::track_places() {
  if (index_.has_value()) return;  // Its slots are places.
  ways_.resize(entries_.size());
  for (std::size_t at = 0; at < ways_.size(); ++at) ways_[at] = static_cast<std::uint8_t>(at % shape_.ways);
}

void Cache::rotate_ways(std::size_t first, std::uint32_t count) {
  std::uint8_t* ways = ways_.data() + first;
  const std::uint8_t front = ways[count];
  std::memmove(ways + 1, ways, count);
  ways[0] = front;
}

const std::uint64_t* Cache::find(LineNumber line) const {
  const std::uint64_t* set = set_of(line);
  for (std::uint32_t way = 0; way < shape_.ways; ++way) {
    if (set[way] != kEmpty && set[way] >> 1U == line) return set + way;
  }
  return nullptr;
}

bool Cache::clean(LineNumber line) {
  if (!is_dirty(line)) return false;
  if (index_.has_value()) {
    dirty_slots_[index_->find(line)] = 0;
  } else {
    *const_cast<std::uint64_t*>(find(line)) &= ~std::uint64_t{1};
  }
  return true;
}

bool Cache::contains(LineNumber line) const {
  if (index_.has_value()) return index_->find(line) != kNoSlot;
  if (shape_.ways == kOuterWays) return any_holds<kOuterWays>(set_of(line), line << 1U);
  return find(line) != nullptr;
}

bool Cache::is_dirty(LineNumber line) const {
  if (index_.has_value()) {
    const std::uint32_t slot = index_->find(line);
    return slot != kNoSlot && dirty_slots_[slot] != 0;
  }
  const std::uint64_t* entry = find(line);
  return entry != nullptr && (*entry & 1U) != 0;
}

}  // namespace wharf::sim
