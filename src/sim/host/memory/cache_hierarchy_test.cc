// SPDX-License-Identifier: Apache-2.0
// Hit latencies, eviction order, dirty write-back and write-through traffic, each worked out by hand.
#include "sim/host/memory/cache_hierarchy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <utility>

namespace wharf::sim {
namespace {

CacheHierarchyConfig small_config() {
  CacheHierarchyConfig config;
  config.l1 = {{2, 2}, nanoseconds(1)};
  config.l2 = {{4, 4}, nanoseconds(4)};
  config.llc = {{8, 8}, nanoseconds(12)};
  return config;
}

CacheHierarchy make(const CacheHierarchyConfig& config) { return CacheHierarchy::create(config).value(); }

std::vector<LineNumber> lines_of(const WriteBacks& out) {
  return {out.lines.begin(), out.lines.begin() + out.count};
}

/// One access, filled at once; gives the lines written back.
std::vector<LineNumber> use(CacheHierarchy& caches, LineNumber line, bool store) {
  WriteBacks out;
  if (caches.access(line, store, out).needs_fill) caches.fill(line, store, out);
  return lines_of(out);
}

TEST(CacheHierarchy, LatencyIsThatOfTheLevelThatAnswers) {
  CacheHierarchy caches = make(small_config());
  WriteBacks out;
  const CacheAccess miss = caches.access(1, false, out);
  EXPECT_EQ(miss.level, CacheLevel::kMemory);
  EXPECT_TRUE(miss.needs_fill);
  EXPECT_EQ(miss.latency, nanoseconds(12)) << "the last level's tags are checked last";
  caches.fill(1, false, out);
  EXPECT_EQ(caches.access(1, false, out).latency, nanoseconds(1));
  use(caches, 2, false);
  use(caches, 3, false);  // L1 holds 2 and 3.
  const CacheAccess second = caches.access(1, false, out);
  EXPECT_EQ(second.level, CacheLevel::kL2);
  EXPECT_EQ(second.latency, nanoseconds(4));
  EXPECT_EQ(caches.access(1, false, out).level, CacheLevel::kL1) << "a lower hit moves the line up";
  for (LineNumber line = 4; line < 8; ++line) use(caches, line, false);  // L2 holds 4 to 7.
  const CacheAccess third = caches.access(1, false, out);
  EXPECT_EQ(third.level, CacheLevel::kLlc);
  EXPECT_EQ(third.latency, nanoseconds(12));
  EXPECT_EQ(out.count, 0U);
  EXPECT_THAT(caches.counters().answered, testing::ElementsAre(2, 1, 1, 7));
}

TEST(CacheHierarchy, MissDetectionCanBeAFlatTime) {
  CacheHierarchyConfig config = small_config();
  config.miss_detection = nanoseconds(70);
  CacheHierarchy caches = make(config);
  WriteBacks out;
  EXPECT_EQ(caches.access(1, true, out).latency, nanoseconds(70));
}

TEST(CacheHierarchy, AbsentLevelsAreSkipped) {
  CacheHierarchyConfig config = small_config();
  config.llc.shape = {0, 0};
  CacheHierarchy caches = make(config);
  WriteBacks out;
  EXPECT_EQ(caches.access(1, false, out).latency, nanoseconds(4));
  for (LineNumber line = 1; line <= 4; ++line) use(caches, line, false);
  EXPECT_EQ(caches.access(1, false, out).level, CacheLevel::kL2);
  config.l2.shape = {0, 0};
  CacheHierarchy alone = make(config);
  EXPECT_EQ(alone.access(1, false, out).latency, nanoseconds(1));
}

TEST(CacheHierarchy, DirtyLinesReachMemoryOnlyFromTheLastLevel) {
  CacheHierarchy caches = make(small_config());
  use(caches, 100, true);
  // 100 falls from L1 to L2 to the LLC, dirty all the way; the eighth later line pushes it out. Its moves
  // down renew it: it enters L2 with the second later line and the LLC with the fifth.
  std::vector<LineNumber> written;
  LineNumber line = 0;
  for (; line < 40 && written.empty(); ++line) {
    EXPECT_EQ(caches.is_dirty(100), true);
    written = use(caches, line, false);
  }
  EXPECT_THAT(written, testing::ElementsAre(100));
  EXPECT_FALSE(caches.contains(100));
  EXPECT_EQ(caches.counters().write_backs, 1U);
  for (; line < 80; ++line) EXPECT_TRUE(use(caches, line, false).empty()) << "clean lines are dropped";
}

TEST(CacheHierarchy, OneLevelEvictsInOrderOfUse) {
  CacheHierarchyConfig config;
  config.l1 = {{4, 4}, nanoseconds(1)};
  config.l2.shape = {0, 0};
  CacheHierarchy caches = make(config);
  for (LineNumber line = 1; line <= 4; ++line) EXPECT_TRUE(use(caches, line, true).empty());
  use(caches, 1, false);
  EXPECT_THAT(use(caches, 5, false), testing::ElementsAre(2));
  EXPECT_THAT(use(caches, 6, false), testing::ElementsAre(3));
  EXPECT_THAT(use(caches, 7, false), testing::ElementsAre(4));
  EXPECT_THAT(use(caches, 8, false), testing::ElementsAre(1));
  EXPECT_THAT(use(caches, 9, false), testing::ElementsAre()) << "5 was clean";
}

TEST(CacheHierarchy, ConflictMissesHappenWhileTheCacheIsNearlyEmpty) {
  CacheHierarchyConfig config;
  config.l1 = {{512, 8}, nanoseconds(1)};  // 64 sets.
  config.l2.shape = {0, 0};
  CacheHierarchy caches = make(config);
  for (int round = 0; round < 3; ++round) {
    for (LineNumber i = 0; i < 9; ++i) use(caches, i * 64, false);
  }
  EXPECT_EQ(caches.counters().answered[0], 0U) << "nine lines of one set of eight ways";
  EXPECT_EQ(caches.counters().fills, 27U);
  config.l1.shape = {512, 512};
  CacheHierarchy full = make(config);
  for (int round = 0; round < 3; ++round) {
    for (LineNumber i = 0; i < 9; ++i) use(full, i * 64, false);
  }
  EXPECT_EQ(full.counters().fills, 9U);
}

TEST(CacheHierarchy, WriteThroughSendsEveryStoreAndKeepsNothingDirty) {
  CacheHierarchyConfig config = small_config();
  config.write_policy = WritePolicy::kWriteThrough;
  CacheHierarchy caches = make(config);
  WriteBacks out;
  const CacheAccess store_miss = caches.access(1, true, out);
  EXPECT_EQ(store_miss.level, CacheLevel::kMemory);
  EXPECT_TRUE(store_miss.store_to_memory);
  EXPECT_FALSE(store_miss.needs_fill) << "a store miss allocates nothing";
  EXPECT_FALSE(caches.contains(1));
  use(caches, 1, false);
  EXPECT_FALSE(caches.try_first_level(1, true)) << "its store must be seen by the caller";
  const CacheAccess store_hit = caches.access(1, true, out);
  EXPECT_EQ(store_hit.level, CacheLevel::kL1);
  EXPECT_EQ(store_hit.latency, nanoseconds(1));
  EXPECT_TRUE(store_hit.store_to_memory);
  EXPECT_FALSE(caches.is_dirty(1));
  for (LineNumber line = 2; line < 40; ++line) {
    use(caches, line, false);
    use(caches, line, true);
  }
  EXPECT_EQ(caches.counters().write_backs, 0U);
  EXPECT_EQ(caches.counters().stores_to_memory, 40U);
}

TEST(CacheHierarchy, UncachedAlwaysGoesToMemory) {
  CacheHierarchyConfig config = small_config();
  config.write_policy = WritePolicy::kUncached;
  CacheHierarchy caches = make(config);
  WriteBacks out;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(caches.try_first_level(1, false));
    const CacheAccess load = caches.access(1, false, out);
    EXPECT_EQ(load.level, CacheLevel::kMemory);
    EXPECT_FALSE(load.needs_fill);
    EXPECT_TRUE(caches.access(1, true, out).store_to_memory);
  }
  EXPECT_EQ(caches.counters().answered[3], 6U);
}

TEST(CacheHierarchy, InvalidateAndCleanReportDirtyCopies) {
  CacheHierarchy caches = make(small_config());
  use(caches, 1, true);
  use(caches, 2, false);
  EXPECT_TRUE(caches.clean(1));
  EXPECT_FALSE(caches.clean(1));
  EXPECT_FALSE(caches.invalidate(1)) << "clean by now";
  EXPECT_FALSE(caches.contains(1));
  use(caches, 2, true);
  EXPECT_TRUE(caches.invalidate(2));
  EXPECT_FALSE(caches.invalidate(2));
}

TEST(CacheHierarchy, CleanAllReportsALineThatIsDirtyTwiceOnce) {
  CacheHierarchy caches = make(small_config());
  use(caches, 1, true);
  use(caches, 2, false);
  use(caches, 3, false);  // 1 is dirty in L2 now.
  use(caches, 1, true);   // And in L1.
  std::vector<LineNumber> dirty;
  caches.clean_all([&](LineNumber line) { dirty.push_back(line); });
  EXPECT_THAT(dirty, testing::ElementsAre(1));
  EXPECT_FALSE(caches.is_dirty(1));
  EXPECT_TRUE(caches.contains(1));
}

TEST(CacheHierarchy, WarmUpEndsByForgettingCountsOnly) {
  CacheHierarchy caches = make(small_config());
  use(caches, 1, false);
  caches.reset_counters();
  EXPECT_TRUE(caches.try_first_level(1, true));
  EXPECT_THAT(caches.counters().answered, testing::ElementsAre(1, 0, 0, 0));
}

RC_GTEST_PROP(CacheHierarchyProperty, FillingAnAbsentLineIsFilling, ()) {
  CacheHierarchy plain = make(small_config());
  CacheHierarchy quick = make(small_config());
  plain.track_places();
  quick.track_places();
  const auto accesses = *rc::gen::container<std::vector<std::pair<std::uint8_t, bool>>>(
      rc::gen::pair(rc::gen::inRange<std::uint8_t>(0, 24), rc::gen::arbitrary<bool>()));
  for (const auto& [line, store] : accesses) {
    WriteBacks plain_out;
    WriteBacks quick_out;
    if (plain.access(line, store, plain_out).needs_fill) plain.fill(line, store, plain_out);
    if (quick.access(line, store, quick_out).needs_fill) quick.fill_absent(line, store, quick_out);
    RC_ASSERT(lines_of(plain_out) == lines_of(quick_out));
    RC_ASSERT(plain_out.departed_count == quick_out.departed_count);
    for (LineNumber at = 0; at < 24; ++at) {
      RC_ASSERT(plain.place_of(at) == quick.place_of(at));
      RC_ASSERT(plain.is_dirty(at) == quick.is_dirty(at));
      RC_ASSERT(quick.contains(at) == (quick.contains_above_last(at) || quick.place_of(at) != kNoPlace));
    }
  }
}

TEST(CacheHierarchy, RefusalsNameTheKey) {
  CacheHierarchyConfig config;
  config.l2.shape = {100, 3};
  EXPECT_THAT(CacheHierarchy::create(config).error().message, testing::StartsWith("cache.l2.ways is 3"));
  config = {};
  config.llc = {{1024, 16}, picoseconds(-1)};
  EXPECT_THAT(CacheHierarchy::create(config).error().message, testing::StartsWith("cache.llc.latency"));
  config = {};
  config.l1.shape = {0, 0};
  EXPECT_THAT(CacheHierarchy::create(config).error().message, testing::StartsWith("cache.l1.lines is 0"));
}

// A store is never lost: what was stored is dirty in some level or has been written back since.
RC_GTEST_PROP(CacheHierarchyProperty, DirtyDataIsKeptOrWrittenBack, ()) {
  CacheHierarchyConfig config;
  config.l1 = {{4, 2}, nanoseconds(1)};
  config.l2 = {{8, *rc::gen::elementOf(std::vector<std::uint32_t>{1, 2, 8})}, nanoseconds(4)};
  config.llc = {{*rc::gen::elementOf(std::vector<std::uint32_t>{0, 4, 16}), 4}, nanoseconds(12)};
  CacheHierarchy caches = make(config);
  std::set<LineNumber> unwritten;
  const auto operations = *rc::gen::container<std::vector<std::pair<unsigned, bool>>>(
      rc::gen::pair(rc::gen::inRange(0U, 40U), rc::gen::arbitrary<bool>()));
  std::uint64_t lookups = 0;
  for (const auto& [line, store] : operations) {
    ++lookups;
    if (store) unwritten.insert(line);
    if (caches.try_first_level(line, store)) continue;
    for (const LineNumber written : use(caches, line, store)) {
      RC_ASSERT(unwritten.contains(written));
      // An older copy below may be written while a newer one lives above.
      if (!caches.is_dirty(written)) unwritten.erase(written);
    }
    RC_ASSERT(caches.contains(line));
  }
  for (const LineNumber line : unwritten) RC_ASSERT(caches.is_dirty(line));
  std::uint64_t answered = 0;
  for (const std::uint64_t count : caches.counters().answered) answered += count;
  RC_ASSERT(answered == lookups);
}

}  // namespace
}  // namespace wharf::sim
