// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/stall_watch.h"

#include <gtest/gtest.h>

namespace wharf::sim {
namespace {

constexpr TimePs ms(int count) { return milliseconds(count); }

TEST(StallWatch, SilenceForAsLongAsIsPatientIsAStall) {
  StallWatch watch(ms(10));
  EXPECT_FALSE(watch.looks(ms(1), 100, 0));
  EXPECT_FALSE(watch.looks(ms(10), 100, 0));
  EXPECT_TRUE(watch.looks(ms(11), 100, 0));
  EXPECT_EQ(watch.since(), ms(1));
  watch.excuse(ms(11));
  EXPECT_FALSE(watch.looks(ms(20), 100, 0));
  EXPECT_FALSE(watch.looks(ms(21), 100, 1));
}

// The senders of an incast whose time-outs double are heard after 1, 2, 4 ... ms: each silence is longer than
// all before it together.
TEST(StallWatch, SilencesThatDoubleAreNoStall) {
  StallWatch watch(ms(8), true);
  StallWatch set(ms(8));
  bool refused = false;
  std::uint64_t bytes = 0;
  int now = 0;
  for (int gap = 1; gap <= 4096; gap *= 2) {
    for (int i = 1; i < gap; ++i) {
      EXPECT_FALSE(watch.looks(ms(now + i), bytes, 0)) << gap;
      refused |= set.looks(ms(now + i), bytes, 0);
    }
    now += gap;
    ++bytes;
    EXPECT_FALSE(watch.looks(ms(now), bytes, 0)) << gap;
    refused |= set.looks(ms(now), bytes, 0);
  }
  EXPECT_TRUE(refused);  // What a user has set is meant.
  EXPECT_FALSE(watch.looks(ms(now + 4 * 4096 - 1), bytes, 0));
  EXPECT_TRUE(watch.looks(ms(now + 4 * 4096), bytes, 0));
}

TEST(StallWatch, ForEverIsForEver) {
  StallWatch watch(kNever, true);
  EXPECT_FALSE(watch.looks(seconds(1'000'000), 0, 0));
}

}  // namespace
}  // namespace wharf::sim
