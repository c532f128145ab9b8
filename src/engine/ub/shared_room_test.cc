// SPDX-License-Identifier: Apache-2.0
// What an interface holds for very many queues and peers, and that a peer's own share of what all draw on is
// its own.
#include "engine/ub/shared_room.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/arena.h"
#include "engine/ub/exchange.h"
#include "engine/ub/ub_engine.h"
#include "wire/payload_pool.h"

namespace wharf::ub {
namespace {

TEST(SharedRoom, EveryHolderHasItsShareAndTogetherTheyHaveTheRest) {
  SharedRoom room(10, 2, 5);
  EXPECT_EQ(room.fit(1), 7U);
  EXPECT_EQ(room.fit(3), 11U);
  std::uint32_t greedy = 0;
  while (room.has(greedy)) room.take(greedy);
  EXPECT_EQ(greedy, 7U);
  EXPECT_TRUE(room.is_short(greedy));
  std::uint32_t honest = 0;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(room.has(honest));
    room.take(honest);
  }
  EXPECT_FALSE(room.has(honest));
  room.give(greedy);
  EXPECT_TRUE(room.has(honest));
  room.take(honest);
  EXPECT_FALSE(room.has(greedy));
  while (greedy > 0) room.give(greedy);
  while (room.has(honest)) room.take(honest);
  EXPECT_EQ(honest, 7U);
}

TEST(SharedRoom, FewHoldersHaveAllThatTheyMayHave) {
  SharedRoom room(10, 2, 100);
  EXPECT_EQ(room.fit(4), 40U);
  std::uint32_t held[4] = {};
  for (std::uint32_t& each : held) {
    while (room.has(each)) room.take(each);
    EXPECT_EQ(each, 10U);
    EXPECT_FALSE(room.is_short(each));
  }
}

TEST(SharedRoom, AShareIsNeverMoreThanOneMayHave) {
  SharedRoom room(1, 8, 100);
  EXPECT_EQ(room.fit(3), 3U);
  std::uint32_t held = 0;
  EXPECT_TRUE(room.has(held));
  room.take(held);
  EXPECT_FALSE(room.has(held));
}

TEST(SharedRoom, SharesMayLieInsideOfWhatIsCommon) {
  SharedRoom room = SharedRoom::with_shares_inside(20, 1, 10);
  EXPECT_EQ(room.fit(1), 10U);
  std::uint32_t greedy = 0;
  while (room.has(greedy)) room.take(greedy);
  EXPECT_EQ(greedy, 10U);
  // What somebody has by now stays so, and a newcomer has its own.
  EXPECT_EQ(room.fit(3), 12U);
  std::uint32_t honest = 0;
  ASSERT_TRUE(room.has(honest));
  room.take(honest);
  EXPECT_FALSE(room.has(honest));
  while (greedy > 0) room.give(greedy);
  EXPECT_EQ(room.fit(4), 10U);
  EXPECT_EQ(room.fit(8), 13U) << "half of it stays common";
}

/// One interface with as many queues as peers, each connected to a host of its own.
class Crowd {
 public:
  Crowd() : engine_(UbEngine::create({}, pool_, arena_).value()) {}

  /// To hosts 1 to `hosts`, from queues in turn.
  void connect(std::uint32_t hosts, std::uint32_t queues) {
    std::vector<engine::QueueId> made;
    for (std::uint32_t i = 0; i < queues; ++i) made.push_back(engine_.create_queue({}, {}).value());
    for (std::uint32_t host = 0; host < hosts; ++host) {
      QueueBlob blob;
      blob.host = {host + 1};
      blob.jetty = kFirstJettyId;
      blob.recovery = LossRecovery::kSelective;
      blob.mtu = 4096;
      blob.receive_window = 2048;
      blob.inbound_messages = 1024;
      peers_.push_back(engine_.connect({}, made[host % queues], encode(blob)).value());
    }
  }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const MemoryUse& use : engine_.memory_use()) sum += use.bytes;
    return sum;
  }
  UbEngine& engine() { return engine_; }
  verbs::PeerId peer(std::uint32_t host) const { return peers_[host]; }

 private:
  wire::PayloadPool pool_;
  Arena arena_;
  UbEngine engine_;
  std::vector<verbs::PeerId> peers_;
};

TEST(UbMemory, AThousandQueuesOnePerPeerTakeLessThan64MiB) {
  Crowd crowd;
  crowd.connect(1024, 1024);
  EXPECT_LT(crowd.bytes(), 64ULL << 20U);
}

// Loads and stores need nothing more: what they need is there with the channel.
TEST(UbMemory, APeerThatWasNeverTouchedTakesTwoKiB) {
  Crowd few;
  few.connect(64, 1);
  Crowd many;
  many.connect(1024, 1);
  const std::uint64_t before = many.bytes();
  EXPECT_LE((before - few.bytes()) / (1024 - 64), 2048U);
  for (std::uint32_t host = 0; host < 32; ++host) {
    verbs::LoadStore load;
    load.peer = many.peer(host);
    load.remote = {64, {1, 0}};
    ASSERT_EQ(many.engine().issue({}, load), engine::PostStatus::kOk);
    wire::Packet packet;
    ASSERT_TRUE(many.engine().transmit({}, 0, wire::kAllTrafficClasses, packet));
  }
  EXPECT_EQ(many.bytes(), before);
}

// Bindings of jettys whose order is kept here (7.4, ROT).
TEST(UbMemory, BindingsTakeThePlacesOfAHostThatIsForgotten) {
  wire::PayloadPool pool;
  Arena arena;
  UbEngine engine = UbEngine::create({}, pool, arena).value();
  const engine::QueueId queue = engine.create_queue({}, {}).value();
  const auto bind = [&](std::uint32_t host, std::uint32_t jettys) {
    for (std::uint32_t at = 0; at < jettys; ++at) {
      QueueBlob blob;
      blob.host = {host};
      blob.jetty = kFirstJettyId + at;
      blob.service = engine::ServiceMode::kOrderedByTarget;
      blob.recovery = LossRecovery::kSelective;
      blob.mtu = 4096;
      blob.receive_window = 2048;
      blob.inbound_messages = 1024;
      const auto made = engine.connect({}, queue, encode(blob));
      ASSERT_TRUE(made.ok());
      ASSERT_TRUE(engine.disconnect({}, queue, *made).ok());
    }
  };
  const auto bindings = [&] {
    for (const MemoryUse& use : engine.memory_use()) {
      if (use.object == "initiator_context") return use.count;
    }
    return std::uint64_t{0};
  };
  bind(1, 32);
  bind(2, 16);
  bind(1, 32);
  EXPECT_EQ(bindings(), 48U) << "a jetty that binds again has its place";
  ASSERT_TRUE(engine.forget_host({}, {1}).ok());
  bind(3, 32);
  bind(2, 16);
  EXPECT_EQ(bindings(), 48U);
  ASSERT_TRUE(engine.forget_host({}, {2}).ok());
  ASSERT_TRUE(engine.forget_host({}, {3}).ok());
  ASSERT_TRUE(engine.forget_host({}, {3}).ok()) << "of which nothing is known";
  bind(4, 48);
  EXPECT_EQ(bindings(), 48U);
  bind(5, 1);
  EXPECT_EQ(bindings(), 49U);
}

// The places of channels are used again, whatever kind they were of; an arena's memory never comes back.
TEST(UbMemory, HostsThatComeAndGoWithEachKindOfChannelTakeNoMore) {
  wire::PayloadPool pool;
  Arena arena;
  UbEngine engine = UbEngine::create({}, pool, arena).value();
  std::uint32_t life = 0;
  const auto visit = [&](std::uint32_t host, engine::ServiceMode service) {
    engine::QueueConfig config;
    config.service = service;
    const engine::QueueId queue = engine.create_queue({}, config).value();
    QueueBlob blob;
    blob.host = {host};
    blob.jetty = kFirstJettyId;
    blob.service = service;
    blob.recovery = LossRecovery::kSelective;
    blob.mtu = 4096;
    blob.receive_window = 2048;
    blob.inbound_messages = 1024;
    blob.first_incarnation = ++life;
    const auto made = engine.connect({}, queue, encode(blob));
    ASSERT_TRUE(made.ok()) << made.error().message;
    ASSERT_TRUE(engine.disconnect({}, queue, *made).ok());
    ASSERT_TRUE(engine.destroy_queue({}, queue).ok());
    ASSERT_TRUE(engine.forget_host({}, {host}).ok());
  };
  const auto round = [&] {
    for (std::uint32_t host = 1; host < 8; ++host) {
      visit(host, engine::ServiceMode::kOrderedByTransport);
      visit(host, engine::ServiceMode::kOrderedByInitiator);
    }
  };
  round();
  const std::size_t used = arena.bytes_used();
  for (int each = 0; each < 8; ++each) round();
  EXPECT_EQ(arena.bytes_used(), used);
}

}  // namespace
}  // namespace wharf::ub
