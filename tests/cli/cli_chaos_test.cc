// SPDX-License-Identifier: Apache-2.0
// wharf chaos as users run it: seeds that hold, what they draw, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "run_program.h"

namespace wharf::cli_test {
namespace {

using testing::HasSubstr;

TEST(Chaos, SeedsThatHoldEndWithZeroAndAreTheSameEveryTime) {
  const ScratchDirectory scratch;
  const std::vector<std::string> command{"chaos", "--seeds", "6",     "--jobs",
                                         "2",     "--json",  "--out", scratch / "f"};
  const Outcome first = wharf(command);
  EXPECT_EQ(first.exit_code, 0) << first.out << first.err;
  EXPECT_EQ(wharf(command).out, first.out);
  const auto document = nlohmann::json::parse(first.out);
  EXPECT_EQ(document["seeds"], 6);
  EXPECT_GT(document["operations"], 0);
  EXPECT_TRUE(document["failures"].empty());
  EXPECT_FALSE(std::filesystem::exists(scratch / "f"));
}

// What a seed draws is a scenario like others.
TEST(Chaos, WhatASeedDrawsRuns) {
  const ScratchDirectory scratch;
  const Outcome shown = wharf({"chaos", "--show", "3"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_EQ(wharf({"chaos", "--show", "3", "--json"}).json()["scenario"], shown.out);
  std::ofstream(scratch / "seed.toml") << shown.out;
  const Outcome checked = wharf({"check", scratch / "seed.toml"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
}

TEST(Chaos, SeedsOfATextDifferFromThoseOfAnother) {
  const auto reached = [](const char* text) { return wharf({"chaos", "--from", text, "--seeds", "2"}); };
  const Outcome one = reached("a commit");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("from \"a commit\""));
  EXPECT_NE(one.out, reached("another commit").out);
}

// Ctrl-C reaches the runs too, which are processes of the same group: none of them has crashed.
TEST(Chaos, AnInterruptIsNoVerdict) {
  const ScratchDirectory scratch;
  Running running(
      {"setsid", WHARF_PROGRAM, "chaos", "--seeds", "1000000", "--jobs", "2", "--out", scratch / "f"});
  std::this_thread::sleep_for(std::chrono::seconds(2));
  running.signal_group(SIGINT);
  const Outcome outcome = running.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, testing::StartsWith("interrupted after "));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("rule")));
  EXPECT_FALSE(std::filesystem::exists(scratch / "f"));
}

TEST(Chaos, TheCommandLineIsChecked) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused{
      {{"chaos", "--seed", "1", "--show", "2"}, "--show"},
      {{"chaos", "--seed", "3", "--seeds", "4"}, "--seeds"},
      {{"chaos", "--seeds", "0"}, "--seeds"},
      {{"chaos", "--jobs", "0"}, "--jobs"}};
  for (const auto& [command, word] : refused) {
    const Outcome outcome = wharf(command);
    EXPECT_EQ(outcome.exit_code, command.back() == "0" ? 3 : 2) << word;
    EXPECT_THAT(outcome.err, HasSubstr(word));
  }
}

}  // namespace
}  // namespace wharf::cli_test
