// SPDX-License-Identifier: Apache-2.0
#include "live/reactor/live_core.h"

#include <gtest/gtest.h>

namespace wharf::live {
namespace {

verbs::Task<void> work(LiveCore& core, std::uint64_t address, bool& done) {
  co_await core.store(address, 8, 40);
  const std::uint64_t before = co_await core.fetch_add(address, 2);
  const std::uint64_t seen = co_await core.compare_swap(address, 42, 7);
  EXPECT_EQ(before, 40U);
  EXPECT_EQ(seen, 42U);
  EXPECT_EQ(co_await core.load(address, 4), 7U);
  co_await core.sleep(microseconds(1));
  done = true;
}

TEST(LiveCore, RunsAProgramOverRealMemoryAndWakesSleepers) {
  const LiveClock clock;
  LiveCore core(clock, 1);
  const std::uint64_t address = core.allocate(Bytes{64});
  EXPECT_EQ(address % 64, 0U);
  bool done = false;
  core.spawn(work(core, address, done));
  while (!core.finished()) core.wake(core.now());
  EXPECT_TRUE(done);
  EXPECT_EQ(core.next_wake(), kNever);
}

}  // namespace
}  // namespace wharf::live
