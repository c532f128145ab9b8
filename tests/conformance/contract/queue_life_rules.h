// SPDX-License-Identifier: Apache-2.0
// docs/engine-contract.md: the life of a queue: destroying it, failing, beginning anew.
#pragma once

#include "rule_test_support.h"

namespace wharf::contract {
namespace {

/// The peer is silent: everything stays outstanding.
template <typename E>
void leave_outstanding(Pair<E>& world) {
  world.flies = false;
  for (std::uint64_t id = 0; id < 3; ++id) {
    ASSERT_EQ(world.post(id, id == 1 ? Verb::kRead : Verb::kWrite), PostStatus::kOk);
    ASSERT_EQ(world.post_receive(0, world.queue[0], 10 + id), PostStatus::kOk);
  }
  world.settle();
}

template <typename E>
void expect_flushed(Pair<E>& world) {
  const auto& host = world.hosts[0];
  ASSERT_EQ(host.completions.size(), 6U);
  for (std::uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(host.completions[i].id, i < 3 ? i : 10 + i - 3);
    EXPECT_EQ(host.completions[i].status, CompletionStatus::kFlushed);
    EXPECT_EQ(host.completions[i].kind, i < 3 ? CompletionKind::kSend : CompletionKind::kReceive);
    EXPECT_EQ(host.completions[i].queue, world.queue[0]);
    EXPECT_EQ(host.from[i], world.cq[0]);
  }
}

WHARF_CONTRACT_TEST(DestroyFlushesAndLateAnswersDoNothing) {
  Pair<E> world;
  leave_outstanding(world);
  ASSERT_TRUE(world.engine(0).destroy_queue(world.now, world.queue[0]).ok());
  EXPECT_EQ(world.engine(0).queue_state(world.queue[0]), QueueState::kGone);
  EXPECT_EQ(world.post(9, Verb::kWrite), PostStatus::kBadQueue);
  EXPECT_EQ(world.post_receive(0, world.queue[0], 9), PostStatus::kBadQueue);
  EXPECT_FALSE(world.engine(0).export_queue(world.queue[0]).ok());
  EXPECT_FALSE(world.engine(0).destroy_queue(world.now, world.queue[0]).ok());
  world.settle();
  expect_flushed(world);
  world.hosts[0].accesses.clear();
  world.flies = true;  // Now the answers come.
  world.run();
  expect_flushed(world);
  for (const engine::Access& access : world.hosts[0].accesses) {
    EXPECT_FALSE(access.kind == AccessKind::kRead || access.kind == AccessKind::kWrite)
        << "an access to the program's memory after the queue was gone";
  }
  // The completion queue is free, and the place of the queue serves the next.
  const QueueId next = world.create_queue(0, world.into(world.cq[0]));
  const QueueId there = world.create_queue(1, world.into(world.cq[1]));
  const auto peer = world.connect(0, next, 1, there).first;
  world.settle();
  world.hosts[0].completions.clear();
  ASSERT_EQ(static_cast<World<E>&>(world).post(0, next, world.request(20, Verb::kWrite, peer, 1)),
            PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.hosts[0].completions.size(), 1U);
  EXPECT_TRUE(world.hosts[0].completions[0].ok());
}

WHARF_CONTRACT_TEST(DestroyWhileMemoryIsSlow) {
  for (const Verb verb : {Verb::kWrite, Verb::kRead, Verb::kSend, Verb::kFetchAdd}) {
    for (const std::uint32_t slow : {0U, 1U}) {
      for (const std::uint32_t destroyed : {0U, 1U}) {
        Pair<E> world;
        ASSERT_EQ(world.post_receive(1, world.queue[1], 4), PostStatus::kOk);
        world.settle();
        ASSERT_EQ(world.post(1, verb, verbs::is_send(verb) ? 64 : 20'000), PostStatus::kOk);
        world.answers = false;
        world.settle();
        world.answer_all(1 - slow);
        world.settle();
        ASSERT_TRUE(world.engine(destroyed).destroy_queue(world.now, world.queue[destroyed]).ok());
        world.answers = true;
        world.answer_all(slow);
        world.answer_all(1 - slow);
        world.run();
        if (destroyed == 0) {
          ASSERT_EQ(world.hosts[0].completions.size(), 1U) << verbs::name(verb);
          // What was answered and only waits for this host's own memory may have ended well.
          const CompletionStatus status = world.hosts[0].completions[0].status;
          EXPECT_TRUE(status == CompletionStatus::kFlushed ||
                      (slow == 0 && status == CompletionStatus::kSuccess))
              << verbs::name(verb) << " " << verbs::name(status);
        }
      }
    }
  }
}

WHARF_CONTRACT_TEST(DestroyOfAQueueWithItsOwnCompletions) {
  World<E> world;
  const QueueId here = world.create_queue(0, world.plain());
  const QueueId there = world.create_queue(1, world.plain());
  const auto peer = world.connect(0, here, 1, there).first;
  world.settle();
  ASSERT_EQ(world.post(0, here, world.request(1, Verb::kWrite, peer, 1)), PostStatus::kOk);
  world.flies = false;
  world.settle();
  ASSERT_TRUE(world.engine(0).destroy_queue(world.now, here).ok());
  verbs::Completion none;
  EXPECT_FALSE(world.engine(0).poll(here, none));
  world.flies = true;
  world.run();
  EXPECT_TRUE(world.hosts[0].completions.empty());
}

WHARF_CONTRACT_TEST(AQueueFailsAndBeginsAnew) {
  Pair<E> world;
  E& engine = world.engine(0);
  const bool one_peer = engine.capabilities().queue_per_peer;
  EXPECT_EQ(engine.queue_state(world.queue[0]), QueueState::kReady);
  EXPECT_EQ(engine.queue_state(world.create_queue(0, world.plain())),
            one_peer ? QueueState::kIdle : QueueState::kReady);
  EXPECT_EQ(engine.queue_state(12345), QueueState::kGone);
  EXPECT_FALSE(engine.reset_queue(world.now, world.queue[0]).ok());  // Not in error.
  leave_outstanding(world);
  ASSERT_TRUE(engine.fail_queue(world.now, world.queue[0]).ok());
  EXPECT_TRUE(engine.fail_queue(world.now, world.queue[0]).ok());
  EXPECT_EQ(engine.queue_state(world.queue[0]), QueueState::kError);
  EXPECT_EQ(world.post(9, Verb::kWrite), PostStatus::kBadQueue);
  EXPECT_EQ(world.post_receive(0, world.queue[0], 9), PostStatus::kBadQueue);
  world.settle();
  expect_flushed(world);
  EXPECT_EQ(world.count(0, AsyncEventKind::kQueueError), 0U);
  world.flies = true;
  world.run();
  expect_flushed(world);
  ASSERT_TRUE(engine.reset_queue(world.now, world.queue[0]).ok());
  EXPECT_EQ(engine.queue_state(world.queue[0]), one_peer ? QueueState::kIdle : QueueState::kReady);
  if (one_peer) {  // The other end begins anew too.
    ASSERT_TRUE(world.engine(1).disconnect(world.now, world.queue[1], world.peer[1]).ok());
    std::tie(world.peer[0], world.peer[1]) = world.connect(0, world.queue[0], 1, world.queue[1]);
  }
  world.run();
  world.hosts[0].completions.clear();
  ASSERT_EQ(world.post(30, Verb::kWrite), PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.hosts[0].completions.size(), 1U);
  EXPECT_TRUE(world.hosts[0].completions[0].ok());
  EXPECT_FALSE(engine.fail_queue(world.now, 12345).ok());
}

WHARF_CONTRACT_TEST(AQueueIsSuspendedAndGoesOn) {
  Pair<E> world;
  E& engine = world.engine(0);
  constexpr bool kSuspends = requires(TimePs now, QueueId queue) {
    engine.suspend_queue(now, queue);
    engine.resume_queue(now, queue);
  };
  EXPECT_EQ(engine.capabilities().suspends, kSuspends);
  if constexpr (kSuspends) {
    world.flies = false;
    ASSERT_EQ(world.post(1, Verb::kWrite), PostStatus::kOk);
    world.settle();
    ASSERT_TRUE(engine.suspend_queue(world.now, world.queue[0]).ok());
    EXPECT_EQ(engine.queue_state(world.queue[0]), QueueState::kSuspended);
    EXPECT_FALSE(engine.suspend_queue(world.now, world.queue[0]).ok());
    world.flies = true;  // What was begun ends.
    world.run();
    ASSERT_EQ(world.hosts[0].completions.size(), 1U);
    EXPECT_TRUE(world.hosts[0].completions[0].ok());
    EXPECT_EQ(engine.queue_state(world.queue[0]), QueueState::kSuspended);
    ASSERT_TRUE(engine.resume_queue(world.now, world.queue[0]).ok());
    EXPECT_EQ(engine.queue_state(world.queue[0]), QueueState::kReady);
    EXPECT_FALSE(engine.resume_queue(world.now, world.queue[0]).ok());
    ASSERT_EQ(world.post(2, Verb::kWrite), PostStatus::kOk);
    world.run();
    ASSERT_EQ(world.hosts[0].completions.size(), 2U);
    EXPECT_TRUE(world.hosts[0].completions[1].ok());
    ASSERT_TRUE(engine.suspend_queue(world.now, world.queue[0]).ok());
    ASSERT_TRUE(engine.fail_queue(world.now, world.queue[0]).ok());
    EXPECT_EQ(engine.queue_state(world.queue[0]), QueueState::kError);
    EXPECT_FALSE(engine.resume_queue(world.now, world.queue[0]).ok());
  }
}

}  // namespace
}  // namespace wharf::contract
