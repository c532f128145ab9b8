// SPDX-License-Identifier: Apache-2.0
// Get protocols on the fake runtime: where memory keeps the order that they need nothing torn or stale is
// accepted, and where it does not, it is found.
#include "workload/item_gets.h"

#include <gtest/gtest.h>

#include "workload/run_test_support.h"

namespace wharf::workload {
namespace {

ItemGetsConfig busy_config(GetProtocol protocol) {
  ItemGetsConfig config;
  config.protocol = protocol;
  config.items = 1;
  config.payload = 176;
  config.loop.operations = 2000;
  config.loop.concurrency = 4;
  config.writers = 2;
  config.write_gap = microseconds(2);
  if (protocol == GetProtocol::kPessimistic) {
    // Readers that leave no gap keep writers out for ever.
    config.loop.concurrency = 2;
    config.loop.think_time = microseconds(2);
    config.write_gap = nanoseconds(500);
  }
  return config;
}

TEST(ItemGets, EveryProtocolHoldsBesideRemoteWriters) {
  for (const auto& protocol : kGetProtocolChoices) {
    SCOPED_TRACE(protocol.name);
    const FakeRun run = fake_run(busy_config(protocol.value), 2);
    EXPECT_TRUE(run.verdict.holds()) << describe(run.verdict);
    EXPECT_EQ(run.unfinished, 0U);
    const auto& result = run.result<ItemGetsResult>();
    EXPECT_EQ(result.loop.operations, 2000U);
    EXPECT_GT(result.overlaps, 200U);
    EXPECT_GT(result.retries, 0U);
    EXPECT_GT(result.puts, 50U);
    EXPECT_GT(result.lock_conflicts, 0U);
    EXPECT_EQ(result.torn + result.stale + result.given_up, 0U);
  }
}

// The readers' count and the writer's bit are not in order with the item: the lock protects nothing.
TEST(ItemGets, TheLockWithoutOrderIsFoundToTear) {
  ItemGetsConfig config = busy_config(GetProtocol::kPessimistic);
  config.posting = GetPosting::kTogether;
  const FakeRun run = fake_run(config, 1, {.torn_writes = true});
  EXPECT_GT(run.result<ItemGetsResult>().torn, 0U);
  EXPECT_FALSE(run.verdict.holds());
  EXPECT_EQ(run.verdict.first.what, "torn item");
  config.posting = GetPosting::kWait;
  EXPECT_TRUE(fake_run(config, 1, {.torn_writes = true}).verdict.holds());
}

// The lines of a read out of order: fatal but for the lock, and for FaRM.
TEST(ItemGets, ReadsThatTakeTheFrontLastAreFoundToTear) {
  for (const auto& protocol : kGetProtocolChoices) {
    SCOPED_TRACE(protocol.name);
    ItemGetsConfig config = busy_config(protocol.value);
    config.write_gap = nanoseconds(100);
    config.loop.operations = 20'000;
    const FakeRun run = fake_run(config, 1, {.front_last = true});
    const auto& result = run.result<ItemGetsResult>();
    const bool needs_order =
        protocol.value == GetProtocol::kValidation || protocol.value == GetProtocol::kSingleRead;
    EXPECT_EQ(result.torn > 0, needs_order) << result.torn;
    EXPECT_EQ(run.verdict.holds(), !needs_order) << describe(run.verdict);
  }
}

TEST(ItemGets, OldBytesAreFoundToBeStale) {
  ItemGetsConfig config = busy_config(GetProtocol::kFarm);
  const FakeRun run = fake_run(config, 1, {.stale_reads = true});
  EXPECT_GT(run.result<ItemGetsResult>().stale, 0U);
  EXPECT_FALSE(run.verdict.holds());
}

TEST(ItemGets, LostWritesAreFound) {
  for (const auto& protocol : kGetProtocolChoices) {
    SCOPED_TRACE(protocol.name);
    ItemGetsConfig config = busy_config(protocol.value);
    config.retries = 20;
    EXPECT_FALSE(fake_run(config, 1, {.lose_write_every = 11}).verdict.holds());
  }
}

TEST(ItemGets, TheCopyOfFarmTakesCoreTime) {
  ItemGetsConfig config = busy_config(GetProtocol::kFarm);  // 176 bytes: 4 lines.
  config.loop.concurrency = 1;
  config.writer = ItemWriter::kNone;
  config.copy_line = kTimeZero;
  const FakeRun without = fake_run(config);
  config.copy_line = nanoseconds(100);
  const FakeRun with = fake_run(config);
  EXPECT_EQ(with.ended, without.ended + nanoseconds(400) * 2000);
  config.protocol = GetProtocol::kSingleRead;
  EXPECT_EQ(fake_run(config).ended, without.ended);
}

TEST(ItemGets, RequestsThatGoTogetherTakeOneRoundTrip) {
  ItemGetsConfig config = busy_config(GetProtocol::kValidation);
  config.loop.concurrency = 1;
  config.writer = ItemWriter::kNone;
  const TimePs waited = fake_run(config).ended;
  config.posting = GetPosting::kTogether;
  const FakeRun together = fake_run(config);
  EXPECT_LT(together.ended * 10, waited * 8);
  EXPECT_TRUE(together.verdict.holds());
}

TEST(ItemGets, SaysWhatItRefuses) {
  ItemGetsConfig config;
  config.payload = 12;
  EXPECT_EQ(check(config, Party{}).error().message, "payload is 12, expected a multiple of 8 bytes");
  config.payload = 16;
  config.region_offset = 8;
  EXPECT_EQ(check(config, Party{}).error().message,
            "region_offset is 8, expected a multiple of 64 bytes, as lines are read at once");
  config.region_offset = 0;
  config.writer = ItemWriter::kCore;
  EXPECT_EQ(check(config, Party{}).error().message,
            "parties is 1, expected at least 2 for writer core: readers, and the memory's host");
}

}  // namespace
}  // namespace wharf::workload
