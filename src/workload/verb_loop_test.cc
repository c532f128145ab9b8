// SPDX-License-Identifier: Apache-2.0
// The verb loop's hot set: which blocks its operations touch.
#include "workload/verb_loop.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/bytes.h"
#include "workload/run_test_support.h"

namespace wharf::workload {
namespace {

/// Additions by block, one per operation.
std::vector<std::uint64_t> touches(const VerbLoopConfig& config) {
  const FakeRun run = fake_run(config);
  EXPECT_TRUE(run.verdict.holds());
  std::vector<std::uint64_t> blocks;
  for (std::size_t at = 0; at < run.target.memory.size(); at += 64) {
    blocks.push_back(load_le64(run.target.memory.data() + at));
  }
  return blocks;
}

VerbLoopConfig additions(double hot_fraction) {
  VerbLoopConfig config;
  config.verb = verbs::Verb::kFetchAdd;
  config.payload = 8;
  config.region_bytes = 64 * 1032;
  config.loop.operations = 1000;
  config.hot_fraction = hot_fraction;
  config.hot_blocks = 32;
  return config;
}

TEST(VerbLoop, TheHotBlocksGetTheirShareAndTheColdOnesAreVisitedOnce) {
  const auto blocks = touches(additions(0.8));
  std::uint64_t hot = 0;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    if (block < 32) {
      hot += blocks[block];
    } else {
      EXPECT_LE(blocks[block], 1U) << block;
    }
  }
  EXPECT_NEAR(static_cast<double>(hot), 800, 50);
}

TEST(VerbLoop, WithoutAHotSetEveryBlockComesInTurn) {
  const auto blocks = touches(additions(0));
  for (std::size_t block = 0; block < blocks.size(); ++block)
    EXPECT_EQ(blocks[block], block < 1000 ? 1U : 0U);
}

TEST(VerbLoop, AHotSetAsLargeAsTheRegionIsRefused) {
  VerbLoopConfig config = additions(0.5);
  config.hot_blocks = 1032;
  EXPECT_FALSE(check(config, Party{}).ok());
  config.hot_blocks = 1031;
  EXPECT_TRUE(check(config, Party{}).ok());
}

VerbLoopConfig transfers(verbs::Verb verb) {
  VerbLoopConfig config;
  config.verb = verb;
  config.payload = verbs::is_load_store(verb) ? 4 : 100;  // Blocks that begin in the middle of a word.
  config.region_bytes = 6400;
  config.loop.operations = 200;
  config.loop.concurrency = 3;
  return config;
}

TEST(VerbLoop, GoodMemoryHoldsForOddLengths) {
  for (const verbs::Verb verb : {verbs::Verb::kRead, verbs::Verb::kWrite, verbs::Verb::kWriteImm,
                                 verbs::Verb::kSend, verbs::Verb::kLoad, verbs::Verb::kStore}) {
    const VerbLoopConfig config = transfers(verb);
    const FakeRun run = fake_run(config, parties_needed(config), {.load_store = true});
    EXPECT_TRUE(run.verdict.holds()) << verbs::name(verb) << ": " << describe(run.verdict);
    EXPECT_GT(run.verdict.checks, 63U) << verbs::name(verb);
  }
}

TEST(VerbLoop, AWrongByteReadIsNoticed) {
  for (const verbs::Verb verb : {verbs::Verb::kRead, verbs::Verb::kLoad}) {
    const FakeRun run = fake_run(transfers(verb), 1, {.corrupt_read_every = 50, .load_store = true});
    EXPECT_EQ(run.verdict.violations, 4U) << verbs::name(verb);
  }
}

TEST(VerbLoop, ALostWriteIsNoticed) {
  for (const verbs::Verb verb : {verbs::Verb::kWrite, verbs::Verb::kStore}) {
    VerbLoopConfig config = transfers(verb);
    config.loop.operations = 60;  // Each block once at most.
    const FakeRun run = fake_run(config, 1, {.lose_write_every = 20, .load_store = true});
    EXPECT_EQ(run.verdict.violations, 3U) << verbs::name(verb);
    EXPECT_EQ(run.verdict.first.what, "lost or torn write") << verbs::name(verb);
  }
}

TEST(VerbLoop, AMessageDeliveredTwiceIsNoticed) {
  const VerbLoopConfig config = transfers(verbs::Verb::kSend);
  const FakeRun run = fake_run(config, 2, {.double_messages = true});
  EXPECT_FALSE(run.verdict.holds());
}

TEST(VerbLoop, StoresArePublishedAfterSoMany) {
  VerbLoopConfig config;
  config.verb = verbs::Verb::kStore;
  config.payload = 8;
  config.region_bytes = 64 * 4;
  config.loop.operations = 10;
  config.publish_every = 3;
  FakeFaults with;
  with.load_store = true;
  const FakeRun run = fake_run(config, 1, with);
  EXPECT_TRUE(run.verdict.holds());
  // Blocks 0 to 2, then 3, 0, 1, then 2, 3, 0; the last store is left to the cache.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ranges;
  for (const FakeTarget::Published& each : run.target.published)
    ranges.emplace_back(each.address - run.target.published.front().address, each.length);
  EXPECT_EQ(ranges, (std::vector<std::pair<std::uint64_t, std::uint32_t>>{
                        {0, 2 * 64 + 8}, {0, 3 * 64 + 8}, {0, 3 * 64 + 8}}));
  config.publish_every = 0;
  EXPECT_TRUE(fake_run(config, 1, with).target.published.empty());
}

TEST(VerbLoop, PublishingIsRefusedWhereItCannotBe) {
  VerbLoopConfig config;
  config.verb = verbs::Verb::kStore;
  config.payload = 8;
  config.publish_every = 1;
  config.order = BlockOrder::kRandom;
  EXPECT_TRUE(check(config, Party{}).ok());
  config.publish_every = 2;
  EXPECT_FALSE(check(config, Party{}).ok());
  config.order = BlockOrder::kSequential;
  EXPECT_TRUE(check(config, Party{}).ok());
  config.region_bytes = kMostPublished + 64;
  EXPECT_FALSE(check(config, Party{}).ok());
  config.verb = verbs::Verb::kLoad;  // Nothing to publish, which is said elsewhere.
  EXPECT_TRUE(check(config, Party{}).ok());
}

TEST(VerbLoop, TaggedMessagesReachReceivesOfTheirTag) {
  VerbLoopConfig config;
  config.verb = verbs::Verb::kSend;
  config.loop.operations = 40;
  config.loop.concurrency = 2;
  config.tags = 5;
  const FakeRun run = fake_run(config, 2);
  EXPECT_TRUE(run.verdict.holds());
  EXPECT_EQ(run.unfinished, 0U);
  EXPECT_EQ(run.result<VerbLoopResult>(1).received, 40U);
  config.tags = 9;  // Eight receives are posted.
  EXPECT_FALSE(check(config, Party{0, 2}).ok());
  config.tags = 8;
  EXPECT_TRUE(check(config, Party{0, 2}).ok());
}

}  // namespace
}  // namespace wharf::workload
