// SPDX-License-Identifier: Apache-2.0
#include "base/unit_hint.h"

#include <gtest/gtest.h>

namespace wharf {
namespace {

TEST(UnitHint, KeepsTheNumberAndNamesTheNearestUnit) {
  EXPECT_EQ(bytes_hint("512kb"), "; did you mean \"512KB\"?");
  EXPECT_EQ(bytes_hint("4kib"), "; did you mean \"4KiB\"?");
  EXPECT_EQ(rate_hint("400gbps"), "; did you mean \"400Gbps\"?");
  EXPECT_EQ(time_hint("1.5US"), "; did you mean \"1.5us\"?");
}

TEST(UnitHint, SaysNothingWhereThereIsNothingNear) {
  EXPECT_EQ(bytes_hint("512"), "");
  EXPECT_EQ(bytes_hint("kb"), "");
  EXPECT_EQ(bytes_hint("512parsecs"), "");
  EXPECT_EQ(rate_hint("-400Gbps"), "");
  EXPECT_EQ(time_hint(""), "");
}

}  // namespace
}  // namespace wharf
