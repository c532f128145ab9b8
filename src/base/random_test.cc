// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <set>

namespace wharf {
namespace {

// Known answers published with the Random123 library (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, KnownAnswers) {
  using Block = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, SameNameRepeatsOtherNamesDiffer) {
  std::set<std::uint64_t> firsts;
  for (const char* name : {"", "a", "b", "ab", "host0.link", "host1.link", "12345678", "123456789"}) {
    RandomStream first(1, name);
    RandomStream second(1, name);
    const std::uint64_t value = first.next_u64();
    EXPECT_EQ(value, second.next_u64());
    EXPECT_TRUE(firsts.insert(value).second) << name;
  }
  EXPECT_TRUE(firsts.insert(RandomStream(2, "a").next_u64()).second);
  EXPECT_TRUE(firsts.insert(RandomStream(1, std::string_view("a\0", 2)).next_u64()).second);
}

TEST(RandomStream, SubstreamIgnoresWhatWasDrawn) {
  RandomStream parent(1, "parent");
  const std::uint64_t before = parent.substream(3).next_u64();
  for (int i = 0; i < 100; ++i) parent.next_u32();
  EXPECT_EQ(parent.substream(3).next_u64(), before);
  std::set<std::uint64_t> values;
  for (std::uint64_t i = 0; i < 1'000; ++i) values.insert(parent.substream(i).next_u64());
  EXPECT_EQ(values.size(), 1'000U);
}

// A change here changes every result file of every run: it must be deliberate.
TEST(RandomStream, FixedValues) {
  RandomStream stream(42, "example");
  RandomStream copy = stream;
  EXPECT_EQ(stream.next_u64(), copy.next_u64());
  RandomStream again(42, "example");
  std::uint64_t folded = 0;
  for (int i = 0; i < 1'000; ++i) folded = folded * 31 + again.next_u64();
  EXPECT_EQ(folded, 3913731335372640546ULL);
}

TEST(RandomStream, BelowIsUniform) {
  RandomStream stream(3, "below");
  constexpr int kDraws = 600'000;
  std::array<int, 6> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts[stream.below(6)];
  double chi_square = 0;
  for (const int count : counts) {
    const double difference = count - kDraws / 6.0;
    chi_square += difference * difference / (kDraws / 6.0);
  }
  EXPECT_LT(chi_square, 20.5);  // 5 degrees of freedom, p = 0.001.
  EXPECT_EQ(stream.below(1), 0U);
}

// With n = 3/4 of the range a biased reduction would hit the first third twice as often as it should.
TEST(RandomStream, BelowIsUnbiasedForHugeRanges) {
  for (const std::uint64_t n : {std::uint64_t{3} << 62U, std::uint64_t{3} << 30U}) {
    RandomStream stream(4, "huge");
    int low_third = 0;
    for (int i = 0; i < 30'000; ++i) {
      const std::uint64_t value = stream.below(n);
      ASSERT_LT(value, n);
      low_third += value < n / 3 ? 1 : 0;
    }
    EXPECT_NEAR(low_third, 10'000, 400);
  }
}

TEST(Probability, EndsDrawNothing) {
  RandomStream stream(5, "chance");
  RandomStream untouched = stream;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(stream.chance(Probability::from(0.0)));
    EXPECT_TRUE(stream.chance(Probability::from(1.0)));
  }
  EXPECT_EQ(stream.next_u64(), untouched.next_u64());
  EXPECT_FALSE(Probability::from(1e-300).never());
  EXPECT_FALSE(Probability::from(0x1.fffffffffffffp-1).always());
  EXPECT_EQ(Probability::from(0.5).threshold, 1ULL << 63U);
}

TEST(Probability, MatchesItsValue) {
  RandomStream stream(6, "chance");
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) hits += stream.chance(Probability::from(0.05)) ? 1 : 0;
  EXPECT_NEAR(hits, 5'000, 250);
}

TEST(RandomStream, ExponentialHasItsMean) {
  RandomStream stream(7, "exponential");
  double sum = 0;
  int above_mean = 0;
  for (int i = 0; i < 100'000; ++i) {
    const TimePs value = stream.exponential(nanoseconds(100));
    ASSERT_GE(value, kTimeZero);
    sum += static_cast<double>(value.ps);
    above_mean += value > nanoseconds(100) ? 1 : 0;
  }
  EXPECT_NEAR(sum / 100'000, 100'000, 1'500);
  EXPECT_NEAR(above_mean, 36'788, 700);
  EXPECT_EQ(stream.exponential(kTimeZero), kTimeZero);
}

TEST(RandomStream, Uniform01StaysInside) {
  RandomStream stream(8, "uniform");
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = stream.uniform01();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.004);
}

}  // namespace
}  // namespace wharf
