// SPDX-License-Identifier: Apache-2.0
// Which addresses of a traced program live on the other machine.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "sim/host/replay/access_trace.h"

namespace wharf::sim {

/// Which addresses are remote. In scenarios: "none", "all", "heap", "stack", "ranges", "fraction".
enum class PlacementRule : std::uint8_t { kNone, kAll, kHeap, kStack, kRanges, kFraction };

/// What a fraction is drawn by. In scenarios: "page" (4 KiB), "line" (64 B).
enum class PlacementGranule : std::uint8_t { kPage, kLine };

struct MemoryPlacementConfig {
  PlacementRule rule = PlacementRule::kAll;
  std::vector<AddressRange> ranges{};  ///< For kRanges: at least one, none empty.
  double fraction = 0.5;               ///< For kFraction: share of all granules that is remote, 0 to 1.
  PlacementGranule granule = PlacementGranule::kPage;
};

/// Answers whether an address is remote. Heap and stack are those that the trace tells of (TraceRegions).
class MemoryPlacement {
 public:
  /// `stream` decides which granules a fraction takes: a granule's place depends on the stream's name and the
  /// granule alone, and a larger fraction contains every smaller one. Refuses what makes no sense, naming the
  /// key.
  static Result<MemoryPlacement> create(const MemoryPlacementConfig& config, RandomStream stream);

  /// `regions` belongs to the trace that `address` comes from. Meant for misses: a few nanoseconds.
  bool is_remote(std::uint64_t address, const TraceRegions& regions) const;

 private:
  MemoryPlacement(const MemoryPlacementConfig& config, std::uint64_t key);

  PlacementRule rule_;
  std::vector<AddressRange> ranges_;
  Probability fraction_;
  unsigned granule_shift_;
  std::uint64_t key_;
};

}  // namespace wharf::sim
