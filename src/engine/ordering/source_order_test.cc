// SPDX-License-Identifier: Apache-2.0
#include "engine/ordering/source_order.h"

#include <gtest/gtest.h>

namespace wharf::ordering {
namespace {

TEST(SourceOrder, LineByLineEachWaitsForTheAnswerBefore) {
  SourceOrder order(SourceUnit::kLine, 4);
  EXPECT_TRUE(order.may_send(7, 1));
  order.sent(7, 1, false);
  EXPECT_FALSE(order.may_send(7, 1)) << "a second line of the same message";
  EXPECT_FALSE(order.may_send(7, 2));
  EXPECT_TRUE(order.answered(7));
  EXPECT_TRUE(order.may_send(7, 1));
}

TEST(SourceOrder, LinesOfOneMessageOverlapAndTheNextMessageWaitsForAll) {
  SourceOrder order(SourceUnit::kMessage, 4);
  order.sent(7, 1, false);
  EXPECT_TRUE(order.may_send(7, 1));
  order.sent(7, 1, false);
  EXPECT_FALSE(order.may_send(7, 2));
  EXPECT_FALSE(order.answered(7)) << "one of two";
  EXPECT_FALSE(order.may_send(7, 2));
  EXPECT_TRUE(order.answered(7));
  EXPECT_TRUE(order.may_send(7, 2));
}

TEST(SourceOrder, StreamsNeverWaitForEachOther) {
  SourceOrder order(SourceUnit::kLine, 4);
  order.sent(1, 1, false);
  EXPECT_TRUE(order.may_send(2, 1));
  order.sent(2, 1, false);
  order.answered(2);
  EXPECT_FALSE(order.may_send(1, 2)) << "another stream's answer frees nothing";
}

TEST(SourceOrder, PostedWritesWaitForReadsButNothingWaitsForThem) {
  SourceOrder order(SourceUnit::kLine, 4);
  order.sent(1, 1, true);
  EXPECT_TRUE(order.may_send(1, 2));
  order.sent(1, 2, false);
  EXPECT_FALSE(order.may_send(1, 3)) << "a write after an unanswered read";
}

TEST(SourceOrder, StreamsBeyondTheLimitWait) {
  SourceOrder order(SourceUnit::kLine, 2);
  order.sent(1, 1, false);
  order.sent(2, 1, false);
  EXPECT_FALSE(order.may_send(3, 1));
  order.answered(1);
  EXPECT_TRUE(order.may_send(3, 1));
}

TEST(SourceOrder, StateForgetsHistory) {
  SourceOrder left(SourceUnit::kLine, 4);
  SourceOrder right(SourceUnit::kLine, 4);
  left.sent(2, 5, false);
  left.sent(1, 5, false);
  right.sent(1, 4, false);
  right.answered(1);
  right.sent(1, 5, false);
  right.sent(2, 5, false);
  std::vector<std::byte> left_state;
  std::vector<std::byte> right_state;
  left.append_state(left_state);
  right.append_state(right_state);
  EXPECT_EQ(left_state, right_state);
  left.answered(2);
  left_state.clear();
  left.append_state(left_state);
  EXPECT_NE(left_state, right_state);
}

TEST(FilledPool, CopiesTakeNoMemoryWhenTheyAreUsedToTheFull) {
  const SlotPool<std::uint64_t> pool = filled_pool<std::uint64_t>(5);
  SlotPool<std::uint64_t> copy = pool;
  const std::size_t held = copy.bytes_held();
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(copy.acquire(), i);
  EXPECT_EQ(copy.acquire(), kNoSlot);
  EXPECT_EQ(copy.bytes_held(), held);
}

}  // namespace
}  // namespace wharf::ordering
