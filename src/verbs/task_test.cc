// SPDX-License-Identifier: Apache-2.0
#include "verbs/task.h"

#include <gtest/gtest.h>

#include "verbs/gate.h"

namespace wharf::verbs {
namespace {

Task<int> answer() { co_return 42; }

Task<void> add_answer(int& sum) { sum += co_await answer(); }

TEST(Task, StartsOnlyWhenAskedAndYieldsItsValue) {
  int sum = 0;
  Task<void> task = add_answer(sum);
  EXPECT_EQ(sum, 0);
  task.start();
  EXPECT_TRUE(task.done());
  EXPECT_EQ(sum, 42);
}

TEST(Task, MovingTransfersTheFrame) {
  int sum = 0;
  Task<void> task = add_answer(sum);
  Task<void> other = std::move(task);
  EXPECT_FALSE(task.valid());
  other.start();
  EXPECT_EQ(sum, 42);
}

Task<void> pass(Gate& gate, int id, std::vector<int>& order) {
  co_await gate.wait();
  order.push_back(id);
}

TEST(Gate, LetsWaitersThroughInOrderAndKeepsSparePermits) {
  Gate gate(1);
  std::vector<int> order;
  Task<void> a = pass(gate, 1, order);
  Task<void> b = pass(gate, 2, order);
  Task<void> c = pass(gate, 3, order);
  a.start();
  b.start();
  c.start();
  EXPECT_EQ(order, (std::vector<int>{1}));
  gate.open();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  gate.open();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(gate.has_waiters());
}

}  // namespace
}  // namespace wharf::verbs
