// SPDX-License-Identifier: Apache-2.0
#include "workload/rank_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/goal_trace.h"

namespace wharf::workload {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TimePs ns(std::int64_t n) { return nanoseconds(n); }

/// Rank 0 of a text; rank 1 has what `peer` says.
struct Rank {
  explicit Rank(const std::string& text, const std::string& peer = "")
      : list(*read_goal_trace("num_ranks 2 rank 0 {" + text + "} rank 1 {" + peer + "}", "t.goal")),
        run(list.ranks, 0) {
    run.advance(kTimeZero);
  }
  std::vector<std::uint32_t> taken() { return std::exchange(run.starting(), {}); }

  FlowList list;
  RankRun run;
};

TEST(RankRun, ACpuDoesOneCalcAtATime) {
  Rank rank("calc 10 calc 20 calc 5 cpu 1");
  EXPECT_EQ(rank.run.next_time(), ns(5));
  rank.run.advance(ns(5));
  EXPECT_EQ(rank.run.next_time(), ns(10));
  rank.run.advance(ns(10));
  EXPECT_EQ(rank.run.next_time(), ns(30));
  EXPECT_FALSE(rank.run.done());
  rank.run.advance(ns(30));
  EXPECT_TRUE(rank.run.done());
  EXPECT_EQ(rank.run.finish(), ns(30));
  EXPECT_EQ(rank.run.computed(), ns(35));
  EXPECT_EQ(rank.run.next_time(), kNever);
}

TEST(RankRun, TheFirstReadyComputesFirst) {
  // c is ready at 10, b at 15, when the cpu is taken until 40.
  Rank rank(
      "a: calc 10 cpu 1 d: calc 15 cpu 2 e: calc 40 b: calc 1 c: calc 2 f: send 1b to 1 "
      "c requires a b requires d f requires c",
      "recv 1b from 0");
  for (const int at : {10, 15, 40}) rank.run.advance(ns(at));
  EXPECT_EQ(rank.run.next_time(), ns(42));
  EXPECT_THAT(rank.taken(), IsEmpty());
  rank.run.advance(ns(42));
  EXPECT_THAT(rank.taken(), ElementsAre(0U));
  EXPECT_EQ(rank.run.next_time(), ns(43));
  rank.run.advance(ns(43));
  rank.run.sent(ns(50), 0);
  EXPECT_EQ(rank.run.next_time(), kNever);
  EXPECT_TRUE(rank.run.done());
}

TEST(RankRun, RequiresAfterTheEndIrequiresAfterTheStart) {
  Rank rank("a: calc 10 b: send 1b to 1 tag 1 c: send 1b to 1 tag 2 b requires a c irequires a",
            "recv 1b from 0 tag 1 recv 1b from 0 tag 2");
  EXPECT_THAT(rank.taken(), ElementsAre(1U));
  rank.run.advance(ns(10));
  EXPECT_THAT(rank.taken(), ElementsAre(0U));
  EXPECT_EQ(rank.run.waiting(), "the send in line 1, which has started");
  rank.run.sent(ns(20), 1);
  EXPECT_FALSE(rank.run.done());
  rank.run.sent(ns(21), 0);
  EXPECT_EQ(rank.run.finish(), ns(21));
}

TEST(RankRun, AReceiveEndsWhenItHasStartedAndAllHasArrived) {
  // The message is there before its receive: that ends when it starts.
  Rank early("a: calc 10 b: recv 1b from 1 b requires a", "send 1b to 0");
  early.run.received(ns(4), 0);
  EXPECT_FALSE(early.run.done());
  early.run.advance(ns(10));
  EXPECT_EQ(early.run.finish(), ns(10));
  Rank late("a: calc 10 b: recv 1b from 1 b requires a", "send 1b to 0");
  late.run.advance(ns(10));
  late.run.received(ns(14), 0);
  EXPECT_EQ(late.run.finish(), ns(14));
}

TEST(RankRun, ComputationsOfNoTimeTakeNone) {
  Rank rank("a: calc 0 b: calc 0 c: calc 0 d: send 1b to 1 b requires a c requires b d requires c",
            "recv 1b from 0");
  EXPECT_THAT(rank.taken(), ElementsAre(0U));
  EXPECT_EQ(rank.run.next_time(), kNever);
}

TEST(RankRun, TimeDoesNotOverflow) {
  Rank rank("a: recv 1b from 1 b: calc 1000000000000000 b requires a", "send 1b to 0");
  rank.run.received(kNever - picoseconds(5), 0);
  EXPECT_EQ(rank.run.next_time(), kNever - picoseconds(1));
}

TEST(RankRun, ARankWithNothingToDoIsDoneAtItsStart) {
  Rank rank("");
  EXPECT_TRUE(rank.run.done());
  EXPECT_EQ(rank.run.finish(), kTimeZero);
}

TEST(RankRun, StoppedStartsNothing) {
  Rank rank("a: calc 10 b: send 1b to 1 b requires a", "recv 1b from 0");
  rank.run.stop();
  EXPECT_EQ(rank.run.next_time(), kNever);
  rank.run.advance(ns(10));
  EXPECT_THAT(rank.taken(), IsEmpty());
}

}  // namespace
}  // namespace wharf::workload
