// SPDX-License-Identifier: Apache-2.0
// A cache level against hand-made sequences and, as a property, against an obvious model.
#include "sim/host/memory/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <list>
#include <map>
#include <set>

namespace wharf::sim {
namespace {

TEST(Cache, EvictsTheLeastRecentlyUsedOfTheSet) {
  Cache cache({8, 4});  // Two sets: even and odd lines.
  for (const LineNumber line : {0, 2, 4, 6}) EXPECT_FALSE(cache.insert(line, false).valid);
  EXPECT_TRUE(cache.touch(0, false));
  EXPECT_FALSE(cache.insert(1, false).valid) << "the other set is empty";
  const Cache::Victim first = cache.insert(8, false);
  EXPECT_TRUE(first.valid);
  EXPECT_EQ(first.line, 2U) << "0 was used after it";
  EXPECT_EQ(cache.insert(10, false).line, 4U);
  EXPECT_EQ(cache.insert(12, false).line, 6U);
  EXPECT_EQ(cache.insert(14, false).line, 0U);
}

TEST(Cache, MissingTouchChangesNothing) {
  Cache cache({2, 2});
  cache.insert(1, false);
  cache.insert(2, false);
  EXPECT_FALSE(cache.touch(3, true));
  EXPECT_FALSE(cache.contains(3));
  EXPECT_EQ(cache.insert(4, false).line, 1U);
}

TEST(Cache, DirtyStaysWithTheLineUntilItLeaves) {
  for (const CacheShape shape : {CacheShape{64, 64}, CacheShape{4, 4}}) {
    Cache cache(shape);
    cache.insert(7, false);
    EXPECT_FALSE(cache.is_dirty(7));
    EXPECT_TRUE(cache.touch(7, true));
    EXPECT_TRUE(cache.touch(7, false));
    EXPECT_TRUE(cache.is_dirty(7));
    EXPECT_TRUE(cache.clean(7));
    EXPECT_FALSE(cache.clean(7)) << "already clean";
    EXPECT_TRUE(cache.contains(7));
    EXPECT_TRUE(cache.touch(7, true));
    EXPECT_TRUE(cache.remove(7).dirty);
    EXPECT_FALSE(cache.remove(7).valid);
    EXPECT_FALSE(cache.insert(7, false).valid);
    EXPECT_FALSE(cache.is_dirty(7)) << "the new line inherits nothing";
  }
}

TEST(Cache, PlacesAreOneForEachLineAndStay) {
  for (const CacheShape shape :
       {CacheShape{16, 4}, CacheShape{16, 16}, CacheShape{40, 40}, CacheShape{4, 1}}) {
    Cache cache(shape);
    cache.track_places();
    std::map<LineNumber, std::uint32_t> places;
    LineNumber line = 1;
    for (int i = 0; i < 4000; ++i) {
      line = (line * 5 + 3) % 128;
      if (i % 7 == 0) {
        const Cache::Victim removed = cache.remove(line);
        ASSERT_EQ(removed.valid, places.contains(line));
        if (removed.valid) {
          ASSERT_EQ(removed.place, places[line]);
        }
        places.erase(line);
      } else if (!cache.touch(line, i % 3 == 0)) {
        const std::uint32_t guess = cache.next_place(line);
        const Cache::Victim victim = cache.insert(line, false);
        if (victim.valid) {
          ASSERT_EQ(victim.place, places[victim.line]);
          places.erase(victim.line);
        }
        places[line] = cache.place_of(line);
        if (guess != kNoPlace) {
          ASSERT_EQ(places[line], guess);
        }
      }
      std::set<std::uint32_t> used;
      for (const auto& [known, place] : places) {
        ASSERT_EQ(cache.place_of(known), place);
        ASSERT_LT(place, shape.lines);
        ASSERT_TRUE(used.insert(place).second);
      }
    }
    EXPECT_EQ(cache.place_of(1000), kNoPlace);
  }
}

TEST(Cache, DirectMappedLinesConflict) {
  Cache cache({16, 1});
  cache.insert(3, true);
  EXPECT_TRUE(cache.contains(3));
  const Cache::Victim victim = cache.insert(19, false);
  EXPECT_EQ(victim.line, 3U);
  EXPECT_TRUE(victim.dirty);
  EXPECT_FALSE(cache.contains(3));
}

TEST(Cache, CleanAllVisitsEachDirtyLineOnce) {
  for (const CacheShape shape : {CacheShape{128, 128}, CacheShape{128, 8}}) {
    Cache cache(shape);
    for (LineNumber line = 0; line < 100; ++line) cache.insert(line, line % 3 == 0);
    std::vector<LineNumber> dirty;
    cache.clean_all([&](LineNumber line) { dirty.push_back(line); });
    std::vector<LineNumber> expected;
    for (LineNumber line = 0; line < 100; line += 3) expected.push_back(line);
    EXPECT_THAT(dirty, testing::UnorderedElementsAreArray(expected));
    cache.clean_all([&](LineNumber) { ADD_FAILURE() << "all lines are clean"; });
  }
}

TEST(Cache, RefusesShapesThatCannotBeBuilt) {
  EXPECT_TRUE(validate_cache_shape({512, 512}, "cache.l1").ok());
  EXPECT_TRUE(validate_cache_shape({8192, 16}, "cache.l2").ok());
  EXPECT_THAT(validate_cache_shape({0, 1}, "cache.l1").error().message,
              testing::HasSubstr("cache.l1.lines is 0"));
  EXPECT_THAT(validate_cache_shape({512, 7}, "cache.l1").error().message,
              testing::HasSubstr("cache.l1.ways is 7"));
  EXPECT_THAT(validate_cache_shape({96, 8}, "cache.l2").error().message, testing::HasSubstr("is 12 sets"));
  EXPECT_THAT(validate_cache_shape({512, 64}, "cache.l2").error().message, testing::HasSubstr("at most 32"));
  EXPECT_FALSE(validate_cache_shape({kMaxCacheLines * 2, 8}, "cache.llc").ok());
}

/// One list per set, most recent first.
class ModelCache {
 public:
  explicit ModelCache(CacheShape shape) : ways_(shape.ways), sets_(shape.lines / shape.ways) {}
  bool touch(LineNumber line, bool store) {
    auto& set = sets_[line % sets_.size()];
    for (auto it = set.begin(); it != set.end(); ++it) {
      if (it->first != line) continue;
      const bool dirty = it->second || store;
      set.erase(it);
      set.emplace_front(line, dirty);
      return true;
    }
    return false;
  }
  Cache::Victim insert(LineNumber line, bool dirty) {
    auto& set = sets_[line % sets_.size()];
    set.emplace_front(line, dirty);
    if (set.size() <= ways_) return {};
    const auto [victim, victim_dirty] = set.back();
    set.pop_back();
    return {.line = victim, .valid = true, .dirty = victim_dirty};
  }
  Cache::Victim remove(LineNumber line) {
    auto& set = sets_[line % sets_.size()];
    for (auto it = set.begin(); it != set.end(); ++it) {
      if (it->first != line) continue;
      const Cache::Victim removed{.line = line, .valid = true, .dirty = it->second};
      set.erase(it);
      return removed;
    }
    return {};
  }

 private:
  std::size_t ways_;
  std::vector<std::list<std::pair<LineNumber, bool>>> sets_;
};

RC_GTEST_PROP(CacheProperty, EqualsAListPerSet, ()) {
  const CacheShape shape = *rc::gen::elementOf(
      std::vector<CacheShape>{{1, 1}, {8, 1}, {16, 4}, {32, 32}, {48, 3}, {64, 64}, {40, 40}});
  Cache cache(shape);
  ModelCache model(shape);
  const auto operations = *rc::gen::container<std::vector<std::pair<unsigned, unsigned>>>(
      rc::gen::pair(rc::gen::inRange(0U, 200U), rc::gen::inRange(0U, 12U)));
  for (const auto& [line, action] : operations) {
    if (action == 0) {
      const auto got = cache.remove(line);
      const auto expected = model.remove(line);
      RC_ASSERT(got.valid == expected.valid);
      RC_ASSERT(got.dirty == expected.dirty);
      continue;
    }
    const bool store = action % 2 == 0;
    const bool hit = cache.touch(line, store);
    RC_ASSERT(hit == model.touch(line, store));
    if (hit) continue;
    const auto got = cache.insert(line, store);
    const auto expected = model.insert(line, store);
    RC_ASSERT(got.valid == expected.valid);
    RC_ASSERT(got.dirty == expected.dirty);
    if (got.valid) RC_ASSERT(got.line == expected.line);
  }
}

}  // namespace
}  // namespace wharf::sim
