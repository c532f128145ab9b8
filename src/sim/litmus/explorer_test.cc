// SPDX-License-Identifier: Apache-2.0
// What the explorer finds on programs whose outcomes are known from elsewhere.
#include "sim/litmus/explorer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "sim/litmus/parser.h"
#include "sim/litmus/verdict.h"

namespace wharf::sim {
namespace {

LitmusProgram program(std::string_view text) {
  auto parsed = parse_litmus("test.litmus", text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return std::move(*parsed);
}

/// Explores with every step and reduced; both must see the same, and nothing else may go wrong.
LitmusExploration explore_both(const LitmusProgram& program, LitmusDesign design) {
  const LitmusExploration every = explore(program, design, LitmusSteps::kEvery);
  LitmusExploration reduced = explore(program, design, LitmusSteps::kReduced);
  EXPECT_TRUE(every.is_complete && reduced.is_complete);
  EXPECT_EQ(every.violation, "");
  EXPECT_EQ(reduced.violation, "");
  EXPECT_TRUE(every.deadlock.empty()) << every.deadlock.front();
  EXPECT_TRUE(reduced.deadlock.empty()) << reduced.deadlock.front();
  std::vector<std::string> every_finals;
  std::vector<std::string> reduced_finals;
  for (const auto& [text, count] : every.finals) every_finals.push_back(text);
  for (const auto& [text, count] : reduced.finals) reduced_finals.push_back(text);
  EXPECT_EQ(every_finals, reduced_finals);
  return reduced;
}

// Store buffering is the one relaxation of x86-TSO.
TEST(LitmusExplorer, StoreBufferingIsSeen) {
  const auto found = explore_both(program("litmus SB { x; y }\n"
                                          "host P | host Q ;\n"
                                          "W x 1 | W y 1 ;\n"
                                          "r = R y | r = R x ;\n"
                                          "exists (P:r=0 /\\ Q:r=0) required baseline"),
                                  LitmusDesign::kBaseline);
  EXPECT_EQ(found.finals.size(), 4U);
  EXPECT_TRUE(found.seen[0]);
}

TEST(LitmusExplorer, FencesForbidStoreBuffering) {
  const auto found = explore_both(program("litmus SB.fences { x; y }\n"
                                          "host P | host Q ;\n"
                                          "W x 1 | W y 1 ;\n"
                                          "fence | fence ;\n"
                                          "r = R y | r = R x ;\n"
                                          "exists (P:r=0 /\\ Q:r=0) forbidden baseline"),
                                  LitmusDesign::kBaseline);
  EXPECT_EQ(found.finals.size(), 3U);
  EXPECT_FALSE(found.seen[0]);
}

TEST(LitmusExplorer, MessagesPassInOrder) {
  const auto found = explore_both(program("litmus MP { x; f }\n"
                                          "host P | host Q ;\n"
                                          "W x 1 | r = R f ;\n"
                                          "W f 1 | s = R x ;\n"
                                          "exists (Q:r=1 /\\ Q:s=0) forbidden baseline"),
                                  LitmusDesign::kBaseline);
  EXPECT_EQ(found.finals.size(), 3U);
  EXPECT_FALSE(found.seen[0]);
}

TEST(LitmusExplorer, DeviceReadsUnordered) {
  const auto text =
      "litmus L1 { x; f }\n"
      "host P | device D ;\n"
      "W x 1 | r = R.rlx f ;\n"
      "W f 1 | s = R.rlx x ;\n"
      "exists (D:r=1 /\\ D:s=0) required baseline, speculative forbidden strict_blocking, "
      "strict_speculative, source_line";
  for (const LitmusDesign design : program(text).designs()) {
    SCOPED_TRACE(name(design));
    const auto found = explore_both(program(text), design);
    EXPECT_EQ(found.seen[0], program(text).outcomes[0].judgement(design)->what == LitmusClass::kRequired);
  }
}

TEST(LitmusExplorer, TwoRootComplexesAreTwoQueues) {
  const auto across =
      "litmus Roots { x; f }\n"
      "host P | device D ;\n"
      "W x 1 | r = R.acq f @1 ;\n"
      "W f 1 | s = R.rlx x @2 ;\n"
      "exists (D:r=1 /\\ D:s=0) required speculative forbidden source_line";
  EXPECT_EQ(program(across).root_complexes(), 2U);
  EXPECT_TRUE(explore_both(program(across), LitmusDesign::kSpeculative).seen[0]);
  EXPECT_FALSE(explore_both(program(across), LitmusDesign::kSourceLine).seen[0]);
}

TEST(LitmusExplorer, PeerWritesTakeAWayOfTheirOwn) {
  const auto text =
      "litmus Peer { f; peer d=3 }\n"
      "device D | device E ;\n"
      "W d 1 | r = R.acq f ;\n"
      "W.rel f 1 | wait ;\n"
      "| s = L d ;\n"
      "exists (E:r=1 /\\ E:s=3) required speculative";
  const auto found = explore_both(program(text), LitmusDesign::kSpeculative);
  EXPECT_TRUE(found.seen[0]);
  EXPECT_EQ(found.finals.size(), 4U);  // The flag is there or not, the data is there or not.
}

TEST(LitmusExplorer, WordsOfOneLineAreOneAccess) {
  const auto text =
      "litmus Line { [v; p] }\n"
      "host P | device D ;\n"
      "W v,p 1,2 | r,s = R.rlx v,p ;\n"
      "exists ~((D:r=0 /\\ D:s=0) \\/ (D:r=1 /\\ D:s=2)) forbidden baseline";
  const auto found = explore_both(program(text), LitmusDesign::kBaseline);
  EXPECT_FALSE(found.seen[0]);
  EXPECT_EQ(found.finals.size(), 2U);
}

TEST(LitmusExplorer, BoundIsStated) {
  const LitmusProgram bounded = program(
      "litmus SB { x; y } host P | host Q ; W x 1 | W y 1 ; r = R y | r = R x ;\n"
      "exists (P:r=0 /\\ Q:r=0) required baseline");
  EXPECT_FALSE(explore(bounded, LitmusDesign::kBaseline, LitmusSteps::kReduced, {.states = 5}).is_complete);
  const auto trace = shortest_trace(bounded, LitmusDesign::kBaseline, LitmusSteps::kReduced,
                                    {LitmusTarget::Kind::kOutcome, 0});
  ASSERT_FALSE(trace.empty());
  EXPECT_EQ(trace.back(), "P:r=0 Q:r=0 x=1 y=1");
}

// An answer to an MMIO load stays behind the device's posted writes, and behind those alone that were sent
// before it: the reduction loses none of it.
TEST(LitmusExplorer, AnswersOfDevicesStayBehindTheirWrites) {
  const auto of = [](std::string_view first, std::string_view second) {
    return program(std::string("litmus Answer { x; mmio d } host P | device D ; r = MR.acq d | ") +
                   std::string(first) + " ; s = R x | " + std::string(second) +
                   " ; exists (P:r=1 /\\ P:s=0) forbidden mmio_today");
  };
  for (const LitmusDesign design : {LitmusDesign::kMmioToday, LitmusDesign::kRobDevice}) {
    EXPECT_FALSE(explore_both(of("W x 1", "S d 1"), design).seen[0]);
    EXPECT_TRUE(explore_both(of("S d 1", "W x 1"), design).seen[0]);
  }
}

// An answer to a device stays behind the stores on its link, unless the read was sent with relaxed ordering.
TEST(LitmusExplorer, AnswersToDevicesStayBehindStores) {
  const auto of = [](std::string_view read) {
    return program(std::string("litmus Answer { f; mmio d } host P | device D ; UC d 1 | ") +
                   std::string(read) +
                   " ; W f 1 | wait ; | s = L d ; exists (D:r=1 /\\ D:s=0) forbidden mmio_today");
  };
  EXPECT_FALSE(explore_both(of("r = R f"), LitmusDesign::kMmioToday).seen[0]);
  EXPECT_TRUE(explore_both(of("r = R.ro f"), LitmusDesign::kMmioToday).seen[0]);
  EXPECT_TRUE(explore_both(of("r = R f"), LitmusDesign::kMmioUnordered).seen[0]);
}

// An MMIO load leaves after its core's stores, fences drain everything: the reduction loses none of it.
TEST(LitmusExplorer, LoadsAndFencesSendOffWhatIsCombined) {
  const auto text =
      "litmus Drain { x; mmio d; mmio e } host P | host Q ;\n"
      "WC d 1 | r = R x ; r = MR d | s = MR.acq e ; WC e 1 | ; fence | ; W x 1 | ;\n"
      "exists (P:r=0 \\/ (Q:r=1 /\\ Q:s=0)) forbidden mmio_today, mmio_unordered, rob_root_complex, "
      "rob_device";
  for (const LitmusDesign design : program(text).designs()) {
    SCOPED_TRACE(name(design));
    EXPECT_FALSE(explore_both(program(text), design).seen[0]);
  }
}

// Columns and requests beyond 255.
TEST(LitmusExplorer, LongColumnsComeToAnEnd) {
  std::string text = "litmus Long { peer p; mmio d } device D ;\n";
  for (int i = 1; i <= 300; ++i) text += "S d " + std::to_string(i) + " ;\n";
  const auto local = program(text + "exists (d=300) required mmio_today");
  EXPECT_TRUE(explore(local, LitmusDesign::kMmioToday, LitmusSteps::kReduced).seen[0]);

  text = "litmus Long { x } device D ;\n";
  for (int i = 1; i <= 300; ++i) text += "W x " + std::to_string(i) + " ;\n";
  const auto writes = program(text + "exists (x=300) required source_line");
  const auto found = explore(writes, LitmusDesign::kSourceLine, LitmusSteps::kReduced);
  EXPECT_TRUE(found.is_complete && found.seen[0]);

  std::string variables;
  std::string registers;
  std::string names;
  for (int i = 0; i < 256; ++i) {
    const std::string number = std::to_string(i);
    variables += "x" + number + (i == 255 ? "=7" : "=1") + "; ";
    names += (i > 0 ? ",x" : "x") + number;
    registers += (i > 0 ? ",r" : "r") + number;
  }
  const auto read = program("litmus Wide { " + variables + "} device D ;\n" + registers + " = R " + names +
                            " ;\nexists (D:r0=1 /\\ D:r255=7) required source_line");
  EXPECT_TRUE(explore(read, LitmusDesign::kSourceLine, LitmusSteps::kReduced).seen[0]);
}

// A search that reached no end judges nothing.
TEST(LitmusExplorer, ASearchWithoutAnEndFails) {
  const LitmusProgram bounded = program(
      "litmus SB { x; y } host P | host Q ; W x 1 | W y 1 ; r = R y | r = R x ;\n"
      "exists (P:r=2) forbidden baseline");
  const LitmusDesignReport cut = judge_litmus(bounded, LitmusDesign::kBaseline, {.limits = {.states = 5}});
  EXPECT_TRUE(cut.fails());
  for (const LitmusRow& row : cut.rows) EXPECT_EQ(row.verdict, "not judged");
  EXPECT_FALSE(judge_litmus(bounded, LitmusDesign::kBaseline, {}).fails());
}

// A read of 256 lines: hundreds of steps in each world, and worlds of many kilobytes.
TEST(Explorer, AQuestionThatIsTooLargeForMemoryIsRefused) {
  std::string variables;
  std::string registers;
  std::string lines;
  for (int line = 0; line < 256; ++line) {
    const std::string number = std::to_string(line);
    variables += (line == 0 ? "x" : "; x") + number;
    registers += (line == 0 ? "r" : ",r") + number;
    lines += (line == 0 ? "x" : ",x") + number;
  }
  const auto program = parse_litmus(
      "large", "litmus Large { " + variables + " } device D ; " + registers + " = R " + lines + " ;");
  ASSERT_TRUE(program.ok()) << program.error().message;
  LitmusOptions options;
  options.limits.bytes = std::uint64_t{64} << 20U;
  const LitmusDesignReport report = judge_litmus(*program, LitmusDesign::kBaseline, options);
  EXPECT_TRUE(report.found.is_too_large);
  EXPECT_FALSE(report.found.is_complete);
  EXPECT_EQ(report.failures.size(), 1U) << "one reason, the true one";
  EXPECT_TRUE(report.fails());
  EXPECT_LT(report.found.states, 10'000U);
}

// One world can have thousands of steps: the caller is asked, and the worlds to be followed are counted,
// between them.
TEST(Explorer, ASearchStopsWithinAWorld) {
  std::string text = "litmus Many { x } device D ;\n";
  for (int i = 0; i < 300; ++i) text += "W.rlx x 1 ;\n";
  const LitmusProgram many = program(text + "exists (x=1) required baseline");
  int calls = 0;
  const auto asked = explore(many, LitmusDesign::kBaseline, LitmusSteps::kReduced, {},
                             [&](std::uint64_t) { return ++calls < 5; });
  EXPECT_FALSE(asked.is_complete);
  EXPECT_EQ(calls, 5);
  EXPECT_LE(asked.transitions, 4096U);
  const auto counted = explore(many, LitmusDesign::kBaseline, LitmusSteps::kReduced, {.bytes = 1U << 20U});
  EXPECT_TRUE(counted.is_too_large);
  EXPECT_LT(counted.transitions, 300U);
}

// Devices with registers have a link each: an answer stays behind the writes of its own device alone.
TEST(LitmusExplorer, AnswersStayBehindTheWritesOfTheirDevice) {
  const auto of = [](std::string_view columns, std::string_view told) {
    return program("litmus Second set rob.counters device { y; mmio.2 e; peer p }\n" + std::string(columns) +
                   "exists (" + std::string(told) +
                   "P:r=1 /\\ P:s=0) forbidden mmio_today, mmio_unordered, rob_root_complex, rob_device");
  };
  const LitmusProgram own = of("host P | device E ; r = MR.acq e | W y 1 ; s = R y | S e 1 ;\n", "");
  const LitmusProgram another =
      of("host P | device D | device E ; r = MR.acq e | W y 1 | q = L p ; s = R y | S p 1 | S e 1 ;\n",
         "E:q=1 /\\ ");
  for (const LitmusDesign design : own.designs()) {
    SCOPED_TRACE(name(design));
    EXPECT_FALSE(explore_both(own, design).seen[0]);
    EXPECT_TRUE(explore_both(another, design).seen[0]);
  }
}

}  // namespace
}  // namespace wharf::sim
