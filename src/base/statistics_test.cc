// SPDX-License-Identifier: Apache-2.0
#include "base/statistics.h"

#include <numeric>

namespace wharf {
namespace {

TEST(ExactPercentile, NearestRank) {
  const std::vector<int> five{15, 20, 35, 40, 50};
  const std::span<const int> sorted(five);
  EXPECT_EQ(exact_percentile(sorted, 0), 15);
  EXPECT_EQ(exact_percentile(sorted, 30), 20);
  EXPECT_EQ(exact_percentile(sorted, 40), 20);
  EXPECT_EQ(exact_percentile(sorted, 50), 35);
  EXPECT_EQ(exact_percentile(sorted, 100), 50);
}

TEST(ExactPercentile, RoundNumbersStayExact) {
  std::vector<int> values(1'000);
  std::iota(values.begin(), values.end(), 1);
  const std::span<const int> sorted(values);
  EXPECT_EQ(exact_percentile(sorted, 99.9), 999);
  EXPECT_EQ(exact_percentile(sorted, 99), 990);
  EXPECT_EQ(exact_percentile(sorted, 99.91), 1'000);
  EXPECT_EQ(exact_percentile(sorted, 0.1), 1);
}

TEST(Mean, OfNothingIsZero) {
  EXPECT_EQ(mean(std::span<const double>()), 0.0);
  const std::vector<std::int64_t> values{1, 2, 6};
  EXPECT_EQ(mean(std::span<const std::int64_t>(values)), 3.0);
}

}  // namespace
}  // namespace wharf
