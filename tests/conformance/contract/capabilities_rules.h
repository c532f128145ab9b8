// SPDX-License-Identifier: Apache-2.0
// docs/engine-contract.md: what an engine says it can, and takes accordingly.
#pragma once

#include "rule_test_support.h"

namespace wharf::contract {
namespace {

WHARF_CONTRACT_TEST(CapabilitiesSayWhichVerbsAreTaken) {
  for (int number = 0; number < verbs::kVerbCount; ++number) {
    const auto verb = static_cast<Verb>(number);
    Pair<E> world;
    const engine::Capabilities can = world.engine(0).capabilities();
    EXPECT_EQ(can.supports(verb), E::supports(verb)) << verbs::name(verb);
    if (verbs::is_load_store(verb)) {
      EXPECT_EQ(can.supports(verb), can.load_store);
      continue;
    }
    for (const std::uint32_t width : {4U, 8U, 16U}) {
      if (!verbs::is_atomic(verb) && width != 8) continue;
      verbs::WorkRequest request = world.request(1, verb, world.peer[0], 1);
      if (verbs::is_atomic(verb)) {
        request.length = request.width = static_cast<std::uint8_t>(width);
        request.local[0].length = width;
      }
      const bool expected = verbs::is_atomic(verb) ? can.supports(verb, width) : can.supports(verb);
      const PostStatus status = static_cast<World<E>&>(world).post(0, world.queue[0], request);
      EXPECT_EQ(status == PostStatus::kOk, expected)
          << verbs::name(verb) << " of " << width << " bytes: " << engine::name(status);
    }
  }
}

WHARF_CONTRACT_TEST(CapabilitiesSayTheLimits) {
  World<E> world;
  const engine::Capabilities can = world.engine(0).capabilities();
  EXPECT_FALSE(can.protocol.empty());
  EXPECT_GT(can.mtu, 0U);
  EXPECT_GE(can.max_message_bytes, can.max_send_bytes);
  EXPECT_EQ(can.max_scatter_entries, static_cast<std::uint32_t>(verbs::kMaxScatterEntries));
  const auto with_depth = [&](std::uint32_t depth) {
    return world.engine(0).create_queue(world.now, {.send_depth = depth, .receive_depth = 16}).ok();
  };
  EXPECT_TRUE(with_depth(can.max_queue_depth));
  EXPECT_FALSE(with_depth(can.max_queue_depth * 2));
  EXPECT_FALSE(with_depth(3));
  EXPECT_TRUE(world.engine(0).create_completion_queue(world.now, {.depth = can.max_completion_depth}).ok());
  EXPECT_FALSE(
      world.engine(0).create_completion_queue(world.now, {.depth = can.max_completion_depth * 2}).ok());
  EXPECT_EQ(world.engine(0).create_receive_queue(world.now, {}).ok(), can.max_receive_queues > 0);
  EXPECT_EQ(world.engine(0).create_group(world.now, {}).ok(), can.max_groups > 0);
  engine::QueueConfig bytes = world.plain();
  bytes.entries = engine::EntryFormat::kBytes;
  bytes.send_completions = bytes.receive_completions =
      world.engine(0).create_completion_queue(world.now, {}).value();
  EXPECT_EQ(world.engine(0).create_queue(world.now, bytes).ok(), can.byte_rings);
}

WHARF_CONTRACT_TEST(CapabilitiesSayTheServices) {
  World<E> world;
  const engine::Capabilities can = world.engine(0).capabilities();
  EXPECT_TRUE(can.serves(engine::ServiceMode::kDefault));
  for (int number = 0; number < engine::kServiceModeCount; ++number) {
    engine::QueueConfig config = world.plain();
    config.service = static_cast<engine::ServiceMode>(number);
    EXPECT_EQ(world.engine(0).create_queue(world.now, config).ok(), can.serves(config.service))
        << engine::name(config.service);
  }
}

WHARF_CONTRACT_TEST(QueuesNameOnlyWhatExists) {
  World<E> world;
  E& engine = world.engine(0);
  const QueueId cq = engine.create_completion_queue(world.now, {}).value();
  for (const QueueId wrong : {0U, 7U, cq + 1, engine::kReceiveQueueBit}) {
    engine::QueueConfig config = world.into(cq);
    config.send_completions = wrong;
    EXPECT_FALSE(engine.create_queue(world.now, config).ok()) << wrong;
    config = world.into(cq);
    config.receive_completions = wrong;
    EXPECT_FALSE(engine.create_queue(world.now, config).ok()) << wrong;
  }
  for (const QueueId wrong : {0U, cq, engine::kReceiveQueueBit + 1}) {
    engine::QueueConfig config = world.into(cq);
    config.receive_queue = wrong;
    EXPECT_FALSE(engine.create_queue(world.now, config).ok()) << wrong;
  }
  EXPECT_TRUE(engine.destroy_queue(world.now, cq).ok());  // Nothing that failed uses it.
}

}  // namespace
}  // namespace wharf::contract
