// SPDX-License-Identifier: Apache-2.0
#include "base/zipf.h"

#include <cmath>

namespace wharf {
namespace {

class ZipfExponent : public testing::TestWithParam<double> {};

TEST_P(ZipfExponent, MatchesItsProbabilities) {
  const double s = GetParam();
  constexpr std::uint64_t kRanks = 20;
  constexpr int kDraws = 200'000;
  const Zipf zipf(kRanks, s);
  RandomStream random(11, "zipf");
  std::vector<int> counts(kRanks);
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t rank = zipf(random);
    ASSERT_LT(rank, kRanks);
    ++counts[rank];
  }
  double total = 0;
  for (std::uint64_t r = 0; r < kRanks; ++r) total += std::pow(static_cast<double>(r + 1), -s);
  double chi_square = 0;
  for (std::uint64_t r = 0; r < kRanks; ++r) {
    const double expected = kDraws * std::pow(static_cast<double>(r + 1), -s) / total;
    chi_square += (counts[r] - expected) * (counts[r] - expected) / expected;
  }
  EXPECT_LT(chi_square, 43.8);  // 19 degrees of freedom, p = 0.001.
}

INSTANTIATE_TEST_SUITE_P(Exponents, ZipfExponent,
                         testing::Values(0.01, 0.5, 0.99, 1.0, 1.0 + 1e-12, 1.2, 2.0, 3.0, 4.0));

TEST(Zipf, SingleRankAndHugeRange) {
  RandomStream random(12, "zipf");
  const Zipf one(1, 1.0);
  const Zipf huge(1ULL << 52U, 0.99);
  std::uint64_t largest = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(one(random), 0U);
    largest = std::max(largest, huge(random));
  }
  EXPECT_LT(largest, 1ULL << 52U);
  EXPECT_GT(largest, 1ULL << 40U);
}

}  // namespace
}  // namespace wharf
