// SPDX-License-Identifier: Apache-2.0
// The profile connectx7-class as a mechanism: packets through pipelines, posted writes that overlap, requests
// in flight together. The ranges were declared beforehand; nothing is tuned to them.
#include <numeric>

#include "sim/two_hosts/two_hosts_test_support.h"

namespace wharf::sim {
namespace {

using testing::latency_of;
using testing::mechanism;
using testing::Pair;
using trace::Stage;
using verbs::Verb;

TimePs stage(const trace::OperationPath& path, Stage stage) {
  return path.critical[static_cast<std::size_t>(stage)];
}

TEST(Mechanism, HeadlineRanges) {
  const TimePs load = latency_of(mechanism(Stack::kUbLoadStore), {Verb::kLoad, 64});
  const TimePs read = latency_of(mechanism(Stack::kUbUrma), {Verb::kRead, 64});
  const TimePs blue_flame = latency_of(mechanism(Stack::kRoceBlueFlame), {Verb::kRead, 64});
  const TimePs dma = latency_of(mechanism(Stack::kRoceDma), {Verb::kRead, 64});
  const auto expect_within = [](TimePs found, std::int64_t least, std::int64_t most) {
    EXPECT_GE(found, nanoseconds(least));
    EXPECT_LE(found, nanoseconds(most));
  };
  expect_within(load, 380, 540);
  expect_within(read, 520, 800);
  expect_within(blue_flame, 1'200, 1'900);
  expect_within(dma, 1'700, 2'400);
  // DMA READ / LOAD from 3.3 to 5.5.
  EXPECT_GE(dma * 10, load * 33);
  EXPECT_LE(dma * 10, load * 55);
  RecordProperty("load_ps", static_cast<int>(load.ps));
  RecordProperty("urma_read_ps", static_cast<int>(read.ps));
  RecordProperty("blue_flame_read_ps", static_cast<int>(blue_flame.ps));
  RecordProperty("dma_read_ps", static_cast<int>(dma.ps));
}

TEST(Mechanism, EveryVerbOfEveryStackIsAccountedFor) {
  // latency_of() asserts that nothing is unattributed.
  for (const Stack stack : {Stack::kUbUrma, Stack::kRoceBlueFlame, Stack::kRoceDma, Stack::kUet}) {
    for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kSend, Verb::kFetchAdd, Verb::kCompareSwap}) {
      for (const std::uint32_t bytes : {8U, 64U, 1'000U, 20'000U}) {
        SCOPED_TRACE(std::string(name(stack)) + " " + std::string(verbs::name(verb)) + " " +
                     std::to_string(bytes));
        EXPECT_GT(latency_of(mechanism(stack), {verb, bytes}), nanoseconds(500));
      }
    }
  }
}

TEST(Mechanism, PostedWritesOverlap) {
  trace::OperationPath path;
  (void)latency_of(mechanism(Stack::kRoceDma), {Verb::kRead, 64}, &path);
  // Data and completion record cross PCIe together: one of the two is hidden behind the other.
  const TimePs response =
      stage(path, Stage::kResponseWrite) + path.overlapped[static_cast<std::size_t>(Stage::kResponseWrite)];
  const TimePs completion = stage(path, Stage::kCompletionWrite) +
                            path.overlapped[static_cast<std::size_t>(Stage::kCompletionWrite)];
  EXPECT_GT(response, nanoseconds(250));
  EXPECT_GT(completion, nanoseconds(250));
  EXPECT_LT(stage(path, Stage::kResponseWrite) + stage(path, Stage::kCompletionWrite), nanoseconds(260));
}

TEST(Mechanism, ADoorbellCostsTheCoreNothingMoreThanBuilding) {
  trace::OperationPath path;
  (void)latency_of(mechanism(Stack::kRoceDma), {Verb::kWrite, 64}, &path);
  // 8 B and a header of 24 B at 504 Gbps, in whole picoseconds, and the 150 ns of an MMIO write.
  EXPECT_EQ(stage(path, Stage::kDoorbell), picoseconds(150'508));
  EXPECT_GE(stage(path, Stage::kWorkRequestFetch), nanoseconds(500));
  EXPECT_GE(stage(path, Stage::kPayloadFetch), nanoseconds(500));
}

verbs::Task<void> read_many(Pair& pair, int count, std::uint32_t offset) {
  for (int i = 0; i < count; ++i) {
    const verbs::Completion done =
        co_await pair.near->read(pair.near_buffer + offset, pair.near_segment.at(offset), 64);
    EXPECT_TRUE(done.ok());
  }
}
verbs::Task<void> load_many(Pair& pair, int count, std::uint32_t worker) {
  for (int i = 0; i < count; ++i) {
    // Its own lines: none is asked for twice.
    const std::uint64_t line = worker * 50U + static_cast<std::uint32_t>(i);
    const verbs::LoadedValue got = co_await pair.near->load(pair.near_segment.at(line * 64), 8);
    EXPECT_EQ(got.status, verbs::CompletionStatus::kSuccess);
  }
}

/// Time per operation of `workers` coroutines with `each` operations.
template <typename Program>
TimePs per_operation(const TwoHostsConfig& config, std::uint32_t workers, int each, Program program) {
  Pair pair(config);
  for (std::uint32_t worker = 0; worker < workers; ++worker)
    pair.two->host(0).core().spawn(program(pair, each, worker));
  const RunResult result = pair.two->run();
  EXPECT_EQ(result.end, RunEnd::kStopped);
  trace::OperationPath sum = pair.two->log().totals(Verb::kLoad).path;
  sum += pair.two->log().totals(Verb::kRead).path;
  EXPECT_EQ(sum.unattributed, kTimeZero);
  return pair.two->now() / static_cast<std::int64_t>(workers * static_cast<std::uint32_t>(each));
}

TEST(Mechanism, LoadsOverlapUntilTheMissSlotsRunOut) {
  TwoHostsConfig config = mechanism(Stack::kUbLoadStore);
  config.host.core.outstanding_misses = 16;
  const TimePs one = per_operation(config, 1, 50, load_many);
  const TimePs four = per_operation(config, 4, 50, load_many);
  const TimePs sixteen = per_operation(config, 16, 50, load_many);
  const TimePs many = per_operation(config, 64, 50, load_many);
  // In proportion up to the slots, within 5 %.
  EXPECT_LT(four * 4 * 95, one * 100);
  EXPECT_GT(four * 4 * 105, one * 100);
  EXPECT_LT(sixteen * 16 * 90, one * 100);
  // Not beyond: the core keeps 16 misses.
  EXPECT_GT(many * 16 * 108, one * 100);
}

TEST(Mechanism, ManySlotsMeetTheNicPipeline) {
  TwoHostsConfig config = mechanism(Stack::kUbLoadStore);
  config.host.core.outstanding_misses = 256;
  std::get<ub::UbConfig>(config.engines).load_store_slots = 256;
  const TimePs many = per_operation(config, 250, 50, load_many);
  // A response carries 64 B and its headers, 3 flits of 3.106 ns: no more than one load per 9.318 ns.
  EXPECT_GE(many, picoseconds(3 * 3106));
  EXPECT_LE(many, picoseconds(4 * 3106));
}

TEST(Mechanism, WorkRequestsOverlapUntilTheCoreIsBusy) {
  const TimePs one = per_operation(mechanism(Stack::kRoceDma), 1, 50, read_many);
  const TimePs eight = per_operation(mechanism(Stack::kRoceDma), 8, 50, read_many);
  const TimePs many = per_operation(mechanism(Stack::kRoceDma), 64, 50, read_many);
  EXPECT_LT(eight * 8 * 85, one * 100);
  // Post 50, build 30, poll 70, library 30: one core does no more than one request in 180 ns.
  EXPECT_GE(many, nanoseconds(180));
  EXPECT_LE(many, nanoseconds(190));
}

TEST(Mechanism, TheNextOperationIsNotFasterThanTheFirst) {
  // Nothing is remembered between operations that are far apart, except contexts and caches.
  Pair pair(mechanism(Stack::kRoceDma));
  pair.run(read_many(pair, 5, 0));
  const std::vector<OperationEntry>& entries = pair.two->log().entries();
  ASSERT_EQ(entries.size(), 5U);
  for (std::size_t i = 1; i < entries.size(); ++i) EXPECT_EQ(entries[i].latency, entries[1].latency);
}

verbs::Task<void> mixed(Pair& pair, int count, std::uint32_t worker) {
  RandomStream random = pair.two->host(0).core().random("mixed").substream(worker);
  const std::uint64_t local = pair.near_buffer + std::uint64_t{worker} * 8192;
  for (int i = 0; i < count; ++i) {
    const verbs::RemoteAddress target = pair.near_segment.at(worker * 8192U + random.below(64) * 64);
    const auto bytes = static_cast<std::uint32_t>(8 + 8 * random.below(500));
    switch (random.below(4)) {
      case 0:
        EXPECT_TRUE((co_await pair.near->read(local, target, bytes)).ok());
        break;
      case 1:
        EXPECT_TRUE((co_await pair.near->write(local, target, bytes)).ok());
        break;
      case 2:
        EXPECT_TRUE((co_await pair.near->fetch_add(target, 1)).ok());
        break;
      default:
        if (pair.near->supports(Verb::kLoad)) (void)co_await pair.near->load(target, 8);
        break;
    }
  }
}

struct Prints {
  std::uint64_t events;
  std::uint64_t operations;
  bool operator==(const Prints&) const = default;
};
Prints prints_of(const TwoHostsConfig& config) {
  Pair pair(config);
  for (std::uint32_t worker = 0; worker < 8; ++worker)
    pair.two->host(0).core().spawn(mixed(pair, 100, worker));
  pair.two->run(seconds(1));
  EXPECT_TRUE(pair.two->programs_ended());
  pair.two->settle();
  EXPECT_EQ(pair.two->payloads().in_use(), 0U);
  return {pair.two->fingerprint(), pair.two->log().fingerprint()};
}

class EveryStack : public ::testing::TestWithParam<Stack> {};
INSTANTIATE_TEST_SUITE_P(Two, EveryStack,
                         ::testing::Values(Stack::kUbLoadStore, Stack::kUbUrma, Stack::kRoceBlueFlame,
                                           Stack::kRoceDma, Stack::kUet),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST_P(EveryStack, OneSeedOneHistory) {
  TwoHostsConfig config = mechanism(GetParam());
  const Prints clean = prints_of(config);
  EXPECT_EQ(clean, prints_of(config));
  config.link.wire = WireMode::kBytes;
  EXPECT_EQ(clean, prints_of(config));
}

TEST_P(EveryStack, FaultsAreSeededAndAlikeInBothWireModes) {
  TwoHostsConfig config = mechanism(GetParam());
  config.link.faults = {.loss = 0.02,
                        .damage = 0.01,
                        .duplication = 0.02,
                        .reordering = 0.02,
                        .reorder_delay = microseconds(1),
                        .jitter = nanoseconds(20)};
  std::get<roce::RoceConfig>(config.engines).unlimited_retries = true;
  std::get<uet::UetConfig>(config.engines).max_rto_retries = uet::kRtoRetriesForever;
  std::get<uet::UetConfig>(config.engines).max_nack_retries = uet::kNackRetriesForever;
  std::get<ub::UbConfig>(config.engines).load_store_reissue.attempts_max = 100;
  const Prints lossy = prints_of(config);
  EXPECT_EQ(lossy, prints_of(config));
  config.link.wire = WireMode::kBytes;
  EXPECT_EQ(lossy, prints_of(config));
  config.seed = 2;
  EXPECT_NE(lossy, prints_of(config));
}

}  // namespace
}  // namespace wharf::sim
