// SPDX-License-Identifier: Apache-2.0
// Keys of fabric runs, what the rules make of them, and the published reference values.
#include "sim/scenario/fabric_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::sim {
namespace {

using testing::HasSubstr;

FabricSettings load(const std::string& profile, const std::vector<std::string>& overrides = {}) {
  auto loaded = load_fabric_settings({profile, overrides, "profiles"});
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return loaded->settings;
}

std::string refusal(const std::vector<std::string>& overrides) {
  const auto loaded = load_fabric_settings({"htsim-uec", overrides, "profiles"});
  EXPECT_FALSE(loaded.ok());
  return loaded.ok() ? "" : loaded.error().message;
}

Topology tree(std::uint32_t hosts) {
  return fat_tree_of(*k_ary_shape(3, hosts, {gigabits_per_second(100), microseconds(1)}, kTimeZero)).value();
}

TEST(FabricSettings, TheRulesGiveTheValuesThatHtsimPrints) {
  const auto run = derive_fabric_run(load("htsim-uec"), tree(16), nullptr, {});
  ASSERT_TRUE(run.ok());
  const FabricDerived& derived = run->derived;
  EXPECT_EQ(derived.base_rtt, picoseconds(14'022'720));
  EXPECT_EQ(derived.bdp, 175'284U);
  EXPECT_EQ(derived.max_window, 262'926U);
  EXPECT_EQ(derived.queue_bytes, 178'450U);
  EXPECT_EQ(derived.ecn_low, 37'350U);
  EXPECT_EQ(derived.ecn_high, 145'250U);
  EXPECT_EQ(derived.rto, picoseconds(100'656'000));
  const auto& nscc = std::get<congestion::NsccConfig>(run->config.uet.controller);
  EXPECT_EQ(nscc.target_delay, picoseconds(10'517'040));
  EXPECT_EQ(nscc.fair_increase, 23'874U);
}

TEST(FabricSettings, ATargetDelayMovesTheThresholdOfQuickAdapt) {
  const auto run = derive_fabric_run(load("htsim-uec", {"fabric.target_delay=5us"}), tree(16), nullptr, {});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(std::get<congestion::NsccConfig>(run->config.uet.controller).qa_threshold, microseconds(20));
}

TEST(FabricSettings, WhatThisTopologyCannotServeIsRefusedByItsKey) {
  const auto refused = [](const std::vector<std::string>& overrides) {
    const auto run = derive_fabric_run(load("htsim-uec", overrides), tree(16), nullptr, {});
    return run.ok() ? std::string() : run.error().message;
  };
  EXPECT_EQ(refused({"fabric.window_packets=63"}), "");
  EXPECT_EQ(refused({"fabric.window_packets=64"}),
            "fabric.window_packets: found 64, expected at most the 63 packets of the largest window on this "
            "topology");
  EXPECT_THAT(refused({"fabric.pcie_rate=0.5", "fabric.control=both"}),
              HasSubstr("fabric.pcie_rate: found 0.5"));
  EXPECT_EQ(refused({"fabric.pcie_rate=0.5"}), "");
}

TEST(FabricSettings, ReceiverCreditTakesMarksOffTheLastHop) {
  const Topology topology = tree(16);
  const auto run = derive_fabric_run(load("htsim-uec", {"fabric.control=receiver"}), topology, nullptr, {});
  ASSERT_TRUE(run.ok());
  const FabricConfig& fabric = run->config.fabric;
  const PortId down = topology.port(topology.node(0).ports[0]).reverse;
  EXPECT_EQ(fabric.profiles[fabric.port_profile[down]].queues[1].mark_min_bytes, kUnlimitedBytes);
  EXPECT_EQ(fabric.profiles[0].queues[1].mark_min_bytes, 37'350U);
}

TEST(FabricSettings, UnknownKeysAndUnsupportedValuesAreRefused) {
  EXPECT_THAT(refusal({"fabric.pathz=3"}), HasSubstr("fabric.paths"));
  EXPECT_EQ(refusal({"fabric.planes=2"}), "fabric.planes: 2 is known but not supported, expected 1");
  EXPECT_THAT(refusal({"fabric.queue_type=aeolus"}), HasSubstr("aeolus is known but not supported"));
  EXPECT_THAT(refusal({"fabric.host_queue=swift"}), HasSubstr("expected fair_prio"));
  EXPECT_THAT(refusal({"fabric.controller=dctcp"}), HasSubstr("fabric.controller: dctcp"));
  EXPECT_THAT(refusal({"fabric.accurate_base_rtt=true"}), HasSubstr("fabric.accurate_base_rtt"));
  EXPECT_THAT(refusal({"fabric.load_balancing=adaptive", "fabric.adaptive_method=pqb"}),
              HasSubstr("fabric.adaptive_method: pqb"));
}

TEST(FabricSettings, FailuresAndSlowLinks) {
  const auto shape = k_ary_shape(3, 16, {}, kTimeZero);
  const Topology topology = tree(16);
  workload::FlowList list;
  list.name = "m.cm";
  list.failures = {{.switch_id = 1, .link_id = 1, .line = 7}};
  const auto run = derive_fabric_run(load("htsim-uec", {"fabric.slow_links=3"}), topology, &*shape, list);
  ASSERT_TRUE(run.ok()) << run.error().message;
  ASSERT_EQ(run->config.fabric.changes.size(), 2U + 6U);
  EXPECT_FALSE(run->config.fabric.changes[0].up);
  // The switch at position 1 reaches tops 1 and 3; the format calls the latter link 1.
  EXPECT_EQ(topology.port(run->config.fabric.changes[0].port).peer, 16U + 8 + 8 + 3);
  EXPECT_EQ(run->config.fabric.changes[2].rate, gigabits_per_second(25));

  list.failures[0].link_id = 0;
  list.failures[0].link_column = 44;
  EXPECT_THAT(derive_fabric_run(load("htsim-uec"), topology, &*shape, list).error().message,
              HasSubstr("m.cm:7:44: found link_id 0 of switch 1"));
  EXPECT_THAT(derive_fabric_run(load("htsim-uec"), topology, nullptr, list).error().message,
              HasSubstr("expected a fat tree of three tiers"));
}

}  // namespace
}  // namespace wharf::sim
