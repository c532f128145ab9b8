// SPDX-License-Identifier: Apache-2.0
#include "examples/add_a_protocol/datagram_write_engine.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>

#include "tests/support/engine_pair.h"
#include "tests/support/wire_bytes.h"

namespace wharf::examples {
namespace {

constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint32_t kTokenValue = 0x5eed;

/// Two connected hosts whose memory is one segment each.
struct World {
  explicit World(test::EnginePairOptions options = {})
      : pair(std::move(options), [&](std::uint32_t host, wire::PayloadPool& pool) {
          arenas.emplace_back();
          return std::make_unique<DatagramWriteEngine>(
              DatagramWriteEngine::create({.host = {host}}, pool, arenas.back()).value());
        }) {
    for (std::uint32_t host = 0; host < 2; ++host) {
      verbs::SegmentConfig segment;
      segment.base = kBase;
      segment.length = pair.memory(host).size();
      segment.token_value = kTokenValue;
      token = pair.engine(host).register_segment(kTimeZero, segment).value();
      queue = pair.engine(host).create_queue(kTimeZero, {.send_depth = 16}).value();
    }
    peer = pair.engine(0).connect(kTimeZero, queue, pair.engine(1).export_queue(queue).value()).value();
  }

  verbs::WorkRequest write(std::uint64_t local, std::uint64_t remote, std::uint32_t length) const {
    verbs::WorkRequest request;
    request.id = local;
    request.verb = verbs::Verb::kWrite;
    request.local_count = 1;
    request.local[0] = {kBase + local, length};
    request.length = length;
    request.peer = peer;
    request.remote = {kBase + remote, token};
    return request;
  }

  std::deque<Arena> arenas;
  test::EnginePair<DatagramWriteEngine> pair;
  verbs::SegmentToken token;
  QueueId queue = 0;
  PeerId peer = 0;
};

// guide: begin
TEST(DatagramWriteEngine, MovesBytesAndCompletesWhenThePacketHasLeft) {
  World world;
  wire::fill(wire::pattern_payload(7, 0, 1000), world.pair.memory(0).at(kBase, 1000));
  ASSERT_EQ(world.pair.post(0, world.queue, world.write(0, 4096, 1000)), PostStatus::kOk);
  ASSERT_EQ(world.pair.host(0).completions.size(), 1U) << "handed to the wire, not yet arrived";
  EXPECT_TRUE(world.pair.host(0).completions[0].ok());
  EXPECT_EQ(world.pair.engine(1).counters().writes_placed, 0U);

  ASSERT_EQ(world.pair.run_until_idle(), test::RunEnd::kDone);
  EXPECT_TRUE(wire::payload_equal(wire::pattern_payload(7, 0, 1000),
                                  wire::bytes_payload(world.pair.memory(1).at(kBase + 4096, 1000))));
  EXPECT_EQ(world.pair.pool().in_use(), 0U) << "no buffer leaked";
}
// guide: end

TEST(DatagramWriteEngine, ALostPacketIsASuccessAllTheSame) {
  test::EnginePairOptions options;
  options.wire.drop_if = [](const wire::Packet&) { return true; };
  World world(std::move(options));
  world.pair.memory(0).store64(kBase, 42);
  world.pair.post(0, world.queue, world.write(0, 4096, 8));
  ASSERT_EQ(world.pair.run_until_idle(), test::RunEnd::kDone);
  EXPECT_TRUE(world.pair.host(0).completions.at(0).ok());
  EXPECT_EQ(world.pair.memory(1).load64(kBase + 4096), 0U);
  EXPECT_EQ(world.pair.pool().in_use(), 0U);
}

TEST(DatagramWriteEngine, EveryHopAsBytesGivesTheSame) {
  test::EnginePairOptions options;
  options.wire.transform = test::through_bytes;
  World world(std::move(options));
  world.pair.memory(0).store64(kBase + 8, 0x0123'4567'89ab'cdef);
  world.pair.post(0, world.queue, world.write(8, 512, 8));
  ASSERT_EQ(world.pair.run_until_idle(), test::RunEnd::kDone);
  EXPECT_EQ(world.pair.memory(1).load64(kBase + 512), 0x0123'4567'89ab'cdefU);
  EXPECT_EQ(world.pair.pool().in_use(), 0U);
}

// guide: begin
TEST(DatagramWriteEngine, RefusesEveryOtherVerb) {
  World world;
  for (int number = 0; number < verbs::kVerbCount; ++number) {
    verbs::WorkRequest request = world.write(0, 0, 8);
    request.verb = static_cast<verbs::Verb>(number);
    if (request.verb == verbs::Verb::kWrite) continue;
    EXPECT_EQ(world.pair.post(0, world.queue, request), PostStatus::kUnsupported) << name(request.verb);
  }
}
// guide: end

TEST(DatagramWriteEngine, RefusesRequestsThatItCannotEncode) {
  World world;
  EXPECT_EQ(world.pair.post(0, 99, world.write(0, 0, 8)), PostStatus::kBadQueue);
  EXPECT_EQ(world.pair.post(0, world.queue, world.write(0, 0, 0)), PostStatus::kBadRequest);
  EXPECT_EQ(world.pair.post(0, world.queue, world.write(0, 0, 4097)), PostStatus::kBadRequest);
  EXPECT_EQ(world.pair.post(0, world.queue, world.write(0, 0, 4096)), PostStatus::kOk);
  EXPECT_EQ(world.pair.post(0, world.queue, world.write(0, 0, 8), engine::Submission::kDoorbell),
            PostStatus::kUnsupported);
}

TEST(DatagramWriteEngine, TakesAsManyRequestsAsTheQueueIsDeep) {
  World world;
  DatagramWriteEngine& engine = world.pair.engine(0);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(engine.post(kTimeZero, world.queue, world.write(0, 0, 8), engine::Submission::kInHand),
              PostStatus::kOk);
  }
  EXPECT_EQ(engine.post(kTimeZero, world.queue, world.write(0, 0, 8), engine::Submission::kInHand),
            PostStatus::kQueueFull);
  world.pair.drain(0);
  EXPECT_EQ(world.pair.post(0, world.queue, world.write(0, 0, 8)), PostStatus::kOk);
}

TEST(DatagramWriteEngine, AForbiddenWriteLeavesMemoryUntouched) {
  World world;
  world.pair.memory(0).store64(kBase, 42);
  verbs::WorkRequest unknown_token = world.write(0, 4096, 8);
  unknown_token.remote.token.id = 2;
  verbs::WorkRequest wrong_value = world.write(0, 4096, 8);
  wrong_value.remote.token.value ^= 1;
  const std::uint64_t size = world.pair.memory(1).size();
  for (const verbs::WorkRequest& request : {unknown_token, wrong_value, world.write(0, size - 7, 8)}) {
    ASSERT_EQ(world.pair.post(0, world.queue, request), PostStatus::kOk);
  }
  ASSERT_EQ(world.pair.run_until_idle(), test::RunEnd::kDone);
  EXPECT_EQ(world.pair.engine(1).counters().dropped_access, 3U);
  EXPECT_EQ(world.pair.memory(1).count(engine::AccessKind::kWrite), 0U);
  EXPECT_EQ(world.pair.pool().in_use(), 0U);
}

TEST(DatagramWriteEngine, DataThatCannotBeReadIsAnErrorOfTheInitiator) {
  World world;
  verbs::WorkRequest request = world.write(0, 0, 8);
  request.local[0].address = 8;  // Below the memory.
  world.pair.post(0, world.queue, request);
  ASSERT_EQ(world.pair.host(0).completions.size(), 1U);
  EXPECT_EQ(world.pair.host(0).completions[0].status, verbs::CompletionStatus::kLocalAccess);
}

TEST(DatagramWriteEngine, SaysWhatItCanDo) {
  World world;
  const engine::Capabilities can = world.pair.engine(0).capabilities();
  for (int number = 0; number < verbs::kVerbCount; ++number) {
    const auto verb = static_cast<verbs::Verb>(number);
    EXPECT_EQ(can.supports(verb), DatagramWriteEngine::supports(verb)) << name(verb);
  }
  EXPECT_EQ(can.max_completion_queues, 0U);
  EXPECT_FALSE(world.pair.engine(0).create_completion_queue(kTimeZero, {}).ok());
}

/// One engine without a wire, whose memory the test plays.
struct Alone {
  Alone() {
    queue = engine.create_queue(kTimeZero, {.send_depth = 16}).value();
    peer = engine.connect(kTimeZero, queue, engine.export_queue(queue).value()).value();
    token = engine.register_segment(kTimeZero, {.base = kBase, .length = 4096}).value();
  }
  Access post() {
    verbs::WorkRequest request;
    request.id = posted++;
    request.verb = verbs::Verb::kWrite;
    request.local_count = 1;
    request.local[0] = {kBase, 8};
    request.length = 8;
    request.peer = peer;
    request.remote = {kBase, token};
    EXPECT_EQ(engine.post(kTimeZero, queue, request, engine::Submission::kInHand), PostStatus::kOk);
    Access access;
    EXPECT_TRUE(engine.next_access(access));
    return access;
  }

  wire::PayloadPool pool;
  Arena arena;
  DatagramWriteEngine engine =
      DatagramWriteEngine::create({.host = {0}, .accesses_max = 4}, pool, arena).value();
  QueueId queue = 0;
  PeerId peer = 0;
  verbs::SegmentToken token;
  std::uint64_t posted = 0;
};

TEST(DatagramWriteEngine, AnswersThatNobodyAskedForDoNothing) {
  Alone alone;
  for (const AccessId id : {0U, 1U, 1000U, 0xffff'ffffU}) alone.engine.access_done(kTimeZero, id, {});
  const Access access = alone.post();
  AccessResult result;
  result.data = wire::pattern_payload(1, 0, access.length);
  alone.engine.access_done(kTimeZero, access.id + 1, result);
  wire::Packet packet;
  EXPECT_FALSE(alone.engine.transmit(kTimeZero, 0, wire::kAllTrafficClasses, packet));
  alone.engine.access_done(kTimeZero, access.id, result);
  alone.engine.access_done(kTimeZero, access.id, result);  // Answered before.
  EXPECT_TRUE(alone.engine.transmit(kTimeZero, 0, wire::kAllTrafficClasses, packet));
  EXPECT_FALSE(alone.engine.transmit(kTimeZero, 0, wire::kAllTrafficClasses, packet));
  alone.engine.receive(kTimeZero, 0, packet);
  alone.engine.access_done(kTimeZero, access.id, {});  // The same number, not given yet.
  EXPECT_EQ(alone.engine.counters().writes_placed, 0U);
  Access write;
  ASSERT_TRUE(alone.engine.next_access(write));
  result.status = engine::AccessStatus::kFault;
  alone.engine.access_done(kTimeZero, write.id, result);
  EXPECT_EQ(alone.engine.counters().writes_placed, 0U);
  EXPECT_EQ(alone.engine.counters().writes_failed, 1U);
}

TEST(DatagramWriteEngine, DataOfAnotherLengthIsAFault) {
  Alone alone;
  const Access access = alone.post();
  AccessResult result;
  result.data = wire::pattern_payload(1, 0, access.length - 1);
  alone.engine.access_done(kTimeZero, access.id, result);
  verbs::Completion completion;
  ASSERT_TRUE(alone.engine.poll(alone.queue, completion));
  EXPECT_EQ(completion.status, verbs::CompletionStatus::kLocalAccess);
}

TEST(DatagramWriteEngine, AQueueThatFailsFlushesInPostingOrder) {
  Alone alone;
  Access accesses[3];
  for (Access& access : accesses) access = alone.post();
  AccessResult result;
  result.data = wire::pattern_payload(1, 0, 8);
  alone.engine.access_done(kTimeZero, accesses[1].id, result);  // Waits for the wire.
  ASSERT_TRUE(alone.engine.fail_queue(kTimeZero, alone.queue).ok());
  EXPECT_EQ(alone.engine.queue_state(alone.queue), engine::QueueState::kError);
  verbs::Completion completion;
  for (std::uint64_t id = 0; id < 3; ++id) {
    ASSERT_TRUE(alone.engine.poll(alone.queue, completion));
    EXPECT_EQ(completion.status, verbs::CompletionStatus::kFlushed);
    EXPECT_EQ(completion.id, id);
  }
  verbs::WorkRequest write;
  write.verb = verbs::Verb::kWrite;
  EXPECT_EQ(alone.engine.post(kTimeZero, alone.queue, write, engine::Submission::kInHand),
            PostStatus::kBadQueue);
  alone.engine.access_done(kTimeZero, accesses[0].id, result);
  wire::Packet packet;
  EXPECT_FALSE(alone.engine.transmit(kTimeZero, 0, wire::kAllTrafficClasses, packet));
  EXPECT_FALSE(alone.engine.poll(alone.queue, completion));
  ASSERT_TRUE(alone.engine.reset_queue(kTimeZero, alone.queue).ok());
  alone.post();
}

TEST(DatagramWriteEngine, ADestroyedQueueIsGoneAtOnce) {
  Alone alone;
  const Access access = alone.post();
  ASSERT_TRUE(alone.engine.destroy_queue(kTimeZero, alone.queue).ok());
  EXPECT_EQ(alone.engine.queue_state(alone.queue), engine::QueueState::kGone);
  AccessResult result;
  result.data = wire::pattern_payload(1, 0, 8);
  alone.engine.access_done(kTimeZero, access.id, result);
  wire::Packet packet;
  QueueId completed = 0;
  EXPECT_FALSE(alone.engine.transmit(kTimeZero, 0, wire::kAllTrafficClasses, packet));
  EXPECT_FALSE(alone.engine.next_completed_queue(completed));
}

TEST(DatagramWriteEngine, RequestsToAForgottenHostEndWithAnError) {
  Alone alone;
  const Access access = alone.post();
  ASSERT_TRUE(alone.engine.forget_host(kTimeZero, {0}).ok());
  AccessResult result;
  result.data = wire::pattern_payload(1, 0, 8);
  alone.engine.access_done(kTimeZero, access.id, result);
  verbs::Completion completion;
  ASSERT_TRUE(alone.engine.poll(alone.queue, completion));
  EXPECT_EQ(completion.status, verbs::CompletionStatus::kRetryExhausted);
}

TEST(DatagramWriteEngine, RefusesAConfigByNamingTheKey) {
  wire::PayloadPool pool;
  Arena arena;
  const auto made = DatagramWriteEngine::create({.host = {0}, .mtu = 0}, pool, arena);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("mtu"), std::string::npos);
}

}  // namespace
}  // namespace wharf::examples
