// SPDX-License-Identifier: Apache-2.0
#include "base/bitmap.h"

#include <set>

#include "base/random.h"

namespace wharf {
namespace {

TEST(Bitmap, SearchesAcrossWordsAndStopsAtTheEnd) {
  Bitmap bits(130);
  EXPECT_EQ(bits.first_set(), Bitmap::kNone);
  EXPECT_EQ(bits.first_clear(), 0U);
  bits.set(0);
  bits.set(64);
  bits.set(129);
  EXPECT_EQ(bits.first_set(1), 64U);
  EXPECT_EQ(bits.first_set(65), 129U);
  EXPECT_EQ(bits.first_clear(64), 65U);
  EXPECT_EQ(bits.first_set(130), Bitmap::kNone);
  EXPECT_EQ(bits.count(), 3U);
  bits.clear(64);
  EXPECT_FALSE(bits.test(64));
  for (std::uint64_t i = 0; i < 130; ++i) bits.set(i);
  EXPECT_EQ(bits.first_clear(), Bitmap::kNone);
  Bitmap moved = std::move(bits);
  EXPECT_TRUE(moved.test(129));
  moved.clear_all();
  EXPECT_EQ(moved.count(), 0U);
}

TEST(SequenceBitmap, WindowLimits) {
  Arena arena;
  SequenceBitmap bits(arena, 64, 1'000);
  EXPECT_FALSE(bits.contains(999));
  EXPECT_TRUE(bits.contains(1'000));
  EXPECT_TRUE(bits.contains(1'063));
  EXPECT_FALSE(bits.contains(1'064));
  EXPECT_TRUE(bits.set(1'000));
  EXPECT_FALSE(bits.set(1'000));
  EXPECT_DEATH(bits.set(1'064), "invariant broken");
  EXPECT_DEATH(bits.test(999), "invariant broken");
  EXPECT_DEATH(bits.advance_to(999), "invariant broken");
  EXPECT_DEATH(SequenceBitmap(96), "invariant broken");
  EXPECT_EQ(bits.advance_over_set(), 1U);
  EXPECT_EQ(bits.base(), 1'001U);
}

TEST(SequenceBitmap, EqualsASet) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random(seed, "sequence");
    const std::uint64_t capacity = std::uint64_t{64} << random.below(3);
    std::uint64_t base = random.below(300);
    SequenceBitmap bits(capacity, base);
    std::set<std::uint64_t> model;
    for (int step = 0; step < 600; ++step) {
      const std::uint64_t sequence = base + random.below(capacity);
      switch (random.below(8)) {
        case 0:
          base += random.below(random.below(10) == 0 ? 3 * capacity : 70);
          bits.advance_to(base);
          model.erase(model.begin(), model.lower_bound(base));
          break;
        case 1: {
          std::uint64_t run = 0;
          while (model.erase(base) == 1) {
            ++base;
            ++run;
          }
          ASSERT_EQ(bits.advance_over_set(), run);
          break;
        }
        case 2:
          bits.clear(sequence);
          model.erase(sequence);
          break;
        default:
          ASSERT_EQ(bits.set(sequence), model.insert(sequence).second);
      }
      ASSERT_EQ(bits.base(), base);
      for (std::uint64_t i = base; i < base + capacity; ++i) ASSERT_EQ(bits.test(i), model.contains(i));
      const std::uint64_t from = base + random.below(capacity);
      std::uint64_t clear = from;
      while (clear < base + capacity && model.contains(clear)) ++clear;
      ASSERT_EQ(bits.first_clear(from), clear);
      const auto next_set = model.lower_bound(from);
      ASSERT_EQ(bits.first_set(from), next_set == model.end() ? base + capacity : *next_set);
      const std::uint64_t window = bits.window64(from);
      for (std::uint64_t i = 0; i < 64; ++i) ASSERT_EQ(window >> i & 1U, model.contains(from + i) ? 1U : 0U);
    }
  }
}

}  // namespace
}  // namespace wharf
