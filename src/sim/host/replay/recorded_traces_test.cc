// SPDX-License-Identifier: Apache-2.0
// The traces in traces/ hold what traces/README.md says and replay end to end, by lines and by pages.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/host/replay/replaying_core_test_support.h"
#include "sim/host/replay/trace_replay.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {
namespace {

struct RecordedTrace {
  const char* path;
  TraceCounts counts;
};

void PrintTo(const RecordedTrace& trace, std::ostream* out) { *out << trace.path; }

class RecordedTraces : public testing::TestWithParam<RecordedTrace> {};

ReplayResult replay(const TraceReplayConfig& config, const MemoryPlacementConfig& placement,
                    const char* path) {
  Simulation simulation;
  ReplayingCore core(simulation);
  core.memory().keeps_log = false;
  core.start(config, placement, TraceReader::open(path).value());
  simulation.run_until(seconds(1000));
  EXPECT_TRUE(core.replay().finished());
  EXPECT_TRUE(core.replay().status().ok());
  return core.replay().result();
}

TEST_P(RecordedTraces, HoldsWhatTheReadmeSays) {
  const TraceReader reader = TraceReader::open(GetParam().path).value();
  ASSERT_NE(reader.binary(), nullptr);
  EXPECT_EQ(reader.binary()->counts(), GetParam().counts);
  EXPECT_GE(reader.binary()->counts().accesses(), 1'000'000U);
  EXPECT_TRUE(reader.regions().exact) << "recorded with system calls";
  EXPECT_FALSE(reader.regions().heap.empty());
}

TEST_P(RecordedTraces, ReplaysByLines) {
  const ReplayResult all = replay({}, {.rule = PlacementRule::kAll}, GetParam().path);
  EXPECT_EQ(all.counts, GetParam().counts);
  std::uint64_t lookups = 0;
  for (const std::uint64_t answered : all.cache.answered) lookups += answered;
  EXPECT_EQ(lookups, all.counts.accesses() + all.split_accesses);
  EXPECT_EQ(all.remote_loads, all.cache.answered[static_cast<std::size_t>(CacheLevel::kMemory)]);
  EXPECT_EQ(all.local_misses, 0U);
  EXPECT_GT(all.slow_down(), 1.0);

  const ReplayResult heap = replay({}, {.rule = PlacementRule::kHeap}, GetParam().path);
  EXPECT_EQ(heap.all_local_time, all.all_local_time);
  EXPECT_GT(heap.remote_loads, 0U);
  EXPECT_GT(heap.local_misses, 0U);
  EXPECT_LT(heap.time, all.time);
  const ReplayResult none = replay({}, {.rule = PlacementRule::kNone}, GetParam().path);
  EXPECT_EQ(none.time, none.all_local_time);
  EXPECT_LT(none.time, heap.time);
}

TEST_P(RecordedTraces, ReplaysByPages) {
  TraceReplayConfig config;
  config.paging = PagingConfig{.fault_cost = microseconds(1), .resident_pages = 32, .window_pages = 8};
  const ReplayResult paged = replay(config, {.rule = PlacementRule::kHeap}, GetParam().path);
  EXPECT_EQ(paged.counts, GetParam().counts);
  EXPECT_EQ(paged.remote_loads, 0U);
  EXPECT_GT(paged.paging.faults, 0U);
  EXPECT_GT(paged.paging.pages_prefetched, 0U);
  EXPECT_GT(paged.paging.pages_written, 0U) << "32 pages do not hold the heap";
  EXPECT_EQ(paged.miss_latency.count(), paged.paging.faults + paged.paging.prefetch_waits);
}

INSTANTIATE_TEST_SUITE_P(
    Traces, RecordedTraces,
    testing::Values(RecordedTrace{"traces/sort-numbers.wtrace", {1'243'771, 706'297, 10'364, 5'399'662}},
                    RecordedTrace{"traces/sqlite-join.wtrace", {4'392'149, 1'773'909, 168'337, 14'186'558}},
                    RecordedTrace{"traces/cc1-primes.wtrace", {2'446'663, 550'908, 2'429, 11'199'551}}),
    [](const testing::TestParamInfo<RecordedTrace>& tested) {
      std::string name(tested.param.path);
      name = name.substr(7, name.find('.') - 7);
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

}  // namespace
}  // namespace wharf::sim
