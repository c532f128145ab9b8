// SPDX-License-Identifier: Apache-2.0
// Headers of queues that an initiator has written itself: whatever they say, no byte goes past the queue's
// own, which here are the last of the registered memory. The world refuses each write outside of that.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "engine/rdmo/worker_world_test_support.h"

namespace wharf::rdmo {
namespace {

constexpr std::uint64_t kCapacity = 64;

class QueueHeaders : public ::testing::Test {
 protected:
  void SetUp() override {
    world.emplace();
    world->direct = false;  // So that appends gather while a write is under way.
    target = world->add_target(8192);
    memory = world->targets[0].base;
    key = world->add_memory(target, memory, kRegistered);
    peer = world->connect(target, "one");
    world->targets[0].set_word(memory + 16, memory + kRegistered - kCapacity);
    world->targets[0].set_word(memory + 24, kCapacity);
  }
  /// As a scatter does that names the header.
  void say(std::uint64_t tail, std::uint64_t head) {
    world->targets[0].set_word(memory, tail);
    world->targets[0].set_word(memory + 8, head);
  }
  void append(std::size_t bytes) {
    wire::RdmoExtendedRequest request = WorkerWorld::extended_append(target, memory, key);
    request.flags = wire::RdmoFlag::kQueue;
    world->ask(peer, request, std::string(bytes, 'x'));
  }
  /// The header is read; data that is written stays under way.
  void answer_read() { world->answer(world->index_of(AccessKind::kRead)); }
  void expect_nothing_outside() {
    world->run();
    world->targets[0].show_all();
    EXPECT_EQ(world->targets[0].text(memory + kRegistered, 4096), std::string(4096, '.'));
  }

  static constexpr std::uint64_t kRegistered = 4096;
  std::optional<WorkerWorld> world;
  std::uint32_t target = 0;
  std::uint64_t memory = 0;
  std::uint64_t key = 0;
  PeerId peer = 0;
};

TEST_F(QueueHeaders, WhatHasNotLandedWasNotConsumed) {
  say(0, 0);
  append(kCapacity);
  answer_read();
  ASSERT_EQ(world->waiting(AccessKind::kWrite), 1U);
  for (std::uint64_t head = kCapacity; head <= 4 * kCapacity; head += kCapacity) {
    say(head, head);
    append(kCapacity);  // Full: the worker asks again.
    answer_read();
    ASSERT_FALSE(world->heard.empty());
    EXPECT_EQ(world->last_status(), RdmoStatus::kDamaged);
  }
  expect_nothing_outside();
}

TEST_F(QueueHeaders, WhatHasLandedMayHaveBeenConsumedBeforeTheTailSaysSo) {
  say(0, 0);
  append(kCapacity);
  world->run();
  say(0, kCapacity);
  append(kCapacity);
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(world->last_place(), kCapacity);
}

// Positions are 64 bits and a header may begin with any: the place behind the last one is 0, which is less
// than what has landed.
TEST_F(QueueHeaders, NoGatheredWriteIsLongerThanTheQueue) {
  const std::uint64_t first = ~std::uint64_t{0} - 31;
  say(first, first);
  append(16);
  answer_read();
  append(48);  // Gathers behind the first, past the greatest position.
  say(32, 32);
  append(kCapacity);
  answer_read();
  append(kCapacity);
  expect_nothing_outside();
}

}  // namespace
}  // namespace wharf::rdmo
