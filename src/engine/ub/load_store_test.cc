// SPDX-License-Identifier: Apache-2.0
// The load/store path: statuses, re-issue, late answers, and what a replay record prevents.
// [UB-Base 2.0.1 8.3]
#include "engine/ub/load_store.h"

#include <gmock/gmock.h>

#include <map>
#include <vector>

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

// [UB-Base 2.0.1 7.4: 0x17, 0x18] What a cache gives up goes as a Writeback, whole or with a mask, and is
// placed as a store is.
TEST_F(LoadStoreTest, LinesThatACacheGivesUpAreWritebacks) {
  World world;
  std::vector<wire::TaOpcode> sent;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.source.number == 0) sent.push_back(packet.ub.request.opcode);
    return false;
  };
  for (const bool write_back : {true, false}) {
    for (const bool whole : {true, false}) {
      auto access = store(world, write_back ? 1 : 2);
      access.write_back = write_back;
      if (!whole) access.byte_mask = 0xff00;
      world.pair().issue(0, access);
      world.run();
      if (whole) {
        EXPECT_TRUE(holds(world, write_back ? 1 : 2));
      }
    }
  }
  EXPECT_THAT(sent, testing::ElementsAre(wire::TaOpcode::kWriteback, wire::TaOpcode::kWritebackByteEnable,
                                         wire::TaOpcode::kWrite, wire::TaOpcode::kWriteByteEnable));
  ASSERT_EQ(results(world).size(), 4u);
  for (const auto& result : results(world)) EXPECT_EQ(result.status, CompletionStatus::kSuccess);
}

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

TEST_F(LoadStoreTest, AHostIsNotForgottenWhileItsLoadIsInExecution) {
  test::EnginePairOptions slow;
  slow.access_shortest = slow.access_longest = microseconds(1);
  World world({}, slow);
  world.pair().issue(0, load(world, 1));
  const auto refused = [&world] { return !world.engine(1).forget_host(world.now(), {0}).ok(); };
  // From its arrival until its answer has left.
  EXPECT_EQ(world.pair().run_until([&world] { return world.counters(1).packets_received == 1; }),
            test::RunEnd::kDone);
  EXPECT_TRUE(refused());
  world.run();
  EXPECT_EQ(results(world).at(0).status, CompletionStatus::kSuccess);
  EXPECT_FALSE(refused());
}

// A late duplicate never overwrites a newer acknowledged store.
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

TEST_F(LoadStoreTest, APrefetchIsAHintThatNeverFails) {
  World world;
  wire::Packet request;
  wire::Packet answer;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    (packet.ub.transaction == wire::UbTransaction::kRequest ? request : answer) = packet;
    return false;
  };
  world.pair().issue(0, load(world, 1));
  world.run();
  request.ub.request.opcode = wire::TaOpcode::kPrefetch;
  request.ub.extension.maetah.token_id = 0;
  world.pair().inject(1, request);
  world.run();
  EXPECT_EQ(answer.ub.response.opcode, wire::TaOpcode::kTaack);
  EXPECT_EQ(answer.ub.response.status, wire::UbResponseStatus::kSuccess);
  EXPECT_EQ(world.pair().memory(1).count(engine::AccessKind::kRead), 1u);
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

// Loads take TASSNs too. However many lie between two stores, the second is no duplicate of the first and not
// too old: it is written, once.
TEST_F(LoadStoreTest, LoadsBetweenStoresNeverMakeAStoreADuplicate) {
  for (const double percent : {0.0, 2.0}) {
    for (const std::uint32_t loads : {100u, 1'023u, 33'000u, 40'000u, 65'400u, 65'486u, 65'535u, 131'000u}) {
      SCOPED_TRACE(loads);
      test::EnginePairOptions options = faulty(loads, percent);
      options.wire.delay = nanoseconds(10);
      UbConfig config;
      config.load_store_reissue.attempts_max = reliability::kUnlimitedAttempts;
      World world(config, options);
      std::uint32_t tag = 0;
      const auto finish = [&](const verbs::LoadStore& access) {
        ASSERT_EQ(world.pair().issue(0, access), engine::PostStatus::kOk);
        ++tag;
        world.pair().run_until([&] { return results(world).size() == tag; });
        ASSERT_EQ(results(world).size(), tag);
        ASSERT_EQ(results(world).back().status, CompletionStatus::kSuccess) << tag;
      };
      for (std::uint32_t i = 0; i < 100; ++i) {
        finish(store(world, tag + 1));
        ASSERT_TRUE(holds(world, tag)) << tag;
      }
      for (std::uint32_t i = 0; i < loads; ++i) {
        if (world.pair().issue(0, load(world, 0)) == engine::PostStatus::kOk) ++tag;
        if (i % 60 == 59) world.pair().run_until([&] { return results(world).size() == tag; });
      }
      world.pair().run_until([&] { return results(world).size() == tag; });
      ASSERT_EQ(tag, 100 + loads);
      for (std::uint32_t i = 0; i < 100; ++i) {
        finish(store(world, tag + 1));
        ASSERT_TRUE(holds(world, tag)) << tag;
      }
      if (percent == 0) {
        EXPECT_EQ(world.counters(1).load_store_replays, 0u);
        EXPECT_EQ(world.counters(1).duplicates, 0u);
      }
    }
  }
}

// Numbers that were given up may never have reached the target: its record stands still meanwhile. After any
// number of them a store is written again.
TEST_F(LoadStoreTest, AStoreIsWrittenAfterAnyNumberOfLostRequests) {
  for (const std::uint32_t lost : {1u, 500u, 600u, 2'000u, 33'000u, 65'486u}) {
    SCOPED_TRACE(lost);
    World world;
    for (std::uint32_t i = 0; i < 100; ++i) world.pair().issue(0, store(world, i, World::kRemote + 64 * i));
    world.run();
    for (std::uint32_t i = 0; i < 36; ++i)
      world.pair().issue(0, store(world, i, World::kRemote + 64 * (64 + i)));
    world.run();
    ASSERT_EQ(results(world).size(), 100u);
    world.pair().wire().options().drop_if = [](const wire::Packet&) { return true; };
    std::uint32_t tag = 100;
    while (tag < 100 + lost) {
      while (tag < 100 + lost && world.pair().issue(0, load(world, tag)) == engine::PostStatus::kOk) ++tag;
      world.run();
    }
    for (std::uint32_t i = 100; i < tag; ++i) {
      ASSERT_EQ(results(world).at(i).status, CompletionStatus::kRetryExhausted);
    }
    const std::uint64_t sent = world.counters(0).packets_sent;
    EXPECT_LE(sent, 100 + 512 * 4 + lost);  // A silent host is asked by probes, not by every request.
    world.pair().wire().options().drop_if = nullptr;
    world.pair().issue(0, store(world, 7));
    world.pair().issue(0, store(world, 8, World::kRemote + 64));
    world.run();
    EXPECT_EQ(results(world).at(tag).status, CompletionStatus::kSuccess);
    EXPECT_EQ(results(world).at(tag + 1).status, CompletionStatus::kSuccess);
    EXPECT_TRUE(holds(world, 7));
    EXPECT_TRUE(holds(world, 8, World::kRemote + 64));
    EXPECT_EQ(world.counters(1).load_store_replays, 0u);
    EXPECT_EQ(world.engine(0).deadline(), kNever);
    EXPECT_EQ(world.pair().pool().in_use(), 0u);
  }
}

// A copy of a store that the fabric has kept until its sender had given out almost all other TASSNs is still
// not executed.
TEST_F(LoadStoreTest, ACopyFromLongAgoIsNotExecuted) {
  for (const std::uint32_t loads : {1'500u, 32'000u, 33'000u, 64'000u}) {
    World world;
    wire::Packet old;
    world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
      if (packet.ub.request.opcode == wire::TaOpcode::kWrite && old.payload.length == 0) old = packet;
      return false;
    };
    world.pair().issue(0, store(world, 1));
    world.run();
    world.pair().issue(0, store(world, 2));
    world.run();
    for (std::uint32_t i = 0; i < loads; ++i) {
      world.pair().issue(0, load(world, 3));
      if (i % 60 == 59) world.run();
    }
    world.run();
    world.pair().inject(1, old);
    EXPECT_TRUE(holds(world, 2)) << loads;
    // A load from long ago does not move the record.
    old.payload = {};
    old.ub.request.opcode = wire::TaOpcode::kRead;
    world.pair().inject(1, old);
    world.pair().issue(0, store(world, 4));
    world.run();
    EXPECT_TRUE(holds(world, 4)) << loads;
    EXPECT_EQ(results(world).back().status, CompletionStatus::kSuccess);
  }
}

// A TASSN comes round no sooner than the quarantine allows: a requester that is faster waits.
TEST_F(LoadStoreTest, TassnsAreNotUsedAgainWithinTheQuarantine) {
  UbConfig config;
  config.load_store_quarantine = milliseconds(5);
  World world(config);
  std::map<std::uint16_t, TimePs> sent;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.source.number != 0) return false;
    const auto known = sent.find(packet.ub.request.tassn);
    if (known != sent.end()) {
      EXPECT_GE(world.now() - known->second, milliseconds(5));
    }
    sent[packet.ub.request.tassn] = world.now();
    return false;
  };
  const std::uint32_t count = 140'000;
  for (std::uint32_t i = 0; i < count; ++i) {
    ASSERT_EQ(world.pair().issue(0, load(world, 3)), engine::PostStatus::kOk);
    if (i % 60 == 59) world.run();
  }
  world.run();
  EXPECT_EQ(sent.size(), 65'536u);
  EXPECT_EQ(results(world).size(), count);
  for (const auto& result : results(world)) ASSERT_EQ(result.status, CompletionStatus::kSuccess);
  EXPECT_GT(world.now(), milliseconds(10));
}

// A request is given up no sooner either, so that no copy of a store that was given up is under way.
TEST_F(LoadStoreTest, ARequestIsGivenUpWhenNoCopyCanBeUnderWay) {
  UbConfig config;
  config.load_store_quarantine = milliseconds(1);
  World world(config);
  TimePs last;
  world.pair().wire().options().drop_if = [&](const wire::Packet&) {
    last = world.now();
    return true;
  };
  world.pair().issue(0, store(world, 1));
  world.run();
  EXPECT_EQ(results(world).at(0).status, CompletionStatus::kRetryExhausted);
  EXPECT_EQ(world.now() - last, milliseconds(1));
}

TEST(ReplayRecord, RemembersAWindowOfTassns) {
  ReplayRecord record;
  std::uint8_t status = 0;
  EXPECT_EQ(record.begin(0, status), ReplayRecord::Entry::kNew);
  EXPECT_EQ(record.begin(0, status), ReplayRecord::Entry::kInProgress);
  record.end(0, 3);
  EXPECT_EQ(record.begin(0, status), ReplayRecord::Entry::kDone);
  EXPECT_EQ(status, 3);
  EXPECT_TRUE(record.reach(kTassnSpan));  // A load.
  EXPECT_EQ(record.begin(kReplayWindow - 1, status), ReplayRecord::Entry::kNew);
  EXPECT_EQ(record.begin(0, status), ReplayRecord::Entry::kDone);
  EXPECT_EQ(record.begin(kReplayWindow, status), ReplayRecord::Entry::kNew);
  EXPECT_EQ(record.begin(0, status), ReplayRecord::Entry::kTooOld);
  EXPECT_EQ(record.begin(1, status), ReplayRecord::Entry::kNew);
}

TEST(ReplayRecord, KnowsNothingFromBeforeTheFirstNumber) {
  for (const std::uint16_t first : {0, 1, 500, 0x8000, 0xffff}) {
    ReplayRecord record(first);
    std::uint8_t status = 0;
    EXPECT_EQ(record.begin(static_cast<std::uint16_t>(first - 1), status), ReplayRecord::Entry::kTooOld);
    EXPECT_EQ(record.begin(static_cast<std::uint16_t>(first + kTassnSpan), status),
              ReplayRecord::Entry::kTooOld);
    EXPECT_EQ(record.begin(first, status), ReplayRecord::Entry::kNew);
    EXPECT_EQ(record.begin(static_cast<std::uint16_t>(first - 1), status), ReplayRecord::Entry::kTooOld);
  }
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
