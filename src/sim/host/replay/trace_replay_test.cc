// SPDX-License-Identifier: Apache-2.0
// The replay in a real event loop, with memories that answer after a fixed time: times worked out by hand,
// and counts against an obvious model.
#include "sim/host/replay/trace_replay.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "sim/host/replay/replaying_core_test_support.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {
namespace {

struct Outcome {
  ReplayResult result;
  std::vector<std::string> log;
  std::uint64_t events = 0;
};

Outcome replay(const TraceReplayConfig& config, const MemoryPlacementConfig& placement,
               const std::string& trace, BitsPerSecond local_rate = {}) {
  Simulation simulation;
  ReplayingCore core(simulation);
  core.start(config, placement, TraceReader::from_memory(trace, "trace").value(), local_rate);
  simulation.run_until(seconds(1000));
  EXPECT_TRUE(core.replay().finished());
  EXPECT_TRUE(core.replay().status().ok());
  return {core.replay().result(), core.memory().log(), simulation.events_executed()};
}

/// One nanosecond an instruction; L1 of four lines (1 ns), L2 of eight (4 ns), local memory 70 ns.
TraceReplayConfig small_config() {
  TraceReplayConfig config;
  config.cache.l1 = {{4, 4}, nanoseconds(1)};
  config.cache.l2 = {{8, 8}, nanoseconds(4)};
  config.core_hertz = 1'000'000'000;
  return config;
}

TEST(TraceReplay, TimesOfABlockingCoreByHand) {
  // Two instructions: 2. Miss: 4 (detection) + 400. Two instructions and a hit: 3. Total 409.
  const Outcome outcome = replay(small_config(), {}, "I 1,4\nI 5,4\nL 1000,8\nI 9,4\nI d,4\nL 1008,8\n");
  EXPECT_THAT(outcome.log, testing::ElementsAre("6 load 1000 64"));
  EXPECT_EQ(outcome.result.time, nanoseconds(409));
  EXPECT_EQ(outcome.result.all_local_time, nanoseconds(409 - 400 + 70));
  EXPECT_EQ(outcome.result.counts, (TraceCounts{2, 0, 0, 4}));
  EXPECT_EQ(outcome.result.remote_loads, 1U);
  EXPECT_EQ(outcome.result.miss_latency.count(), 1U);
  EXPECT_EQ(outcome.result.miss_latency.max(), nanoseconds(404).ps);
  EXPECT_EQ(outcome.events, 2U) << "one to begin, one answer";
}

TEST(TraceReplay, LocalMissesCostNoEvent) {
  const Outcome outcome =
      replay(small_config(), {.rule = PlacementRule::kNone}, "L 1000,8\nL 2000,8\nL 1000,8\n");
  EXPECT_TRUE(outcome.log.empty());
  EXPECT_EQ(outcome.result.time, nanoseconds(2 * 74 + 1));
  EXPECT_EQ(outcome.result.all_local_time, outcome.result.time);
  EXPECT_EQ(outcome.result.slow_down(), 1.0);
  EXPECT_EQ(outcome.result.local_misses, 2U);
  EXPECT_EQ(outcome.events, 1U);
}

TEST(TraceReplay, LocalMissesAndDirtyLinesShareTheRateOfMemory) {
  TraceReplayConfig config = small_config();
  config.cache.l1.shape = {2, 2};
  config.cache.l2.shape = {0, 0};
  config.cache.miss_detection = nanoseconds(4);
  const MemoryPlacementConfig local{.rule = PlacementRule::kNone};
  // 64 B at 5.12 Gbps: 100 ns of the channels for each line.
  const BitsPerSecond slow{5'120'000'000};
  // The first load leaves at 4 and is there at 74; the second leaves at 78, the channels are free at 104.
  const Outcome loads = replay(config, local, "L 1000,8\nL 2000,8\n", slow);
  EXPECT_EQ(loads.result.time, nanoseconds(104 + 70));
  EXPECT_EQ(loads.result.all_local_time, loads.result.time);
  EXPECT_EQ(replay(config, local, "L 1000,8\nL 2000,8\n").result.time, nanoseconds(74 + 74));
  // A modified line and two others: the third leaves at 178 and displaces it. It is read from 204 to 304, and
  // the dirty line written until 404, which holds up a fourth that leaves at 278.
  const Outcome dirty = replay(config, local, "M 1000,8\nL 2000,8\nL 3000,8\n", slow);
  EXPECT_EQ(dirty.result.time, nanoseconds(204 + 70));
  EXPECT_EQ(dirty.result.slow_down(), 1.0);
  const Outcome behind = replay(config, local, "M 1000,8\nL 2000,8\nL 3000,8\nL 4000,8\n", slow);
  EXPECT_EQ(behind.result.time, nanoseconds(404 + 70));
  EXPECT_EQ(behind.result.slow_down(), 1.0);
  // A store past the caches takes its 8 bytes alone, 12.5 ns: it leaves at 78 with the load behind it, which
  // finds the channels taken from 104 to 116.5.
  config.cache.write_policy = WritePolicy::kWriteThrough;
  const Outcome through = replay(config, local, "L 1000,8\nS 2000,8\nL 3000,8\n", slow);
  EXPECT_EQ(through.result.time, picoseconds(116'500 + 70'000));
  EXPECT_EQ(through.result.slow_down(), 1.0);
}

TEST(TraceReplay, ABufferedStoreMissCostsTheCoreNothingUntilItsDataIsNeeded) {
  // The store leaves at 4 and its line is there at 404; the loads of other lines (local) go on meanwhile.
  const MemoryPlacementConfig far{.rule = PlacementRule::kRanges, .ranges = {{0x1000, 0x2000}}};
  const Outcome other = replay(small_config(), far, "S 1000,8\nL 5000,8\n");
  EXPECT_THAT(other.log, testing::ElementsAre("4 load 1000 64"));
  EXPECT_EQ(other.result.time, nanoseconds(404)) << "the end waits for what was started";
  const Outcome same = replay(small_config(), far, "S 1000,8\nL 1008,8\nL 5000,8\n");
  EXPECT_EQ(same.result.time, nanoseconds(404 + 1 + 74)) << "the load needs the line under way";
  EXPECT_EQ(same.result.all_local_time, nanoseconds(74 + 1 + 74));

  TraceReplayConfig blocking = small_config();
  blocking.overlap = MissOverlap::kNone;
  EXPECT_EQ(replay(blocking, far, "S 1000,8\nL 5000,8\n").result.time, nanoseconds(404 + 74));
}

TEST(TraceReplay, OverlappedLoadsAreBoundedByTheSlots) {
  TraceReplayConfig config = small_config();
  config.overlap = MissOverlap::kAll;
  std::string trace;
  for (int i = 0; i < 4; ++i) trace += fmt::format("L {:x},8\n", 0x1000 + 64 * i);
  // The misses are known 4, 8, 12 and 16 ns after the start.
  EXPECT_EQ(replay(config, {}, trace).result.time, nanoseconds(416));
  config.miss_slots = 2;
  // The third starts when the first is back, at 404: its miss leaves at 408; the fourth at 412.
  EXPECT_EQ(replay(config, {}, trace).result.time, nanoseconds(812));
  config.miss_slots = 1;
  EXPECT_EQ(replay(config, {}, trace).result.time, nanoseconds(4 * 404));
}

TEST(TraceReplay, TheInstructionWindowStallsBehindAMissingLoad) {
  TraceReplayConfig config = small_config();
  config.overlap = MissOverlap::kAll;
  config.window_instructions = 10;
  std::string trace = "L 1000,8\n";
  for (int i = 0; i < 10; ++i) trace += "I 1,1\n";
  trace += "L 2000,8\n";
  // The load at 4; ten instructions until 14; the window is full: 404; then the second load.
  EXPECT_EQ(replay(config, {}, trace).result.time, nanoseconds(404 + 404));
  config.window_instructions = 11;
  EXPECT_EQ(replay(config, {}, trace).result.time, nanoseconds(14 + 404));
}

TEST(TraceReplay, DirtyLinesAreWrittenToTheOtherMachine) {
  TraceReplayConfig config = small_config();
  config.cache.l2.shape = {0, 0};
  config.cache.l1.shape = {2, 2};
  const Outcome outcome = replay(config, {}, "M 1000,8\nL 2000,8\nL 3000,8\nL 1000,8\n");
  // 1000 is displaced when 3000 is missed, at 2 * 401 + 1; it may be fetched again only when its write is
  // done, at 803 + 400, which is when 3000 arrives too.
  EXPECT_THAT(outcome.log, testing::ElementsAre("1 load 1000 64", "402 load 2000 64", "803 store 1000 64",
                                                "803 load 3000 64", "1204 load 1000 64"));
  EXPECT_EQ(outcome.result.remote_stores, 1U);
  EXPECT_EQ(outcome.result.counts.modifies, 1U);
}

TEST(TraceReplay, WritesThatAreSlowHoldTheCoreUp) {
  TraceReplayConfig config = small_config();
  config.cache.l2.shape = {0, 0};
  config.cache.l1.shape = {2, 2};
  const auto last_line = [&](const std::string& trace) {
    Simulation simulation;
    ReplayingCore core(simulation);
    core.memory().store_time = nanoseconds(1000);
    core.start(config, {}, TraceReader::from_memory(trace, "trace").value());
    simulation.run_until(seconds(1));
    EXPECT_TRUE(core.replay().finished());
    return core.memory().log().back();
  };
  // 1000 is written from 803 to 1803; 3000 arrives at 1203.
  const std::string displaced = "M 1000,8\nL 2000,8\nL 3000,8\n";
  EXPECT_EQ(last_line(displaced + "L 4000,8\n"), "1204 load 4000 64");
  EXPECT_EQ(last_line(displaced + "L 1000,8\n"), "1804 load 1000 64")
      << "a line is not fetched while it is written";
  config.write_slots = 3;
  EXPECT_EQ(last_line(displaced + "L 4000,8\n"), "1804 load 4000 64") << "three writes must always have room";
}

TEST(TraceReplay, WriteThroughStoresGoFarOneByOne) {
  TraceReplayConfig config = small_config();
  config.cache.write_policy = WritePolicy::kWriteThrough;
  const Outcome outcome = replay(config, {}, "L 1000,8\nS 1000,4\nS 2000,8\nM 1008,2\n");
  EXPECT_THAT(outcome.log, testing::ElementsAre("4 load 1000 64", "405 store 1000 4", "408 store 2000 8",
                                                "406 store 1008 2"));
  EXPECT_EQ(outcome.result.remote_loads, 1U);
  EXPECT_EQ(outcome.result.remote_stores, 3U);
}

TEST(TraceReplay, UncachedAccessesTravelWithTheirOwnSize) {
  TraceReplayConfig config = small_config();
  config.cache.write_policy = WritePolicy::kUncached;
  const Outcome outcome = replay(config, {}, "L 1004,4\nL 1004,4\nS 1008,8\n");
  EXPECT_THAT(outcome.log, testing::ElementsAre("4 load 1004 4", "408 load 1004 4", "812 store 1008 8"));
}

TEST(TraceReplay, AnAccessAcrossTwoLinesMakesTwoLookups) {
  const Outcome outcome = replay(small_config(), {}, "L 103c,8\nL 103c,8\n");
  EXPECT_THAT(outcome.log, testing::ElementsAre("4 load 1000 64", "408 load 1040 64"));
  EXPECT_EQ(outcome.result.counts.loads, 2U);
  EXPECT_EQ(outcome.result.split_accesses, 2U);
  EXPECT_THAT(outcome.result.cache.answered, testing::ElementsAre(2, 0, 0, 2));
  EXPECT_EQ(outcome.result.time, nanoseconds(808 + 2));
}

TEST(TraceReplay, WarmUpIsReplayedButNotCounted) {
  TraceReplayConfig config = small_config();
  config.warm_up_accesses = 2;
  const Outcome outcome = replay(config, {}, "I 1,1\nL 1000,8\nL 2000,8\nI 1,1\nI 1,1\nL 1000,8\nL 3000,8\n");
  EXPECT_EQ(outcome.result.counts, (TraceCounts{2, 0, 0, 2}));
  EXPECT_THAT(outcome.result.cache.answered, testing::ElementsAre(1, 0, 0, 1));
  EXPECT_EQ(outcome.result.time, nanoseconds(2 + 1 + 404));
  EXPECT_EQ(outcome.result.all_local_time, nanoseconds(2 + 1 + 74));
  EXPECT_EQ(outcome.result.miss_latency.count(), 1U);
  EXPECT_EQ(outcome.result.remote_loads, 1U);
}

TEST(TraceReplay, APageFaultWaitsForItsPageAndResidentMissesAreLocal) {
  TraceReplayConfig config = small_config();
  config.paging = PagingConfig{.fault_cost = microseconds(1), .resident_pages = 4, .window_pages = 2};
  const Outcome outcome = replay(config, {}, "L 1000,8\nL 1040,8\nL 1000,8\n");
  EXPECT_THAT(outcome.log, testing::ElementsAre("1000 read page 1 1", "1000 read page 2 1"));
  // Fault and transfer 3000, then twice detection and local memory, then a hit.
  EXPECT_EQ(outcome.result.time, nanoseconds(3000 + 2 * 74 + 1));
  EXPECT_EQ(outcome.result.all_local_time, nanoseconds(2 * 74 + 1));
  EXPECT_EQ(outcome.result.paging.faults, 1U);
  EXPECT_EQ(outcome.result.paging.hits, 1U);
  EXPECT_EQ(outcome.result.miss_latency.max(), nanoseconds(3070).ps);
}

TEST(TraceReplay, APageThatLeavesTakesItsLinesAlongAndIsWrittenIfOneWasDirty) {
  TraceReplayConfig config = small_config();
  config.paging = PagingConfig{.fault_cost = microseconds(1), .resident_pages = 2, .window_pages = 1};
  // The load makes the line clean and the store hits it in L1, where only the cache knows of it.
  const Outcome outcome = replay(config, {}, "L 1000,8\nS 1000,8\nL 2000,8\nL 3000,8\nL 1000,8\n");
  EXPECT_EQ(outcome.result.paging.faults, 4U) << "the line of page 1 left the caches with it";
  EXPECT_EQ(outcome.result.paging.pages_written, 1U);
  EXPECT_THAT(outcome.log, testing::Contains(testing::EndsWith("write page 1")));
}

TEST(TraceReplay, InstructionTimeIsExactOverLongRuns) {
  TraceReplayConfig config = small_config();
  config.core_hertz = 3'000'000'000;  // A third of a nanosecond.
  config.overlap = MissOverlap::kNone;
  std::string trace = "S 1000,8\n";
  for (int i = 0; i < 3000; ++i) trace += "I 1,1\nS 1000,8\n";
  const Outcome outcome = replay(config, {.rule = PlacementRule::kNone}, trace);
  EXPECT_NEAR(static_cast<double>(outcome.result.time.ps), (74.0 + 3000 + 1000) * 1e3, 1.0);
}

TEST(TraceReplay, AReadingErrorEndsTheReplayAndIsReported) {
  Simulation simulation;
  ReplayingCore core(simulation);
  const std::string trace = "L 1000,8\nL 2000,8\nnonsense\n";
  core.start(small_config(), {.rule = PlacementRule::kNone},
             TraceReader::from_memory(trace, "trace").value());
  simulation.run_until(seconds(1));
  EXPECT_TRUE(core.replay().finished());
  ASSERT_FALSE(core.replay().status().ok());
  EXPECT_THAT(core.replay().status().error().message, testing::StartsWith("trace:3: found \"nonsense\""));
}

TEST(TraceReplay, AWarmUpThatTakesTheWholeTraceIsRefused) {
  for (const std::uint64_t warm_up : {2, 3}) {
    TraceReplayConfig config = small_config();
    config.warm_up_accesses = warm_up;
    Simulation simulation;
    ReplayingCore core(simulation);
    const std::string trace = "L 1000,8\nI 1,1\nL 2000,8\nI 1,1\n";
    core.start(config, {}, TraceReader::from_memory(trace, "trace").value());
    simulation.run_until(seconds(1));
    EXPECT_TRUE(core.replay().finished());
    ASSERT_FALSE(core.replay().status().ok());
    EXPECT_EQ(core.replay().status().error().message,
              fmt::format("the warm-up of {} accesses takes the whole trace, which has 2", warm_up));
  }
}

TEST(TraceReplay, SaysWhatItWaitsFor) {
  Simulation simulation;
  ReplayingCore core(simulation);
  const std::string trace = "S 2000,8\nL 1000,8\n";
  core.start(small_config(), {}, TraceReader::from_memory(trace, "trace").value());
  simulation.run_until(nanoseconds(100));
  std::vector<std::string> lines;
  core.replay().describe_waiting(lines);
  EXPECT_THAT(lines, testing::ElementsAre("access 1 of the trace waits for line 0x2000, missed at 0ns",
                                          "access 1 of the trace waits for line 0x1000, missed at 0ns"));
  simulation.run_until(seconds(1));
  lines.clear();
  core.replay().describe_waiting(lines);
  EXPECT_TRUE(lines.empty());
}

TEST(TraceReplay, LongReplaysYieldSoThatACallerSeesProgress) {
  std::string trace;
  for (std::uint64_t i = 0; i < 2 * TraceReplay<FixedTimeMemory>::kAccessesPerAdvance + 10; ++i)
    trace += "L 40\n";
  const Outcome outcome = replay(small_config(), {.rule = PlacementRule::kNone}, trace);
  EXPECT_EQ(outcome.events, 3U);
  EXPECT_EQ(outcome.result.counts.loads, 2 * TraceReplay<FixedTimeMemory>::kAccessesPerAdvance + 10);
}

TEST(TraceReplay, RefusalsNameTheKey) {
  TraceReplayConfig config;
  config.miss_slots = 65;
  EXPECT_THAT(validate_trace_replay(config).error().message, testing::StartsWith("replay.miss_slots is 65"));
  config = {};
  config.write_slots = 2;
  EXPECT_THAT(validate_trace_replay(config).error().message, testing::StartsWith("replay.write_slots is 2"));
  config = {};
  config.core_hertz = 1'000'000;
  EXPECT_THAT(validate_trace_replay(config).error().message, testing::HasSubstr("take 1000000 ps"));
  config = {};
  config.paging = PagingConfig{.window_pages = 100};
  EXPECT_THAT(validate_trace_replay(config).error().message,
              testing::StartsWith("paging.window_pages is 100"));
}

// Whatever overlaps, the same lines are missed and written, the time lies between that of no overlap and that
// of a free memory, and all-local is what a replay with local memory measures.
TEST(TraceReplay, OverlapChangesTimesAndNothingElse) {
  RandomStream random(3, "trace_replay_test");
  for (int round = 0; round < 30; ++round) {
    std::string trace;
    const std::uint64_t lines = 4 + random.below(60);
    for (int i = 0; i < 400; ++i) {
      const char kind = "LSM"[random.below(3)];
      trace +=
          fmt::format("I 1,1\n{} {:x},{}\n", kind, 0x10000 + random.below(lines * 64), 1 + random.below(16));
    }
    TraceReplayConfig config = small_config();
    config.miss_slots = static_cast<std::uint32_t>(1 + random.below(8));
    config.write_slots = static_cast<std::uint32_t>(3 + random.below(4));
    config.window_instructions = static_cast<std::uint32_t>(1 + random.below(50));
    const MemoryPlacementConfig half{
        .rule = PlacementRule::kFraction, .fraction = 0.5, .granule = PlacementGranule::kLine};
    config.overlap = MissOverlap::kNone;
    const Outcome none = replay(config, half, trace);
    const Outcome local = replay(config, {.rule = PlacementRule::kNone}, trace);
    EXPECT_EQ(none.result.all_local_time, local.result.time);
    EXPECT_EQ(local.result.all_local_time, local.result.time);
    for (const MissOverlap overlap : {MissOverlap::kStores, MissOverlap::kAll}) {
      config.overlap = overlap;
      const Outcome outcome = replay(config, half, trace);
      EXPECT_EQ(outcome.result.cache.answered, none.result.cache.answered);
      EXPECT_EQ(outcome.result.remote_loads, none.result.remote_loads);
      EXPECT_EQ(outcome.result.remote_stores, none.result.remote_stores);
      EXPECT_EQ(outcome.result.local_misses, none.result.local_misses);
      EXPECT_EQ(outcome.result.miss_latency.count(), none.result.miss_latency.count());
      EXPECT_LE(outcome.result.time, none.result.time);
      EXPECT_LE(outcome.result.all_local_time, outcome.result.time);
      const Outcome again = replay(config, half, trace);
      EXPECT_EQ(again.log, outcome.log);
    }
  }
}

}  // namespace
}  // namespace wharf::sim
