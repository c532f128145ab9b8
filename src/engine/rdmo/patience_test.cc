// SPDX-License-Identifier: Apache-2.0
// How long a worker waits for the memory of a target, of which some parts answer and others do not.
#include <gtest/gtest.h>

#include "engine/rdmo/worker_world_test_support.h"

namespace wharf::rdmo {
namespace {

class Patience : public ::testing::Test {
 protected:
  void SetUp() override {
    target_ = world_.add_target(8192);
    key_ = world_.add_memory(target_);
    peer_ = world_.connect(target_, "initiator");
    for (const std::uint64_t number : {0U, 1U, 2U}) {
      world_.targets[0].set_word(cell_of(number), cell_of(number) + 8);
      append(number);
      world_.run();
    }
  }
  std::uint64_t cell_of(std::uint64_t number) { return world_.targets[0].base + 2048 * number; }
  void append(std::uint64_t number) {
    world_.ask(peer_, WorkerWorld::extended_append(target_, cell_of(number), key_), "abc");
  }
  void pass(TimePs time) {
    world_.now += time;
    world_.worker.expire(world_.now);
    world_.drain_outputs();
  }
  TimePs most() const { return world_.worker.config().memory_time_max; }
  std::uint64_t lost() const { return world_.worker.counters().targets_lost; }

  WorkerWorld world_;
  std::uint32_t target_ = 0;
  std::uint64_t key_ = 0;
  PeerId peer_ = 0;
};

TEST_F(Patience, AnAccessThatIsNeverAnsweredIsNotKeptAliveByOthers) {
  append(0);
  ASSERT_EQ(world_.pending.size(), 1U);
  for (int i = 0; i < 20 && lost() == 0; ++i) {
    append(1);
    while (world_.pending.size() > 1) world_.answer(1);
    pass(most() / 2);
  }
  EXPECT_EQ(lost(), 1U);
  EXPECT_LE(world_.now, most());
  world_.run();
}

// The same where it was asked for while others were under way: they have their time first.
TEST_F(Patience, NorWhenOthersWereUnderWayBefore) {
  append(0);
  append(1);
  ASSERT_EQ(world_.pending.size(), 2U);
  pass(most() / 2);
  world_.answer(0);
  for (int i = 0; i < 20 && lost() == 0; ++i) {
    append(2);
    while (world_.pending.size() > 1) world_.answer(1);
    pass(most() / 2);
  }
  EXPECT_EQ(lost(), 1U);
  EXPECT_LE(world_.now, most() * 2);
  world_.run();
}

TEST_F(Patience, SlowMemoryThatAnswersEachIsNotLost) {
  append(0);
  for (int i = 0; i < 12; ++i) {
    append(1 - static_cast<std::uint64_t>(i) % 2);
    pass(most() / 4 * 3);
    ASSERT_EQ(lost(), 0U) << i;
    world_.answer(0);
  }
  world_.run();
  EXPECT_EQ(lost(), 0U);
}

}  // namespace
}  // namespace wharf::rdmo
