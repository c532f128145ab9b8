// SPDX-License-Identifier: Apache-2.0
#include "workload/goal_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

FlowList read(const std::string& text) {
  auto list = read_goal_trace(text, "t.goal");
  EXPECT_TRUE(list.ok()) << list.error().message;
  return list.ok() ? *std::move(list) : FlowList{};
}

std::string refusal(const std::string& text) {
  const auto list = read_goal_trace(text, "t.goal");
  EXPECT_FALSE(list.ok()) << text;
  return list.ok() ? "" : list.error().message;
}

/// Two ranks, of which the first is given.
std::string with_peer(const std::string& rank0, const std::string& rank1 = "") {
  return "num_ranks 2\nrank 0 {\n" + rank0 + "\n}\nrank 1 {\n" + rank1 + "\n}\n";
}

TEST(GoalTrace, OperationsStreamsAndRequirements) {
  const FlowList list = read(
      "// a comment\nnum_ranks 2\nrank 0 {\n"
      "l1: send 1024b to 1 tag 5 cpu 0 nic 3; l2: recv 8b from 1 tag 3;\n"
      "l3: calc 1000 cpu 2; l2 requires l1; l4 irequires l2\nl4: calc 7\n}\n"
      "rank 1 { /* two\nlines */ recv 1024b from 0 nic 1 tag 5 send 8b to 0 tag 3 }");
  EXPECT_EQ(list.hosts, 2U);
  ASSERT_EQ(list.flows.size(), 2U);
  EXPECT_EQ(list.flows[0].bytes, 1024U);
  EXPECT_EQ(list.flows[0].connection, 3U);
  EXPECT_EQ(list.flows[0].line, 4U);
  EXPECT_EQ(list.flows[1].source, 1U);
  const RankProgram& program = list.ranks;
  EXPECT_THAT(program.first, ElementsAre(0U, 4U, 6U));
  EXPECT_EQ(program.ops[2].time, microseconds(1));
  EXPECT_EQ(program.ops[2].cpu, 2U);
  EXPECT_EQ(program.ops[4].line, 9U);
  EXPECT_THAT(program.after, ElementsAre(1U, 3U | kOnStart));
  EXPECT_EQ(program.messages[0].receive, 4U);
  EXPECT_EQ(program.messages[1].receive, 1U);
  EXPECT_EQ(program.rank_of(3), 0U);
  EXPECT_EQ(program.rank_of(4), 1U);
}

TEST(GoalTrace, MessagesMatchInTheOrderOfRequirements) {
  // The second send of the text goes first, so that the first receive gets it.
  const FlowList list =
      read(with_peer("a: send 10b to 1\nb: send 20b to 1\na requires b", "recv 20b from 0\nrecv 20b from 0"));
  EXPECT_EQ(list.ranks.messages[0].receive, 3U);
  EXPECT_EQ(list.ranks.messages[1].receive, 2U);
}

TEST(GoalTrace, EmptyRanksAndMessagesOfNoBytes) {
  const FlowList list = read("num_ranks 3 rank 2 { } rank 0 { send 0b to 1 } rank 1 { recv 0b from 0 }");
  EXPECT_THAT(list.ranks.first, ElementsAre(0U, 1U, 2U, 2U));
  EXPECT_EQ(list.flows[0].bytes, 1U);  // An engine sends something.
}

TEST(GoalTrace, RefusesWhatIsNoStatement) {
  EXPECT_EQ(refusal(""), "t.goal:1:1: found the end of the file, expected num_ranks");
  EXPECT_EQ(refusal("num_rank 2"),
            "t.goal:1:1: found \"num_rank\", expected num_ranks; did you mean num_ranks?");
  EXPECT_EQ(refusal("num_ranks 0"),
            "t.goal:1:11: found \"0\", expected a number of ranks, an integer from 1 to 131072");
  EXPECT_EQ(refusal("num_ranks 2\nrank 2 {}"),
            "t.goal:2:6: found \"2\", expected a rank below num_ranks 2, an integer from 0 to 1");
  EXPECT_EQ(refusal("num_ranks 2\nrank 0 {}\nrank 0 {}"),
            "t.goal:3:6: found \"0\", expected each rank once: it stands in line 2");
  EXPECT_EQ(refusal("num_ranks 2\nrank 0 {}\n"),
            "t.goal:3:1: found no rank 1, expected each below num_ranks 2");
  EXPECT_EQ(refusal(with_peer("l1: snd 5b to 1")),
            "t.goal:3:5: found \"snd\", expected send, recv or calc; did you mean send?");
  EXPECT_EQ(refusal(with_peer("clac 5")),
            "t.goal:3:1: found \"clac\", expected send, recv, calc, a label, or }; did you mean calc?");
  EXPECT_EQ(refusal(with_peer("l1: calc 5\nl1 require l1")),
            "t.goal:4:4: found \"require\", expected a colon, requires or irequires; did you mean requires?");
  EXPECT_EQ(refusal(with_peer("calc 5us")),
            "t.goal:3:6: found \"5us\", expected nanoseconds, an integer from 0 to 1000000000000000");
  EXPECT_EQ(
      refusal(with_peer("send 5 to 1")),
      "t.goal:3:6: found \"5\", expected a size in bytes such as 1024b, an integer from 0b to 2147483648b");
  EXPECT_EQ(refusal(with_peer("send 5b from 1")), "t.goal:3:9: found \"from\", expected to");
  EXPECT_EQ(refusal(with_peer("send 5b to 0")),
            "t.goal:3:12: found \"0\", expected another rank than its own");
  EXPECT_EQ(refusal(with_peer("send 5b to 2")),
            "t.goal:3:12: found \"2\", expected a rank below num_ranks 2, an integer from 0 to 1");
  EXPECT_EQ(refusal(with_peer("send 5b to 1 tag 1 tag 2")), "t.goal:3:20: found \"tag\", expected tag once");
  EXPECT_EQ(refusal(with_peer("calc 5 cpu 256")),
            "t.goal:3:12: found \"256\", expected a cpu, an integer from 0 to 255");
  EXPECT_EQ(refusal("num_ranks 1 rank 0 { calc 1"),
            "t.goal:1:28: found the end of the file, expected send, recv, calc, a label, or }");
  EXPECT_EQ(refusal("num_ranks 1 /* rank"), "t.goal:1:13: found /* without */, expected its end");
}

TEST(GoalTrace, RefusesLabels) {
  EXPECT_EQ(refusal(with_peer("step1: calc 5\nstep2: calc 5\nstep2 requires stp1")),
            "t.goal:5:16: found \"stp1\", expected a label of this rank; did you mean step1?");
  EXPECT_EQ(refusal(with_peer("a: calc 5\na: calc 5")),
            "t.goal:4:1: found \"a\", expected each label once: it stands in line 3");
  EXPECT_EQ(refusal(with_peer("a: calc 5\na requires a")),
            "t.goal:4:12: found \"a\", expected another label than its own");
  EXPECT_THAT(refusal(with_peer(std::string(257, 'x') + ": calc 5")),
              HasSubstr("t.goal:3:1: found a label of 257 characters, expected at most 256"));
  // Labels of one rank mean nothing in another.
  EXPECT_THAT(refusal(with_peer("a: calc 5", "b: calc 5\nb requires a")),
              HasSubstr("t.goal:7:12: found \"a\""));
}

TEST(GoalTrace, RefusesMessagesWithoutPartner) {
  EXPECT_EQ(
      refusal(with_peer("calc 5\nrecv 8b from 1 tag 4", "send 8b to 0 tag 9 send 8b to 0 tag 5")),
      "t.goal:4:1: found a recv from rank 1 with tag 4 that rank 1 does not send, expected a send for each "
      "recv; the nearest is in line 7 with tag 5");
  EXPECT_EQ(
      refusal(with_peer("send 8b to 1", "recv 8b from 0 recv 8b from 0")),
      "t.goal:6:16: found a recv from rank 0 with tag 0 that rank 0 does not send, expected a send for each "
      "recv; the nearest is in line 3 with tag 0");
  EXPECT_EQ(
      refusal(with_peer("send 8b to 1", "")),
      "t.goal:3:1: found a send to rank 1 with tag 0 that rank 1 does not receive, expected a recv for each "
      "send");
  EXPECT_EQ(refusal(with_peer("send 9b to 1", "recv 8b from 0")),
            "t.goal:6:1: found a recv of 8b, expected at least the 9b of its send in line 3");
}

TEST(GoalTrace, RefusesRings) {
  EXPECT_EQ(
      refusal(with_peer("a: calc 5\nb: calc 5\na requires b\nb irequires a")),
      "t.goal:3:1: operations wait for one another in a ring: rank 0's calc in line 3 waits for rank 0's "
      "calc in line 4 waits for rank 0's calc in line 3, expected a start for each");
  // Each receives before it sends.
  EXPECT_EQ(
      refusal(with_peer("a: recv 8b from 1\nb: send 8b to 1\nb requires a",
                        "a: recv 8b from 0\nb: send 8b to 0\nb requires a")),
      "t.goal:3:1: operations wait for one another in a ring: rank 0's recv in line 3 waits for rank 1's "
      "send in line 9 waits for rank 1's recv in line 8 waits for rank 0's send in line 4 waits for rank "
      "0's recv in line 3, expected a start for each");
}

TEST(GoalTrace, CalcIsScaled) {
  FlowList list = read("num_ranks 1 rank 0 { calc 1000 calc 3 }");
  ASSERT_TRUE(scale_calc(list.ranks, 0.5).ok());
  EXPECT_EQ(list.ranks.calc_of(0), picoseconds(501'500));
  EXPECT_EQ(
      scale_calc(list.ranks, 1e15).error().message,
      "traffic.calc_scale: found 1000000000000000 with which rank 0 computes for 501500000 s, expected at "
      "most 1000000 s");
}

TEST(GoalTrace, RanksMoveToTheirHosts) {
  FlowList list = read(with_peer("send 8b to 1", "recv 8b from 0"));
  move_ranks(list, {7, 3});
  EXPECT_EQ(list.flows[0].source, 7U);
  EXPECT_EQ(list.flows[0].destination, 3U);
  EXPECT_THAT(list.ranks.hosts, ElementsAre(7U, 3U));
}

}  // namespace
}  // namespace wharf::workload
