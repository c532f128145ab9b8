// SPDX-License-Identifier: Apache-2.0
// The load/store path: statuses, re-issue, late answers, and what a replay record prevents.
// [UB-Base 2.0.1 8.3]
#include "engine/ub/load_store.h"

#include <deque>

#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;

class LoadStoreTest : public ::testing::Test {
 protected:
  verbs::LoadStore store(World& world, std::uint32_t tag, std::uint64_t address = World::kRemote) {
    verbs::LoadStore access = load(world, tag, address);
    access.verb = Verb::kStore;
    access.data = wire::pattern_payload(tag, 0, 64);
    return access;
  }
  verbs::LoadStore load(World& world, std::uint32_t tag, std::uint64_t address = World::kRemote) {
    verbs::LoadStore access;
    access.tag = tag;
    access.peer = world.peer(0);
    access.remote = {address, world.token(1)};
    return access;
  }
  bool holds(World& world, std::uint32_t tag, std::uint64_t address = World::kRemote) {
    return wire::payload_equal(wire::bytes_payload(world.pair().memory(1).at(address, 64)),
                               wire::pattern_payload(tag, 0, 64));
  }
  std::vector<verbs::LoadStoreResult>& results(World& world) {
    return world.pair().host(0).load_store_results;
  }
};

TEST_F(LoadStoreTest, WrongTokenValueOrRangeIsRefusedAndMemoryUntouched) {
  World world;
  auto access = store(world, 1);
  access.remote.token.value ^= 1;
  world.pair().issue(0, access);
  access = store(world, 2);
  access.remote.token.id ^= 1;
  world.pair().issue(0, access);
  access = store(world, 3, World::kBase + World::kSize - 64);
  access.length = 128;
  access.data = wire::pattern_payload(3, 0, 128);
  world.pair().issue(0, access);
  access = load(world, 4, World::kBase - 64);
  world.pair().issue(0, access);
  world.run();
  ASSERT_EQ(results(world).size(), 4u);
  for (const auto& result : results(world)) EXPECT_EQ(result.status, CompletionStatus::kRemoteAccess);
  EXPECT_EQ(world.pair().memory(1).count(engine::AccessKind::kWrite), 0u);
  EXPECT_EQ(world.pair().memory(1).count(engine::AccessKind::kRead), 0u);
  world.pair().issue(0, store(world, 5));
  world.run();
  EXPECT_TRUE(holds(world, 5));
}

TEST_F(LoadStoreTest, ReissuesUnderTheSameTassnWithDoublingIntervals) {
  World world;
  std::vector<std::pair<TimePs, std::uint16_t>> sent;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    sent.emplace_back(world.now(), packet.ub.request.tassn);
    return sent.size() < 3;
  };
  const TimePs start = world.now();
  world.pair().issue(0, load(world, 1));
  world.run();
  ASSERT_GE(sent.size(), 3u);
  EXPECT_EQ(sent[1].first - start, microseconds(16));
  EXPECT_EQ(sent[2].first - start, microseconds(48));
  EXPECT_EQ(sent[1].second, sent[0].second);
  EXPECT_EQ(results(world).at(0).status, CompletionStatus::kSuccess);
  EXPECT_EQ(world.counters(0).load_store_reissued, 2u);
}

TEST_F(LoadStoreTest, GivesUpAfterItsAttempts) {
  World world;
  world.pair().wire().options().drop_if = [](const wire::Packet&) { return true; };
  const TimePs start = world.now();
  world.pair().issue(0, load(world, 1));
  world.run();
  EXPECT_EQ(results(world).at(0).status, CompletionStatus::kRetryExhausted);
  EXPECT_EQ(world.now() - start, microseconds(16 * (1 + 2 + 4 + 8)));
  EXPECT_EQ(world.counters(0).load_store_expired, 1u);
  world.pair().wire().options().drop_if = nullptr;
  world.pair().issue(0, store(world, 2));
  world.run();
  EXPECT_EQ(results(world).at(1).status, CompletionStatus::kSuccess);
}

TEST_F(LoadStoreTest, LateAndRepeatedAnswersAreDropped) {
  World world;
  world.pair().wire().options().duplicate = Probability::from(1);
  world.pair().issue(0, load(world, 1));
  world.run();
  EXPECT_EQ(results(world).size(), 1u);
  EXPECT_GE(world.counters(0).load_store_late_answers, 1u);
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

// Issue requirement: a late duplicate never overwrites a newer acknowledged store.
TEST_F(LoadStoreTest, LateDuplicateOfAStoreDoesNotOverwriteANewerOne) {
  World world;
  wire::Packet old;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.ub.transaction == wire::UbTransaction::kRequest && old.payload.length == 0) old = packet;
    return false;
  };
  world.pair().issue(0, store(world, 1));
  world.run();
  world.pair().issue(0, store(world, 2));
  world.run();
  ASSERT_TRUE(holds(world, 2));
  world.pair().inject(1, old);
  world.run();
  EXPECT_TRUE(holds(world, 2));
  EXPECT_EQ(world.counters(1).load_store_replays, 1u);
}

TEST_F(LoadStoreTest, SlotsBoundWhatIsOutstanding) {
  World world;
  world.pair().wire().options().drop_if = [](const wire::Packet&) { return true; };
  for (std::uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(world.pair().issue(0, load(world, i)), engine::PostStatus::kOk);
  EXPECT_EQ(world.pair().issue(0, load(world, 64)), engine::PostStatus::kQueueFull);
  world.pair().wire().options().drop_if = nullptr;
  world.run();
  EXPECT_EQ(results(world).size(), 64u);
  EXPECT_EQ(world.pair().issue(0, load(world, 64)), engine::PostStatus::kOk);
  world.run();
}

TEST_F(LoadStoreTest, PoisonedMemoryPoisonsTheAnswer) {
  World world;
  verbs::LoadStore access = load(world, 1);
  wire::Packet request;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    request = packet;
    return true;
  };
  world.pair().issue(0, access);
  // The target's memory answers by hand.
  world.engine(1).receive(world.now(), 0, request);
  engine::Access memory;
  ASSERT_TRUE(world.engine(1).next_access(memory));
  EXPECT_TRUE(memory.at_target);
  engine::AccessResult bad;
  bad.status = engine::AccessStatus::kPoison;
  world.engine(1).access_done(world.now(), memory.id, bad);
  wire::Packet answer;
  ASSERT_TRUE(world.engine(1).transmit(world.now(), 0, wire::kAllTrafficClasses, answer));
  EXPECT_TRUE(answer.ub.response.poison);
  world.pair().inject(0, answer);
  EXPECT_EQ(results(world).at(0).status, CompletionStatus::kRemotePoison);
}

TEST_F(LoadStoreTest, HeadersAreCompactAndBypassTransport) {
  World world;
  std::vector<wire::Packet> seen;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    seen.push_back(packet);
    return false;
  };
  world.pair().issue(0, load(world, 1));
  world.run();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].ub.transport, wire::UbTransport::kBypass);
  // LPH 4, NTH 8, compact BTAH 4, compact MAETAH 12, TVETAH 4.
  EXPECT_EQ(seen[0].header_bytes, 32u);
  EXPECT_EQ(seen[1].header_bytes, 16u);
  EXPECT_EQ(seen[1].payload.length, 64u);
}

// One writer per line on a wire that repeats and delays much: memory is what was stored last, at every
// acknowledgement.
TEST_F(LoadStoreTest, AcknowledgedStoresStandUnderHeavyDuplication) {
  test::EnginePairOptions options = faulty(7, 30);
  options.wire.reorder_delay = microseconds(60);
  UbConfig config;
  config.load_store_reissue.attempts_max = reliability::kUnlimitedAttempts;
  World world(config, options);
  for (std::uint32_t tag = 1; tag <= 4000; ++tag) {
    world.pair().issue(0, store(world, tag));
    world.pair().run_until([&] { return results(world).size() == tag; });
    ASSERT_EQ(results(world).back().status, CompletionStatus::kSuccess);
    ASSERT_TRUE(holds(world, tag)) << tag;
  }
  EXPECT_GT(world.counters(1).load_store_replays, 100u);
  world.run();
  EXPECT_TRUE(holds(world, 4000));
}

TEST(ReplayRecord, RemembersAWindowOfTassns) {
  ReplayRecord record;
  std::uint8_t status = 0;
  EXPECT_EQ(record.begin(0, status), ReplayRecord::Entry::kNew);
  EXPECT_EQ(record.begin(0, status), ReplayRecord::Entry::kInProgress);
  record.end(0, 3);
  EXPECT_EQ(record.begin(0, status), ReplayRecord::Entry::kDone);
  EXPECT_EQ(status, 3);
  EXPECT_EQ(record.begin(kReplayWindow - 1, status), ReplayRecord::Entry::kNew);
  EXPECT_EQ(record.begin(0, status), ReplayRecord::Entry::kDone);
  EXPECT_EQ(record.begin(kReplayWindow, status), ReplayRecord::Entry::kNew);
  EXPECT_EQ(record.begin(0, status), ReplayRecord::Entry::kTooOld);
  EXPECT_EQ(record.begin(1, status), ReplayRecord::Entry::kNew);
}

TEST(ReplayRecord, SurvivesTheWrapOfTheTassn) {
  ReplayRecord record;
  std::uint8_t status = 0;
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    const auto tassn = static_cast<std::uint16_t>(i);
    ASSERT_EQ(record.begin(tassn, status), ReplayRecord::Entry::kNew) << i;
    record.end(tassn, 0);
    ASSERT_EQ(record.begin(tassn, status), ReplayRecord::Entry::kDone) << i;
    if (i >= 500) {
      ASSERT_EQ(record.begin(static_cast<std::uint16_t>(i - 500), status), ReplayRecord::Entry::kDone);
    }
  }
}

}  // namespace
}  // namespace wharf::ub
