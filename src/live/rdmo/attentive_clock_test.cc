// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/attentive_clock.h"

#include <gtest/gtest.h>

namespace wharf::live {
namespace {

TEST(AttentiveClock, CountsWhatPassesWhileSomebodyLooks) {
  AttentiveClock clock;
  for (int i = 1; i <= 50; ++i) EXPECT_EQ(clock.at(milliseconds(20 * i)), milliseconds(20 * i));
}

// A program that computes for eleven seconds between two calls has not used up a patience of ten.
TEST(AttentiveClock, AnAbsenceCountsAsOneLook) {
  AttentiveClock clock;
  EXPECT_EQ(clock.at(milliseconds(5)), milliseconds(5));
  EXPECT_EQ(clock.at(seconds(11)), milliseconds(5) + AttentiveClock::kLook);
  EXPECT_EQ(clock.at(seconds(11) + milliseconds(7)), milliseconds(12) + AttentiveClock::kLook);
}

}  // namespace
}  // namespace wharf::live
