// SPDX-License-Identifier: Apache-2.0
// Which flows the keys of a world give, that they run beside its program, and what is refused about them.
#include "sim/scenario/world_traffic.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

using ::testing::HasSubstr;

Result<Scenario> load(const std::string& text, std::vector<std::string> overrides = {}) {
  ScenarioSource source;
  source.text = text;
  source.overrides = std::move(overrides);
  source.profile_directory = "profiles";
  return load_scenario(source);
}

/// Four clients, eleven thin hosts and a server.
constexpr const char* kIncast =
    "[model]\nstack = \"ub_urma\"\n[topology]\nfrom = \"fat_tree:16\"\n"
    "[hosts]\nclients = 4\ntraffic_root = \"server\"\n"
    "[traffic]\ncollective = \"incast\"\nranks = 6\nsize = \"64KiB\"\n"
    "[run]\nworkload = \"key_value\"\noperations = 50\nkeys = 100\n";

workload::FlowList flows_of(const std::string& text, std::vector<std::string> overrides = {}) {
  const auto scenario = load(text, std::move(overrides));
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  return plan_world(scenario->config)->config.background;
}

TEST(WorldTraffic, RanksAreThinHostsAndTheRootMayBeTheServer) {
  const workload::FlowList incast = flows_of(kIncast);
  ASSERT_EQ(incast.flows.size(), 5U);
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(incast.flows[i].source, 4 + i);
    EXPECT_EQ(incast.flows[i].destination, 15U);
  }
  const workload::FlowList among = flows_of(kIncast, {"hosts.traffic_root=thin"});
  ASSERT_EQ(among.flows.size(), 5U);
  EXPECT_EQ(among.flows[0].source, 5U);
  EXPECT_EQ(among.flows[0].destination, 4U);
  const workload::FlowList listed = flows_of(kIncast, {"traffic.placement=15,9,7", "traffic.ranks=3"});
  ASSERT_EQ(listed.flows.size(), 2U);
  EXPECT_EQ(listed.flows[0].source, 9U);
  EXPECT_EQ(listed.flows[1].destination, 15U);
}

TEST(WorldTraffic, ARunSaysWhatBecameOfIt) {
  const auto scenario = load(kIncast);
  ASSERT_TRUE(scenario.ok());
  const auto report = run_scenario(*scenario, {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->program_operations, 200U);
  EXPECT_EQ(report->program_errors, 0U);
  EXPECT_EQ(report->background["flows"], 5U);
  EXPECT_EQ(report->background["started"], 5U);
  EXPECT_EQ(report->background["failed"], 0U);
  // Every path that an expectation may name is there, once flows have ended.
  if (report->background["finished"] == 5U) {
    for (const std::string& path : background_paths({})) {
      std::string slashed = path;
      std::replace(slashed.begin(), slashed.end(), '.', '/');
      const nlohmann::ordered_json whole{{"background", report->background}};
      EXPECT_TRUE(whole.contains(nlohmann::ordered_json::json_pointer("/" + slashed))) << path;
    }
  }
}

TEST(WorldTraffic, TheWarmUpIsLeftOut) {
  const std::vector<std::string> keys{
      "traffic.collective=none", "traffic.arrivals=fixed", "traffic.size=4KiB",      "traffic.flows=40",
      "traffic.warm_up=1us",     "run.operations=2000",    "hosts.traffic_root=thin"};
  const auto scenario = load(kIncast, keys);
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  const auto report = run_scenario(*scenario, {});
  ASSERT_TRUE(report.ok());
  const auto& said = report->background;
  ASSERT_EQ(said["finished"], 40U) << said;
  EXPECT_GT(said["left_out"], 0U);
  EXPECT_EQ(said["bytes"], (40 - said["left_out"].get<std::uint64_t>()) * 4096) << said;
}

TEST(WorldTraffic, WhatCannotBeIsRefusedByItsKey) {
  const auto refusal = [](std::vector<std::string> overrides) {
    const auto scenario = load(kIncast, std::move(overrides));
    return scenario.ok() ? std::string("accepted") : scenario.error().message;
  };
  EXPECT_THAT(refusal({"hosts.clients=15"}), HasSubstr("expected some that make traffic alone: hosts.clients "
                                                       "from 1 to 14"));
  EXPECT_THAT(refusal({"traffic.ranks=13"}), HasSubstr("traffic.ranks: found 13, expected 2 to 12"));
  EXPECT_THAT(refusal({"traffic.placement=15,0", "traffic.ranks=2"}),
              HasSubstr("starts at a host that runs programs"));
}

}  // namespace
}  // namespace wharf::sim
