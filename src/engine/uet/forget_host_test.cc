// SPDX-License-Identifier: Apache-2.0
// A host that is gone for good: what was outstanding ends, nothing of it is left, and the next host of that
// number begins anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/uet/engine_parts.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using engine::PostStatus;
using verbs::CompletionStatus;
using verbs::Verb;

std::uint64_t held_by(const UetEngine& engine, std::string_view object) {
  for (const MemoryUse& use : engine.memory_use()) {
    if (use.object == object) return use.count;
  }
  return 0;
}

TEST(UetForgetHost, EndsWhatIsOutstandingAndForgetsItsEndpoints) {
  World world;
  world.watch();
  world.lose = [](const wire::Packet&) { return true; };
  for (const Verb verb : {Verb::kWrite, Verb::kRead, Verb::kFetchAdd})
    ASSERT_EQ(world.post(world.request(verb, 8)), PostStatus::kOk);
  verbs::WorkRequest idempotent = world.request(Verb::kWrite, 64);
  idempotent.delivery = verbs::Delivery::kIdempotent;
  ASSERT_EQ(world.post(idempotent), PostStatus::kOk);
  world.pass(microseconds(50));
  ASSERT_TRUE(world.completions(0).empty());
  ASSERT_TRUE(world.engine(0).forget_host(world.now(), {1}).ok());
  world.pair().drain(0);
  world.pass(microseconds(50));
  ASSERT_EQ(world.completions(0).size(), 4u);
  for (const verbs::Completion& completion : world.completions(0))
    EXPECT_EQ(completion.status, CompletionStatus::kRetryExhausted);
  std::vector<std::string> waiting;
  world.engine(0).describe_waiting(waiting);
  EXPECT_TRUE(waiting.empty());
  EXPECT_EQ(world.post(world.request(Verb::kWrite, 8)), PostStatus::kBadRequest);
  engine::AsyncEvent event;
  EXPECT_FALSE(world.engine(0).poll_event(event));
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

TEST(UetForgetHost, FlushesWhatWasNeverSent) {
  World world;
  world.watch();
  world.lose = [](const wire::Packet&) { return true; };
  ASSERT_EQ(world.post(world.request(Verb::kRead, 4096)), PostStatus::kOk);
  verbs::WorkRequest behind = world.request(Verb::kWrite, 8);
  behind.fence = true;
  ASSERT_EQ(world.post(behind), PostStatus::kOk);
  world.pass(microseconds(50));
  ASSERT_TRUE(world.engine(0).forget_host(world.now(), {1}).ok());
  world.pair().drain(0);
  world.pass(microseconds(50));
  ASSERT_EQ(world.completions(0).size(), 2u);
  EXPECT_EQ(world.completions(0)[0].status, CompletionStatus::kRetryExhausted);
  EXPECT_EQ(world.completions(0)[1].status, CompletionStatus::kFlushed);
}

TEST(UetForgetHost, WaitsForMemoryThatIsAtWork) {
  test::EnginePairOptions slow;
  slow.access_shortest = slow.access_longest = microseconds(1);
  World world({}, slow);
  ASSERT_EQ(world.post(world.request(Verb::kWrite, 64)), PostStatus::kOk);
  const auto refused = [&world] { return !world.engine(1).forget_host(world.now(), {0}).ok(); };
  EXPECT_EQ(world.pair().run_until([&world] { return world.counters(1).packets_received == 1; }),
            test::RunEnd::kDone);
  EXPECT_TRUE(refused());
  world.run();
  EXPECT_EQ(world.completions(0).back().status, CompletionStatus::kSuccess);
  EXPECT_FALSE(refused());
}

// A receive that the end gives back asked the host for its other message, on a PDC that nobody ended.
TEST(UetForgetHost, AsksForNoOtherMessageOfTheHost) {
  UetConfig config;
  config.large_send = LargeSend::kDeferrable;
  config.large_send_bytes = 1000;
  World world(config);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(world.post(world.request(Verb::kSend, 30'000)), PostStatus::kOk);
  world.pass(microseconds(50));
  ASSERT_EQ(world.counters(0).messages_deferred, 2u);
  world.watch();
  world.lose = [](const wire::Packet&) { return true; };
  ASSERT_EQ(world.pair().post_receive(1, world.queue(1), world.receive(0, 30'000)), PostStatus::kOk);
  world.pass(microseconds(5));
  ASSERT_FALSE(world.sent.empty());
  const std::uint64_t opened = world.counters(1).pdcs_opened;
  world.lose = [](const wire::Packet& packet) { return packet.source.number == 0; };
  world.sent.clear();
  ASSERT_TRUE(world.engine(1).forget_host(world.now(), {0}).ok());
  world.pair().drain(1);
  world.pass(microseconds(50));
  for (const wire::Packet& packet : world.sent) EXPECT_EQ(packet.source.number, 0u);
  EXPECT_EQ(world.counters(1).pdcs_opened, opened);
  std::vector<std::string> waiting;
  world.engine(1).describe_waiting(waiting);
  EXPECT_TRUE(waiting.empty()) << waiting.front();
}

// Two messages of one host on two PDCs: the first one takes the receive and loses its end, the second waits.
// When the receive comes back, the second is there for it already.
TEST(UetForgetHost, AReceiveThatComesBackGoesToAMessageThatWaits) {
  UetConfig config;
  config.rto_init = microseconds(20);
  config.max_rto_retries = 2;
  World world(config);
  world.watch();
  world.lose = [](const wire::Packet& packet) {
    return packet.source.number == 0 && packet.uet.prologue.type == wire::UetPdsType::kRodRequest &&
           !packet.uet.ses.first();
  };
  ASSERT_EQ(world.pair().post_receive(1, world.queue(1), world.receive(0, 30'000)), PostStatus::kOk);
  verbs::WorkRequest large = world.request(Verb::kSend, 30'000);
  large.delivery = verbs::Delivery::kOrdered;
  ASSERT_EQ(world.post(large), PostStatus::kOk);
  world.pass(microseconds(5));
  verbs::WorkRequest small = world.request(Verb::kSend, 8);
  small.delivery = verbs::Delivery::kUnordered;
  ASSERT_EQ(world.post(small), PostStatus::kOk);
  world.pass(microseconds(15));
  EXPECT_TRUE(world.completions(1).empty());
  world.pass(seconds(60));
  ASSERT_EQ(world.completions(0).size(), 2u);
  ASSERT_EQ(world.completions(1).size(), 1u);
  EXPECT_EQ(world.completions(1)[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(world.completions(1)[0].length, 8u);
}

/// Less time than an idle PDC lives.
bool succeeds(World& world, const verbs::WorkRequest& request) {
  const std::size_t before = world.completions(0).size();
  EXPECT_EQ(world.post(request), PostStatus::kOk);
  world.pass(milliseconds(10));
  return world.completions(0).size() == before + 1 && world.completions(0).back().ok();
}

TEST(UetForgetHost, TheNextHostOfThatNumberBeginsAnew) {
  World world;
  EXPECT_TRUE(succeeds(world, world.request(Verb::kWrite, 4096)));
  const auto forget = [&world](std::uint32_t host) {
    return world.engine(host).forget_host(world.now(), {1 - host}).ok();
  };
  for (std::uint32_t life = 0; life < 3; ++life) {
    ASSERT_TRUE(forget(0) && forget(1));
    for (std::uint32_t host = 0; host < 2; ++host) {
      const auto blob = world.engine(1 - host).export_queue(world.queue(1 - host)).value();
      ASSERT_EQ(world.engine(host).connect(world.now(), world.queue(host), blob).value(), world.peer(host));
      world.pair().drain(host);
    }
    EXPECT_TRUE(succeeds(world, world.request(Verb::kWrite, 64)));
    EXPECT_TRUE(succeeds(world, world.request(Verb::kRead, 64)));
  }
  // Records serve again.
  for (std::uint32_t host = 0; host < 2; ++host) {
    EXPECT_EQ(held_by(world.engine(host), "pdc"), 1u);
    EXPECT_EQ(held_by(world.engine(host), "congestion_context"), 1u);
  }
  EXPECT_EQ(world.counters(1).pdcs_accepted, 4u);
}

// What opened a PDC of the host that is gone may be late: it must not open another and be executed again.
TEST(UetForgetHost, LateOpeningsOfTheHostAreNotExecutedAgain) {
  World world;
  std::vector<wire::Packet> sent;
  world.watch();
  world.lose = [&sent](const wire::Packet& packet) {
    if (packet.source.number == 0) sent.push_back(packet);
    return false;
  };
  verbs::WorkRequest add = world.request(Verb::kFetchAdd, 8);
  add.operand[0] = 1;
  EXPECT_TRUE(succeeds(world, add));
  world.lose = nullptr;
  ASSERT_TRUE(world.engine(1).forget_host(world.now(), {0}).ok());
  const std::uint64_t before = world.pair().memory(1).load64(add.remote.address);
  for (const wire::Packet& packet : sent) world.pair().inject(1, packet);
  world.pass(microseconds(100));
  EXPECT_EQ(world.pair().memory(1).load64(add.remote.address), before);
  EXPECT_EQ(world.counters(1).pdcs_accepted, 1u);
}

TEST(UetForgetHost, NothingHappensToOthers) {
  World world;
  EXPECT_TRUE(world.engine(0).forget_host(world.now(), {77}).ok());
  EXPECT_TRUE(succeeds(world, world.request(Verb::kWrite, 64)));
  EXPECT_TRUE(world.engine(0).forget_host(world.now(), {77}).ok());
  EXPECT_TRUE(succeeds(world, world.request(Verb::kWrite, 64)));
  EXPECT_EQ(world.counters(1).pdcs_accepted, 1u);
}

// The lowest number that is free serves next, whoever let go of it.
TEST(UetForgetHost, NumbersOfPeersServeAgain) {
  World world;
  UetEngine& engine = world.engine(0);
  const auto blob = world.engine(1).export_queue(world.queue(1)).value();
  const auto import = [&] { return engine.connect(world.now(), world.queue(0), blob).value(); };
  const engine::PeerId first = world.peer(0);
  EXPECT_EQ(import(), first + 1);
  EXPECT_EQ(import(), first + 2);
  ASSERT_TRUE(engine.disconnect(world.now(), world.queue(0), first + 1).ok());
  ASSERT_TRUE(engine.disconnect(world.now(), world.queue(0), first).ok());
  EXPECT_EQ(import(), first);
  EXPECT_EQ(import(), first + 1);
  EXPECT_EQ(import(), first + 3);
  ASSERT_TRUE(engine.forget_host(world.now(), {1}).ok());
  EXPECT_EQ(import(), first);
}

// [contract: destroy_queue] A number rests, then serves another queue; what came before is none of its
// business.
TEST(UetDestroyQueue, GivesItsPlaceToALaterQueue) {
  World world;
  UetEngine& engine = world.engine(0);
  std::uint64_t bytes = 0;
  engine::QueueId most = 0;
  for (std::uint32_t turn = 0; turn < 4 * kRestingEndpoints; ++turn) {
    const auto queue = engine.create_queue(world.now(), {});
    ASSERT_TRUE(queue.ok()) << queue.error().message;
    most = std::max(most, *queue);
    ASSERT_EQ(engine.post_receive(world.now(), *queue, {.id = turn}), PostStatus::kOk);
    ASSERT_TRUE(engine.destroy_queue(world.now(), *queue).ok());
    EXPECT_EQ(engine.queue_state(*queue), engine::QueueState::kGone);
    std::uint64_t held = 0;
    for (const MemoryUse& use : engine.memory_use()) held += use.bytes;
    if (turn == 2 * kRestingEndpoints) bytes = held;
    if (turn > 2 * kRestingEndpoints) {
      EXPECT_EQ(held, bytes);
    }
  }
  EXPECT_LE(most, kRestingEndpoints + 2);
}

}  // namespace
}  // namespace wharf::uet
