// SPDX-License-Identifier: Apache-2.0
// An element is found by its number as long as it is there, however often the ring has gone round.
#include "engine/ub/numbered_ring.h"

#include <gtest/gtest.h>

namespace wharf::ub {
namespace {

TEST(NumberedRing, FindsElementsByNumber) {
  NumberedRing<std::uint64_t> ring;
  ring.reserve(3);  // Rounded up to four.
  EXPECT_TRUE(ring.empty());
  for (std::uint64_t number = 0; number < 100; ++number) {
    ASSERT_EQ(ring.end(), number);
    ring.emplace_back(10 * number);
    EXPECT_EQ(ring.back(), 10 * number);
    if (ring.size() == 4) ring.pop_front();
    for (std::uint64_t i = ring.first(); i < ring.end(); ++i) EXPECT_EQ(ring[i], 10 * i);
    EXPECT_EQ(ring.front(), 10 * ring.first());
  }
  EXPECT_EQ(ring.first(), 97U);
  while (!ring.empty()) ring.pop_front();
  EXPECT_EQ(ring.first(), ring.end());
}

TEST(NumberedRing, TakesNoMoreThanItHasRoomFor) {
  NumberedRing<int> ring;
  EXPECT_DEATH(ring.push_stale(), "invariant broken");
  ring.reserve(1);
  ring.emplace_back(1);
  EXPECT_DEATH(ring.push_stale(), "invariant broken");
  ring.pop_front();
  EXPECT_DEATH(ring.pop_front(), "invariant broken");
}

}  // namespace
}  // namespace wharf::ub
