// SPDX-License-Identifier: Apache-2.0
// The verb loop's hot set: which blocks its operations touch.
#include "workload/verb_loop.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace wharf::workload
