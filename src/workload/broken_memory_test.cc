// SPDX-License-Identifier: Apache-2.0
// Every program on memory that breaks a promise: it must notice. A check that never fails proves nothing.
#include <gtest/gtest.h>

#include "workload/run_test_support.h"

namespace wharf::workload {
namespace {

TEST(BrokenMemory, PointerChaseNoticesAFlippedBit) {
  PointerChaseConfig config;
  config.lines = 64;
  for (const bool load_store : {false, true}) {
    const FakeRun run = fake_run(config, 1, {.corrupt_read_every = 50, .load_store = load_store});
    EXPECT_FALSE(run.verdict.holds());
    EXPECT_EQ(run.unfinished, 0U);
  }
}

TEST(BrokenMemory, PointerChaseNoticesTheWrongLine) {
  PointerChaseConfig config;
  config.lines = 64;
  const FakeRun run = fake_run(config, 1, {}, 1, [](std::span<std::byte> region) {
    std::swap_ranges(region.begin(), region.begin() + 64, region.begin() + 640);
  });
  EXPECT_FALSE(run.verdict.holds());
  EXPECT_EQ(run.verdict.first.what, "node overwritten");
  EXPECT_GT(run.result<PointerChaseResult>().loop.verdict.violations, 0U);
}

TEST(BrokenMemory, BulkReadAndScanNoticeAFlippedBit) {
  for (const bool load_store : {false, true}) {
    EXPECT_FALSE(
        fake_run(BulkReadConfig{}, 1, {.corrupt_read_every = 500, .load_store = load_store}).verdict.holds());
    EXPECT_FALSE(fake_run(SequentialScanConfig{}, 1, {.corrupt_read_every = 500, .load_store = load_store})
                     .verdict.holds());
  }
}

TEST(BrokenMemory, BulkWriteNoticesALostWrite) {
  BulkWriteConfig config;
  config.region_bytes = 8192;
  for (const bool load_store : {false, true}) {
    const FakeRun run = fake_run(config, 1, {.lose_write_every = 500, .load_store = load_store});
    // The second loss hits the last operation, whose block nobody writes again.
    EXPECT_EQ(run.verdict.first.what, "lost write") << describe(run.verdict);
  }
}

TEST(BrokenMemory, BulkWriteNoticesHalfAWrite) {
  BulkWriteConfig config;
  config.region_bytes = 8192;
  const FakeRun run = fake_run(config, 1, {.torn_writes = true, .lose_write_every = 2000});
  EXPECT_EQ(run.verdict.first.what, "torn write") << describe(run.verdict);
}

TEST(BrokenMemory, CasLockNoticesMissingExclusion) {
  CasLockConfig config;
  config.loop.concurrency = 4;
  config.loop.operations = 200;
  const FakeRun one_party = fake_run(config, 1, {.compare_swap_ignores_compare = true});
  EXPECT_FALSE(one_party.verdict.holds());
  EXPECT_EQ(one_party.unfinished, 0U);
  config.loop.concurrency = 1;
  const FakeRun parties = fake_run(config, 2, {.compare_swap_ignores_compare = true});
  EXPECT_EQ(parties.verdict.first.what, "increments lost or doubled") << describe(parties.verdict);
}

TEST(BrokenMemory, CasLockNoticesALostIncrement) {
  CasLockConfig config;
  config.loop.operations = 50;
  config.release = LockRelease::kCompareSwap;  // So that only increments are writes.
  const FakeRun run = fake_run(config, 1, {.lose_write_every = 50});
  EXPECT_EQ(run.verdict.first.what, "increments lost or doubled") << describe(run.verdict);
}

TEST(BrokenMemory, BarrierNoticesAFetchAddThatIsNotAtomic) {
  BarrierConfig config;
  config.loop.operations = 20;
  config.loop.concurrency = 8;
  // Lost arrivals leave participants waiting for ever; polls would go on without end.
  config.poll_interval = kTimeZero;
  const FakeRun run = fake_run(config, 1, {.split_fetch_add = true, .fail_every = 2000});
  EXPECT_FALSE(run.verdict.holds());
}

TEST(BrokenMemory, BarrierNoticesAParticipantLeftBehind) {
  BarrierConfig config;
  config.loop.operations = 20;
  config.loop.concurrency = 4;
  const FakeRun run = fake_run(config, 1, {.lose_write_every = 7});
  EXPECT_EQ(run.result<BarrierResult>().loop.verdict.first.what, "passed before all arrived");
}

TEST(BrokenMemory, KeyValueNoticesStaleValues) {
  KeyValueConfig config;
  config.keys = 16;
  config.put_fraction = 0.3;
  const FakeRun run = fake_run(config, 1, {.stale_reads = true});
  EXPECT_EQ(run.result<KeyValueResult>().loop.verdict.first.what, "stale value") << describe(run.verdict);
}

TEST(BrokenMemory, KeyValueNoticesLostPutsAndTornValues) {
  KeyValueConfig config;
  config.keys = 16;
  config.put_fraction = 0.3;
  config.torn_retries = 3;
  EXPECT_FALSE(fake_run(config, 1, {.lose_write_every = 11}).verdict.holds());
  const FakeRun torn = fake_run(config, 1, {.torn_writes = true, .lose_write_every = 11});
  EXPECT_THAT(torn.verdict.first.what, testing::StartsWith("torn ")) << describe(torn.verdict);
}

/// Tries again hide it from the program, not from the verdict, which knows that no put was under way.
TEST(BrokenMemory, KeyValueNoticesAReadThatIsTornWithoutAPut) {
  KeyValueConfig config;
  config.keys = 16;
  for (const double puts : {0.0, 0.1}) {
    config.put_fraction = puts;
    const FakeRun run = fake_run(config, 1, {.corrupt_read_every = 50});
    EXPECT_EQ(run.result<KeyValueResult>().unreadable_gets, 0U);
    EXPECT_EQ(run.verdict.first.what, "torn reads without a put") << describe(run.verdict);
  }
}

TEST(BrokenMemory, PingPongNoticesDoubledMessages) {
  PingPongConfig config;
  config.loop.operations = 20;
  EXPECT_FALSE(fake_run(config, 2, {.double_messages = true}).verdict.holds());
}

}  // namespace
}  // namespace wharf::workload
