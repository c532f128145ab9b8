// SPDX-License-Identifier: Apache-2.0
// Initiators that no target has let in: a HELLO with a key of the target's memory makes a connection, and
// nothing else does.
#include <gtest/gtest.h>

#include "engine/rdmo/worker_world_test_support.h"

namespace wharf::rdmo {
namespace {

constexpr PeerId kStranger = 7;

class Joining : public testing::Test {
 protected:
  explicit Joining(WorkerConfig config = WorkerWorld::small_config()) : world(std::move(config)) {
    target = world.add_target();
    cell = world.targets[0].base;
    world.targets[0].set_word(cell, cell + 8);
    key = world.add_memory(target);
  }
  RdmoStatus hello(std::uint64_t client, std::uint64_t with, PeerId peer = kStranger) {
    wire::RdmoExtendedRequest request;
    request.operation = Operation::kHello;
    request.client = client;
    request.cookie = with;
    std::vector<std::byte> header(wire::kRdmoHeaderBytesMax);
    header.resize(wire::encode(request, header.data()));
    world.heard.clear();
    world.send(peer, wire::kRdmoExtendedMessageId, header, {});
    world.run();
    return world.last_status();
  }
  std::uint64_t id() const { return 100 + target; }

  WorkerWorld world;
  std::uint32_t target = 0;
  std::uint64_t cell = 0;
  std::uint64_t key = 0;
};

TEST_F(Joining, WhoKnowsAKeyAppendsAndFlushes) {
  EXPECT_FALSE(world.worker.has_connection(kStranger));
  ASSERT_EQ(hello(id(), key), RdmoStatus::kDone);
  EXPECT_TRUE(world.worker.has_connection(kStranger));
  EXPECT_EQ(world.heard.back().answer.credit_limit, world.worker.config().window);
  // Its numbers begin with what it asks next.
  world.ask(kStranger, WorkerWorld::extended_append(target, cell, key), "abc");
  world.run();
  EXPECT_EQ(world.last_status(), RdmoStatus::kDone);
  world.ask(kStranger, WorkerWorld::extended_flush(target));
  world.run();
  EXPECT_EQ(world.last_status(), RdmoStatus::kDone);
  EXPECT_EQ(world.targets[0].text(cell + 8, 3), "abc");
  EXPECT_EQ(world.targets[0].word(cell), cell + 8 + 3);
}

TEST_F(Joining, NothingElseMakesAConnection) {
  EXPECT_EQ(hello(id(), key + 1), RdmoStatus::kBadKey);
  EXPECT_EQ(hello(id() + 1, key), RdmoStatus::kUnknownClient);
  const std::uint32_t other = world.add_target();
  const std::uint64_t others = world.add_memory(other);
  EXPECT_EQ(hello(id(), others), RdmoStatus::kBadKey) << "of another target";
  EXPECT_FALSE(world.worker.has_connection(kStranger));
  world.heard.clear();
  world.ask(kStranger, WorkerWorld::extended_append(target, cell, key), "abc");
  world.run();
  EXPECT_TRUE(world.heard.empty());
  EXPECT_EQ(world.worker.counters().unknown_peer, 1U);
  hello(id(), key, kNoPeer);
  EXPECT_TRUE(world.heard.empty()) << "the host does not know it";
  EXPECT_EQ(world.worker.connections(), 0U);
}

TEST_F(Joining, WithdrawnMemoryLetsNobodyIn) {
  wire::RdmoCommand withdraw;
  withdraw.type = wire::RdmoCommandType::kMrDeregister;
  withdraw.key = key;
  ASSERT_EQ(world.command(withdraw, target).status, wire::DocaError::kSuccess);
  EXPECT_EQ(hello(id(), key), RdmoStatus::kBadKey);
}

TEST_F(Joining, LimitsOfATargetHold) {
  const std::uint32_t most = world.worker.config().connections_per_client_max;
  for (std::uint32_t i = 0; i < most; ++i) ASSERT_EQ(hello(id(), key, kStranger + i), RdmoStatus::kDone) << i;
  EXPECT_EQ(hello(id(), key, kStranger + most), RdmoStatus::kNoRoom);
}

TEST_F(Joining, AWorkerThatStopsLetsNobodyIn) {
  world.worker.stop(world.now);
  EXPECT_EQ(hello(id(), key), RdmoStatus::kStopped);
}

WorkerConfig guide_config() {
  WorkerConfig config = WorkerWorld::small_config();
  config.layout = wire::RdmoLayout::kGuide;
  return config;
}
class JoiningGuide : public Joining {
 protected:
  JoiningGuide() : Joining(guide_config()) {}
};

TEST_F(JoiningGuide, KeysOfSixteenBitsLetNobodyIn) {
  EXPECT_EQ(hello(id(), key), RdmoStatus::kUnknownClient);
}

}  // namespace
}  // namespace wharf::rdmo
