// SPDX-License-Identifier: Apache-2.0
// Segments that end while messages use them: what has a receive entry there is told, and no byte lands.
// Completion queues that keep what finds them full.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;

/// Host 1 has a jetty with a shared receive queue, and a segment beside that of the World.
struct Shared : SharedJetty {
  explicit Shared(World& its_world) : SharedJetty(its_world), world(its_world) {
    peer = *world.engine(0).connect(world.now(), world.queue(0), *world.engine(1).export_queue(jetty));
    segment = *world.engine(1).register_segment(world.now(), {.base = World::kRemote, .length = 4096});
  }
  void receive(std::uint64_t id, std::uint32_t key) {
    verbs::ReceiveRequest entry;
    entry.id = id;
    entry.local_count = 1;
    entry.local[0] = {World::kRemote, 2048, key};
    ASSERT_EQ(world.pair().post_receive(1, receives, entry), engine::PostStatus::kOk);
  }
  verbs::WorkRequest send(std::uint32_t length) {
    verbs::WorkRequest request = world.request(Verb::kSend, length);
    request.peer = peer;
    return request;
  }

  World& world;
  verbs::PeerId peer = 0;
  verbs::SegmentToken segment;
};

/// A Send of two packets: the segment ends when the first has been placed and before the second comes.
void send_while_it_goes(World& world, Shared& target) {
  world.fill(0, World::kLocal, 2048);
  bool hold = true;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    return hold && packet.source.number == 0 && packet.ub.rtph.last;
  };
  ASSERT_EQ(world.post(target.send(2048)), engine::PostStatus::kOk);
  const auto first = [&] { return world.same(World::kLocal, World::kRemote, 1024); };
  ASSERT_EQ(world.pair().run_until(first, world.now() + milliseconds(1)), test::RunEnd::kDone);
  ASSERT_TRUE(world.engine(1).deregister_segment(world.now(), target.segment).ok());
  hold = false;
  world.run();
  world.pair().wire().options().drop_if = nullptr;
}

TEST(UbGoneSegments, ASendDoesNotGoOnIntoASegmentThatIsGone) {
  UbConfig config;
  config.mtu = 1024;
  World world(config);
  Shared target(world);
  target.receive(1, target.segment.id);
  ASSERT_NO_FATAL_FAILURE(send_while_it_goes(world, target));
  for (const std::byte each : world.pair().memory(1).at(World::kRemote + 1024, 1024))
    ASSERT_EQ(each, std::byte{0});
  ASSERT_EQ(world.pair().host(1).completions.size(), 1u);
  EXPECT_EQ(world.pair().host(1).completions[0].id, 1u);
  EXPECT_EQ(world.pair().host(1).completions[0].status, CompletionStatus::kLocalAccess);
  ASSERT_EQ(world.pair().host(0).completions.size(), 1u);
  EXPECT_EQ(world.pair().host(0).completions[0].status, CompletionStatus::kRemoteOperation);
}

// Another segment of the same memory, or none at all, is another matter.
TEST(UbGoneSegments, ASendGoesOnWhereAnotherSegmentIsNamed) {
  for (const bool named : {true, false}) {
    UbConfig config;
    config.mtu = 1024;
    World world(config);
    Shared target(world);
    target.receive(1, named ? world.token(1).id : 0);
    ASSERT_NO_FATAL_FAILURE(send_while_it_goes(world, target));
    EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 2048));
    ASSERT_EQ(world.pair().host(0).completions.size(), 1u);
    EXPECT_TRUE(world.pair().host(0).completions[0].ok());
  }
}

TEST(UbGoneSegments, AReceiveWhoseSegmentIsGoneIsReported) {
  World world;
  Shared target(world);
  target.receive(1, target.segment.id);
  target.receive(2, 0);
  ASSERT_TRUE(world.engine(1).deregister_segment(world.now(), target.segment).ok());
  EXPECT_TRUE(world.finish(target.send(64)).ok());
  const auto& completions = world.pair().host(1).completions;
  ASSERT_EQ(completions.size(), 2u);
  EXPECT_EQ(completions[0].id, 1u);
  EXPECT_EQ(completions[0].status, CompletionStatus::kLocalAccess);
  EXPECT_EQ(completions[1].id, 2u);
  EXPECT_TRUE(completions[1].ok());
}

/// Host 0 has another segment where the requests of World take their data.
struct Local {
  explicit Local(World& world)
      : segment(*world.engine(0).register_segment(world.now(), {.base = World::kLocal, .length = 4096})) {}
  verbs::WorkRequest request(World& world, Verb verb, std::uint32_t length) const {
    verbs::WorkRequest made = world.request(verb, length);
    made.local[0].key = segment.id;
    return made;
  }
  verbs::SegmentToken segment;
};

TEST(UbGoneSegments, ARepetitionDoesNotReadWhatIsGone) {
  for (const std::uint32_t length : {64U, 20'000U}) {
    World world;
    const auto segment =
        *world.engine(0).register_segment(world.now(), {.base = World::kLocal, .length = 0x8000});
    verbs::WorkRequest request = world.request(Verb::kWrite, length);
    request.local[0].key = segment.id;
    world.fill(0, World::kLocal, length);
    bool hold = true;
    world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
      return hold && packet.source.number == 0;
    };
    ASSERT_EQ(world.post(request), engine::PostStatus::kOk);
    world.pair().run_until([] { return false; }, world.now() + microseconds(5));
    ASSERT_TRUE(world.engine(0).deregister_segment(world.now(), segment).ok());
    world.fill(0, World::kLocal, length, 99);
    hold = false;
    world.run();
    for (const std::byte each : world.pair().memory(1).at(World::kRemote, length))
      ASSERT_EQ(each, std::byte{0});
    ASSERT_EQ(world.pair().host(0).completions.size(), 1u);
    EXPECT_EQ(world.pair().host(0).completions[0].status, CompletionStatus::kLocalAccess);
    // Requests that name another segment, or none, are not concerned.
    EXPECT_TRUE(world.finish(world.request(Verb::kWrite, length)).ok());
  }
}

// Two segments may share memory: a request has the one that it names.
TEST(UbGoneSegments, ARequestOfAnotherSegmentGoesOn) {
  World world;
  const Local local(world);
  verbs::WorkRequest request = world.request(Verb::kWrite, 64);
  request.local[0].key = world.token(0).id;
  world.fill(0, World::kLocal, 64);
  bool hold = true;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    return hold && packet.source.number == 0;
  };
  ASSERT_EQ(world.post(request), engine::PostStatus::kOk);
  world.pair().run_until([] { return false; }, world.now() + microseconds(5));
  ASSERT_TRUE(world.engine(0).deregister_segment(world.now(), local.segment).ok());
  hold = false;
  world.run();
  ASSERT_EQ(world.pair().host(0).completions.size(), 1u);
  EXPECT_TRUE(world.pair().host(0).completions[0].ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 64));
}

TEST(UbGoneSegments, AnAnswerIsNotPlacedInWhatIsGone) {
  World world;
  const Local local(world);
  world.fill(1, World::kRemote, 64);
  bool hold = true;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    return hold && packet.source.number == 1;
  };
  ASSERT_EQ(world.post(local.request(world, Verb::kRead, 64)), engine::PostStatus::kOk);
  ASSERT_EQ(world.post(world.request(Verb::kWrite, 64, 4096)), engine::PostStatus::kOk);
  world.pair().run_until([] { return false; }, world.now() + microseconds(5));
  ASSERT_TRUE(world.engine(0).deregister_segment(world.now(), local.segment).ok());
  hold = false;
  world.run();
  for (const std::byte each : world.pair().memory(0).at(World::kLocal, 64)) ASSERT_EQ(each, std::byte{0});
  ASSERT_EQ(world.pair().host(0).completions.size(), 2u);
  EXPECT_EQ(world.pair().host(0).completions[0].status, CompletionStatus::kLocalAccess);
  EXPECT_TRUE(world.pair().host(0).completions[1].ok());
}

// The data was read, the packets have not left, and the program has its memory back.
TEST(UbGoneSegments, DataOfAFlushedRequestDoesNotLeave) {
  UbConfig config;
  config.mtu = 1024;
  World world(config);
  UbEngine& engine = world.engine(0);
  for (const bool flushed : {true, false}) {
    SCOPED_TRACE(flushed);
    const Local local(world);
    verbs::WorkRequest request = local.request(world, Verb::kWrite, 2048);
    ASSERT_EQ(engine.post(world.now(), world.queue(0), request, engine::Submission::kInHand),
              engine::PostStatus::kOk);
    static std::byte bytes[4096];
    engine::Access access;
    while (engine.next_access(access)) {
      engine::AccessResult result;
      if (access.kind == engine::AccessKind::kRead) result.data = wire::bytes_payload(bytes, access.length);
      engine.access_done(world.now(), access.id, result);
    }
    if (flushed) {
      ASSERT_TRUE(engine.fail_queue(world.now(), world.queue(0)).ok());
    }
    ASSERT_TRUE(engine.deregister_segment(world.now(), local.segment).ok());
    int packets = 0;
    wire::Packet packet;
    while (engine.transmit(world.now(), 0, wire::kAllTrafficClasses, packet)) {
      if (packet.ub.rtph.opcode != wire::TpOpcode::kReliable) continue;
      ++packets;
      EXPECT_EQ(packet.payload.length, 0u);
      EXPECT_TRUE(packet.ub.request.poison);
    }
    EXPECT_EQ(packets, 2);
    if (flushed) {
      ASSERT_TRUE(engine.reset_queue(world.now(), world.queue(0)).ok());
    }
  }
}

// One event ends more requests than the completion queue holds: none is lost, whatever state its jetty is in.
TEST(UbKeptRecords, WaitUntilTheCompletionQueueHasRoom) {
  World world;
  UbEngine& engine = world.engine(0);
  const auto queue = *engine.create_completion_queue(world.now(), {.depth = 4});
  ASSERT_TRUE(engine.keep_records(queue).ok());
  engine::QueueConfig config;
  config.send_completions = queue;
  std::vector<engine::QueueId> jettys;
  for (int each = 0; each < 3; ++each) {
    jettys.push_back(*engine.create_queue(world.now(), config));
    const auto blob = *world.engine(1).export_queue(world.queue(1));
    verbs::WorkRequest request = world.request(Verb::kWrite, 64);
    request.peer = *engine.connect(world.now(), jettys.back(), blob);
    for (std::uint64_t id = 0; id < 10; ++id) {
      request.id = id;
      ASSERT_EQ(engine.post(world.now(), jettys.back(), request, engine::Submission::kInHand),
                engine::PostStatus::kOk);
    }
  }
  for (const engine::QueueId jetty : jettys) ASSERT_TRUE(engine.fail_queue(world.now(), jetty).ok());
  std::vector<std::uint64_t> next(jettys.size());
  std::size_t seen = 0;
  for (int round = 0; round < 100 && seen < 30; ++round) {
    engine::Access access;
    while (engine.next_access(access)) engine.access_done(world.now(), access.id, {});
    verbs::Completion completion;
    while (engine.poll(queue, completion)) {
      ++seen;
      const auto at = std::find(jettys.begin(), jettys.end(), completion.queue) - jettys.begin();
      ASSERT_LT(static_cast<std::size_t>(at), jettys.size());
      EXPECT_EQ(completion.id, next[static_cast<std::size_t>(at)]++);
      EXPECT_EQ(completion.status, CompletionStatus::kFlushed);
    }
    engine.completions_polled(world.now());
  }
  EXPECT_EQ(seen, 30u);
  EXPECT_EQ(engine.counters().completions_dropped, 0u);
  EXPECT_FALSE(engine.completions_polled(world.now()));
  for (const engine::QueueId jetty : jettys) EXPECT_TRUE(engine.destroy_queue(world.now(), jetty).ok());
}

}  // namespace
}  // namespace wharf::ub
