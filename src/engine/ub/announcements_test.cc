// SPDX-License-Identifier: Apache-2.0
// Write_imm and Write_notify say that their data is there: all of it, and not before. [URMA API]
#include <string>

#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;

constexpr std::uint64_t kWord = World::kRemote + 0x60000;

/// Of three segments, over memory that takes its time and reorders.
test::EnginePairOptions slow(std::uint64_t seed) {
  test::EnginePairOptions options;
  options.seed = seed;
  options.access_shortest = nanoseconds(50);
  options.access_longest = microseconds(40);
  return options;
}

TEST(UbAnnouncements, TheWordOfAWriteNotifyComesAfterAllOfItsData) {
  for (const auto service : {engine::ServiceMode::kOrderedByInitiator, engine::ServiceMode::kOrderedByTarget,
                             engine::ServiceMode::kOrderedByTransport}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      UbConfig config;
      config.service = service;
      World world(config, slow(seed));
      world.fill(0, World::kLocal, 140'000);
      auto request = world.request(Verb::kWriteNotify, 140'000);
      request.notify = {kWord, world.token(1)};
      request.immediate = 0xabcdef;
      ASSERT_EQ(world.post(request), engine::PostStatus::kOk);
      world.pair().run_until([&] { return world.pair().memory(1).load64(kWord) != 0; });
      EXPECT_EQ(world.pair().memory(1).load64(kWord), 0xabcdefU);
      EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 140'000)) << engine::name(service) << seed;
      world.run();
      ASSERT_EQ(world.pair().host(0).completions.size(), 1u);
      EXPECT_TRUE(world.pair().host(0).completions[0].ok());
    }
  }
}

// The word is written where its own segment is, and other queues may write there: it is a release.
TEST(UbAnnouncements, TheWordIsARelease) {
  World world;
  std::vector<verbs::AccessOrder> orders;
  auto request = world.request(Verb::kWriteNotify, 0);
  request.notify = {kWord, world.token(1)};
  ASSERT_EQ(world.engine(0).post(world.now(), world.queue(0), request, engine::Submission::kInHand),
            engine::PostStatus::kOk);
  wire::Packet packet;
  while (world.engine(0).transmit(world.now(), 0, wire::kAllTrafficClasses, packet))
    world.engine(1).receive(world.now(), 0, packet);
  engine::Access access;
  while (world.engine(1).next_access(access)) {
    if (access.kind == engine::AccessKind::kWrite) orders.push_back(access.order);
  }
  EXPECT_EQ(orders, std::vector<verbs::AccessOrder>{verbs::AccessOrder::kRelease});
}

TEST(UbAnnouncements, AWriteThatIsRefusedInPartAnnouncesNothing) {
  for (const Verb verb : {Verb::kWriteImm, Verb::kWriteNotify}) {
    World world;
    // The first of three segments lies before it.
    const auto part = *world.engine(1).register_segment(
        world.now(),
        {.base = World::kRemote + 65536, .length = 131072, .rights = verbs::kFullAccess, .token_value = 5});
    world.pair().post_receive(1, world.queue(1), {.id = 9});
    auto request = world.request(verb, 140'000);
    request.remote.token = part;
    request.immediate = 42;
    request.notify = {kWord, world.token(1)};
    EXPECT_EQ(world.finish(request).status, CompletionStatus::kRemoteAccess);
    EXPECT_TRUE(world.pair().host(1).completions.empty());
    EXPECT_EQ(world.pair().memory(1).load64(kWord), 0u);
    EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 64)).ok());
  }
}

TEST(UbAnnouncements, AWriteImmTellsTheLengthOfAllPacketsWhateverIsLost) {
  for (int lost = 0; lost < 3; ++lost) {
    UbConfig config;
    config.mtu = 4096;
    World world(config);
    world.pair().post_receive(1, world.queue(1), {.id = 9});
    int seen = 0;
    world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
      return packet.source.number == 0 && packet.ub.rtph.opcode == wire::TpOpcode::kReliable &&
             seen++ == lost;
    };
    EXPECT_TRUE(world.finish(world.request(Verb::kWriteImm, 12288)).ok());
    ASSERT_EQ(world.pair().host(1).completions.size(), 1u);
    EXPECT_EQ(world.pair().host(1).completions[0].length, 12288u) << lost;
  }
}

}  // namespace
}  // namespace wharf::ub
