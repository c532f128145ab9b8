// SPDX-License-Identifier: Apache-2.0
// Ordered gets beside writers on many hosts: verdicts come from the records of all parties, and do not depend
// on threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

using ::testing::HasSubstr;

RunReport run(const std::vector<std::string>& overrides) {
  ScenarioSource source;
  source.text =
      "[topology]\nfrom = \"fat_tree:16\"\n[hosts]\nservers = 2\nclients = 8\n"
      "[run]\nworkload = \"item_gets\"\nprotocol = \"single_read\"\nitems = 2\npayload = \"176B\"\n"
      "operations = 60\nconcurrency = 2\nthink_time = \"3us\"\nwrite_gap = \"500ns\"\n";
  source.overrides = overrides;
  source.profile_directory = "profiles";
  const auto scenario = load_scenario(source);
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  auto report = run_scenario(scenario.value(), {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  EXPECT_EQ(report->end, RunOutcome::kDone) << (report->waiting.empty() ? "" : report->waiting.front());
  return *std::move(report);
}

TEST(ItemGetsOnManyHosts, AreTheSameOnAnyNumberOfThreads) {
  for (const std::string stack : {"roce_bf", "ub_urma", "ub_ldst", "uet"}) {
    for (const std::string writer : {"core", "remote"}) {
      SCOPED_TRACE(stack + " " + writer);
      std::vector<std::string> overrides{"model.stack=" + stack, "run.writer=" + writer};
      if (stack == "uet") overrides.emplace_back("model.uet.one_sided=rod");
      const RunReport one = run(overrides);
      overrides.emplace_back("hosts.threads=2");
      const RunReport two = run(overrides);
      EXPECT_EQ(one.verdict, "");
      EXPECT_EQ(one.program_operations, 8U * 60U);
      EXPECT_EQ(one.program_errors, 0U);
      EXPECT_GT(one.counters["program"]["overlaps"], 48);
      EXPECT_EQ(one.fingerprint, two.fingerprint);
      EXPECT_EQ(one.counters, two.counters);
      EXPECT_EQ(one.verdict, two.verdict);
      EXPECT_EQ(one.memory_checks, two.memory_checks);
    }
  }
}

// The ready scenario, without the label that its protocol needs.
TEST(ItemGetsOnManyHosts, TearWhereNothingKeepsTheirReadsInOrder) {
  const auto with = [](std::vector<std::string> overrides) {
    ScenarioSource source;
    source.file = "scenarios/ordered-gets-beside-writers.toml";
    source.overrides = std::move(overrides);
    source.profile_directory = "profiles";
    const auto scenario = load_scenario(source);
    EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
    return run_scenario(scenario.value(), {}).value();
  };
  const RunReport relaxed = with({"run.read_order=relaxed", "run.operations=60"});
  EXPECT_GT(relaxed.counters["program"]["torn"], 0);
  EXPECT_THAT(relaxed.verdict, HasSubstr("torn item"));
  // Its requests pass each other as far as they may, on any number of threads alike.
  EXPECT_GT(relaxed.counters["hosts"]["root_complex"]["passed"], 100);
  for (const char* threads : {"hosts.threads=2", "hosts.threads=3"}) {
    const RunReport again = with({"run.read_order=relaxed", "run.operations=60", threads});
    EXPECT_EQ(again.fingerprint, relaxed.fingerprint);
    EXPECT_EQ(again.verdict, relaxed.verdict);
    EXPECT_EQ(again.counters, relaxed.counters);
  }
  const RunReport ascending = with({});
  EXPECT_EQ(ascending.counters["program"]["torn"], 0);
  EXPECT_EQ(ascending.verdict, "");
}

// A writer of a host's own core stops when the last of the clients is done, not the first.
TEST(ItemGetsOnManyHosts, HaveOneWriterForAllClientsOfAServer) {
  const RunReport report =
      run({"model.stack=roce_bf", "run.writer=core", "program.late.workload=item_gets",
           "program.late.writer=core", "program.late.operations=20", "program.late.items=1",
           "program.late.clients=0-3", "program.late.servers=14"});
  EXPECT_EQ(report.verdict, "");
  EXPECT_EQ(report.programs.at(0).operations, 80U);
}

}  // namespace
}  // namespace wharf::sim
