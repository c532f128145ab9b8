// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/loss_inference.h"

#include <gtest/gtest.h>

namespace wharf::congestion {
namespace {

TEST(LossInference, OneAndAHalfWindowsWithinFivePacketsAndTheLargestWindow) {
  EXPECT_EQ(inferred_loss_threshold(40'000, 225'000, 4000), 15U);
  EXPECT_EQ(inferred_loss_threshold(200'000, 225'000, 4000), 56U) << "225000 / 4000";
  EXPECT_EQ(inferred_loss_threshold(4'000, 225'000, 4000), 5U);
}

TEST(LossInference, ProbesFollowSilence) {
  constexpr TimePs kBase = microseconds(12);
  EXPECT_EQ(probe_silence(kBase, microseconds(9), false), microseconds(21));
  EXPECT_EQ(probe_silence(kBase, microseconds(9), true), microseconds(36));
  EXPECT_EQ(probe_repetition(kBase), microseconds(60));
}

}  // namespace
}  // namespace wharf::congestion
