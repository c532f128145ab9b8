// SPDX-License-Identifier: Apache-2.0
// Link-level retry under full hosts: the transports above see no loss, on a wire and over switches, and
// results depend neither on threads nor on the wire mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

using ::testing::HasSubstr;

ScenarioSource source(std::vector<std::string> overrides) {
  ScenarioSource out;
  out.overrides = std::move(overrides);
  out.overrides.insert(out.overrides.begin(),
                       {"run.workload=verb_loop", "run.verb=write", "run.payload=9000B", "run.operations=200",
                        "run.concurrency=8"});
  out.profile_directory = "profiles";
  return out;
}

RunReport run(const ScenarioSource& source, WireMode wire = WireMode::kStructs) {
  const auto scenario = load_scenario(source);
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  if (!scenario) return {};
  RunOptions options;
  options.wire = wire;
  auto report = run_scenario(*scenario, options);
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  if (!report) return {};
  EXPECT_EQ(report->end, RunOutcome::kDone) << (report->waiting.empty() ? "" : report->waiting.front());
  EXPECT_EQ(report->verdict, "");
  EXPECT_EQ(report->program_errors, 0U);
  return *std::move(report);
}

RunReport run(std::vector<std::string> overrides, WireMode wire = WireMode::kStructs) {
  return run(source(std::move(overrides)), wire);
}

const std::vector<std::string> kLossy{"model.faults.loss=0.05", "model.faults.corruption=0.05",
                                      "model.faults.jitter=20ns", "model.faults.link_retry=true",
                                      "model.faults.link_retry_limit=0"};

class LinkRetryWorld : public ::testing::TestWithParam<const char*> {};

TEST_P(LinkRetryWorld, NoPacketIsLostOnAWireThatRetries) {
  std::vector<std::string> overrides{std::string("model.stack=") + GetParam()};
  overrides.insert(overrides.end(), kLossy.begin(), kLossy.end());
  const RunReport retried = run(overrides);
  for (const char* host : {"host0", "host1"}) {
    const auto& link = retried.counters[host]["link_out"];
    EXPECT_EQ(link["packets"], link["delivered"]) << link.dump();
    EXPECT_FALSE(link.contains("lost"));
    EXPECT_FALSE(link.contains("corrupted"));
    EXPECT_GT(link["link_retry"]["frames_replayed"].get<int>(), 0);
    EXPECT_GT(link["link_retry"]["acks"].get<int>(), 0);
    EXPECT_GT(link["link_retry"]["nacks"].get<int>(), 0);
  }
  const RunReport bytes = run(overrides, WireMode::kBytes);
  EXPECT_EQ(bytes.fingerprint, retried.fingerprint);
  EXPECT_EQ(bytes.simulated, retried.simulated);
}

TEST_P(LinkRetryWorld, OverSwitchesOnAnyNumberOfThreads) {
  std::vector<std::string> overrides{std::string("model.stack=") + GetParam(), "topology.from=leaf_spine:8",
                                     "hosts.servers=1", "run.operations=30"};
  overrides.insert(overrides.end(), kLossy.begin(), kLossy.end());
  const RunReport alone = run(overrides);
  EXPECT_GT(alone.counters["switches"]["link_retry"]["frames_replayed"].get<int>(), 0);
  EXPECT_EQ(alone.counters["switches"]["lost"], 0);
  overrides.emplace_back("hosts.threads=2");
  const RunReport threads = run(overrides);
  EXPECT_EQ(threads.fingerprint, alone.fingerprint);
  EXPECT_EQ(threads.counters.dump(), alone.counters.dump());
  EXPECT_EQ(run(overrides, WireMode::kBytes).fingerprint, alone.fingerprint);
}

INSTANTIATE_TEST_SUITE_P(Stacks, LinkRetryWorld, ::testing::Values("ub_urma", "roce_dma", "uet"),
                         [](const auto& each) { return std::string(each.param); });

// Links with room for four frames carry few of them. Headers of trimmed packets that always go first would
// take them all, and what they ask for would be trimmed again, for ever.
TEST(LinkRetryWorld, TrimmedPacketsLeaveThinLinksTheirShareOfData) {
  for (const char* share : {"10", "25", "50"}) {
    ScenarioSource scenario;
    scenario.profile_directory = "profiles";
    scenario.overrides = {"model.stack=uet",
                          "topology.from=star:20",
                          "hosts.servers=1",
                          "model.uet.two_sided=rod",
                          "model.uet.max_rto_retries=unlimited",
                          "model.uet.max_nack_retries=unlimited",
                          "run.workload=key_value",
                          "run.concurrency=8",
                          "run.think_time=996ns",
                          "run.keys=435",
                          "run.value_bytes=312B",
                          "run.put_fraction=60%",
                          "run.operations=22",
                          "run.seed=1287538352",
                          "model.faults.link_retry=true",
                          "model.faults.link_retry_limit=0",
                          "model.faults.llr_outstanding_frames_max=4",
                          "model.faults.llr_flush_frame_action=discard",
                          std::string("fabric.trimmed_share=") + share};
    const RunReport report = run(scenario);
    EXPECT_GT(report.counters["switches"]["trimmed"].get<int>(), 0);
    EXPECT_EQ(report.program_operations, 418U);
  }
}

TEST(LinkRetryWorld, FaultsThatChangeTheOrderAreRefused) {
  std::vector<std::string> overrides = kLossy;
  overrides.insert(overrides.begin(), {"model.stack=uet", "model.faults.reordering=0.1"});
  const auto scenario = load_scenario(source(overrides));
  ASSERT_FALSE(scenario.ok());
  EXPECT_THAT(scenario.error().message,
              HasSubstr("faults.reordering is 0.1, expected 0 with link-level retry"));
}

}  // namespace
}  // namespace wharf::sim
