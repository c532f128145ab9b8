// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/roce_engine.h"

#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using test::RocePair;
using verbs::CompletionStatus;
using verbs::Verb;

TEST(RoceEngine, WritesBytesIntoRemoteMemory) {
  RocePair world;
  world.fill(0, 0, 64, 7);
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 4096, 64)), engine::PostStatus::kOk);
  EXPECT_EQ(world.pair.run_until_idle(), test::RunEnd::kDone);
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_TRUE(world.completions(0)[0].ok());
  EXPECT_EQ(world.completions(0)[0].length, 64u);
  EXPECT_TRUE(world.holds(1, 4096, 64, 7));
  EXPECT_EQ(world.pair.now(), nanoseconds(200));
}

TEST(RoceEngine, ReadsBytesFromRemoteMemory) {
  RocePair world;
  world.fill(1, 4096, 100000, 9);
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kRead, 0, 4096, 100000)), engine::PostStatus::kOk);
  EXPECT_EQ(world.pair.run_until_idle(), test::RunEnd::kDone);
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_TRUE(world.completions(0)[0].ok());
  EXPECT_TRUE(world.holds(0, 0, 100000, 9));
}

}  // namespace
}  // namespace wharf::roce
