// SPDX-License-Identifier: Apache-2.0
#include "study/frame/judgement.h"

#include <gtest/gtest.h>

#include <limits>

namespace wharf::study {
namespace {

TEST(Judgement, ToleranceIsAShareOfThePublishedNumberAndIncludesItsEnds) {
  EXPECT_TRUE(within("x", 2186, 2186, 0.01).holds());
  EXPECT_TRUE(within("x", 101, 100, 0.01).holds());
  EXPECT_TRUE(within("x", 99, 100, 0.01).holds());
  EXPECT_FALSE(within("x", 101.1, 100, 0.01).holds());
  EXPECT_FALSE(within("x", 98.9, 100, 0.01).holds());
  EXPECT_EQ(within("x", 1, 1, 0.01).kind, CheckKind::kAccounting);
}

TEST(Judgement, RangeIncludesItsEnds) {
  EXPECT_TRUE(between("x", 380, 380, 540).holds());
  EXPECT_TRUE(between("x", 540, 380, 540).holds());
  EXPECT_FALSE(between("x", 379.9, 380, 540).holds());
  EXPECT_FALSE(between("x", 540.1, 380, 540).holds());
  EXPECT_EQ(between("x", 1, 1, 1).kind, CheckKind::kMechanism);
}

TEST(Judgement, IdentityForgivesSumsOfDoublesOnly) {
  EXPECT_TRUE(equal("x", 0.1 + 0.2, 0.3).holds());
  EXPECT_FALSE(equal("x", 2186.01, 2186).holds());
  EXPECT_TRUE(equal("x", 0, 0).holds());
}

TEST(Judgement, WhatIsNoNumberNeverHolds) {
  EXPECT_FALSE(between("x", std::numeric_limits<double>::quiet_NaN(), 0, 1).holds());
}

TEST(Judgement, OneBrokenPromiseIsEnough) {
  EXPECT_TRUE(all_hold({}));
  EXPECT_TRUE(all_hold({between("a", 1, 0, 2)}));
  EXPECT_FALSE(all_hold({between("a", 1, 0, 2), between("b", 3, 0, 2)}));
}

TEST(Judgement, DeviationHasASign) {
  EXPECT_DOUBLE_EQ(deviation_percent(90, 100), -10);
  EXPECT_DOUBLE_EQ(deviation_percent(110, 100), 10);
}

}  // namespace
}  // namespace wharf::study
