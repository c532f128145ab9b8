// SPDX-License-Identifier: Apache-2.0
// docs/engine-contract.md: memory: address spaces, local keys, where received bytes stay.
#pragma once

#include "rule_test_support.h"

namespace wharf::contract {
namespace {

WHARF_CONTRACT_TEST(AccessesCarryTheirAddressSpace) {
  World<E> world;
  const QueueId cq = world.engine(0).create_completion_queue(world.now, {.space = 7}).value();
  engine::QueueConfig config = world.into(cq);
  config.space = 8;
  const QueueId here = world.create_queue(0, config);
  config = world.plain();
  config.space = 9;
  const QueueId there = world.create_queue(1, config);
  const auto peer = world.connect(0, here, 1, there).first;
  world.settle();
  ASSERT_EQ(world.post_receive(1, there, 1), PostStatus::kOk);
  for (const Verb verb : {Verb::kWrite, Verb::kRead, Verb::kFetchAdd, Verb::kSend}) {
    for (auto& host : world.hosts) host.accesses.clear();
    ASSERT_EQ(world.post(0, here, world.request(1, verb, peer, 1)), PostStatus::kOk);
    world.run();
    for (const engine::Access& access : world.hosts[0].accesses) {
      EXPECT_EQ(access.space, access.kind == AccessKind::kWriteCompletion ? 7U : 8U) << verbs::name(verb);
    }
    for (const engine::Access& access : world.hosts[1].accesses) {
      EXPECT_EQ(access.space, verbs::is_send(verb) ? 9U : 41U) << verbs::name(verb);
    }
  }
}

/// One request whose memory a key names: as the first of its connection, or behind another that had none.
template <typename E>
void expect_key_holds(Verb verb, int wrong, bool first) {
  Pair<E> world;
  ASSERT_EQ(world.post_receive(1, world.queue[1], 1), PostStatus::kOk);
  ASSERT_EQ(world.post_receive(1, world.queue[1], 2), PostStatus::kOk);
  if (!first) {
    ASSERT_EQ(world.post(9, verb), PostStatus::kOk);
    world.settle();
  }
  const verbs::SegmentToken token =
      world.engine(0).register_segment(world.now, {.base = 0x9000, .length = 64, .space = 5}).value();
  verbs::WorkRequest request = world.request(1, verb, world.peer[0], 1);
  request.local[0] = {0x9000U + (wrong == 1 ? 1U : 0U), 64, token.id + (wrong == 2 ? 77U : 0U)};
  if (wrong == 3) {
    ASSERT_TRUE(world.engine(0).deregister_segment(world.now, token).ok());
  }
  world.hosts[0].accesses.clear();
  ASSERT_EQ(static_cast<World<E>&>(world).post(0, world.queue[0], request), PostStatus::kOk);
  world.run();
  const auto& all = world.hosts[0].completions;
  const auto ended =
      std::find_if(all.begin(), all.end(), [](const verbs::Completion& each) { return each.id == 1; });
  ASSERT_NE(ended, all.end());
  EXPECT_EQ(ended->status, wrong == 0 ? CompletionStatus::kSuccess : CompletionStatus::kLocalAccess);
  for (const engine::Access& access : world.hosts[0].accesses) {
    if (access.kind == AccessKind::kWriteCompletion) continue;
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(access.space, 5U);
  }
}

WHARF_CONTRACT_TEST(ALocalKeyNamesSpaceAndRange) {
  for (const Verb verb : {Verb::kWrite, Verb::kRead, Verb::kSend}) {
    for (const int wrong : {0, 1, 2, 3}) {  // Nothing; beyond the end; no such key; deregistered.
      for (const bool first : {true, false}) {
        SCOPED_TRACE(testing::Message() << verbs::name(verb) << wrong << (first ? " first" : " later"));
        expect_key_holds<E>(verb, wrong, first);
      }
    }
  }
}

/// The bytes that memory is given are those that the packet brought, where they landed.
WHARF_CONTRACT_TEST(ReceivedBytesStayWhereTheyLanded) {
  Pair<E> world;
  world.flies = false;
  ASSERT_EQ(world.post(1, Verb::kWrite, 256), PostStatus::kOk);
  world.settle();
  const std::byte* landed = nullptr;
  auto& arrived = world.hosts[1].arrived;
  ASSERT_FALSE(arrived.empty());
  for (wire::Packet& packet : arrived) {
    if (packet.payload.length == 0) continue;
    // A datagram of 100 header bytes and the payload.
    const wire::BufferId buffer = world.pool.acquire(100 + packet.payload.length);
    std::byte* at = world.pool.data(buffer) + 100;
    wire::fill(packet.payload, {at, packet.payload.length});
    world.pool.release(packet.payload.buffer);
    packet.payload = wire::bytes_payload(at, packet.payload.length, buffer);
    landed = at;
  }
  world.flies = true;
  world.hosts[1].accesses.clear();
  world.run();
  bool found = false;
  for (const engine::Access& access : world.hosts[1].accesses) {
    if (access.kind != AccessKind::kWrite) continue;
    found = true;
    EXPECT_EQ(access.data.bytes, landed);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace wharf::contract
