// SPDX-License-Identifier: Apache-2.0
#include "base/ring.h"

#include <deque>

namespace wharf {
namespace {

TEST(Ring, FullAndEmptyAbort) {
  Ring<int> none;
  EXPECT_TRUE(none.full());
  EXPECT_DEATH(none.push_back(1), "invariant broken");
  EXPECT_DEATH(none.pop_front(), "invariant broken");
  Ring<int> ring(3);
  EXPECT_EQ(ring.capacity(), 4U);
  for (int i = 0; i < 4; ++i) ring.push_back(i);
  EXPECT_DEATH(ring.push_back(4), "invariant broken");
  EXPECT_DEATH(ring.emplace_back(4), "invariant broken");
}

TEST(Ring, EmplaceBackMakesAFreshElement) {
  struct Entry {
    int given = 0;
    int fresh = 5;
  };
  Ring<Entry> ring(1);
  ring.emplace_back(1).fresh = 6;
  EXPECT_EQ(ring.front().fresh, 6);
  ring.pop_front();
  ring.emplace_back(2);
  EXPECT_EQ(ring.front().given, 2);
  EXPECT_EQ(ring.back().fresh, 5);
}

RC_GTEST_PROP(Ring, EqualsADeque, (const std::vector<std::uint8_t>& steps)) {
  Ring<int> ring(2);
  std::deque<int> model;
  int next = 0;
  for (const std::uint8_t step : steps) {
    if (step % 3 != 0) {
      if (ring.full()) ring.reserve(ring.capacity() + 1);
      ring.push_back(next);
      model.push_back(next++);
    } else if (!model.empty()) {
      ring.pop_front();
      model.pop_front();
    }
    if (step == 99) {
      ring.clear();
      model.clear();
    }
    RC_ASSERT(ring.size() == model.size());
    for (std::size_t i = 0; i < model.size(); ++i) RC_ASSERT(ring[i] == model[i]);
    if (!model.empty()) {
      RC_ASSERT(ring.front() == model.front());
      RC_ASSERT(ring.back() == model.back());
    }
  }
}

}  // namespace
}  // namespace wharf
