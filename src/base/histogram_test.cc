// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <algorithm>
#include <span>

#include "base/random.h"
#include "base/statistics.h"

namespace wharf {
namespace {

TEST(Histogram, EmptyIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.max(), 0);
  EXPECT_EQ(histogram.mean(), 0.0);
  EXPECT_EQ(histogram.value_at_percentile(50), 0);
}

TEST(Histogram, PercentilesStayWithinTheStatedError) {
  RandomStream random(21, "histogram");
  for (const int spread : {8, 9, 20, 40, 62}) {
    Histogram histogram;
    std::vector<std::int64_t> values;
    for (int i = 0; i < 20'000; ++i) {
      values.push_back(static_cast<std::int64_t>((random.next_u64() >> 1U) >>
                                                 random.below(static_cast<std::uint64_t>(spread) + 1)));
      histogram.record(values.back());
    }
    std::sort(values.begin(), values.end());
    EXPECT_EQ(histogram.min(), values.front());
    EXPECT_EQ(histogram.max(), values.back());
    EXPECT_NEAR(histogram.mean() / mean(std::span<const std::int64_t>(values)), 1.0, 1e-9);
    for (const double percent : {0.0, 1.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
      const std::int64_t exact = exact_percentile(std::span<const std::int64_t>(values), percent);
      const std::int64_t found = histogram.value_at_percentile(percent);
      EXPECT_GE(found, exact);
      EXPECT_LE(found - exact, exact / 128) << percent;
    }
  }
}

TEST(Histogram, EndsOfTheRange) {
  Histogram histogram;
  histogram.record(0);
  histogram.record(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram.value_at_percentile(50), 0);
  EXPECT_EQ(histogram.value_at_percentile(100), std::numeric_limits<std::int64_t>::max());
  EXPECT_DEATH(histogram.record(-1), "invariant broken");
}

TEST(Histogram, MergeEqualsRecordingAll) {
  RandomStream random(22, "histogram");
  Histogram left;
  Histogram right;
  Histogram all;
  for (int i = 0; i < 1'000; ++i) {
    const auto value = static_cast<std::int64_t>(random.below(1'000'000));
    (i % 3 == 0 ? left : right).record(value, 2);
    all.record(value);
    all.record(value);
  }
  left.merge(right);
  EXPECT_EQ(left.count(), all.count());
  EXPECT_EQ(left.min(), all.min());
  EXPECT_EQ(left.max(), all.max());
  EXPECT_EQ(left.mean(), all.mean());
  for (int percent = 0; percent <= 100; ++percent) {
    EXPECT_EQ(left.value_at_percentile(percent), all.value_at_percentile(percent));
  }
  left.clear();
  EXPECT_EQ(left.count(), 0U);
}

}  // namespace
}  // namespace wharf
