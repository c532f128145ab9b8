// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/path_selection.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

namespace wharf::congestion {
namespace {

RandomStream stream() { return RandomStream(7, "path.test"); }

std::vector<std::uint16_t> take(PathSelector& selector, RandomStream& random, int count, TimePs now = {}) {
  std::vector<std::uint16_t> values;
  for (int i = 0; i < count; ++i) values.push_back(selector.next(now, random));
  return values;
}
std::set<std::uint16_t> distinct(const std::vector<std::uint16_t>& values) {
  return {values.begin(), values.end()};
}

TEST(PathSelection, ObliviousTakesEveryPathOncePerRoundInANewOrder) {
  const PathConfig config{.paths = 16};
  RandomStream random = stream();
  PathSelector selector(config, random);
  const auto first = take(selector, random, 16);
  const auto second = take(selector, random, 16);
  EXPECT_EQ(distinct(first).size(), 16U);
  EXPECT_EQ(distinct(first), distinct(second)) << "the upper twelve bits are the context's";
  EXPECT_NE(first, second);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(first[static_cast<std::size_t>(i)] ^ first[0], i) << "i XOR r";
  selector.feedback({}, first[0], PathFeedback::kTimeout);
  EXPECT_EQ(distinct(take(selector, random, 16)).size(), 16U) << "it does not listen";
}

TEST(PathSelection, UpperBitsMayBeDrawnForEachRound) {
  const PathConfig config{.choice = PathChoice::kBitmap, .paths = 16, .draw_upper_bits = true};
  RandomStream random = stream();
  PathSelector selector(config, random);
  const auto first = take(selector, random, 16);
  const auto second = take(selector, random, 16);
  const auto upper = [](std::uint16_t value) { return value >> 4; };
  for (const std::uint16_t value : first) EXPECT_EQ(upper(value), upper(first[0])) << "one for a round";
  EXPECT_NE(upper(first[0]), upper(second[0]));
  selector.feedback({}, first[3], PathFeedback::kTrimmed);
  EXPECT_EQ(selector.penalty(first[3]), 4U) << "feedback about an earlier round counts for its path";
}

TEST(PathSelection, AFlowStaysOnItsPath) {
  const PathConfig config{.choice = PathChoice::kFlow};
  RandomStream random = stream();
  PathSelector selector(config, random);
  EXPECT_EQ(distinct(take(selector, random, 100)).size(), 1U);
}

TEST(PathSelection, BitmapPenaltiesAddUpToFifteen) {
  const PathConfig config{.choice = PathChoice::kBitmap, .paths = 8};
  RandomStream random = stream();
  PathSelector selector(config, random);
  const std::uint16_t path = selector.next({}, random);
  selector.feedback({}, path, PathFeedback::kGood);
  EXPECT_EQ(selector.penalty(path), 0U);
  selector.feedback({}, path, PathFeedback::kMarked);
  EXPECT_EQ(selector.penalty(path), 1U);
  selector.feedback({}, path, PathFeedback::kTrimmed);
  EXPECT_EQ(selector.penalty(path), 5U);
  selector.feedback({}, path, PathFeedback::kTimeout);
  EXPECT_EQ(selector.penalty(path), 15U);
  selector.feedback({}, static_cast<std::uint16_t>(path ^ 0x8000U), PathFeedback::kTimeout);
  EXPECT_EQ(selector.penalty(path), 15U) << "not a path of this context";
}

TEST(PathSelection, BitmapPassesOverAPenaltyOncePerUnit) {
  const PathConfig config{.choice = PathChoice::kBitmap, .paths = 8};
  RandomStream random = stream();
  PathSelector selector(config, random);
  const std::uint16_t bad = take(selector, random, 8).back();
  selector.feedback({}, bad, PathFeedback::kMarked);
  selector.feedback({}, bad, PathFeedback::kMarked);
  // Each pass of the walk passes over it once, first of its selection; the third pass takes it.
  const auto later = take(selector, random, 8 + 8 + 8 - 2);
  EXPECT_EQ(std::count(later.begin(), later.end(), bad), 1);
  EXPECT_EQ(selector.penalty(bad), 0U);
}

TEST(PathSelection, BitmapLowersOnlyTheFirstPenaltyOfASelectionAndEndsAfterOneLoop) {
  const PathConfig config{.choice = PathChoice::kBitmap, .paths = 4};
  RandomStream random = stream();
  PathSelector selector(config, random);
  const auto all = take(selector, random, 4);
  for (const std::uint16_t path : all) selector.feedback({}, path, PathFeedback::kTimeout);
  std::uint32_t before = 60;
  for (int i = 0; i < 5; ++i) {
    selector.next({}, random);
    std::uint32_t sum = 0;
    for (const std::uint16_t path : all) sum += selector.penalty(path);
    EXPECT_EQ(sum, before - 1);
    before = sum;
  }
}

TEST(PathSelection, RepsUsesEachGoodPathOnceOldestFirst) {
  const PathConfig config{.choice = PathChoice::kReps, .paths = 256};
  RandomStream random = stream();
  PathSelector selector(config, random);
  const auto sent = take(selector, random, 10);
  for (const std::uint16_t path : sent) selector.feedback({}, path, PathFeedback::kGood);
  selector.feedback({}, sent[0], PathFeedback::kMarked);
  selector.feedback({}, sent[1], PathFeedback::kTrimmed);
  EXPECT_EQ(selector.recyclable(), 8U);
  EXPECT_EQ(take(selector, random, 8), (std::vector<std::uint16_t>{sent.begin() + 2, sent.end()}))
      << "the newest eight, oldest first";
  EXPECT_EQ(selector.recyclable(), 0U);
}

TEST(PathSelection, ATimeoutFreezesRepsOnItsGoodPathsAndThenItExplores) {
  const PathConfig config{.choice = PathChoice::kReps, .paths = 4096};
  RandomStream random = stream();
  PathSelector selector(config, random);
  const auto sent = take(selector, random, 3);
  for (const std::uint16_t path : sent) selector.feedback({}, path, PathFeedback::kGood);
  take(selector, random, 3);
  selector.feedback(milliseconds(1), 0, PathFeedback::kTimeout);
  EXPECT_FALSE(selector.frozen()) << "a value of nobody";
  selector.feedback(milliseconds(1), sent[0], PathFeedback::kTimeout);
  EXPECT_TRUE(selector.frozen());
  EXPECT_EQ(take(selector, random, 4, milliseconds(11) - picoseconds(1)),
            (std::vector<std::uint16_t>{sent[0], sent[1], sent[2], sent[0]}))
      << "again, although used";
  selector.feedback(milliseconds(2), sent[1], PathFeedback::kGood);
  // 10 ms later sixteen random ones, then the good one.
  const auto explored = take(selector, random, 16, milliseconds(11));
  EXPECT_FALSE(selector.frozen());
  EXPECT_GT(distinct(explored).size(), 14U);
  EXPECT_EQ(take(selector, random, 1, milliseconds(11)), std::vector<std::uint16_t>{sent[1]});
}

TEST(PathSelection, RecyclingWalksEveryPathFirst) {
  const PathConfig config{.choice = PathChoice::kRecycle, .paths = 8};
  RandomStream random = stream();
  PathSelector selector(config, random);
  const std::uint16_t first = selector.next({}, random);
  selector.feedback({}, first, PathFeedback::kGood);
  auto round = take(selector, random, 7);
  round.push_back(first);
  EXPECT_EQ(distinct(round).size(), 8U);
  EXPECT_EQ(selector.next({}, random), first);
}

TEST(PathSelection, MixedRecyclesAndElseWalksAroundPenalties) {
  const PathConfig config{.choice = PathChoice::kMixed, .paths = 8};
  RandomStream random = stream();
  PathSelector selector(config, random);
  const auto sent = take(selector, random, 8);
  EXPECT_EQ(distinct(sent).size(), 8U);
  selector.feedback({}, sent[3], PathFeedback::kGood);
  selector.feedback({}, sent[5], PathFeedback::kGood);
  selector.feedback({}, sent[6], PathFeedback::kTrimmed);
  EXPECT_EQ(take(selector, random, 2), (std::vector<std::uint16_t>{sent[3], sent[5]}));
  const auto walked = take(selector, random, 7);
  EXPECT_EQ(std::count(walked.begin(), walked.end(), sent[6]), 0);
}

TEST(PathSelection, RefusesByName) {
  EXPECT_EQ(check(PathConfig{.paths = 48}).error().message,
            "paths is 48, expected a power of two from 1 to 65536");
  EXPECT_TRUE(check(PathConfig{}).ok());
}

RC_GTEST_PROP(PathSelection, ValuesAreTheContextsAndHistoriesRepeat, (std::uint64_t seed)) {
  const PathConfig config{.choice = static_cast<PathChoice>(seed % 6), .paths = 1U << (seed / 6 % 9)};
  const auto history = [&] {
    RandomStream random(seed, "path.history");
    RandomStream events(seed, "path.events");
    PathSelector selector(config, random);
    std::vector<std::uint16_t> values;
    TimePs now{};
    for (int i = 0; i < 400; ++i) {
      now += microseconds(static_cast<std::int64_t>(events.below(400)));
      values.push_back(selector.next(now, random));
      RC_ASSERT(((values.front() ^ values.back()) & ~(config.paths - 1)) == 0U);
      const std::uint16_t about = values[events.below(values.size())];
      selector.feedback(now, about, static_cast<PathFeedback>(events.below(4)));
      RC_ASSERT(selector.penalty(about) <= 15U);
    }
    return values;
  };
  RC_ASSERT(history() == history());
}

}  // namespace
}  // namespace wharf::congestion
