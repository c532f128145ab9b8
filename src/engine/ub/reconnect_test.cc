// SPDX-License-Identifier: Apache-2.0
// Channels that fail at one end and are made again: both ends begin a new life, and nothing of the old one is
// taken for the new.
#include <vector>

#include "engine/ub/exchange.h"
#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;

class Reconnect : public ::testing::Test {
 protected:
  static UbConfig impatient() {
    UbConfig config;
    config.mtu = 256;
    config.first_psn = wire::kPsnMask - 100;
    config.retransmission = {.base = microseconds(10), .attempts_max = 1};
    return config;
  }
  /// Host 0 gives host 1 up; host 1 does not notice.
  void fail_host_0(World& world) {
    world.pair().wire().options().drop_if = [](const wire::Packet& packet) {
      return packet.ub.transport == wire::UbTransport::kRtp;
    };
    EXPECT_EQ(world.finish(world.request(Verb::kWrite, 64)).status, CompletionStatus::kRetryExhausted);
    EXPECT_EQ(world.counters(0).channels_failed, 1u);
    EXPECT_EQ(world.counters(1).channels_failed, 0u);
    world.pair().wire().options().drop_if = nullptr;
  }
  /// Both ends export and connect again, host `first` first.
  void connect_again(World& world, std::uint32_t first) {
    engine::ExchangeBlob blob[2];
    for (std::uint32_t host = 0; host < 2; ++host)
      blob[host] = *world.engine(host).export_queue(world.queue(host));
    for (const std::uint32_t host : {first, 1 - first}) {
      const auto peer = world.engine(host).connect(world.now(), world.queue(host), blob[1 - host]);
      ASSERT_TRUE(peer.ok());
      peer_[host] = *peer;
      world.pair().drain(host);
    }
  }
  verbs::PeerId peer_[2] = {};
};

// Host 1's channel lives on at packet 500. The three packets of the next Write must not be taken for old
// ones.
TEST_F(Reconnect, AfterOneEndFailedEverythingArrives) {
  for (const std::uint32_t first : {0u, 1u}) {
    for (const auto recovery : {LossRecovery::kSelective, LossRecovery::kGoBackN}) {
      UbConfig config = impatient();
      config.recovery = recovery;
      World world(config);
      for (std::uint32_t i = 0; i < 120; ++i)
        ASSERT_TRUE(world.finish(world.request(Verb::kWrite, 1000)).ok());
      fail_host_0(world);
      connect_again(world, first);
      for (std::uint32_t i = 0; i < 200; ++i) {
        world.fill(0, World::kLocal, 700, i);
        auto request = world.request(Verb::kWrite, 700);
        request.peer = peer_[0];
        ASSERT_TRUE(world.finish(request).ok());
        ASSERT_TRUE(world.same(World::kLocal, World::kRemote, 700)) << i;
      }
      EXPECT_EQ(world.counters(0).channels_failed, 1u);
      EXPECT_EQ(world.pair().pool().in_use(), 0u);
    }
  }
}

// A strong request behind a lost packet waits for its turn at the target: it is let go with its channel.
TEST_F(Reconnect, WhatWaitedBehindAGapIsForgotten) {
  for (const auto service :
       {engine::ServiceMode::kOrderedByTarget, engine::ServiceMode::kOrderedByTransport}) {
    for (const std::uint32_t first : {0u, 1u}) {
      UbConfig config = impatient();
      config.service = service;
      World world(config);
      std::uint32_t requests = 0;
      world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
        const bool request = packet.ub.transport == wire::UbTransport::kRtp &&
                             packet.ub.rtph.opcode == wire::TpOpcode::kReliable;
        requests += request ? 1 : 0;
        return !request || requests != 2;  // The strong one alone arrives.
      };
      ASSERT_EQ(world.post(world.request(Verb::kWrite, 64)), engine::PostStatus::kOk);
      auto strong = world.request(Verb::kWrite, 64, 64);
      strong.order = verbs::OrderTag::kStrong;
      ASSERT_EQ(world.post(strong), engine::PostStatus::kOk);
      world.run();
      ASSERT_EQ(world.pair().host(0).completions.size(), 2u);
      EXPECT_EQ(world.counters(1).turns_waited, 1u);
      world.pair().wire().options().drop_if = nullptr;
      connect_again(world, first);
      std::vector<std::string> waiting;
      world.engine(1).describe_waiting(waiting);
      EXPECT_TRUE(waiting.empty()) << waiting.front();
      for (std::uint32_t i = 0; i < 8; ++i) {
        auto request = world.request(Verb::kWrite, 64, 64 * i);
        request.peer = peer_[0];
        request.order = i % 2 == 0 ? verbs::OrderTag::kStrong : verbs::OrderTag::kNone;
        ASSERT_TRUE(world.finish(request).ok()) << i;
      }
    }
  }
}

// ROL: a host that acknowledges in the course of the tries has time to execute. One that acknowledged before
// them, and says nothing now, is given up after the first.
TEST_F(Reconnect, WhatWasAcknowledgedBeforeTheTriesGivesNoTime) {
  for (const bool answered_late : {false, true}) {
    UbConfig config = impatient();
    config.service = engine::ServiceMode::kOrderedByTransport;
    World world(config);
    ASSERT_TRUE(world.finish(world.request(Verb::kWrite, 64)).ok());
    std::vector<wire::Packet> old;
    world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
      old.push_back(packet);
      return packet.source.number == 1;
    };
    if (answered_late) {
      // Executed, and the acknowledgement comes once more while nothing is under way.
      ASSERT_EQ(world.pair().post(0, world.queue(0), world.request(Verb::kWrite, 64)),
                engine::PostStatus::kOk);
      world.pair().run_to(world.now() + microseconds(5));
      ASSERT_EQ(old.back().source.number, 1u);
      const wire::Packet acknowledgement = old.back();
      for (int copy = 0; copy < 2; ++copy) {
        world.engine(0).receive(world.now(), 0, acknowledgement);
        world.pair().drain(0);
      }
      ASSERT_EQ(world.pair().host(0).completions.size(), 2u);
    }
    world.pair().wire().options().drop_if = [](const wire::Packet&) { return true; };
    const std::uint64_t timeouts = world.counters(0).timeouts;
    EXPECT_EQ(world.finish(world.request(Verb::kWrite, 64)).status, CompletionStatus::kRetryExhausted);
    EXPECT_EQ(world.counters(0).timeouts - timeouts, 1u);
  }
}

// What the end that had not noticed still has under way ends in an error, once, and its peers hear of it.
TEST_F(Reconnect, RequestsOfTheOtherEndEndOnce) {
  for (const std::uint32_t cache : {0u, 1u, 2u}) {
    UbConfig config = impatient();
    config.context_cache_entries = cache;
    World world(config);
    fail_host_0(world);
    config = {};
    world.pair().wire().options().drop_if = [](const wire::Packet& packet) {
      return packet.source.number == 0;
    };
    auto request = world.request(Verb::kWrite, 1000);
    request.peer = world.peer(1);
    request.remote.token = world.token(0);
    ASSERT_EQ(world.pair().post(1, world.queue(1), request), engine::PostStatus::kOk);
    world.pair().run_to(world.now() + microseconds(3));
    ASSERT_TRUE(world.pair().host(1).completions.empty());
    connect_again(world, 0);
    ASSERT_EQ(world.pair().host(1).completions.size(), 1u) << cache;
    EXPECT_EQ(world.pair().host(1).completions[0].status, CompletionStatus::kRetryExhausted);
    EXPECT_EQ(world.pair().host(1).events.size(), 1u);
    world.pair().wire().options().drop_if = nullptr;
    request.peer = peer_[1];
    ASSERT_EQ(world.pair().post(1, world.queue(1), request), engine::PostStatus::kOk);
    world.run();
    ASSERT_EQ(world.pair().host(1).completions.size(), 2u);
    EXPECT_TRUE(world.pair().host(1).completions[1].ok());
    EXPECT_EQ(world.pair().pool().in_use(), 0u);
  }
}

// Packets of the old life that arrive late are of no channel.
TEST_F(Reconnect, DelayedPacketsOfTheOldLifeAreDropped) {
  World world(impatient());
  std::vector<wire::Packet> old;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.payload.length == 0) old.push_back(packet);
    return false;
  };
  ASSERT_TRUE(world.finish(world.request(Verb::kFetchAdd, 8)).ok());
  auto add = world.request(Verb::kFetchAdd, 8);
  add.operand[0] = 1;
  ASSERT_TRUE(world.finish(add).ok());
  fail_host_0(world);
  connect_again(world, 1);
  const std::uint64_t before =
      world.counters(0).dropped_unknown_channel + world.counters(1).dropped_unknown_channel;
  for (const wire::Packet& packet : old) world.pair().inject(packet.destination.number, packet);
  EXPECT_GE(old.size(), 4u);
  EXPECT_EQ(world.counters(0).dropped_unknown_channel + world.counters(1).dropped_unknown_channel - before,
            old.size());
  EXPECT_EQ(world.pair().memory(1).load64(World::kRemote), 1u);
}

// A second queue of hosts whose channel works, or a blob that was exported before the failure, changes
// nothing.
TEST_F(Reconnect, AnotherQueueDoesNotDisturbTheChannel) {
  World world(impatient());
  fail_host_0(world);
  const auto stale = *world.engine(0).export_queue(world.queue(0));
  connect_again(world, 0);
  auto request = world.request(Verb::kWrite, 1000);
  request.peer = peer_[0];
  ASSERT_EQ(world.post(request), engine::PostStatus::kOk);
  connect_again(world, 1);
  ASSERT_TRUE(world.engine(1).connect(world.now(), world.queue(1), stale).ok());
  world.run();
  EXPECT_TRUE(world.pair().host(0).completions.back().ok());
}

// Loads and stores have no transport state: they do not notice.
TEST_F(Reconnect, LoadsAndStoresGoOn) {
  World world(impatient());
  verbs::LoadStore store;
  store.verb = Verb::kStore;
  store.peer = world.peer(0);
  store.remote = {World::kRemote, world.token(1)};
  for (std::uint32_t i = 1; i <= 1000; ++i) {
    store.data = wire::pattern_payload(i, 0, 64);
    ASSERT_EQ(world.pair().issue(0, store), engine::PostStatus::kOk);
    world.run();
    if (i % 300 == 0) {
      fail_host_0(world);
      connect_again(world, i % 600 == 0 ? 1 : 0);
      break;
    }
  }
  for (std::uint32_t i = 1; i <= 1000; ++i) {
    store.data = wire::pattern_payload(5000 + i, 0, 64);
    ASSERT_EQ(world.pair().issue(0, store), engine::PostStatus::kOk);
    world.run();
    ASSERT_EQ(world.pair().host(0).load_store_results.back().status, CompletionStatus::kSuccess);
    ASSERT_TRUE(
        wire::payload_equal(store.data, wire::bytes_payload(world.pair().memory(1).at(World::kRemote, 64))));
  }
}

// An engine that takes another's place says so; its peers begin anew toward it.
TEST_F(Reconnect, AnEngineThatTakesAnothersPlaceIsToldApart) {
  UbConfig config = impatient();
  config.host = {0};
  wire::PayloadPool pool;
  Arena arena;
  World world(config);
  auto old_blob = *world.engine(0).export_queue(world.queue(0));
  ASSERT_TRUE(world.finish(world.request(Verb::kWrite, 1000)).ok());
  ASSERT_EQ(world.pair().post(1, world.queue(1),
                              [&] {
                                auto request = world.request(Verb::kRead, 8);
                                request.peer = world.peer(1);
                                request.remote.token = world.token(0);
                                return request;
                              }()),
            engine::PostStatus::kOk);
  config.first_incarnation = 3;
  config.context_region = 0x4000'0000;
  *world.pair().host(0).engine = std::move(*UbEngine::create(config, world.pair().pool(), arena));
  const auto queue = *world.engine(0).create_queue(world.now(), {});
  const auto mine = *world.engine(0).export_queue(queue);
  const auto theirs = *world.engine(1).export_queue(world.queue(1));
  const auto peer = *world.engine(0).connect(world.now(), queue, theirs);
  ASSERT_TRUE(world.engine(1).connect(world.now(), world.queue(1), mine).ok());
  EXPECT_FALSE(world.engine(1).connect(world.now(), world.queue(1), old_blob).ok());
  world.pair().drain(1);
  world.run();
  world.fill(0, World::kLocal, 1000, 9);
  auto request = world.request(Verb::kWrite, 1000);
  request.peer = peer;
  ASSERT_EQ(world.pair().post(0, queue, request), engine::PostStatus::kOk);
  verbs::LoadStore store;
  store.verb = Verb::kStore;
  store.peer = peer;
  store.remote = {World::kRemote + 4096, world.token(1)};
  store.data = wire::pattern_payload(7, 0, 64);
  ASSERT_EQ(world.pair().issue(0, store), engine::PostStatus::kOk);
  world.run();
  EXPECT_TRUE(world.pair().host(0).completions.back().ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 1000));
  EXPECT_TRUE(wire::payload_equal(store.data,
                                  wire::bytes_payload(world.pair().memory(1).at(World::kRemote + 4096, 64))));
}

TEST(ChannelNumbers, DifferFromLifeToLife) {
  for (const std::uint32_t host : {0u, 1u, 65'535u, wire::kPsnMask - 1}) {
    for (std::uint32_t life = 0; life < 300; ++life) {
      EXPECT_LT(tpn_toward({host}, life), wire::kPsnMask);
      EXPECT_NE(tpn_toward({host}, life), tpn_toward({host}, life + 1));
      const std::uint32_t step = (first_psn_of(5, life + 1) - first_psn_of(5, life)) & wire::kPsnMask;
      EXPECT_GT(std::min(step, wire::kPsnMask - step), 1U << 22U);
    }
  }
}

TEST(ExchangeBlob, CarriesTheFailuresOfEachChannel) {
  QueueBlob blob;
  blob.host = {5};
  blob.mtu = 1024;
  blob.receive_window = 64;
  blob.inbound_messages = 9;
  blob.first_incarnation = 77;
  blob.failures = {{{3}, kFirstLane, 4}, {{9}, kFusedLane, 1}};
  const auto decoded = *decode_queue_blob(encode(blob));
  EXPECT_EQ(decoded.inbound_messages, 9u);
  EXPECT_EQ(decoded.first_incarnation, 77u);
  EXPECT_EQ(decoded.failures_toward({3}, kFirstLane), 4u);
  EXPECT_EQ(decoded.failures_toward({9}, kFusedLane), 1u);
  EXPECT_EQ(decoded.failures_toward({9}, kFirstLane), 0u);
  EXPECT_EQ(decoded.failures_toward({5}, kFirstLane), 0u);
  auto bytes = encode(blob);
  bytes.pop_back();
  EXPECT_FALSE(decode_queue_blob(bytes).ok());
}

}  // namespace
}  // namespace wharf::ub
