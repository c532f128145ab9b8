// SPDX-License-Identifier: Apache-2.0
#include "wire/uet_psn.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace wharf::wire {
namespace {

TEST(UetPsn, WrapsAtThirtyTwoBits) {
  EXPECT_EQ(uet_psn_add(0xffff'ffff, 1), 0U);
  EXPECT_EQ(uet_psn_add(0, -1), 0xffff'ffffU);
  EXPECT_EQ(uet_psn_difference(0, 0xffff'ffff), 1);
  EXPECT_EQ(uet_psn_difference(0xffff'ffff, 0), -1);
}

TEST(UetPsn, HalfTheRangeSeparatesAfterFromBefore) {
  EXPECT_TRUE(uet_psn_after(0x7fff'ffff, 0));
  EXPECT_FALSE(uet_psn_after(0x8000'0000, 0));
  EXPECT_TRUE(uet_psn_before(0x8000'0000, 0));
  EXPECT_FALSE(uet_psn_before(5, 5));
  EXPECT_FALSE(uet_psn_after(5, 5));
}

TEST(UetPsn, OffsetsFitSixteenSignedBits) {
  EXPECT_TRUE(uet_psn_offset_fits(32'767, 0));
  EXPECT_FALSE(uet_psn_offset_fits(32'768, 0));
  EXPECT_TRUE(uet_psn_offset_fits(0, 32'768));
  EXPECT_FALSE(uet_psn_offset_fits(0, 32'769));
  EXPECT_EQ(uet_psn_offset(0xffff'fffe, 1), -3);
}

RC_GTEST_PROP(UetPsn, UnwrapFindsTheCounterNearby, (std::uint32_t base, std::int16_t distance)) {
  const std::uint64_t expected = (std::uint64_t{1} << 33) + base;
  const std::uint64_t counter = expected + static_cast<std::uint64_t>(std::int64_t{distance});
  RC_ASSERT(uet_psn_unwrap(expected, uet_psn_wrap(counter)) == counter);
}

TEST(UetPsn, UnwrapNearZeroDoesNotGoNegative) {
  EXPECT_EQ(uet_psn_unwrap(0, 0xffff'ffff), 0xffff'ffffU);
  EXPECT_EQ(uet_psn_unwrap(1, 2), 2U);
}

}  // namespace
}  // namespace wharf::wire
