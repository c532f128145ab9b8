// SPDX-License-Identifier: Apache-2.0
// Loads and stores of remote memory through the caches: what reaches the remote under each write policy, how
// misses merge and queue, and that data come back as they were written.
#include <algorithm>

#include "base/bytes.h"
#include "sim/two_hosts/two_hosts_test_support.h"
#include "trace/ring_sink.h"

namespace wharf::sim {
namespace {

using testing::mechanism;
using testing::Pair;
using trace::Stage;
using verbs::CompletionStatus;

TwoHostsConfig load_store(WritePolicy policy) {
  TwoHostsConfig config = mechanism(Stack::kUbLoadStore);
  config.host.cache.write_policy = policy;
  return config;
}
/// A cache of two lines in all, so that lines leave it soon.
TwoHostsConfig tiny_cache() {
  TwoHostsConfig config = load_store(WritePolicy::kWriteBack);
  config.host.cache.l1.shape = {2, 2};
  config.host.cache.l2.shape = {0, 0};
  config.host.cache.llc.shape = {0, 0};
  return config;
}

/// The word that host 1 has in its own memory.
std::uint64_t at_target(Pair& pair, std::uint64_t offset) {
  return load_le64(pair.two->host(1).core().bytes(pair.near_segment.base + offset, Bytes{8}).data());
}

verbs::Task<void> store_word(Pair& pair, std::uint64_t offset, std::uint64_t value) {
  EXPECT_EQ(co_await pair.near->store(pair.near_segment.at(offset), 8, value), CompletionStatus::kSuccess);
}
verbs::Task<void> expect_word(Pair& pair, std::uint64_t offset, std::uint64_t value) {
  const verbs::LoadedValue got = co_await pair.near->load(pair.near_segment.at(offset), 8);
  EXPECT_EQ(got.status, CompletionStatus::kSuccess);
  EXPECT_EQ(got.value, value);
}

TEST(LoadStore, WriteBackKeepsStoresUntilTheLineLeaves) {
  Pair pair(tiny_cache());
  pair.run(store_word(pair, 8, 77));
  EXPECT_EQ(at_target(pair, 8), 0U);
  pair.run(expect_word(pair, 8, 77));
  // Two other lines displace it: it is dirty and goes home, the other words of the line unharmed.
  pair.two->host(1).core().bytes(pair.near_segment.base, Bytes{1})[0] = std::byte{0};
  pair.run(expect_word(pair, 64, 0));
  pair.run(expect_word(pair, 128, 0));
  pair.two->settle();
  EXPECT_EQ(at_target(pair, 8), 77U);
  EXPECT_EQ(pair.two->host(0).load_store()->counters().write_backs, 1U);
  // It comes back as it was.
  pair.run(expect_word(pair, 8, 77));
}

TEST(LoadStore, ALineOnItsWayHomeIsNotReadBeforeItIsThere) {
  Pair pair(tiny_cache());
  const auto program = [](Pair& two_hosts) -> verbs::Task<void> {
    for (std::uint64_t round = 0; round < 50; ++round) {
      EXPECT_EQ(co_await two_hosts.near->store(two_hosts.near_segment.at(0), 8, round),
                CompletionStatus::kSuccess);
      // Both displace line 0, and it is asked for again while its write-back is under way.
      (void)co_await two_hosts.near->load(two_hosts.near_segment.at(64), 8);
      (void)co_await two_hosts.near->load(two_hosts.near_segment.at(128), 8);
      EXPECT_EQ((co_await two_hosts.near->load(two_hosts.near_segment.at(0), 8)).value, round);
    }
  };
  pair.run(program(pair));
  EXPECT_GE(pair.two->host(0).load_store()->counters().write_backs, 49U);
  EXPECT_EQ(pair.two->log().totals(verbs::Verb::kLoad).path.unattributed, kTimeZero);
}

TEST(LoadStore, WriteThroughSendsEveryStoreAndUpdatesTheCachedLine) {
  Pair pair(load_store(WritePolicy::kWriteThrough));
  pair.run(expect_word(pair, 8, 0));
  pair.run(store_word(pair, 8, 5));
  EXPECT_EQ(at_target(pair, 8), 5U);
  pair.run(expect_word(pair, 8, 5));
  const LoadStoreCounters& counters = pair.two->host(0).load_store()->counters();
  EXPECT_EQ(counters.stores, 1U);
  EXPECT_EQ(counters.misses, 1U);
  EXPECT_EQ(counters.hits, 1U);
  // A store that misses allocates nothing.
  pair.run(store_word(pair, 4096, 6));
  pair.run(expect_word(pair, 4096, 6));
  EXPECT_EQ(counters.misses, 2U);
}

TEST(LoadStore, UncachedReachesTheTargetEveryTime) {
  Pair pair(load_store(WritePolicy::kUncached));
  pair.run(store_word(pair, 8, 5));
  pair.run(expect_word(pair, 8, 5));
  pair.run(expect_word(pair, 8, 5));
  const LoadStoreCounters& counters = pair.two->host(0).load_store()->counters();
  EXPECT_EQ(counters.misses, 2U);
  EXPECT_EQ(counters.hits, 0U);
}

TEST(LoadStore, NarrowAccessesTouchTheirBytesAlone) {
  for (const WritePolicy policy :
       {WritePolicy::kWriteBack, WritePolicy::kWriteThrough, WritePolicy::kUncached}) {
    Pair pair(load_store(policy));
    store_le64(pair.two->host(1).core().bytes(pair.near_segment.base + 56, Bytes{8}).data(),
               0x1122334455667788U);
    const auto program = [](Pair& two_hosts) -> verbs::Task<void> {
      SimRemote& remote = *two_hosts.near;
      const verbs::RemoteSegment& segment = two_hosts.near_segment;
      EXPECT_EQ((co_await remote.load(segment.at(56), 4)).value, 0x55667788U);
      EXPECT_EQ(co_await remote.store(segment.at(58), 2, 0xabcd), CompletionStatus::kSuccess);
      EXPECT_EQ(co_await remote.store(segment.at(63), 1, 0xff), CompletionStatus::kSuccess);
      EXPECT_EQ((co_await remote.load(segment.at(56), 8)).value, 0xff223344abcd7788U);
      EXPECT_EQ((co_await remote.load(segment.at(59), 1)).value, 0xabU);
      // Across a line, or of a width that no instruction has.
      EXPECT_EQ((co_await remote.load(segment.at(60), 8)).status, CompletionStatus::kLocalLength);
      EXPECT_EQ(co_await remote.store(segment.at(0), 3, 1), CompletionStatus::kLocalLength);
    };
    pair.run(program(pair));
  }
}

TEST(LoadStore, MissesOfOneLineMerge) {
  Pair pair(load_store(WritePolicy::kWriteBack));
  for (std::uint64_t word = 0; word < 8; ++word) {
    pair.two->host(0).core().spawn(word % 2 == 0 ? expect_word(pair, word * 8, 0)
                                                 : store_word(pair, word * 8, word));
  }
  pair.two->run();
  const LoadStoreCounters& counters = pair.two->host(0).load_store()->counters();
  EXPECT_EQ(counters.misses, 1U);
  EXPECT_EQ(counters.merged, 7U);
  EXPECT_EQ(pair.two->log().totals(verbs::Verb::kLoad).path.unattributed, kTimeZero);
  EXPECT_EQ(pair.two->log().totals(verbs::Verb::kStore).path.unattributed, kTimeZero);
  pair.run(expect_word(pair, 8, 1));
  pair.run(expect_word(pair, 56, 7));
}

TEST(LoadStore, OneMissSlotMeansOneAfterAnother) {
  TwoHostsConfig config = load_store(WritePolicy::kWriteBack);
  config.host.core.outstanding_misses = 1;
  Pair pair(config);
  for (std::uint64_t line = 0; line < 4; ++line)
    pair.two->host(0).core().spawn(expect_word(pair, line * 64, 0));
  pair.two->run();
  const OperationTotals& totals = pair.two->log().totals(verbs::Verb::kLoad);
  EXPECT_EQ(totals.path.unattributed, kTimeZero);
  EXPECT_GT(totals.path.critical[static_cast<std::size_t>(Stage::kMissSlotWait)],
            nanoseconds(400 * (1 + 2 + 3)));
  // The last one waited for three whole ones.
  EXPECT_GT(totals.latency_max, totals.latency_min * 3);
}

TEST(LoadStore, AHitCostsItsLevel) {
  Pair pair(load_store(WritePolicy::kWriteBack));
  pair.run(expect_word(pair, 0, 0));
  pair.run(expect_word(pair, 8, 0));
  EXPECT_EQ(pair.two->log().totals(verbs::Verb::kLoad).latency_min, nanoseconds(1));
}

TEST(LoadStore, WrongTokensAndRangesAreReportedAndHarmless) {
  Pair pair(load_store(WritePolicy::kWriteThrough));
  const auto program = [](Pair& two_hosts) -> verbs::Task<void> {
    verbs::RemoteAddress bad = two_hosts.near_segment.at(0);
    bad.token.value ^= 1;
    EXPECT_EQ((co_await two_hosts.near->load(bad, 8)).status, CompletionStatus::kRemoteAccess);
    EXPECT_EQ(co_await two_hosts.near->store(bad, 8, 1), CompletionStatus::kRemoteAccess);
    EXPECT_EQ((co_await two_hosts.near->load(two_hosts.near_segment.at(mebibytes(1).count), 8)).status,
              CompletionStatus::kRemoteAccess);
    EXPECT_EQ((co_await two_hosts.near->load(two_hosts.near_segment.at(0), 8)).value, 0U);
  };
  pair.run(program(pair));
  EXPECT_EQ(at_target(pair, 0), 0U);
}

TEST(LoadStore, ADirtyLineThatCannotGoHomeIsCountedAndTraced) {
  Pair pair(tiny_cache());
  trace::RingSink lost(8);
  pair.two->world().attach(lost, trace::bit(trace::EventKind::kLineLost));
  const verbs::RemoteSegment other = pair.two->expose(1, kibibytes(4)).value();
  pair.run(store_word(pair, 8, 77));
  pair.run(store_word(pair, 64, 78));
  ASSERT_TRUE(pair.two->host(1).nic().deregister_segment(pair.near_segment.token).ok());
  // Two clean lines of another segment displace both dirty ones, which nobody takes any more.
  const auto displace = [&]() -> verbs::Task<void> {
    EXPECT_TRUE((co_await pair.near->load(other.at(0), 8)).status == CompletionStatus::kSuccess);
    EXPECT_TRUE((co_await pair.near->load(other.at(64), 8)).status == CompletionStatus::kSuccess);
  };
  pair.run(displace());
  pair.two->settle();
  const LoadStorePort& port = *pair.two->host(0).load_store();
  EXPECT_EQ(port.counters().write_backs, 2U);
  EXPECT_EQ(port.counters().lines_lost, 2U);
  EXPECT_EQ(port.first_lost().address, pair.near_segment.base);
  EXPECT_EQ(port.first_lost().status, CompletionStatus::kRemoteAccess);
  ASSERT_EQ(lost.size(), 2U);
  EXPECT_EQ(lost[0].a, pair.near_segment.base);
  EXPECT_EQ(lost[1].a, pair.near_segment.base + 64);
}

TEST(LoadStore, DirtyLinesLeaveWhenThereIsRoom) {
  TwoHostsConfig config = tiny_cache();
  config.host.core.outstanding_misses = 1;
  Pair pair(config);
  for (std::uint64_t line = 0; line < 12; ++line)
    pair.two->host(0).core().spawn(store_word(pair, line * 64, line + 1));
  pair.two->run();
  pair.two->settle();
  // Two of twelve lines stay in the cache; the others are home, each written once.
  const LoadStorePort& port = *pair.two->host(0).load_store();
  EXPECT_EQ(port.counters().misses, 12U);
  EXPECT_EQ(port.counters().write_backs, 10U);
  for (std::uint64_t line = 0; line < 10; ++line) EXPECT_EQ(at_target(pair, line * 64), line + 1);
  EXPECT_EQ(pair.two->log().totals(verbs::Verb::kStore).path.unattributed, kTimeZero);
}

TEST(LoadStore, NoMissLeavesWhileADirtyLineWaitsForRoom) {
  TwoHostsConfig config = tiny_cache();
  config.host.cache.l1.shape = {8, 8};
  config.host.core.outstanding_misses = 1;
  Pair pair(config);
  for (std::uint64_t line = 0; line < 4; ++line) pair.run(store_word(pair, line * 64, 1));
  Host& host = pair.two->host(0);
  host.caches().clean_all([&](LineNumber line) { host.load_store()->write_back(line); });
  // One write-back is out and three wait: the load's slot is free, but it leaves only behind the last of
  // them.
  pair.two->host(0).core().spawn(expect_word(pair, 4096, 0));
  pair.two->run(pair.two->now() + nanoseconds(600));
  std::vector<std::string> waiting;
  host.load_store()->describe_waiting(waiting);
  EXPECT_NE(std::find(waiting.begin(), waiting.end(), "1 misses wait until dirty lines have left"),
            waiting.end());
  pair.two->run();
  // Three times more than 400 ns until the last has left, and then its own.
  const OperationTotals& loads = pair.two->log().totals(verbs::Verb::kLoad);
  EXPECT_GT(loads.path.critical[static_cast<std::size_t>(Stage::kMissSlotWait)], nanoseconds(3 * 400));
  EXPECT_GT(loads.latency_max, nanoseconds(4 * 400));
  EXPECT_EQ(loads.path.unattributed, kTimeZero);
}

TEST(LoadStore, AMissWithoutASlotSaysWhatItWaitsFor) {
  TwoHostsConfig config = load_store(WritePolicy::kWriteBack);
  config.host.core.outstanding_misses = 1;
  Pair pair(config);
  for (std::uint64_t line = 0; line < 3; ++line)
    pair.two->host(0).core().spawn(expect_word(pair, line * 64, 0));
  pair.two->run(nanoseconds(100));
  std::vector<std::string> waiting;
  pair.two->host(0).load_store()->describe_waiting(waiting);
  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_NE(waiting[0].find("waits for its answer"), std::string::npos) << waiting[0];
  EXPECT_EQ(waiting[1], "2 misses wait for one of the core's 1 miss slots");
  pair.two->run();
}

/// How many of four dirty lines are home 600 ns after all were told to leave.
int lines_home(std::uint32_t room) {
  TwoHostsConfig config = tiny_cache();
  config.host.cache.l1.shape = {4, 4};
  config.host.core.outstanding_misses = room;
  Pair pair(config);
  for (std::uint64_t line = 0; line < 4; ++line) pair.run(store_word(pair, line * 64, 1));
  Host& host = pair.two->host(0);
  host.caches().clean_all([&](LineNumber line) { host.load_store()->write_back(line); });
  pair.two->run(pair.two->now() + nanoseconds(600));
  int home = 0;
  for (std::uint64_t line = 0; line < 4; ++line) home += at_target(pair, line * 64) == 1 ? 1 : 0;
  return home;
}

TEST(LoadStore, WriteBacksWaitForRoom) {
  // A store is in memory after less than 300 ns and acknowledged after more than 400: the second of two that
  // follow one another is not there after 600.
  EXPECT_EQ(lines_home(1), 1);
  EXPECT_EQ(lines_home(2), 2);
  EXPECT_EQ(lines_home(16), 4);
}

/// Publishes a range, and says when it ended.
verbs::Task<void> publish(Pair& pair, std::uint64_t offset, std::uint32_t length, CompletionStatus expected,
                          TimePs* ended = nullptr) {
  EXPECT_EQ(co_await pair.near->publish(pair.near_segment.at(offset), length), expected);
  if (ended != nullptr) *ended = pair.two->host(0).core().now();
}

TEST(LoadStore, PublishWritesBackTheDirtyLinesOfItsRangeAndKeepsThem) {
  Pair pair(load_store(WritePolicy::kWriteBack));
  for (std::uint64_t line = 0; line < 5; ++line) pair.run(store_word(pair, line * 64 + 8, line + 1));
  pair.run(expect_word(pair, 5 * 64, 0));  // Clean.
  pair.run(publish(pair, 64 + 63, 64 * 4, CompletionStatus::kSuccess));
  // From the line of the first byte to that of the last: 1 to 5.
  for (std::uint64_t line = 0; line < 5; ++line)
    EXPECT_EQ(at_target(pair, line * 64 + 8), line == 0 ? 0 : line + 1) << line;
  const LoadStoreCounters& counters = pair.two->host(0).load_store()->counters();
  EXPECT_EQ(counters.published, 4U);
  EXPECT_EQ(counters.write_backs, 4U);
  // They have stayed, clean: a second time nothing leaves.
  const std::uint64_t hits = counters.hits;
  pair.run(expect_word(pair, 64 + 8, 2));
  EXPECT_EQ(counters.hits, hits + 1);
  pair.run(publish(pair, 64, 64 * 4, CompletionStatus::kSuccess));
  EXPECT_EQ(counters.write_backs, 4U);
}

TEST(LoadStore, PublishEndsWhenTheRemoteHasItAndLooksLineByLine) {
  TimePs ended;
  {
    Pair pair(load_store(WritePolicy::kWriteBack));
    pair.run(store_word(pair, 0, 7));
    const TimePs began = pair.two->host(0).core().now();
    pair.run(publish(pair, 0, 64, CompletionStatus::kSuccess, &ended));
    EXPECT_GT(ended - began, nanoseconds(400));  // A round trip.
    EXPECT_EQ(at_target(pair, 0), 7U);
  }
  // Nothing dirty: 1 ns for each line.
  Pair pair(load_store(WritePolicy::kWriteBack));
  pair.run(expect_word(pair, 0, 0));
  const TimePs began = pair.two->host(0).core().now();
  pair.run(publish(pair, 0, 64 * 100, CompletionStatus::kSuccess, &ended));
  EXPECT_EQ(ended - began, nanoseconds(100));
  pair.run(publish(pair, 0, 0, CompletionStatus::kSuccess, &ended));
  EXPECT_EQ(ended - began, nanoseconds(100));
}

TEST(LoadStore, PublishWaitsForWhatIsOnItsWayAlready) {
  TwoHostsConfig config = tiny_cache();
  config.host.core.outstanding_misses = 1;
  Pair pair(config);
  const auto program = [](Pair& two_hosts) -> verbs::Task<void> {
    SimRemote& remote = *two_hosts.near;
    const verbs::RemoteSegment& segment = two_hosts.near_segment;
    for (const std::uint64_t at : {0U, 64U, 128U, 192U})
      EXPECT_EQ(co_await remote.store(segment.at(at), 8, at + 1), CompletionStatus::kSuccess);
    // Two lines have been displaced, one of which waits for the other; two are dirty in the cache.
    EXPECT_EQ(co_await remote.publish(segment.at(0), 256), CompletionStatus::kSuccess);
    for (const std::uint64_t at : {0U, 64U, 128U, 192U}) EXPECT_EQ(at_target(two_hosts, at), at + 1);
    // Stored again while its write-back is under way: that one does not bring it.
    EXPECT_EQ(co_await remote.store(segment.at(192), 8, 9), CompletionStatus::kSuccess);
    two_hosts.two->host(0).core().spawn(publish(two_hosts, 192, 8, CompletionStatus::kSuccess));
    co_await two_hosts.two->host(0).core().sleep(nanoseconds(20));
    EXPECT_EQ(co_await remote.store(segment.at(192), 8, 10), CompletionStatus::kSuccess);
    EXPECT_EQ(co_await remote.publish(segment.at(192), 8), CompletionStatus::kSuccess);
    EXPECT_EQ(at_target(two_hosts, 192), 10U);
  };
  pair.run(program(pair));
}

TEST(LoadStore, PublishTellsOfALineThatIsLost) {
  Pair pair(load_store(WritePolicy::kWriteBack));
  for (const std::uint64_t at : {0U, 64U}) pair.run(store_word(pair, at, 77));
  ASSERT_TRUE(pair.two->host(1).nic().deregister_segment(pair.near_segment.token).ok());
  pair.run(publish(pair, 0, 128, CompletionStatus::kRemoteAccess));
  EXPECT_EQ(pair.two->host(0).load_store()->counters().lines_lost, 2U);
  const auto beyond = [&]() -> verbs::Task<void> {
    verbs::RemoteAddress far = pair.near_segment.at(0);
    for (const std::uint64_t address :
         {std::uint64_t{1} << 50U, (std::uint64_t{1} << 50U) - 4, ~std::uint64_t{3}}) {
      far.address = address;
      EXPECT_EQ(co_await pair.near->publish(far, 8), CompletionStatus::kLocalAccess);
    }
  };
  pair.run(beyond());
}

TEST(LoadStore, WhereNothingIsKeptPublishEndsAtOnce) {
  for (const WritePolicy policy : {WritePolicy::kWriteThrough, WritePolicy::kUncached}) {
    Pair pair(load_store(policy));
    pair.run(store_word(pair, 0, 7));
    const TimePs began = pair.two->host(0).core().now();
    TimePs ended;
    pair.run(publish(pair, 0, 4096, CompletionStatus::kSuccess, &ended));
    EXPECT_EQ(ended, began);
  }
  Pair requests(mechanism(Stack::kUbUrma));
  requests.run(publish(requests, 0, 4096, CompletionStatus::kSuccess));
}

/// A line of the core's own memory.
verbs::Task<void> load_local(Pair& pair, std::uint64_t offset) {
  (void)co_await pair.two->host(0).core().load(pair.near_buffer + offset, 8);
}

TEST(LoadStore, LocalMissesShareRoomAndTheRateOfMemory) {
  TwoHostsConfig config = mechanism(Stack::kUbLoadStore);
  const auto time_of_two = [](const TwoHostsConfig& given) {
    Pair pair(given);
    for (const std::uint64_t offset : {0U, 64U}) pair.two->host(0).core().spawn(load_local(pair, offset));
    pair.two->run();
    return pair.two->now();
  };
  // A miss is known after 17 ns and there 70 ns later. 64 B at 5.12 Gbps take 100 ns of the channels.
  config.host.memory.rate = {};
  EXPECT_EQ(time_of_two(config), nanoseconds(87));
  config.host.core.outstanding_misses = 1;
  EXPECT_EQ(time_of_two(config), nanoseconds(87 + 70));
  config.host.core.outstanding_misses = 16;
  config.host.memory.rate = BitsPerSecond{5'120'000'000};
  EXPECT_EQ(time_of_two(config), nanoseconds(117 + 70));
}

TEST(LoadStore, MemoryReadsAMissingLineBeforeItWritesWhatThatDisplaces) {
  TwoHostsConfig config = tiny_cache();
  config.host.memory.rate = BitsPerSecond{5'120'000'000};
  Pair pair(config);
  const auto program = [](Pair& two_hosts) -> verbs::Task<void> {
    SimCore& core = two_hosts.two->host(0).core();
    // A miss is known after 1 ns and there 70 ns after its 100 ns of the channels begin: from 1 to 101, from
    // 101 (171 there) and, displacing the dirty line, from 201.
    co_await core.store(two_hosts.near_buffer, 8, 1);
    (void)co_await core.load(two_hosts.near_buffer + 64, 8);
    (void)co_await core.load(two_hosts.near_buffer + 128, 8);
    EXPECT_EQ(core.now(), nanoseconds(201 + 70));
    // The dirty line is written from 301 to 401.
    (void)co_await core.load(two_hosts.near_buffer + 192, 8);
    EXPECT_EQ(core.now(), nanoseconds(401 + 70));
  };
  pair.run(program(pair));
}

TEST(LoadStore, LocalAccessesPastTheCachesTakeTheirOwnBytes) {
  // 8 B at 5.12 Gbps take 12.5 ns of the channels; each access is known to go there after 1 ns.
  TwoHostsConfig config = tiny_cache();
  config.host.cache.write_policy = WritePolicy::kUncached;
  config.host.memory.rate = BitsPerSecond{5'120'000'000};
  Pair pair(config);
  for (const std::uint64_t offset : {0U, 64U, 128U}) pair.two->host(0).core().spawn(load_local(pair, offset));
  pair.two->run();
  EXPECT_EQ(pair.two->now(), picoseconds(1'000 + 2 * 12'500 + 70'000));
}

TEST(LoadStore, RoceHasNone) {
  Pair pair(mechanism(Stack::kRoceDma));
  EXPECT_FALSE(pair.near->supports(verbs::Verb::kLoad));
  const auto program = [](Pair& two_hosts) -> verbs::Task<void> {
    EXPECT_EQ((co_await two_hosts.near->load(two_hosts.near_segment.at(0), 8)).status,
              CompletionStatus::kUnsupportedOpcode);
  };
  pair.run(program(pair));
}

/// A word per worker is stored and read over and over with lines that fight for a small cache.
verbs::Task<void> own_words(Pair& pair, std::uint64_t worker, int rounds) {
  RandomStream random = pair.two->host(0).core().random("own_words").substream(worker);
  std::array<std::uint64_t, 16> expected{};
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t line = random.below(expected.size());
    const verbs::RemoteAddress target = pair.near_segment.at(line * 64 + worker * 8);
    if (random.below(2) == 0) {
      expected[line] = random.next_u64();
      EXPECT_EQ(co_await pair.near->store(target, 8, expected[line]), CompletionStatus::kSuccess);
    } else {
      const verbs::LoadedValue got = co_await pair.near->load(target, 8);
      EXPECT_EQ(got.status, CompletionStatus::kSuccess);
      EXPECT_EQ(got.value, expected[line]);
    }
  }
}

class EveryPolicy : public ::testing::TestWithParam<WritePolicy> {};
INSTANTIATE_TEST_SUITE_P(LoadStore, EveryPolicy,
                         ::testing::Values(WritePolicy::kWriteBack, WritePolicy::kWriteThrough,
                                           WritePolicy::kUncached));

TEST_P(EveryPolicy, EachWorkerReadsWhatItWroteWhateverTheOthersAndTheWireDo) {
  TwoHostsConfig config = tiny_cache();
  config.host.cache.l1.shape = {4, 4};
  config.host.cache.write_policy = GetParam();
  config.host.core.outstanding_misses = 4;
  config.link.faults = {.loss = 0.02,
                        .damage = 0.02,
                        .duplication = 0.05,
                        .reordering = 0.05,
                        .reorder_delay = microseconds(1)};
  std::get<ub::UbConfig>(config.engines).load_store_reissue.attempts_max = 1000;
  Pair pair(config);
  for (std::uint64_t worker = 0; worker < 8; ++worker)
    pair.two->host(0).core().spawn(own_words(pair, worker, 300));
  pair.two->run();
  EXPECT_TRUE(pair.two->programs_ended());
  EXPECT_EQ(pair.two->log().totals(verbs::Verb::kLoad).path.unattributed, kTimeZero);
  EXPECT_EQ(pair.two->log().totals(verbs::Verb::kStore).path.unattributed, kTimeZero);
}

}  // namespace
}  // namespace wharf::sim
