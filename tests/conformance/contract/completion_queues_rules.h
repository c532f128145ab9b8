// SPDX-License-Identifier: Apache-2.0
// docs/engine-contract.md: completion queues: shared ones, full ones, armed ones.
#pragma once

#include <map>
#include <vector>

#include "rule_test_support.h"

namespace wharf::contract {
namespace {

WHARF_CONTRACT_TEST(SeveralQueuesReportIntoOneCompletionQueue) {
  World<E> world;
  const QueueId cq = world.engine(0).create_completion_queue(world.now, {.depth = 64}).value();
  std::vector<QueueId> queues;
  for (std::uint64_t i = 0; i < 4; ++i) {
    queues.push_back(world.create_queue(0, world.into(cq)));
    const QueueId there = world.create_queue(1, world.plain());
    const auto [peer, back] = world.connect(0, queues.back(), 1, there);
    world.settle();
    for (std::uint64_t n = 0; n < 3; ++n) {
      ASSERT_EQ(world.post(0, queues[i], world.request(i * 10 + n, Verb::kWrite, peer, 1)), PostStatus::kOk);
    }
  }
  world.run();
  const auto& host = world.hosts[0];
  ASSERT_EQ(host.completions.size(), 12U);
  std::map<QueueId, std::uint64_t> last;
  for (std::size_t i = 0; i < 12; ++i) {
    const verbs::Completion& completion = host.completions[i];
    EXPECT_EQ(host.from[i], cq);
    EXPECT_TRUE(completion.ok());
    EXPECT_EQ(completion.queue, queues[completion.id / 10]);
    if (last.contains(completion.queue) && world.engine(0).capabilities().ordered_delivery) {
      EXPECT_LT(last[completion.queue], completion.id);
    }
    last[completion.queue] = completion.id;
  }
  verbs::Completion none;
  for (const QueueId queue : queues) EXPECT_FALSE(world.engine(0).poll(queue, none));
  EXPECT_FALSE(world.engine(0).destroy_queue(world.now, cq).ok());
  for (const QueueId queue : queues) EXPECT_TRUE(world.engine(0).destroy_queue(world.now, queue).ok());
  EXPECT_TRUE(world.engine(0).destroy_queue(world.now, cq).ok());
  EXPECT_FALSE(world.engine(0).destroy_queue(world.now, cq).ok());
}

WHARF_CONTRACT_TEST(AFullCompletionQueueFailsTheQueue) {
  Pair<E> world(2);
  for (std::uint64_t id = 0; id < 4; ++id) ASSERT_EQ(world.post(id, Verb::kWrite), PostStatus::kOk);
  // Nobody polls: the world's loop would.
  for (int round = 0; round < 50; ++round) {
    for (std::uint32_t at = 0; at < 2; ++at) {
      auto& host = world.hosts[at];
      engine::Access access;
      while (host.engine->next_access(access))
        host.engine->access_done(world.now, access.id, world.perform(host, access));
      wire::Packet packet;
      while (host.engine->transmit(world.now, 0, wire::kAllTrafficClasses, packet)) {
        world.engine(1 - at).receive(world.now, 0, packet);
        world.pool.release(packet.payload.buffer);
      }
    }
  }
  world.run();
  EXPECT_GE(world.count(0, AsyncEventKind::kCompletionQueueFull), 1U);
  ASSERT_FALSE(world.hosts[0].events.empty());
  EXPECT_EQ(world.hosts[0].events.front().queue, world.cq[0]);
  EXPECT_EQ(world.engine(0).queue_state(world.queue[0]), QueueState::kError);
  EXPECT_EQ(world.count(0, CompletionStatus::kSuccess, CompletionKind::kSend), 2U);
}

WHARF_CONTRACT_TEST(AnArmedCompletionQueueReportsOnce) {
  Pair<E> world;
  E& engine = world.engine(0);
  const auto write = [&](std::uint64_t id) {
    ASSERT_EQ(world.post(id, Verb::kWrite), PostStatus::kOk);
    world.run();
  };
  const auto ready = [&] { return world.count(0, AsyncEventKind::kCompletionReady); };
  write(1);
  EXPECT_EQ(ready(), 0U);
  ASSERT_TRUE(engine.arm(world.now, world.cq[0], {}).ok());
  write(2);
  EXPECT_EQ(ready(), 1U);
  EXPECT_EQ(world.hosts[0].events.back().queue, world.cq[0]);
  write(3);
  EXPECT_EQ(ready(), 1U);
  ASSERT_TRUE(engine.arm(world.now, world.cq[0], {.count = 3}).ok());
  write(4);
  write(5);
  EXPECT_EQ(ready(), 1U);
  write(6);
  EXPECT_EQ(ready(), 2U);
  EXPECT_FALSE(engine.arm(world.now, world.queue[0], {}).ok());
  EXPECT_FALSE(engine.arm(world.now, world.cq[0], {.count = 0}).ok());
}

WHARF_CONTRACT_TEST(SolicitedMessagesAreToldApart) {
  Pair<E> world;
  const bool can = world.engine(0).capabilities().solicited;
  ASSERT_TRUE(world.engine(1).arm(world.now, world.cq[1], {.solicited_only = true}).ok());
  for (std::uint64_t id = 0; id < 3; ++id)
    ASSERT_EQ(world.post_receive(1, world.queue[1], id), PostStatus::kOk);
  const auto send = [&](bool solicited) {
    verbs::WorkRequest request = world.request(9, Verb::kSend, world.peer[0], 1);
    request.solicited = solicited;
    ASSERT_EQ(static_cast<World<E>&>(world).post(0, world.queue[0], request), PostStatus::kOk);
    world.run();
  };
  send(false);
  EXPECT_EQ(world.count(1, AsyncEventKind::kCompletionReady), 0U);
  send(true);
  EXPECT_EQ(world.count(1, AsyncEventKind::kCompletionReady), can ? 1U : 0U);
  ASSERT_EQ(world.hosts[1].completions.size(), 2U);
  EXPECT_FALSE(world.hosts[1].completions[0].solicited);
  EXPECT_EQ(world.hosts[1].completions[1].solicited, can);
}

}  // namespace
}  // namespace wharf::contract
