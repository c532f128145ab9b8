// SPDX-License-Identifier: Apache-2.0
// docs/engine-contract.md: receives: shared queues of them, and taking one back.
#pragma once

#include "rule_test_support.h"

namespace wharf::contract {
namespace {

// RoCE and UB deliver immediate data with a receive entry [IBTA vol 1 9.4.3], UE as remote completion data
// [UE 1.0 3.4].
WHARF_CONTRACT_TEST(WritesWithImmediateDataTakeAReceiveAsTheEngineSays) {
  if (!E::supports(Verb::kWriteImm)) return;
  Pair<E> pair;
  World<E>& world = pair;
  const bool takes = world.engine(1).capabilities().write_imm_takes_receive;
  for (const std::uint64_t id : {7U, 8U})
    ASSERT_EQ(world.post_receive(1, pair.queue[1], id), PostStatus::kOk);
  verbs::WorkRequest request = world.request(1, Verb::kWriteImm, pair.peer[0], 1);
  request.immediate = 5;
  ASSERT_EQ(world.post(0, pair.queue[0], request), PostStatus::kOk);
  world.run();
  const auto& arrived = world.hosts[1].completions;
  ASSERT_EQ(arrived.size(), 1U);
  EXPECT_TRUE(arrived[0].ok());
  EXPECT_EQ(arrived[0].kind, verbs::CompletionKind::kReceive);
  EXPECT_EQ(arrived[0].verb, Verb::kWriteImm);
  EXPECT_TRUE(arrived[0].has_immediate);
  EXPECT_EQ(arrived[0].immediate, 5U);
  EXPECT_EQ(arrived[0].id, takes ? 7U : 0U);
  // The next message takes the entry that is left.
  ASSERT_EQ(world.post(0, pair.queue[0], world.request(2, Verb::kSend, pair.peer[0], 1)), PostStatus::kOk);
  world.run();
  ASSERT_EQ(arrived.size(), 2U);
  EXPECT_EQ(arrived[1].id, takes ? 8U : 7U);
}

WHARF_CONTRACT_TEST(QueuesShareReceives) {
  World<E> world(3);
  E& target = world.engine(0);
  if (target.capabilities().max_receive_queues == 0) return;
  const QueueId cq = target.create_completion_queue(world.now, {.depth = 64}).value();
  const QueueId shared = target.create_receive_queue(world.now, {.depth = 8}).value();
  engine::QueueConfig config = world.into(cq);
  config.receive_queue = shared;
  QueueId at[2];
  QueueId from[2];
  verbs::PeerId peer[2];
  for (std::uint32_t i = 0; i < 2; ++i) {
    at[i] = world.create_queue(0, config);
    from[i] = world.create_queue(i + 1, world.plain());
    peer[i] = world.connect(i + 1, from[i], 0, at[i]).first;
  }
  world.settle();
  EXPECT_EQ(world.post_receive(0, at[0], 1), PostStatus::kBadQueue);  // It has none of its own.
  for (std::uint64_t id = 0; id < 8; ++id) ASSERT_EQ(world.post_receive(0, shared, id), PostStatus::kOk);
  EXPECT_EQ(world.post_receive(0, shared, 8), PostStatus::kQueueFull);
  ASSERT_TRUE(target.set_receive_limit(world.now, shared, 6).ok());
  for (std::uint64_t round = 0; round < 4; ++round) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      ASSERT_EQ(world.post(i + 1, from[i], world.request(round, Verb::kSend, peer[i], 0)), PostStatus::kOk);
      world.run();
    }
  }
  const auto& host = world.hosts[0];
  ASSERT_EQ(host.completions.size(), 8U);
  for (std::uint64_t id = 0; id < 8; ++id) {
    EXPECT_EQ(host.completions[id].id, id);
    EXPECT_EQ(host.completions[id].queue, at[id % 2]);
    EXPECT_EQ(host.completions[id].remote_host, 1 + id % 2);
    EXPECT_EQ(host.from[id], cq);
    EXPECT_TRUE(host.completions[id].ok());
  }
  EXPECT_EQ(world.count(0, AsyncEventKind::kReceiveLimit), 1U);
  // A queue that goes takes no entry with it.
  ASSERT_EQ(world.post_receive(0, shared, 9), PostStatus::kOk);
  EXPECT_FALSE(target.destroy_queue(world.now, shared).ok());
  ASSERT_TRUE(target.destroy_queue(world.now, at[0]).ok());
  ASSERT_EQ(world.post(2, from[1], world.request(5, Verb::kSend, peer[1], 0)), PostStatus::kOk);
  world.run();
  EXPECT_EQ(host.completions.back().id, 9U);
  EXPECT_EQ(host.completions.back().queue, at[1]);
  ASSERT_TRUE(target.destroy_queue(world.now, at[1]).ok());
  ASSERT_TRUE(target.destroy_queue(world.now, shared).ok());
  EXPECT_EQ(world.post_receive(0, shared, 9), PostStatus::kBadQueue);
}

// A message to a shared entry takes nothing from what the queue's own requests may leave behind.
WHARF_CONTRACT_TEST(UnsignaledRequestsGoOnBesideSharedReceives) {
  World<E> world;
  E& target = world.engine(0);
  if (target.capabilities().max_receive_queues == 0) return;
  const QueueId cq = target.create_completion_queue(world.now, {.depth = 64}).value();
  engine::QueueConfig config = world.into(cq);
  config.receive_queue = target.create_receive_queue(world.now, {.depth = 8}).value();
  const QueueId at = world.create_queue(0, config);
  const QueueId from = world.create_queue(1, world.plain());
  const auto [to_other, to_shared] = world.connect(0, at, 1, from);
  world.settle();
  for (std::uint64_t id = 0; id < 4; ++id) {
    ASSERT_EQ(world.post_receive(0, config.receive_queue, id), PostStatus::kOk);
    world.flies = false;  // The request is outstanding while the message ends.
    verbs::WorkRequest request = world.request(10 + id, Verb::kWrite, to_other, 1);
    request.signaled = false;
    ASSERT_EQ(world.post(0, at, request), PostStatus::kOk) << id;
    world.settle();
    std::deque<wire::Packet> held;
    held.swap(world.hosts[1].arrived);
    world.flies = true;
    ASSERT_EQ(world.post(1, from, world.request(id, Verb::kSend, to_shared, 0)), PostStatus::kOk);
    world.settle();
    ASSERT_EQ(world.hosts[0].completions.size(), id + 1);
    for (const wire::Packet& packet : held) world.hosts[1].arrived.push_back(packet);
    world.run();
  }
}

WHARF_CONTRACT_TEST(AnEmptySharedReceiveQueueMakesSendersWait) {
  World<E> world;
  E& target = world.engine(1);
  if (target.capabilities().max_receive_queues == 0) return;
  const QueueId cq = target.create_completion_queue(world.now, {}).value();
  const QueueId shared = target.create_receive_queue(world.now, {.depth = 8}).value();
  engine::QueueConfig config = world.into(cq);
  config.receive_queue = shared;
  const QueueId at = world.create_queue(1, config);
  const QueueId from = world.create_queue(0, world.plain());
  const verbs::PeerId peer = world.connect(0, from, 1, at).first;
  world.settle();
  ASSERT_EQ(world.post(0, from, world.request(1, Verb::kSend, peer, 1)), PostStatus::kOk);
  world.settle();
  EXPECT_TRUE(world.hosts[0].completions.empty());
  ASSERT_EQ(world.post_receive(1, shared, 3), PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.hosts[1].completions.size(), 1U);
  EXPECT_EQ(world.hosts[1].completions[0].id, 3U);
  ASSERT_EQ(world.hosts[0].completions.size(), 1U);
  EXPECT_TRUE(world.hosts[0].completions[0].ok());
}

WHARF_CONTRACT_TEST(AReceiveCanBeTakenBack) {
  Pair<E> world;
  for (std::uint64_t id = 0; id < 3; ++id)
    ASSERT_EQ(world.post_receive(1, world.queue[1], id), PostStatus::kOk);
  E& engine = world.engine(1);
  ASSERT_TRUE(engine.cancel_receive(world.now, world.queue[1], 1).ok());
  EXPECT_FALSE(engine.cancel_receive(world.now, world.queue[1], 1).ok());
  EXPECT_FALSE(engine.cancel_receive(world.now, world.queue[1], 7).ok());
  EXPECT_FALSE(engine.cancel_receive(world.now, world.queue[1] + 1, 0).ok());
  world.run();
  ASSERT_EQ(world.hosts[1].completions.size(), 1U);
  EXPECT_EQ(world.hosts[1].completions[0].id, 1U);
  EXPECT_EQ(world.hosts[1].completions[0].status, CompletionStatus::kCancelled);
  EXPECT_EQ(world.hosts[1].completions[0].kind, CompletionKind::kReceive);
  for (std::uint64_t id = 0; id < 2; ++id) ASSERT_EQ(world.post(id, Verb::kSend), PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.hosts[1].completions.size(), 3U);
  EXPECT_EQ(world.hosts[1].completions[1].id, 0U);
  EXPECT_EQ(world.hosts[1].completions[2].id, 2U);
  if (engine.capabilities().max_receive_queues == 0) return;
  const QueueId shared = engine.create_receive_queue(world.now, {}).value();
  ASSERT_EQ(world.post_receive(1, shared, 4), PostStatus::kOk);
  EXPECT_TRUE(engine.cancel_receive(world.now, shared, 4).ok());
  EXPECT_FALSE(engine.cancel_receive(world.now, shared, 4).ok());
}

}  // namespace
}  // namespace wharf::contract
