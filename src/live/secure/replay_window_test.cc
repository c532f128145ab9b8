// SPDX-License-Identifier: Apache-2.0
// The window against a set of all numbers that came: any order, repetitions, jumps.
#include "live/secure/replay_window.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

namespace wharf::live {
namespace {

/// Whether the window and a set that forgets nothing agree about `numbers`, in their order.
void expect_as_a_set(const std::vector<std::uint64_t>& numbers) {
  ReplayWindow window;
  std::set<std::uint64_t> came;
  for (const std::uint64_t number : numbers) {
    const bool too_old =
        !came.empty() && *came.rbegin() >= number && *came.rbegin() + 1 - number > ReplayWindow::kWidth;
    RC_ASSERT(window.seen(number) == (too_old || came.contains(number)));
    if (window.seen(number)) continue;
    window.accept(number);
    came.insert(number);
    RC_ASSERT(window.seen(number));
    RC_ASSERT(window.next() == *came.rbegin() + 1);
  }
}

RC_GTEST_PROP(ReplayWindow, KnowsWhatASetOfAllNumbersKnows, ()) {
  // Steps from the number before: mostly near, sometimes across the window and beyond, back and forth.
  const auto steps = *rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::weightedOneOf<std::int64_t>({{6, rc::gen::inRange<std::int64_t>(-4, 8)},
                                            {3, rc::gen::inRange<std::int64_t>(-1100, 1100)},
                                            {1, rc::gen::inRange<std::int64_t>(-5000, 5000)}}));
  std::vector<std::uint64_t> numbers;
  std::int64_t at = 0;
  for (const std::int64_t step : steps) {
    at = std::max<std::int64_t>(at + step, 0);
    numbers.push_back(static_cast<std::uint64_t>(at));
  }
  expect_as_a_set(numbers);
}

TEST(ReplayWindow, HasItsWidthAndNoMoreAtEveryPlaceOfAWord) {
  for (std::uint64_t highest = 2000; highest < 2130; ++highest) {
    ReplayWindow window;
    window.accept(highest);
    EXPECT_FALSE(window.seen(highest - (ReplayWindow::kWidth - 1)));
    EXPECT_TRUE(window.seen(highest - ReplayWindow::kWidth));
    for (std::uint64_t back = 1; back < ReplayWindow::kWidth; ++back) {
      ASSERT_FALSE(window.seen(highest - back)) << highest << " " << back;
      window.accept(highest - back);
      ASSERT_TRUE(window.seen(highest - back));
    }
  }
}

TEST(ReplayWindow, ForgetsWhatAJumpLeftBehind) {
  for (const std::uint64_t jump : {63U, 64U, 1023U, 1024U, 1088U, 1089U, 100000U}) {
    ReplayWindow window;
    for (std::uint64_t number = 0; number < 1024; ++number) window.accept(number);
    const std::uint64_t far = 1023 + jump;
    window.accept(far);
    for (std::uint64_t number = far - 1023; number < far; ++number)
      ASSERT_EQ(window.seen(number), number < 1024) << jump << " " << number;
  }
}

}  // namespace
}  // namespace wharf::live
