// SPDX-License-Identifier: Apache-2.0
// What peers make this host hold is bounded for each of them, and no peer can take another's room, nor its
// own for ever.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "engine/ub/ub_engine.h"
#include "tests/support/engine_pair.h"
#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using verbs::Verb;

UbConfig tiny(std::uint32_t messages, std::uint32_t packets) {
  UbConfig config;
  config.mtu = 256;
  config.inbound_messages = messages;
  config.parked_packets = packets;
  config.retransmission.attempts_max = reliability::kUnlimitedAttempts;
  return config;
}

// Both directions at once, with hardly any room: requests wait behind requests, and answers behind them.
TEST(UbInboundRoom, TheSmallestLimitsOnlyCostTime) {
  for (const auto recovery : {LossRecovery::kSelective, LossRecovery::kGoBackN}) {
    for (const std::uint32_t messages : {1u, 2u, 5u}) {
      for (const double percent : {0.0, 5.0}) {
        UbConfig config = tiny(messages, 1);
        config.recovery = recovery;
        config.min_rnr_timer = 1;
        config.context_cache_entries = messages == 2 ? 1 : 0;
        World world(config, faulty(messages, percent));
        for (std::uint32_t host = 0; host < 2; ++host) {
          for (std::uint64_t i = 0; i < 40; ++i) {
            auto request = world.request(i % 3 == 0   ? Verb::kRead
                                         : i % 3 == 1 ? Verb::kWrite
                                                      : Verb::kSend,
                                         1000);
            request.peer = world.peer(host);
            request.remote.token = world.token(1 - host);
            ASSERT_EQ(world.pair().post(host, world.queue(host), request), engine::PostStatus::kOk);
            if (i % 3 != 2) continue;
            verbs::ReceiveRequest receive;
            receive.local_count = 1;
            receive.local[0] = {World::kRemote + 0x10000, 1000};
            ASSERT_EQ(world.pair().post_receive(1 - host, world.queue(1 - host), receive),
                      engine::PostStatus::kOk);
          }
        }
        world.run();
        for (std::uint32_t host = 0; host < 2; ++host) {
          EXPECT_EQ(world.pair().host(host).completions.size(), 53u) << world.pair().waiting_report();
          for (const auto& completion : world.pair().host(host).completions) EXPECT_TRUE(completion.ok());
          if (percent == 0 && config.context_cache_entries == 0) {
            EXPECT_EQ(world.counters(host).timeouts, 0u);
          }
        }
        EXPECT_EQ(world.pair().pool().in_use(), 0u);
      }
    }
  }
}

/// Host 0 serves the others. Every host has one queue and a segment.
class Server {
 public:
  Server(std::uint32_t hosts, const UbConfig& config, test::EnginePairOptions options = {})
      : pair_(with_hosts(hosts, options), [&](std::uint32_t host, wire::PayloadPool& pool) {
          UbConfig own = config;
          own.host = {host};
          arenas_.emplace_back();
          return std::make_unique<UbEngine>(std::move(*UbEngine::create(own, pool, arenas_.back())));
        }) {
    std::vector<engine::ExchangeBlob> blobs;
    for (std::uint32_t host = 0; host < hosts; ++host) {
      queue_.push_back(*pair_.engine(host).create_queue(pair_.now(), {.send_depth = 256}));
      blobs.push_back(*pair_.engine(host).export_queue(queue_[host]));
    }
    token_ = *pair_.engine(0).register_segment(pair_.now(), {.base = 0x10000, .length = 1U << 20U});
    for (std::uint32_t host = 1; host < hosts; ++host) {
      peer_.push_back(*pair_.engine(host).connect(pair_.now(), queue_[host], blobs[0]));
      static_cast<void>(pair_.engine(0).connect(pair_.now(), queue_[0], blobs[host]));
    }
  }
  auto& pair() { return pair_; }

  void read(std::uint32_t host) {
    verbs::WorkRequest request;
    request.verb = Verb::kRead;
    request.peer = peer_[host - 1];
    request.remote = {0x10000, token_};
    request.length = 64;
    request.local_count = 1;
    request.local[0] = {0x20000, 64};
    ASSERT_EQ(pair_.engine(host).post(pair_.now(), queue_[host], request, engine::Submission::kInHand),
              engine::PostStatus::kOk);
  }

 private:
  static test::EnginePairOptions with_hosts(std::uint32_t hosts, test::EnginePairOptions options) {
    options.hosts = hosts;
    return options;
  }
  std::deque<Arena> arenas_;
  test::EnginePair<UbEngine> pair_;
  std::vector<engine::QueueId> queue_;
  std::vector<verbs::PeerId> peer_;
  verbs::SegmentToken token_;
};

// Every host loses the first packet of many: what is behind the gaps would once have filled the room of all,
// and no packet that closes a gap could be taken any more.
TEST(UbInboundRoom, ManyHostsThatLoseTheirFirstPacketAllFinish) {
  Server server(9, tiny(64, 8));
  std::vector<int> lost(9);
  server.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    return packet.source.number != 0 && lost[packet.source.number]++ == 0;
  };
  for (std::uint32_t host = 1; host < 9; ++host) {
    for (int i = 0; i < 256; ++i) server.read(host);
    server.pair().drain(host);
  }
  EXPECT_EQ(server.pair().run_until_idle(seconds(1)), test::RunEnd::kDone);
  for (std::uint32_t host = 1; host < 9; ++host) {
    EXPECT_EQ(server.pair().host(host).completions.size(), 256u) << server.pair().waiting_report();
  }
}

// A hostile host sends what it never completes: packets behind a gap, and first packets of messages without a
// last.
TEST(UbInboundRoom, AHostileHostTakesNobodyElsesRoom) {
  for (const bool ahead : {true, false}) {
    Server server(3, tiny(16, 16));
    wire::Packet sample;
    server.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
      if (packet.source.number == 2 && packet.ub.rtph.opcode == wire::TpOpcode::kReliable) sample = packet;
      return false;
    };
    server.read(2);
    server.pair().drain(2);
    server.pair().run_until_idle();
    server.pair().host(2).plugged = false;
    for (std::uint32_t i = 0; i < 2047; ++i) {
      wire::Packet packet = sample;
      packet.ub.rtph.psn = wire::psn_add(sample.ub.rtph.psn, ahead ? i + 2 : i + 1);
      packet.ub.rtph.tpmsn = i + 10;
      packet.ub.rtph.last = ahead;
      if (!ahead && i % 2 == 0) packet.ub.request.opcode = wire::TaOpcode::kWrite;
      server.pair().inject(0, packet);
    }
    for (int i = 0; i < 100; ++i) server.read(1);
    server.pair().drain(1);
    EXPECT_EQ(
        server.pair().run_until([&] { return server.pair().host(1).completions.size() == 100; }, seconds(1)),
        test::RunEnd::kDone)
        << server.pair().waiting_report();
    EXPECT_GT(server.pair().engine(0).counters().dropped_no_room, 1000u);
  }
}

// One host fills all places for packets that wait for earlier ones: another one finds one for its own.
TEST(UbInboundRoom, EachHostHasAPlaceForAPacketThatWaits) {
  UbConfig config = tiny(1U << 16U, 1U << 16U);
  config.receive_window = 1U << 16U;
  Server server(3, config);
  wire::Packet sample[3];
  server.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.source.number != 0 && packet.ub.rtph.opcode == wire::TpOpcode::kReliable)
      sample[packet.source.number] = packet;
    return false;
  };
  for (const std::uint32_t host : {1U, 2U}) {
    server.read(host);
    server.pair().drain(host);
  }
  server.pair().run_until_idle();
  for (const std::uint32_t host : {1U, 2U}) server.pair().host(host).plugged = false;
  const auto give = [&](std::uint32_t host, std::uint32_t ahead) {
    wire::Packet packet = sample[host];
    packet.ub.rtph.psn = wire::psn_add(packet.ub.rtph.psn, 1 + ahead);
    packet.ub.rtph.tpmsn = wire::psn_add(packet.ub.rtph.tpmsn, 1 + ahead);
    packet.ub.request.tassn = static_cast<std::uint16_t>(packet.ub.request.tassn + 1 + ahead);
    server.pair().inject(0, packet);
  };
  const auto refused = [&] { return server.pair().engine(0).counters().dropped_no_shared_room; };
  for (std::uint32_t ahead = 1; refused() == 0; ++ahead) {
    ASSERT_LT(ahead, 10'000U);
    give(1, ahead);
  }
  give(2, 1);
  EXPECT_EQ(refused(), 1U);
  give(2, 2);
  EXPECT_EQ(refused(), 2U) << "that was its share";
}

// The same where a host may hold far more than all hosts have in common beyond their shares: it takes all of
// that, and the others go on with what is theirs.
TEST(UbInboundRoom, AHostileHostThatTakesAllCommonPlacesLeavesTheOthersTheirShare) {
  for (const bool ahead : {true, false}) {
    UbConfig config = tiny(1U << 16U, 1U << 16U);
    config.receive_window = 1U << 16U;
    Server server(3, config);
    wire::Packet sample;
    bool lose = true;
    server.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
      if (packet.source.number == 2 && packet.ub.rtph.opcode == wire::TpOpcode::kReliable) sample = packet;
      // The honest host has to repeat its first packet, too.
      return packet.source.number == 1 && std::exchange(lose, false);
    };
    server.read(2);
    server.pair().drain(2);
    server.pair().run_until_idle();
    server.pair().host(2).plugged = false;
    for (std::uint32_t i = 0; i < 20'000; ++i) {
      wire::Packet packet = sample;
      packet.ub.rtph.psn = wire::psn_add(sample.ub.rtph.psn, ahead ? i + 2 : i + 1);
      packet.ub.rtph.tpmsn = i + 10;
      packet.ub.rtph.last = ahead;
      server.pair().inject(0, packet);
    }
    EXPECT_GT(server.pair().engine(0).counters().dropped_no_shared_room, 1000U) << ahead;
    for (int i = 0; i < 100; ++i) server.read(1);
    server.pair().drain(1);
    EXPECT_EQ(
        server.pair().run_until([&] { return server.pair().host(1).completions.size() == 100; }, seconds(1)),
        test::RunEnd::kDone)
        << server.pair().waiting_report();
    for (const auto& completion : server.pair().host(1).completions) EXPECT_TRUE(completion.ok());
  }
}

// Packets that claim to be of one message, several of them its last: the message outlives them all.
TEST(UbInboundRoom, ManyLastPacketsOfOneMessageDoNoHarm) {
  Server server(3, tiny(1, 16));
  wire::Packet sample;
  server.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.source.number == 2 && packet.ub.rtph.opcode == wire::TpOpcode::kReliable) sample = packet;
    return false;
  };
  server.read(2);
  server.pair().drain(2);
  server.pair().run_until_idle();
  server.pair().host(2).plugged = false;
  for (const std::uint32_t number : {4u, 3u, 2u, 1u, 8u, 7u, 5u, 6u}) {
    wire::Packet packet = sample;
    packet.ub.rtph.psn = wire::psn_add(sample.ub.rtph.psn, number);
    packet.ub.rtph.tpmsn = number < 5 ? 10 : 11 + number % 2;
    server.pair().inject(0, packet);
  }
  server.read(1);
  server.pair().drain(1);
  server.pair().run_until_idle();
  EXPECT_EQ(server.pair().host(1).completions.size(), 1u);
}

// A host never has more requests under way than its peer has places.
TEST(UbInboundRoom, TheInitiatorKeepsToTheTargetsPlaces) {
  UbConfig config = tiny(3, 64);
  World world(config);
  std::uint32_t open = 0;
  std::uint32_t most = 0;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.ub.transport != wire::UbTransport::kRtp || packet.ub.rtph.opcode != wire::TpOpcode::kReliable)
      return false;
    if (packet.ub.transaction == wire::UbTransaction::kRequest && packet.ub.rtph.last)
      most = std::max(most, ++open);
    if (packet.ub.transaction == wire::UbTransaction::kResponse && packet.ub.rtph.last) --open;
    return false;
  };
  for (int i = 0; i < 60; ++i)
    ASSERT_EQ(world.post(world.request(Verb::kRead, 1000)), engine::PostStatus::kOk);
  world.run();
  EXPECT_EQ(world.pair().host(0).completions.size(), 60u);
  EXPECT_EQ(most, 3u);
  EXPECT_EQ(world.counters(1).dropped_no_room, 0u);
}

// A request that is told to come again holds no place at the target meanwhile.
TEST(UbInboundRoom, ARefusedRequestGivesItsPlaceBack) {
  UbConfig config = tiny(2, 64);
  config.min_rnr_timer = 1;
  World world(config);
  ASSERT_EQ(world.post(world.request(Verb::kSend, 64)), engine::PostStatus::kOk);
  const auto refused = [&] { return world.counters(1).receiver_not_ready_sent >= 10; };
  ASSERT_EQ(world.pair().run_until(refused, seconds(1)), test::RunEnd::kDone);
  ASSERT_EQ(world.post(world.request(Verb::kWrite, 64)), engine::PostStatus::kOk);
  ASSERT_EQ(world.pair().post_receive(1, world.queue(1),
                                      {.id = 1, .local_count = 1, .local = {{{World::kRemote, 64}}}}),
            engine::PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.pair().host(0).completions.size(), 2u);
  for (const auto& completion : world.pair().host(0).completions) EXPECT_TRUE(completion.ok());
}

// What waits at a target for its turn, perhaps for ever, has places of its own host: the requests of another
// one find theirs.
TEST(UbInboundRoom, AHostWhoseRequestsWaitForTheirTurnTakesNobodyElsesRoom) {
  UbConfig config = tiny(64, 8);
  config.service = engine::ServiceMode::kOrderedByTarget;
  config.min_rnr_timer = 20;
  test::EnginePairOptions options;
  options.hosts = 3;
  options.memory_base = 0x10000;
  options.memory_bytes = 1U << 20U;
  std::deque<Arena> arenas;
  test::EnginePair<UbEngine> pair(options, [&](std::uint32_t host, wire::PayloadPool& pool) {
    UbConfig own = config;
    own.host = {host};
    arenas.emplace_back();
    return std::make_unique<UbEngine>(std::move(*UbEngine::create(own, pool, arenas.back())));
  });
  engine::QueueId queue[3];
  for (std::uint32_t host = 0; host < 3; ++host)
    queue[host] = *pair.engine(host).create_queue(pair.now(), {});
  const auto token = *pair.engine(0).register_segment(
      pair.now(), {.base = 0x10000, .length = 1U << 20U, .rights = verbs::kFullAccess});
  const auto second = *pair.engine(0).create_queue(pair.now(), {});
  const engine::QueueId target[3] = {0, queue[0], second};
  verbs::PeerId peer[3] = {};
  for (std::uint32_t host = 1; host < 3; ++host) {
    const auto here = *pair.engine(0).export_queue(target[host]);
    const auto there = *pair.engine(host).export_queue(queue[host]);
    peer[host] = *pair.engine(host).connect(pair.now(), queue[host], here);
    ASSERT_TRUE(pair.engine(0).connect(pair.now(), target[host], there).ok());
  }
  const auto post = [&](std::uint32_t host, Verb verb) {
    verbs::WorkRequest request;
    request.verb = verb;
    request.order = verbs::OrderTag::kStrong;
    request.peer = peer[host];
    request.remote = {0x10000, token};
    request.length = 64;
    request.local_count = 1;
    request.local[0] = {0x20000, 64};
    ASSERT_EQ(pair.post(host, queue[host], request), engine::PostStatus::kOk);
  };
  // A Send for which there is no entry, and Writes that wait for it.
  for (const std::uint32_t host : {1u, 2u}) {
    post(host, Verb::kSend);
    for (std::uint32_t i = 0; i < (host == 1 ? 16U : 3U); ++i) post(host, Verb::kWrite);
    pair.run_to(pair.now() + microseconds(4));
    if (host == 1) {
      EXPECT_GT(pair.engine(0).counters().turns_waited, 3u);
    }
  }
  EXPECT_EQ(pair.engine(2).counters().receiver_not_ready_retries, 1u) << "the Send alone";
  verbs::ReceiveRequest receive;
  receive.local_count = 1;
  receive.local[0] = {0x30000, 64};
  for (const std::uint32_t host : {1u, 2u}) pair.post_receive(0, target[host], receive);
  ASSERT_EQ(pair.run_until_idle(seconds(1)), test::RunEnd::kDone) << pair.waiting_report();
  EXPECT_EQ(pair.host(1).completions.size(), 17u);
  EXPECT_EQ(pair.host(2).completions.size(), 4u);
}

}  // namespace
}  // namespace wharf::ub
