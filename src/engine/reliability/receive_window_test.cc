// SPDX-License-Identifier: Apache-2.0
#include "engine/reliability/receive_window.h"

#include <set>

namespace wharf::reliability {
namespace {

TEST(ReceiveWindow, ClassifiesAroundTheExpectedNumber) {
  Arena arena;
  ReceiveWindow window(arena, 64, first_logical(10));
  std::uint64_t logical = 0;
  EXPECT_EQ(window.classify(10, logical), Arrival::kNext);
  EXPECT_EQ(window.classify(11, logical), Arrival::kAhead);
  EXPECT_EQ(window.classify(73, logical), Arrival::kAhead);
  EXPECT_EQ(window.classify(74, logical), Arrival::kTooFar);
  EXPECT_EQ(window.classify(9, logical), Arrival::kDuplicate);
  EXPECT_EQ(window.accept(first_logical(12)), 0u);
  EXPECT_TRUE(window.has_gap());
  EXPECT_EQ(window.classify(12, logical), Arrival::kDuplicate);
  EXPECT_EQ(window.accept(first_logical(10)), 1u);
  EXPECT_EQ(window.accept(first_logical(11)), 2u);
  EXPECT_FALSE(window.has_gap());
  EXPECT_EQ(window.next(), first_logical(13));
}

TEST(ReceiveWindow, DuplicateBeforeTheVeryFirstPsn) {
  Arena arena;
  ReceiveWindow window(arena, 64, first_logical(0));
  std::uint64_t logical = 0;
  EXPECT_EQ(window.classify(wire::kPsnMask, logical), Arrival::kDuplicate);
}

TEST(ReceiveWindow, WrapsAtTwoToThe24) {
  Arena arena;
  ReceiveWindow window(arena, 64, first_logical(wire::kPsnMask - 1));
  std::uint64_t logical = 0;
  EXPECT_EQ(window.classify(1, logical), Arrival::kAhead);
  window.accept(logical);
  EXPECT_EQ(window.classify(wire::kPsnMask - 1, logical), Arrival::kNext);
  window.accept(logical);
  EXPECT_EQ(window.classify(wire::kPsnMask, logical), Arrival::kNext);
  window.accept(logical);
  EXPECT_EQ(window.classify(0, logical), Arrival::kNext);
  EXPECT_EQ(window.accept(logical), 2u);
  EXPECT_EQ(wire::psn_wrap(window.next()), 2u);
}

RC_GTEST_PROP(ReceiveWindow, EqualsASetModel, ()) {
  Arena arena;
  const auto start = *rc::gen::inRange<std::uint32_t>(wire::kPsnMask - 200, wire::kPsnMask);
  ReceiveWindow window(arena, 64, first_logical(start));
  std::set<std::uint64_t> seen;
  std::uint64_t next = first_logical(start);
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-20, 90));
  for (const int step : steps) {
    const auto target = static_cast<std::uint64_t>(static_cast<std::int64_t>(next) + step % 12);
    std::uint64_t logical = 0;
    const Arrival arrival = window.classify(wire::psn_wrap(target), logical);
    RC_ASSERT(logical == target);
    const bool duplicate = target < next || seen.count(target) != 0;
    RC_ASSERT((arrival == Arrival::kDuplicate) == duplicate);
    if (arrival != Arrival::kNext && arrival != Arrival::kAhead) continue;
    seen.insert(target);
    const std::uint64_t before = next;
    while (seen.count(next) != 0) ++next;
    RC_ASSERT(window.accept(logical) == next - before);
    RC_ASSERT(window.next() == next);
    RC_ASSERT(window.end() == (seen.empty() ? next : std::max(next, *seen.rbegin() + 1)));
  }
}

}  // namespace
}  // namespace wharf::reliability
