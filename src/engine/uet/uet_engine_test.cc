// SPDX-License-Identifier: Apache-2.0
// Every operation between two engines, with and without faults of the wire.
#include "engine/uet/uet_engine.h"

#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using engine::PostStatus;
using verbs::CompletionStatus;
using verbs::Verb;

TEST(UetEngine, WritesOfEveryLengthArrive) {
  World world;
  for (const std::uint32_t length : {0U, 1U, 64U, 4096U, 4097U, 16384U, 100000U}) {
    world.fill(0, World::kLocal, length, length);
    EXPECT_TRUE(world.finish(world.request(Verb::kWrite, length)).ok()) << length;
    EXPECT_TRUE(world.same(World::kLocal, World::kRemote, length)) << length;
  }
}

TEST(UetEngine, ReadsOfEveryLengthReturn) {
  World world;
  for (const std::uint32_t length : {0U, 1U, 16U, 17U, 4096U, 4097U, 16384U, 100000U}) {
    world.fill(1, World::kRemote, length, length);
    const verbs::Completion completion = world.finish(world.request(Verb::kRead, length));
    EXPECT_TRUE(completion.ok()) << length;
    EXPECT_EQ(completion.length, length);
    EXPECT_TRUE(world.same(World::kLocal, World::kRemote, length)) << length;
  }
}

TEST(UetEngine, SendsFillPostedReceives) {
  World world;
  for (const std::uint32_t length : {0U, 5U, 4096U, 20000U}) {
    world.fill(0, World::kLocal, length, length);
    ASSERT_EQ(world.pair().post_receive(1, world.queue(1), world.receive(0, 20000)), PostStatus::kOk);
    auto request = world.request(Verb::kSendImm, length);
    request.immediate = 0x1234'5678'9abc'def0;
    EXPECT_TRUE(world.finish(request).ok());
    EXPECT_TRUE(world.same(World::kLocal, World::kRemote, length));
    const verbs::Completion& received = world.completions(1).back();
    EXPECT_TRUE(received.ok());
    EXPECT_EQ(received.length, length);
    EXPECT_EQ(received.immediate, 0x1234'5678'9abc'def0U);
    EXPECT_EQ(received.remote_queue, 16U);
  }
}

TEST(UetEngine, EverythingSurvivesLossDuplicationReorderingAndTrimming) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    UetConfig config;
    config.seed = seed;
    config.max_rto_retries = kRtoRetriesForever;
    config.payload_mtu = 1024;
    auto options = faulty(seed, 5);
    trim_at(options.wire, 5);
    World world(config, options);
    world.fill(0, World::kLocal, 50000, 3);
    EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 50000)).ok()) << seed;
    EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 50000)) << seed;
    world.fill(1, World::kRemote, 50000, 9);
    EXPECT_TRUE(world.finish(world.request(Verb::kRead, 50000)).ok()) << seed;
    EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 50000)) << seed;
    ASSERT_EQ(world.pair().post_receive(1, world.queue(1), world.receive(0, 50000)), PostStatus::kOk);
    world.fill(0, World::kLocal, 50000, 5);
    EXPECT_TRUE(world.finish(world.request(Verb::kSend, 50000)).ok()) << seed;
    EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 50000)) << seed;
  }
}

// A request whose work-queue entry is still being fetched has no message yet; its peer's number would go to
// the next import.
TEST(UetEngine, APeerThatAPostedRequestNamesIsNotForgotten) {
  World world;
  UetEngine& engine = world.engine(0);
  ASSERT_EQ(engine.post(world.now(), world.queue(0), world.request(Verb::kWrite, 64),
                        engine::Submission::kDoorbell),
            PostStatus::kOk);
  const auto refused = engine.disconnect(world.now(), world.queue(0), world.peer(0));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("1 requests outstanding"), std::string::npos)
      << refused.error().message;
  world.pair().drain(0);
  world.pass(milliseconds(1));
  EXPECT_EQ(world.completions(0).size(), 1U);
  EXPECT_TRUE(engine.disconnect(world.now(), world.queue(0), world.peer(0)).ok());
}

TEST(UetEngine, AtomicsOfTheVerbs) {
  World world;
  auto& memory = world.pair().memory(1);
  memory.store64(World::kRemote, 100);
  auto add = world.request(Verb::kFetchAdd, 8);
  add.operand[0] = 11;
  EXPECT_EQ(world.finish(add).atomic_result[0], 100U);
  EXPECT_EQ(memory.load64(World::kRemote), 111U);
  auto swap = world.request(Verb::kCompareSwap, 8);
  swap.operand[0] = 5;
  swap.compare[0] = 111;
  EXPECT_EQ(world.finish(swap).atomic_result[0], 111U);
  EXPECT_EQ(memory.load64(World::kRemote), 5U);
  EXPECT_EQ(world.finish(swap).atomic_result[0], 5U);
  auto store = world.request(Verb::kAtomicStore, 4);
  store.operand[0] = 0x7fff'0001;
  EXPECT_TRUE(world.finish(store).ok());
  EXPECT_EQ(memory.load64(World::kRemote), 0x7fff'0001U);
  EXPECT_EQ(world.finish(world.request(Verb::kAtomicLoad, 8)).atomic_result[0], 0x7fff'0001U);
}

}  // namespace
}  // namespace wharf::uet
