// SPDX-License-Identifier: Apache-2.0
#include "sim/host/replay/memory_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::sim {
namespace {

MemoryPlacement make(const MemoryPlacementConfig& config, std::uint64_t seed = 1) {
  return MemoryPlacement::create(config, RandomStream(seed, "memory_placement")).value();
}

TraceRegions exact_regions() {
  TraceRegions regions;
  regions.add_heap({0x4035000, 0x4056000});
  regions.add_heap({0x5000000, 0x5001000});
  return regions;
}

TEST(MemoryPlacement, NoneAndAll) {
  EXPECT_FALSE(make({.rule = PlacementRule::kNone}).is_remote(0x1000, {}));
  EXPECT_TRUE(make({.rule = PlacementRule::kAll}).is_remote(0x1000, {}));
}

TEST(MemoryPlacement, HeapIsWhatWasRecorded) {
  const MemoryPlacement heap = make({.rule = PlacementRule::kHeap});
  const TraceRegions regions = exact_regions();
  EXPECT_TRUE(heap.is_remote(0x4035000, regions));
  EXPECT_TRUE(heap.is_remote(0x4055fff, regions));
  EXPECT_FALSE(heap.is_remote(0x4056000, regions)) << "the end is exclusive";
  EXPECT_FALSE(heap.is_remote(0x4034fff, regions));
  EXPECT_TRUE(heap.is_remote(0x5000fff, regions));
  EXPECT_FALSE(heap.is_remote(0x1ffeff7e8, regions));
}

TEST(MemoryPlacement, WithoutRecordingTheLayoutOfValgrindDecides) {
  const MemoryPlacement heap = make({.rule = PlacementRule::kHeap});
  const MemoryPlacement stack = make({.rule = PlacementRule::kStack});
  const TraceRegions regions;
  EXPECT_TRUE(stack.is_remote(0x1ffeffecd8, regions));
  EXPECT_FALSE(heap.is_remote(0x1ffeffecd8, regions));
  EXPECT_FALSE(heap.is_remote(0x4033ad0, regions)) << "the dynamic linker's data";
  EXPECT_TRUE(heap.is_remote(0x5204000, regions));
  EXPECT_FALSE(stack.is_remote(0x5204000, regions));
}

TEST(MemoryPlacement, RangesAreHalfOpen) {
  const MemoryPlacement ranges =
      make({.rule = PlacementRule::kRanges, .ranges = {{0x100, 0x200}, {0x400, 0x500}}});
  EXPECT_FALSE(ranges.is_remote(0xff, {}));
  EXPECT_TRUE(ranges.is_remote(0x100, {}));
  EXPECT_FALSE(ranges.is_remote(0x200, {}));
  EXPECT_TRUE(ranges.is_remote(0x4ff, {}));
}

TEST(MemoryPlacement, AFractionTakesWholeGranulesAndItsShare) {
  for (const PlacementGranule granule : {PlacementGranule::kPage, PlacementGranule::kLine}) {
    const std::uint64_t bytes = granule == PlacementGranule::kPage ? 4096 : 64;
    const MemoryPlacement quarter =
        make({.rule = PlacementRule::kFraction, .fraction = 0.25, .granule = granule});
    int remote = 0;
    constexpr int kGranules = 40'000;
    for (std::uint64_t i = 0; i < kGranules; ++i) {
      const bool first = quarter.is_remote(i * bytes, {});
      EXPECT_EQ(first, quarter.is_remote(i * bytes + bytes - 1, {}));
      remote += first ? 1 : 0;
    }
    // Five standard deviations of a binomial: 5 * sqrt(40000 * 0.25 * 0.75) = 433.
    EXPECT_NEAR(remote, kGranules / 4, 433);
  }
}

TEST(MemoryPlacement, ALargerFractionContainsASmallerOne) {
  const MemoryPlacement small = make({.rule = PlacementRule::kFraction, .fraction = 0.2});
  const MemoryPlacement large = make({.rule = PlacementRule::kFraction, .fraction = 0.6});
  const MemoryPlacement other = make({.rule = PlacementRule::kFraction, .fraction = 0.2}, 2);
  int differ = 0;
  for (std::uint64_t page = 0; page < 1000; ++page) {
    EXPECT_TRUE(!small.is_remote(page << 12U, {}) || large.is_remote(page << 12U, {}));
    differ += small.is_remote(page << 12U, {}) != other.is_remote(page << 12U, {}) ? 1 : 0;
  }
  EXPECT_GT(differ, 100) << "another seed, other pages";
  EXPECT_TRUE(make({.rule = PlacementRule::kFraction, .fraction = 1.0}).is_remote(~0ULL, {}));
  EXPECT_FALSE(make({.rule = PlacementRule::kFraction, .fraction = 0.0}).is_remote(0, {}));
}

TEST(MemoryPlacement, RefusalsNameTheKey) {
  const RandomStream stream(1, "memory_placement");
  EXPECT_THAT(MemoryPlacement::create({.rule = PlacementRule::kRanges}, stream).error().message,
              testing::StartsWith("remote.ranges is empty"));
  EXPECT_THAT(
      MemoryPlacement::create({.rule = PlacementRule::kRanges, .ranges = {{5, 5}}}, stream).error().message,
      testing::HasSubstr("0x5-0x5"));
  EXPECT_THAT(
      MemoryPlacement::create({.rule = PlacementRule::kFraction, .fraction = 1.5}, stream).error().message,
      testing::StartsWith("remote.fraction is 1.5"));
}

TEST(TraceRegions, JoinsWhatTouchesAndTheNearestWhenFull) {
  TraceRegions regions;
  regions.add_heap({100, 200});
  regions.add_heap({300, 400});
  regions.add_heap({200, 300});
  EXPECT_THAT(regions.heap, testing::ElementsAre(AddressRange{100, 400}));
  for (std::uint64_t i = 1; i <= TraceRegions::kMaxHeapRanges; ++i)
    regions.add_heap({i * 10'000, i * 10'000 + 10});
  EXPECT_EQ(regions.heap.size(), TraceRegions::kMaxHeapRanges);
  EXPECT_EQ(regions.heap[0], (AddressRange{100, 10'010})) << "the smallest gap of all";
}

}  // namespace
}  // namespace wharf::sim
