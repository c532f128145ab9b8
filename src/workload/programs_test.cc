// SPDX-License-Identifier: Apache-2.0
// Every program, on memory that keeps its promises: what it must do, at several concurrencies and paces.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "workload/run_test_support.h"

namespace wharf::workload {
namespace {

/// A small configuration of `kind`.
WorkloadConfig small_config(WorkloadKind kind, std::uint64_t operations, std::uint32_t concurrency) {
  WorkloadConfig config = default_config(kind);
  loop_config(config).operations = operations;
  loop_config(config).concurrency = concurrency;
  if (auto* chase = std::get_if<PointerChaseConfig>(&config)) chase->lines = 64;
  if (auto* reads = std::get_if<BulkReadConfig>(&config)) reads->region_bytes = 8192;
  if (auto* writes = std::get_if<BulkWriteConfig>(&config)) writes->region_bytes = 8192;
  if (auto* store = std::get_if<KeyValueConfig>(&config)) {
    store->keys = 50;
    store->put_fraction = 0.5;
  }
  if (auto* scan = std::get_if<SequentialScanConfig>(&config)) scan->table_bytes = 8192;
  if (auto* ring = std::get_if<RingCollectiveConfig>(&config)) {
    ring->buffer_bytes = 1000;  // Chunks of unlike length.
    ring->loop.concurrency = 1;
  }
  // With a worker it has a party apart: rdmo_test.cc.
  if (auto* appends = std::get_if<RdmoConfig>(&config)) appends->protocol = RdmoProtocol::kTwoStep;
  return config;
}

std::uint32_t usual_parties(WorkloadKind kind) { return std::min(party_range(kind).most, 3U); }

TEST(Programs, AllEndWithEveryOperationDoneAndNothingToComplainAbout) {
  for (int k = 0; k < kWorkloadKindCount; ++k) {
    const auto kind = static_cast<WorkloadKind>(k);
    for (const std::uint32_t concurrency : {1U, 7U}) {
      for (const bool load_store : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << name(kind) << " x" << concurrency << (load_store ? " load/store" : ""));
        const FakeRun run =
            fake_run(small_config(kind, 300, concurrency), usual_parties(kind), {.load_store = load_store});
        EXPECT_TRUE(run.verdict.holds()) << describe(run.verdict);
        EXPECT_GT(run.verdict.checks, 0U);
        EXPECT_EQ(run.unfinished, 0U);
        const std::uint64_t per_party = kind == WorkloadKind::kBarrier ? 300 * concurrency : 300;
        const std::uint64_t counting = kind == WorkloadKind::kPingPong ? 1 : usual_parties(kind);
        EXPECT_EQ(run.operations(), per_party * counting);
        EXPECT_EQ(loop_result(run.results[0]).latency.count(), per_party);
        EXPECT_EQ(loop_result(run.results[0]).errors, 0U);
        EXPECT_GE(run.records[0].size(), per_party);
      }
    }
  }
}

RC_GTEST_PROP(Programs, HoldForAnySeedAndConcurrency, ()) {
  const auto kind = static_cast<WorkloadKind>(*rc::gen::inRange(0, kWorkloadKindCount));
  WorkloadConfig config = small_config(kind, *rc::gen::inRange(1, 60), *rc::gen::inRange(1U, 6U));
  loop_config(config).pacing = *rc::gen::element(Pacing::kClosed, Pacing::kOpen);
  loop_config(config).arrivals_per_second = *rc::gen::inRange(100'000U, 20'000'000U);
  loop_config(config).warmup_operations = *rc::gen::inRange(0U, 10U);
  const FakeFaults faults{.torn_writes = *rc::gen::arbitrary<bool>(),
                          .load_store = *rc::gen::arbitrary<bool>()};
  const FakeRun run = fake_run(config, usual_parties(kind), faults, *rc::gen::arbitrary<std::uint32_t>());
  if (!run.verdict.holds()) RC_FAIL(describe(run.verdict));
  RC_ASSERT(run.unfinished == 0U);
}

TEST(Programs, OneSeedGivesOneHistory) {
  for (int k = 0; k < kWorkloadKindCount; ++k) {
    const auto kind = static_cast<WorkloadKind>(k);
    const FakeRun a = fake_run(small_config(kind, 100, 3), usual_parties(kind), {}, 5);
    const FakeRun b = fake_run(small_config(kind, 100, 3), usual_parties(kind), {}, 5);
    EXPECT_EQ(a.ended, b.ended) << name(kind);
    EXPECT_EQ(a.target.memory, b.target.memory) << name(kind);
  }
}

TEST(Programs, ErrorsAreCountedAndDoNotHangTheProgram) {
  for (int k = 0; k < kWorkloadKindCount; ++k) {
    const auto kind = static_cast<WorkloadKind>(k);
    // Who never arrives at a barrier keeps the others waiting, and a lost message leaves its receive entry
    // behind.
    if (kind == WorkloadKind::kBarrier || kind == WorkloadKind::kPingPong || kind == WorkloadKind::kCasLock ||
        kind == WorkloadKind::kRingCollective)
      continue;
    const FakeRun run = fake_run(small_config(kind, 200, 3), 2, {.fail_every = 10});
    EXPECT_TRUE(run.verdict.holds()) << name(kind) << ": " << describe(run.verdict);
    EXPECT_GT(loop_result(run.results[0]).errors, 5U) << name(kind);
    EXPECT_EQ(loop_result(run.results[0]).first_error, verbs::CompletionStatus::kRetryExhausted);
    EXPECT_EQ(run.unfinished, 0U) << name(kind);
    EXPECT_EQ(loop_result(run.results[0]).operations + loop_result(run.results[0]).errors, 200U)
        << name(kind);
  }
}

TEST(Programs, WhatAFailedRequestLeavesHalfDoneIsNoBrokenPromise) {
  for (int k = 0; k < kWorkloadKindCount; ++k) {
    const auto kind = static_cast<WorkloadKind>(k);
    if (kind == WorkloadKind::kCasLock) continue;  // Who failed to unlock keeps everybody out.
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      // Torn: the second half of a write lands although the request failed.
      const FakeRun run = fake_run(small_config(kind, 200, 3), usual_parties(kind),
                                   {.torn_writes = true, .fail_every = 7}, seed);
      EXPECT_TRUE(run.verdict.holds()) << name(kind) << " seed " << seed << ": " << describe(run.verdict);
      std::uint64_t errors = 0;
      for (std::size_t party = 0; party < run.results.size(); ++party) {
        errors += loop_result(run.results[party]).errors;
        for (const auto& record : run.records[party]) {
          ASSERT_LE(record.started, record.ended) << name(kind) << " seed " << seed;
        }
      }
      EXPECT_GT(errors, 0U) << name(kind);
    }
  }
}

TEST(Programs, RegionOffsetKeepsTheRestOfTheSegmentUntouched) {
  for (int k = 0; k < kWorkloadKindCount; ++k) {
    const auto kind = static_cast<WorkloadKind>(k);
    if (kind == WorkloadKind::kPingPong || kind == WorkloadKind::kRingCollective) continue;
    WorkloadConfig config = small_config(kind, 100, 2);
    std::visit([](auto& chosen) { chosen.region_offset = 4096; }, config);
    const FakeRun run = fake_run(config, usual_parties(kind));
    EXPECT_TRUE(run.verdict.holds()) << name(kind) << ": " << describe(run.verdict);
    for (std::size_t at = 0; at < 4096; ++at) ASSERT_EQ(run.target.memory[at], std::byte{0}) << name(kind);
  }
}

TEST(VerbLoop, EveryVerbRunsAndSendsReachTheReceiver) {
  for (int v = 0; v < verbs::kVerbCount; ++v) {
    VerbLoopConfig config;
    config.verb = static_cast<verbs::Verb>(v);
    if (config.verb == verbs::Verb::kWriteNotify || config.verb == verbs::Verb::kSendInvalidate ||
        config.verb == verbs::Verb::kSendImm ||
        (config.verb > verbs::Verb::kCompareSwap && config.verb != verbs::Verb::kFetchAdd)) {
      continue;  // Not in the fake runtime.
    }
    config.payload = verbs::is_load_store(config.verb) || verbs::is_atomic(config.verb) ? 8 : 64;
    config.loop.operations = 50;
    config.loop.concurrency = 3;
    config.region_bytes = 8192;
    const FakeRun run = fake_run(config, parties_needed(config), {.load_store = true});
    EXPECT_TRUE(run.verdict.holds()) << verbs::name(config.verb) << ": " << describe(run.verdict);
    EXPECT_EQ(loop_result(run.results[0]).operations, 50U) << verbs::name(config.verb);
    EXPECT_EQ(run.unfinished, 0U) << verbs::name(config.verb);
    if (verbs::consumes_receive_entry(config.verb)) {
      EXPECT_EQ(std::get<VerbLoopResult>(run.results[1]).received, 50U);
    }
  }
}

TEST(PointerChase, VisitsEveryLineOnceBeforeAnyLineTwice) {
  PointerChaseConfig config;
  config.lines = 500;
  config.loop.operations = 500;
  const FakeRun one_lap = fake_run(config);
  EXPECT_EQ(one_lap.target.reads.size(), 500U);
  for (const auto& [address, count] : one_lap.target.reads) EXPECT_EQ(count, 1U) << address;
  EXPECT_EQ(one_lap.result<PointerChaseResult>().cycles_closed, 1U);
  config.loop.operations = 499;
  EXPECT_EQ(fake_run(config).result<PointerChaseResult>().cycles_closed, 0U);
}

TEST(PointerChase, TheCycleIsARandomOne) {
  const std::vector<std::uint32_t> a = random_cycle(1000, 1);
  const std::vector<std::uint32_t> b = random_cycle(1000, 2);
  std::uint32_t equal = 0;
  std::uint32_t neighbours = 0;
  for (std::uint32_t node = 0; node < 1000; ++node) {
    equal += a[node] == b[node] ? 1 : 0;
    neighbours += a[node] == node + 1 ? 1 : 0;
  }
  EXPECT_LT(equal, 10U);
  EXPECT_LT(neighbours, 10U);
}

TEST(OpenLoop, ArrivesAtTheRateAskedForAndLatencyHasTheQueueInIt) {
  BulkReadConfig config;
  config.region_bytes = 4096;
  config.loop.operations = 20'000;
  config.loop.pacing = Pacing::kOpen;
  config.loop.concurrency = 64;
  config.loop.arrivals_per_second = 5'000'000;
  const FakeRun light = fake_run(config);
  const LoopResult& result = light.result<BulkReadResult>().loop;
  const double seconds_taken = as_nanoseconds(result.end - result.begin) / 1e9;
  EXPECT_NEAR(20'000 / seconds_taken, 5e6, 0.03 * 5e6);
  EXPECT_LT(result.latency.mean(),
            600'000);  // Service takes 550 ns; 64 workers never queue at a load of 2.75.
  // Squared coefficient of variation of exponential intervals is 1.
  double sum = 0;
  double sum_squared = 0;
  std::vector<TimePs> arrivals;
  for (const auto& record : light.records[0]) arrivals.push_back(record.arrived);
  std::sort(arrivals.begin(), arrivals.end());
  for (std::size_t i = 1; i < arrivals.size(); ++i) {
    const double interval = as_nanoseconds(arrivals[i] - arrivals[i - 1]);
    sum += interval;
    sum_squared += interval * interval;
  }
  const auto count = static_cast<double>(arrivals.size() - 1);
  const double mean = sum / count;
  EXPECT_NEAR((sum_squared / count - mean * mean) / (mean * mean), 1.0, 0.1);

  config.loop.concurrency = 1;  // One worker serves 1.8 million a second: the queue grows without end.
  const FakeRun overload = fake_run(config);
  const LoopResult& queued = overload.result<BulkReadResult>().loop;
  EXPECT_GT(queued.latency.mean(), 100 * result.latency.mean());
  EXPECT_GT(queued.queued, (queued.end - queued.begin) * 1000);
  EXPECT_EQ(overload.operations(), 20'000U);
}

TEST(OpenLoop, WithOneWorkerItIsAnMG1Queue) {
  BulkReadConfig config;
  config.region_bytes = 4096;
  config.loop.operations = 200'000;
  config.loop.pacing = Pacing::kOpen;
  config.loop.arrivals_per_second = 1'000'000;
  const FakeRun run = fake_run(config);
  const LoopResult& result = run.result<BulkReadResult>().loop;
  // Service S: sum of two uniform delays of 50..500 ns: mean 550, variance 2 * 450^2 / 12.
  // Pollaczek-Khinchine.
  const double rho = 0.55;
  const double second_moment = 550.0 * 550.0 + 2 * 450.0 * 450.0 / 12;
  const double wait = 1e-3 * second_moment / (2 * (1 - rho));
  EXPECT_NEAR(as_nanoseconds(result.queued) / 200'000, wait, 0.05 * wait);
}

TEST(ClosedLoop, ThinkTimeAndDurationLimitTheRate) {
  BulkReadConfig config;
  config.region_bytes = 4096;
  config.loop.operations = 0;
  config.loop.duration = microseconds(1000);
  config.loop.think_time = nanoseconds(9'450);
  const FakeRun run = fake_run(config);
  EXPECT_NEAR(static_cast<double>(run.operations()), 100, 5);
  EXPECT_LT(run.ended, microseconds(1000) + microseconds(1));
}

TEST(ClosedLoop, TheDurationBeginsAfterTheWarmUp) {
  BulkReadConfig config;
  config.region_bytes = 4096;
  config.loop.operations = 0;
  config.loop.warmup_operations = 300;
  config.loop.duration = microseconds(1000);
  config.loop.think_time = nanoseconds(9'450);
  const FakeRun run = fake_run(config);
  const LoopResult& result = run.result<BulkReadResult>().loop;
  EXPECT_EQ(result.warmup_operations, 300U);
  EXPECT_NEAR(static_cast<double>(result.operations), 100, 5);
}

TEST(ClosedLoop, WarmUpIsNotMeasured) {
  BulkReadConfig config;
  config.region_bytes = 4096;
  config.loop.operations = 10;
  config.loop.warmup_operations = 5;
  const FakeRun run = fake_run(config);
  const LoopResult& result = run.result<BulkReadResult>().loop;
  EXPECT_EQ(result.operations, 10U);
  EXPECT_EQ(result.warmup_operations, 5U);
  EXPECT_EQ(run.records[0].size(), 15U);
  EXPECT_EQ(result.begin, run.records[0][5].arrived);
}

TEST(Barrier, NobodyLeavesBeforeTheLastHasArrived) {
  BarrierConfig config;
  config.loop.operations = 20;
  config.loop.concurrency = 4;
  const FakeRun run = fake_run(config, 3);
  ASSERT_TRUE(run.verdict.holds()) << describe(run.verdict);
  // From the log, independent of the program's own check: sort by worker, compare round by round.
  for (std::size_t round = 0; round < 20; ++round) {
    TimePs last_start = kTimeZero;
    TimePs first_end = kNever;
    for (const auto& records : run.records) {
      for (std::uint32_t worker = 0; worker < 4; ++worker) {
        std::vector<verbs::OperationRecord> own;
        std::copy_if(records.begin(), records.end(), std::back_inserter(own),
                     [worker](const auto& record) { return record.worker == worker; });
        ASSERT_EQ(own.size(), 20U);
        last_start = max(last_start, own[round].started);
        first_end = min(first_end, own[round].ended);
      }
    }
    EXPECT_LT(last_start, first_end) << round;
  }
}

TEST(CasLock, HoldsOfAllPartiesNeverOverlap) {
  CasLockConfig config;
  config.loop.operations = 100;
  config.loop.concurrency = 4;
  config.release = LockRelease::kCompareSwap;
  config.hold_time = nanoseconds(100);
  const FakeRun run = fake_run(config, 3);
  ASSERT_TRUE(run.verdict.holds()) << describe(run.verdict);
  std::vector<verbs::OperationRecord> holds;
  for (const auto& records : run.records) {
    std::copy_if(records.begin(), records.end(), std::back_inserter(holds),
                 [](const auto& record) { return record.name == "hold"; });
  }
  ASSERT_EQ(holds.size(), 300U);
  std::sort(holds.begin(), holds.end(), [](const auto& a, const auto& b) { return a.started < b.started; });
  // The release takes effect before its completion comes back, so at most that part may overlap.
  for (std::size_t i = 1; i < holds.size(); ++i)
    EXPECT_GT(holds[i].started + nanoseconds(501), holds[i - 1].ended);
  std::uint64_t increments = 0;
  for (std::size_t party = 0; party < 3; ++party) increments += run.result<CasLockResult>(party).increments;
  EXPECT_EQ(increments, 300U);
  EXPECT_GT(run.result<CasLockResult>().attempts, 100U);
}

TEST(KeyValue, PopularityFollowsZipf) {
  KeyValueConfig config;
  config.keys = 1000;
  config.zipf_exponent = 0.99;
  const KeyChooser choose(config);
  RandomStream random(1, "test");
  std::vector<std::uint32_t> drawn(1000);
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) ++drawn[choose(random)];
  double total = 0;
  for (int rank = 1; rank <= 1000; ++rank) total += std::pow(rank, -0.99);
  for (const std::uint64_t rank : {0U, 1U, 9U, 99U}) {
    const double expected = kDraws * std::pow(static_cast<double>(rank + 1), -0.99) / total;
    EXPECT_NEAR(drawn[choose.key_of_rank(rank)], expected, 5 * std::sqrt(expected)) << rank;
  }
}

TEST(KeyValue, RanksMapToKeysOneToOne) {
  for (const std::uint32_t keys : {1U, 2U, 10U, 618U, 1000U, 65536U, 99'991U}) {
    KeyValueConfig config;
    config.keys = keys;
    const KeyChooser choose(config);
    std::vector<bool> taken(keys);
    for (std::uint64_t rank = 0; rank < keys; ++rank) {
      ASSERT_FALSE(taken[choose.key_of_rank(rank)]) << keys;
      taken[choose.key_of_rank(rank)] = true;
    }
  }
}

TEST(KeyValue, TornReadsAreTriedAgainAndSucceed) {
  KeyValueConfig config;
  config.keys = 2;
  config.put_fraction = 0.5;
  config.loop.operations = 2000;
  config.loop.concurrency = 8;
  const FakeRun run = fake_run(config, 2, {.torn_writes = true});
  EXPECT_TRUE(run.verdict.holds()) << describe(run.verdict);
  EXPECT_GT(run.result<KeyValueResult>().torn_gets, 10U);
  EXPECT_NEAR(static_cast<double>(run.result<KeyValueResult>().puts), 1000, 150);
}

TEST(KeyValue, GetsThatGiveUpBesideAPutAreCountedAndNoFault) {
  KeyValueConfig config;
  config.keys = 2;
  config.put_fraction = 0.5;
  config.torn_retries = 0;
  config.loop.operations = 2000;
  config.loop.concurrency = 8;
  for (const std::uint32_t fail_every : {0U, 100U}) {  // A put that fails may leave half a value.
    const FakeRun run = fake_run(config, 2, {.torn_writes = true, .fail_every = fail_every});
    EXPECT_TRUE(run.verdict.holds()) << describe(run.verdict);
    EXPECT_GT(run.result<KeyValueResult>().unreadable_gets, 10U);
  }
}

TEST(PutTimes, AReadIsBesideThePutsOfItsKeyThatItMeets) {
  PutTimes puts;
  puts.add(std::vector<KeyTime>{{nanoseconds(10), nanoseconds(20), 1},
                                {nanoseconds(30), kNever, 1},  // Half a value until 60.
                                {nanoseconds(50), nanoseconds(60), 1},
                                {nanoseconds(80), kNever, 1}});
  puts.add(std::vector<KeyTime>{{nanoseconds(22), nanoseconds(24), 0}});
  puts.sort();
  const auto beside = [&puts](std::int64_t from, std::int64_t to, std::uint32_t key) {
    return puts.beside({nanoseconds(from), nanoseconds(to), key});
  };
  EXPECT_FALSE(beside(0, 9, 1));
  EXPECT_TRUE(beside(0, 10, 1));
  EXPECT_TRUE(beside(20, 29, 1));
  EXPECT_FALSE(beside(21, 29, 1));
  EXPECT_TRUE(beside(42, 45, 1));
  EXPECT_TRUE(beside(0, 100, 1));
  EXPECT_FALSE(beside(61, 79, 1));
  EXPECT_TRUE(beside(90, 99, 1));
  EXPECT_TRUE(beside(23, 23, 0));
  EXPECT_FALSE(beside(25, 99, 0));
  EXPECT_FALSE(beside(0, 99, 2));
}

TEST(SequentialScan, EveryElementIsReadOncePerPass) {
  SequentialScanConfig config;
  config.table_bytes = 6400;
  config.loop.operations = 100;
  config.loop.concurrency = 3;
  const FakeRun run = fake_run(config);
  // Three workers share 100 elements and 100 operations in an order that they race for: none twice within its
  // part.
  for (const auto& [address, count] : run.target.reads) EXPECT_LE(count, 2U) << address;
  config.loop.concurrency = 1;
  const FakeRun alone = fake_run(config);
  EXPECT_EQ(alone.target.reads.size(), 100U);
  EXPECT_EQ(alone.result<SequentialScanResult>().passes, 1U);
}

}  // namespace
}  // namespace wharf::workload
