// SPDX-License-Identifier: Apache-2.0
// Scenarios whose hosts have several NICs, and programs that run on several cores of a host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

using ::testing::HasSubstr;

constexpr const char* kWorld =
    "[model]\nstack = \"roce_dma\"\n[topology]\nfrom = \"rail_servers:1x5x2x1\"\n[hosts]\nservers = 1\n"
    "[run]\nworkload = \"bulk_read\"\noperations = 40\nregion_bytes = \"1MiB\"\npayload = \"16KiB\"\n"
    "concurrency = 4\n";

Result<Scenario> load(std::vector<std::string> overrides) {
  ScenarioSource source;
  source.text = kWorld;
  source.overrides = std::move(overrides);
  source.profile_directory = "profiles";
  return load_scenario(source);
}

std::string refusal(std::vector<std::string> overrides) {
  const auto scenario = load(std::move(overrides));
  return scenario.ok() ? "accepted" : scenario.error().message;
}

RunReport run(std::vector<std::string> overrides) {
  const auto scenario = load(std::move(overrides));
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  auto report = run_scenario(scenario.value(), {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  EXPECT_EQ(report->end, RunOutcome::kDone) << (report->waiting.empty() ? "" : report->waiting.front());
  EXPECT_EQ(report->verdict, "");
  EXPECT_EQ(report->program_errors, 0U);
  return *std::move(report);
}

TEST(SeveralNicsOfAScenario, CarryMoreThanOne) {
  const std::vector<std::string> slow{"model.pcie.rate=40Gbps"};
  const RunReport one = run(slow);
  const RunReport two = run({slow[0], "group.store.hosts=servers", "group.store.model.nics=2"});
  EXPECT_GT(two.goodput_bps, 1.7 * one.goodput_bps);
  const RunReport threads =
      run({slow[0], "group.store.hosts=servers", "group.store.model.nics=2", "hosts.threads=2"});
  EXPECT_EQ(two.fingerprint, threads.fingerprint);
  EXPECT_EQ(two.counters, threads.counters);
}

TEST(SeveralNicsOfAScenario, AreRefusedWhereTheyCannotBe) {
  EXPECT_EQ(refusal({"model.nics=3"}),
            "--set: model.nics is 3, expected at most 2: host 0 has 2 ports in the topology, and each NIC "
            "needs one");
  EXPECT_THAT(refusal({"group.store.hosts=servers", "group.store.model.nics=4"}),
              HasSubstr("model.nics is 4, expected at most 2: host 4 has 2 ports"));
  EXPECT_EQ(refusal({"model.nics=2", "model.stack=ub_ldst"}),
            "--set: model.nics is 2, expected 1 with model.stack = \"ub_ldst\": loads and stores of mapped "
            "remote memory leave by one NIC");
  EXPECT_THAT(refusal({"model.nics=17"}), HasSubstr("expected an integer from 1 to 16"));
  const auto one = load({"model.nic_spread=peer"});
  ASSERT_TRUE(one.ok());
  EXPECT_THAT(one->no_influence, testing::ElementsAre(HasSubstr("model.nic_spread")));
}

TEST(SeveralCores, DoAsMuchAsSeveralClients) {
  // Requests so small that the core of a client is what limits it.
  const std::vector<std::string> small{"run.payload=64B", "run.operations=200", "run.concurrency=16",
                                       "model.core.library_post=200ns"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), small.begin(), small.end());
    return run(more);
  };
  const RunReport one = with({});
  const RunReport four = with({"run.cores=4"});
  EXPECT_EQ(one.program_operations, 4U * 200U);
  EXPECT_EQ(four.program_operations, 4U * 4U * 200U);
  EXPECT_GT(four.operations_per_second, 2.5 * one.operations_per_second);
  const RunReport threads = with({"run.cores=4", "hosts.threads=2"});
  EXPECT_EQ(four.fingerprint, threads.fingerprint);
  EXPECT_EQ(four.counters, threads.counters);
}

TEST(SeveralCores, RunEveryProgramOfOneMemory) {
  for (const char* workload : {"key_value", "barrier", "cas_lock", "ping_pong", "item_gets"}) {
    for (const char* memory : {"flat", "coherent"}) {
      SCOPED_TRACE(std::string(workload) + " " + memory);
      const RunReport report =
          run({std::string("program.more.workload=") + workload, "program.more.operations=20",
               "program.more.cores=3", std::string("model.memory.system=") + memory, "run.operations=5"});
      EXPECT_EQ(report.programs.at(0).operations, 4U * 3U * 20U);
      EXPECT_EQ(report.programs[0].errors, 0U);
    }
  }
}

TEST(SeveralCores, HaveCachesOfTheirOwnAboveASharedOne) {
  // A core that only keeps its own time busy does not slow the other one down.
  const RunReport alone = run({"run.clients=0"});
  const RunReport both = run({"run.clients=0", "run.cores=2"});
  EXPECT_EQ(both.program_operations, 2 * alone.program_operations);
  EXPECT_GT(both.goodput_bps, alone.goodput_bps);
}

TEST(SeveralCores, AreRefusedWhereTheyCannotBe) {
  EXPECT_EQ(
      refusal({"run.cores=2", "model.stack=ub_ldst"}),
      "--set: run.cores is 2, expected 1: model.stack = \"ub_ldst\" loads and stores through the caches of "
      "the first core");
  EXPECT_EQ(refusal({"program.sum.workload=ring_collective", "program.sum.cores=2"}),
            "--set: program.sum.cores is 2, expected 1 for program.sum.workload = \"ring_collective\", whose "
            "ranks reach each other over the network");
  EXPECT_EQ(
      refusal({"run.cores=2", "model.stack=roce_bf", "model.submission=mmio_stream"}),
      "--set: run.cores is 2, expected 1: model.submission = \"mmio_stream\" writes through the combining "
      "buffers of the first core");
  EXPECT_THAT(refusal({"run.cores=33"}), HasSubstr("expected an integer from 1 to 32"));
  EXPECT_THAT(refusal({"run.cores=0"}), HasSubstr("expected an integer from 1 to 32"));
}

}  // namespace
}  // namespace wharf::sim
