// SPDX-License-Identifier: Apache-2.0
#include "sim/host/replay/memory_placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/line.h"
#include "sim/host/memory/cache.h"

namespace wharf::sim {

namespace {

constexpr unsigned kPageShift = 12;

/// The finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
/// 2014): every bit of the result depends on every bit of the argument.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31U);
}

}  // namespace

Result<MemoryPlacement> MemoryPlacement::create(const MemoryPlacementConfig& config, RandomStream stream) {
  if (config.rule == PlacementRule::kRanges) {
    if (config.ranges.empty()) {
      return input_error(
          "remote.ranges is empty, expected at least one range such as \"0x4035000-0x4056000\"");
    }
    for (const AddressRange& range : config.ranges) {
      if (range.empty()) {
        return input_error(fmt::format("remote.ranges holds {:#x}-{:#x}, expected an end above the start",
                                       range.first, range.end));
      }
    }
  }
  if (config.rule == PlacementRule::kFraction && !(config.fraction >= 0 && config.fraction <= 1)) {
    return input_error(fmt::format("remote.fraction is {}, expected 0 to 1", config.fraction));
  }
  return MemoryPlacement(config, stream.next_u64());
}

MemoryPlacement::MemoryPlacement(const MemoryPlacementConfig& config, std::uint64_t key)
    : rule_(config.rule),
      ranges_(config.ranges),
      fraction_(Probability::from(config.rule == PlacementRule::kFraction ? config.fraction : 0.0)),
      granule_shift_(config.granule == PlacementGranule::kPage ? kPageShift : kLineShift),
      key_(key) {}

bool MemoryPlacement::is_remote(std::uint64_t address, const TraceRegions& regions) const {
  switch (rule_) {
    case PlacementRule::kNone:
      return false;
    case PlacementRule::kAll:
      return true;
    case PlacementRule::kHeap:
      return regions.is_heap(address);
    case PlacementRule::kStack:
      return regions.is_stack(address);
    case PlacementRule::kRanges:
      return std::any_of(ranges_.begin(), ranges_.end(),
                         [&](const AddressRange& range) { return range.contains(address); });
    case PlacementRule::kFraction:
      return fraction_.always() || mix((address >> granule_shift_) ^ key_) < fraction_.threshold;
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf::sim
