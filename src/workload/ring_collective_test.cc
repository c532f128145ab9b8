// SPDX-License-Identifier: Apache-2.0
// Collectives in a ring: what every rank has in the end, how many steps it takes, and how long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "workload/run_test_support.h"

namespace wharf::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RingCollectiveConfig ring_of(RingCollective collective, std::uint64_t bytes, std::uint64_t operations) {
  RingCollectiveConfig config;
  config.collective = collective;
  config.buffer_bytes = bytes;
  config.loop.operations = operations;
  return config;
}

RC_GTEST_PROP(RingCollective, GivesEveryRankTheSums, ()) {
  const std::uint32_t ranks = *rc::gen::inRange(2U, 9U);
  const std::uint64_t bytes = 8 * *rc::gen::inRange<std::uint64_t>(ranks, 200);
  RingCollectiveConfig config =
      ring_of(*rc::gen::element(RingCollective::kAllReduce, RingCollective::kReduceScatter,
                                RingCollective::kAllGather),
              bytes, *rc::gen::inRange(1, 7));
  // Ranks that compute for long let the others run ahead.
  config.step_time = *rc::gen::element(kTimeZero, nanoseconds(100), microseconds(10));
  config.time_per_mib = *rc::gen::element(kTimeZero, milliseconds(10));
  const FakeRun run = fake_run(config, ranks, {.torn_writes = *rc::gen::arbitrary<bool>()},
                               *rc::gen::arbitrary<std::uint32_t>());
  if (!run.verdict.holds()) RC_FAIL(describe(run.verdict));
  RC_ASSERT(run.unfinished == 0U);
  RC_ASSERT(run.verdict.checks > 0U);
  const std::uint64_t halves = config.collective == RingCollective::kAllReduce ? 2 : 1;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const auto& result = run.result<RingCollectiveResult>(rank);
    RC_ASSERT(result.steps == halves * (ranks - 1) * config.loop.operations);
    const bool computes = config.collective != RingCollective::kAllGather &&
                          (config.step_time > kTimeZero || config.time_per_mib > kTimeZero);
    RC_ASSERT((result.computed > kTimeZero) == computes);
  }
}

TEST(RingCollective, LostWritesAndWrongBytesAreFound) {
  const RingCollectiveConfig config = ring_of(RingCollective::kAllReduce, 800, 20);
  EXPECT_FALSE(fake_run(config, 4, {.lose_write_every = 50}).verdict.holds());
  // A rank's memory that was not what the others were told.
  std::vector<std::byte> memory(memory_needed(config, {0, 4}));
  prepare(config, {0, 4}, memory, 1);
  const std::vector<RingCollectiveResult> results(4);
  EXPECT_FALSE(verify(config, Party{0, 4}, memory, 1, results).holds());
}

TEST(RingCollective, ComputingTakesTime) {
  RingCollectiveConfig config = ring_of(RingCollective::kAllReduce, 4096, 3);
  config.time_per_mib = kTimeZero;
  const TimePs idle = fake_run(config, 4).ended;
  config.step_time = microseconds(5);
  EXPECT_GE((fake_run(config, 4).ended - idle).ps, microseconds(3 * 3 * 5).ps * 9 / 10);
}

TEST(RingCollective, KnowsItsNeighbours) {
  const WorkloadConfig config = RingCollectiveConfig{};
  EXPECT_THAT(neighbours(config, {0, 1}), IsEmpty());
  EXPECT_THAT(neighbours(config, {0, 2}), ElementsAre(1));
  EXPECT_THAT(neighbours(config, {0, 5}), ElementsAre(1, 4));
  EXPECT_THAT(neighbours(config, {4, 5}), ElementsAre(0, 3));
  EXPECT_THAT(neighbours(default_config(WorkloadKind::kBarrier), {0, 5}), IsEmpty());
}

TEST(RingCollective, RefusesWhatCannotBe) {
  const auto refusal = [](auto change, std::uint32_t ranks = 4) {
    RingCollectiveConfig config;
    change(config);
    const auto checked = check(config, Party{0, ranks});
    return checked.ok() ? std::string("accepted") : checked.error().message;
  };
  EXPECT_EQ(refusal([](auto&) {}), "accepted");
  EXPECT_THAT(refusal([](auto& c) { c.buffer_bytes = 1001; }), HasSubstr("multiple of 8"));
  EXPECT_THAT(refusal([](auto& c) { c.buffer_bytes = 24; }), HasSubstr("at least 8 bytes for each rank"));
  EXPECT_THAT(refusal([](auto& c) { c.buffer_bytes = std::uint64_t{1} << 36U; }), HasSubstr("at most 1 GiB"));
  EXPECT_THAT(refusal([](auto& c) { c.loop.concurrency = 2; }), HasSubstr("concurrency is 2"));
  EXPECT_THAT(refusal([](auto& c) { c.loop.operations = 0; }), HasSubstr("operations is 0"));
  EXPECT_THAT(refusal([](auto& c) { c.loop.duration = seconds(1); }), HasSubstr("duration"));
}

}  // namespace
}  // namespace wharf::workload
