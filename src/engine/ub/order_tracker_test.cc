// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/order_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace wharf::ub {
namespace {

using verbs::OrderTag;
using Arrival = OrderTracker::Arrival;

// 7.4, worked example: strong requests 0, 1, 2 arrive as 0, 2, 1 and are executed as 0, 1, 2.
TEST(OrderTracker, StrongRequestsAreExecutedInTheirOrder) {
  OrderTracker order;
  EXPECT_EQ(order.arrive(0, OrderTag::kStrong), Arrival::kExecute);
  EXPECT_EQ(order.arrive(2, OrderTag::kStrong), Arrival::kWait);
  EXPECT_EQ(order.arrive(1, OrderTag::kStrong), Arrival::kWait);  // 0 is still being executed.
  EXPECT_EQ(order.next_turn(), std::nullopt);
  order.executed(0);
  EXPECT_EQ(order.next_turn(), 1);
  EXPECT_EQ(order.next_turn(), std::nullopt);
  order.executed(1);
  EXPECT_EQ(order.next_turn(), 2);
}

// An unordered request holds nothing back once it has arrived, and everything strong until then.
TEST(OrderTracker, AnUnorderedRequestIsWaitedForUntilItArrives) {
  OrderTracker order;
  EXPECT_EQ(order.arrive(1, OrderTag::kStrong), Arrival::kWait);
  EXPECT_EQ(order.arrive(0, OrderTag::kNone), Arrival::kExecute);
  EXPECT_EQ(order.next_turn(), 1);
  EXPECT_EQ(order.next(), 1);
}

// A late relaxed request neither moves the order back nor lets anything pass it.
TEST(OrderTracker, ALateRelaxedRequestIsWaitedFor) {
  OrderTracker order;
  EXPECT_EQ(order.arrive(1, OrderTag::kRelaxed), Arrival::kExecute);
  order.executed(1);
  EXPECT_EQ(order.arrive(2, OrderTag::kStrong), Arrival::kWait);
  EXPECT_EQ(order.arrive(0, OrderTag::kRelaxed), Arrival::kExecute);
  EXPECT_EQ(order.next_turn(), std::nullopt);
  order.executed(0);
  EXPECT_EQ(order.next_turn(), 2);
  EXPECT_EQ(order.next(), 2);
}

TEST(OrderTracker, WhatWasNotReadyComesAgain) {
  OrderTracker order;
  EXPECT_EQ(order.arrive(0, OrderTag::kStrong), Arrival::kExecute);
  EXPECT_EQ(order.arrive(1, OrderTag::kStrong), Arrival::kWait);
  order.retracted(0);
  EXPECT_EQ(order.next_turn(), std::nullopt);
  EXPECT_EQ(order.arrive(0, OrderTag::kStrong), Arrival::kExecute);
  order.executed(0);
  EXPECT_EQ(order.next_turn(), 1);
  order.give_up_turn(1);
  order.retracted(1);
  EXPECT_EQ(order.arrive(1, OrderTag::kStrong), Arrival::kExecute);
  // An unordered one, too, although nobody waits for it any more.
  EXPECT_EQ(order.arrive(2, OrderTag::kNone), Arrival::kExecute);
  order.executed(1);
  EXPECT_EQ(order.next(), 3);
  EXPECT_EQ(order.arrive(2, OrderTag::kNone), Arrival::kExecute);
}

TEST(OrderTracker, WhatItsContextCannotHaveSentIsRefused) {
  OrderTracker order;
  EXPECT_EQ(order.arrive(0, OrderTag::kRelaxed), Arrival::kExecute);
  EXPECT_EQ(order.arrive(0, OrderTag::kRelaxed), Arrival::kSeen);
  EXPECT_EQ(order.arrive(0, OrderTag::kNone), Arrival::kSeen);
  order.executed(0);
  EXPECT_EQ(order.arrive(0, OrderTag::kStrong), Arrival::kSeen);
  EXPECT_EQ(order.arrive(OrderTracker::kWindow, OrderTag::kStrong), Arrival::kWait);
  EXPECT_EQ(order.arrive(OrderTracker::kWindow + 1, OrderTag::kNone), Arrival::kTooFar);
}

// Any arrival order and any tags, over several wraps of the number: everything is executed once, and a strong
// request only when every ordered one before it has been.
TEST(OrderTracker, AnyArrivalOrderKeepsTheRule) {
  constexpr std::uint32_t kRequests = 200'000;
  constexpr std::uint32_t kSpread = 300;
  RandomStream random(5, "order");
  OrderTracker order;
  std::vector<OrderTag> tags(kRequests);
  for (OrderTag& tag : tags) tag = static_cast<OrderTag>(random.below(3));
  std::vector<bool> arrived(kRequests), executed(kRequests), retracted_once(kRequests);
  std::vector<std::uint32_t> in_work;
  std::uint32_t oldest = 0, done = 0, ordered_done = 0;
  const auto execute = [&](std::uint32_t at) {
    ASSERT_FALSE(executed[at]);
    if (tags[at] == OrderTag::kStrong) {
      while (ordered_done < at && (tags[ordered_done] == OrderTag::kNone || executed[ordered_done]))
        ++ordered_done;
      ASSERT_EQ(ordered_done, at) << "an ordered request before it has not been executed";
    }
    in_work.push_back(at);
  };
  while (done < kRequests) {
    while (oldest < kRequests && arrived[oldest]) ++oldest;
    const std::uint32_t at = oldest + static_cast<std::uint32_t>(random.below(kSpread));
    if (at < kRequests && at < done + 2 * kSpread && !arrived[at]) {
      arrived[at] = true;
      const Arrival arrival = order.arrive(static_cast<std::uint16_t>(at), tags[at]);
      ASSERT_TRUE(arrival == Arrival::kExecute || arrival == Arrival::kWait);
      if (arrival == Arrival::kExecute) execute(at);
    }
    if (!in_work.empty() && random.below(2) == 0) {
      const std::size_t which = random.below(in_work.size());
      const std::uint32_t of = in_work[which];
      in_work.erase(in_work.begin() + static_cast<std::ptrdiff_t>(which));
      if (random.below(8) == 0 && !retracted_once[of]) {
        retracted_once[of] = true;
        arrived[of] = false;
        oldest = std::min(oldest, of);
        order.retracted(static_cast<std::uint16_t>(of));
      } else {
        executed[of] = true;
        ++done;
        order.executed(static_cast<std::uint16_t>(of));
      }
    }
    while (const auto turn = order.next_turn()) {
      // The number nearest to what is open.
      std::uint32_t full = (done & ~0xffffU) | *turn;
      if (full + 0x8000U < done) full += 0x10000U;
      if (full > done + 0x8000U) full -= 0x10000U;
      execute(full);
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_EQ(order.waiting(), 0u);
  EXPECT_EQ(order.next(), static_cast<std::uint16_t>(kRequests));
}

}  // namespace
}  // namespace wharf::ub
