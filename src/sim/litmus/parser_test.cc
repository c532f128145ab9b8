// SPDX-License-Identifier: Apache-2.0
// What the words of a litmus file become.
#include "sim/litmus/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace wharf::sim {
namespace {

LitmusProgram parsed(std::string_view text) {
  auto program = parse_litmus("a.litmus", text);
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(*program);
}

TEST(LitmusParser, ReadsLinesRootComplexesPeersAndNegativeNumbers) {
  const LitmusProgram program = parsed(
      "litmus New { [v; p]; w; peer d=5 }\n"
      "host P | device D @2 ;\n"
      "W v,p 1,-2 | q,r,s = R.asc v,p,w ;\n"
      "| t = R d ;\n"
      "| W w 1 @1 ;\n"
      "exists (p=-2) required baseline");
  const LitmusOperation& store = program.agents[0].operations[0];
  EXPECT_EQ(store.lines(), 1U);
  EXPECT_THAT(store.values, testing::ElementsAre(1, ~std::uint64_t{1}));
  const LitmusAgent& device = program.agents[1];
  const LitmusOperation& read = device.operations[0];
  EXPECT_EQ(read.lines(), 2U);
  EXPECT_EQ(read.line_end(0), 2U);
  EXPECT_EQ(read.line_end(1), 3U);
  EXPECT_EQ(read.root, 1U);
  EXPECT_EQ(device.operations[2].root, 0U);
  EXPECT_EQ(program.root_complexes(), 2U);
  EXPECT_TRUE(program.variables[3].is_peer);
  EXPECT_FALSE(program.uses_mmio());
}

TEST(LitmusParser, ReadsAgentsVariablesAndOutcomes) {
  const LitmusProgram program = parsed(
      "litmus All.kinds \"a text\" # a comment\n"
      "set rlsq.entries 3 set order.release_before_acquire yes\n"
      "(* another\n comment *)\n"
      "{ x; [y=5; z]; w=7 }\n"
      "host P | device D.1 | device D.2 | device E ;\n"
      "W.rel x 1 | q,r = R.asc x,y | s = CAS.acq x 3 4 | wait ;\n"
      "r = R x | | W.ro z,w 1,2 ;\n"
      "exists (P:r=1 \\/ ~(D.1:q=0 /\\ x=2)) required baseline, speculative forbidden source_line\n"
      "forall (w=7) forbidden baseline");
  EXPECT_EQ(program.name, "All.kinds");
  EXPECT_EQ(program.description, "a text");
  EXPECT_EQ(program.settings.entries, 3U);
  EXPECT_TRUE(program.settings.order.release_before_acquire);
  ASSERT_EQ(program.variables.size(), 4U);
  EXPECT_EQ(program.variables[0].address, 64U);
  EXPECT_EQ(program.variables[1].address, 128U);
  EXPECT_EQ(program.variables[2].address, 136U);  // Shares the line of y.
  EXPECT_EQ(program.variables[3].address, 192U);
  EXPECT_EQ(program.variables[1].initial, 5U);
  ASSERT_EQ(program.agents.size(), 4U);
  EXPECT_EQ(program.agents[2].requester, program.agents[1].requester);
  EXPECT_EQ(program.agents[2].thread, 1U);
  EXPECT_NE(program.agents[3].requester, program.agents[1].requester);
  EXPECT_EQ(program.agents[0].operations.size(), 2U);
  EXPECT_EQ(program.agents[1].operations.size(), 1U);
  const LitmusOperation& compare_swap = program.agents[2].operations[0];
  EXPECT_THAT(compare_swap.values, testing::ElementsAre(4, 3));  // What is stored, then what is compared.
  EXPECT_EQ(compare_swap.label, ordering::Label::kAcquire);
  EXPECT_EQ(program.agents[2].operations[1].text, "W.ro z,w 1,2");
  ASSERT_EQ(program.outcomes.size(), 2U);
  EXPECT_THAT(program.designs(), testing::ElementsAre(LitmusDesign::kSourceLine, LitmusDesign::kBaseline,
                                                      LitmusDesign::kSpeculative));
  // Registers: P:r, D.1:q, D.1:r, D.2:s. Memory: x, y, z, w.
  const LitmusCondition& first = program.outcomes[0].condition;
  EXPECT_FALSE(first.holds({0, 0, 0, 0}, {2, 0, 0, 0}));
  EXPECT_TRUE(first.holds({1, 0, 0, 0}, {2, 0, 0, 0}));
  EXPECT_TRUE(first.holds({0, 0, 0, 0}, {1, 0, 0, 0}));
  // A forall is kept as what breaks it.
  EXPECT_FALSE(program.outcomes[1].condition.holds({0, 0, 0, 0}, {0, 0, 0, 7}));
  EXPECT_TRUE(program.outcomes[1].condition.holds({0, 0, 0, 0}, {0, 0, 0, 8}));
}

// Without a statement nothing is judged: every design that applies is explored.
TEST(LitmusParser, AFileThatStatesNothingAsksForEverything) {
  for (const char* question : {"", "exists (x=1)"}) {
    const auto program = parse_litmus(
        "open", std::string("litmus Open { x } host P | device D ; W x 1 | r = R x ;\n") + question);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_FALSE(program->has_statements());
    const auto designs = program->designs();
    EXPECT_EQ(designs.size(), 8U);
    EXPECT_EQ(
        std::count_if(designs.begin(), designs.end(), [](LitmusDesign design) { return is_mmio(design); }),
        0);
  }
}

TEST(LitmusParser, RefusesWhatIsTooDeepOrTooWide) {
  const std::string begin = "litmus Big { x } host P ; W x 1 ;\nexists (";
  EXPECT_FALSE(parse_litmus("deep", begin + std::string(20'000, '~') + "x=1)").ok());
  EXPECT_FALSE(parse_litmus("deep", begin + std::string(20'000, '(')).ok());
  std::string chain = "x=1";
  for (int i = 0; i < 20'000; ++i) chain += " /\\ x=1";
  EXPECT_TRUE(parsed(begin + chain + ")").outcomes[0].condition.holds({}, {1}));
  std::string hosts = "litmus Wide { x } host P";
  for (int i = 1; i < 64; ++i) hosts += " | host P" + std::to_string(i);
  EXPECT_THAT(parse_litmus("wide", hosts + " ;").error().message, testing::HasSubstr("at most 62 columns"));
  EXPECT_THAT(parse_litmus("byte", "litmus \xff").error().message, testing::HasSubstr("found byte 0xff"));
}

// What a file does not set shrinks to what its numbers tell apart.
TEST(LitmusParser, FewNumbersMakeASmallReorderBuffer) {
  const LitmusProgram program = parsed("litmus Few set rob.number_bits 2 { mmio d } host P ; MW d 1 ;");
  EXPECT_EQ(program.settings.rob_window, 2U);
  EXPECT_EQ(program.settings.rob_entries, 2U);
}

std::string counted(int count, std::string_view prefix, std::string_view between) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (i == 0 ? "" : std::string(between)) + std::string(prefix) + std::to_string(i);
  return text;
}

// What is compared with all others of its kind has a limit, so that no file of a mebibyte takes minutes.
TEST(LitmusParser, RefusesMoreThanItCanCompare) {
  const auto refusal = [](const std::string& text) {
    const auto program = parse_litmus("a.litmus", text);
    return program.ok() ? std::string("none") : program.error().message;
  };
  EXPECT_EQ(refusal("litmus V {\n" + counted(4096, "x", "; ") + " } host P ; W x0 1 ;"), "none");
  EXPECT_THAT(refusal("litmus V {\n" + counted(4097, "x", "; ") + " } host P ; W x0 1 ;"),
              testing::AllOf(testing::StartsWith("a.litmus:2:"),
                             testing::HasSubstr("found \"x4096\", expected at most 4096 variables")));

  const std::string lines = "litmus L {\n" + counted(2048, "x", "; ") + " }\ndevice D | device E ;\n";
  const std::string read = counted(2048, "r", ",") + " = R " + counted(2048, "x", ",");
  EXPECT_EQ(refusal(lines + read + " | " + read + " ;\n"), "none");
  EXPECT_EQ(refusal(lines + read + " | " + read + " ;\ns = R x0 | ;\n"),
            "a.litmus:5:1: found \"s\", expected at most 4096 lines in the requests of all devices together");

  std::string rows = "litmus M { [a; b; c; d; e; f; g; h] } device D ;\n";
  for (int i = 0; i < 513; ++i) {
    std::string names;
    for (const char letter : std::string("abcdefgh"))
      names += (names.empty() ? "" : ",") + (letter + std::to_string(i));
    rows += names + " = R a,b,c,d,e,f,g,h ;\n";
  }
  EXPECT_EQ(refusal(rows), "a.litmus:514:1: found \"a512\", expected at most 4096 registers in a column");
}

}  // namespace
}  // namespace wharf::sim
