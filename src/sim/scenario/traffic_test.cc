// SPDX-License-Identifier: Apache-2.0
// Generated traffic: keys, the flows that they give on a topology, what is judged, and runs over engines.
#include "sim/config/traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/fabric/topology_fat_tree.h"
#include "sim/scenario/fabric_inputs.h"
#include "sim/scenario/fabric_results.h"
#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/traffic_results.h"

namespace wharf::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Topology tree() {
  return fat_tree_of(*k_ary_shape(3, 16, {gigabits_per_second(100), microseconds(1)}, kTimeZero)).value();
}

LoadedFabricSettings load(const std::vector<std::string>& overrides) {
  auto loaded = load_fabric_settings({"", overrides, "profiles"});
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return *std::move(loaded);
}

std::string refusal(const std::vector<std::string>& overrides) {
  const auto loaded = load_fabric_settings({"", overrides, "profiles"});
  EXPECT_FALSE(loaded.ok());
  return loaded.ok() ? "" : loaded.error().message;
}

workload::FlowList flows_of(const std::vector<std::string>& overrides) {
  auto list = generate_flows(load(overrides).settings.traffic, tree(), 1, std::nullopt);
  EXPECT_TRUE(list.ok()) << (list.ok() ? "" : list.error().message);
  return *std::move(list);
}

TEST(Traffic, KeysGiveTheFlows) {
  const auto ring = flows_of({"traffic.collective=ring_all_reduce", "traffic.ranks=4", "traffic.size=4000B",
                              "traffic.placement=stride:4"});
  EXPECT_EQ(ring.flows.size(), 4U * 6);
  EXPECT_EQ(ring.flows[0].bytes, 1000U);
  EXPECT_EQ(ring.flows[1].source, 4U);
  EXPECT_EQ(ring.hosts, 16U);
  EXPECT_EQ(flows_of({"traffic.collective=incast"}).flows.size(), 15U);
  EXPECT_EQ(flows_of({"traffic.arrivals=web_search"}).flows.size(), 1000U);
  const auto fixed = flows_of({"traffic.arrivals=fixed", "traffic.size=2KiB", "traffic.duration=10us",
                               "traffic.load=0.2", "traffic.pattern=permutation"});
  // One flow every 819.2 ns and host: about 195 in 10 us.
  EXPECT_NEAR(static_cast<double>(fixed.flows.size()), 195, 70);
  for (const workload::Flow& flow : fixed.flows) EXPECT_EQ(flow.bytes, 2048U);
}

TEST(Traffic, KeysWithoutInfluenceAreReported) {
  EXPECT_THAT(load({"traffic.load=0.3"}).no_influence,
              ElementsAre("traffic.load (--set) had no influence: only with traffic.arrivals"));
  EXPECT_THAT(load({"traffic.collective=incast", "traffic.flows=3"}).no_influence,
              ElementsAre(HasSubstr("traffic.flows")));
  EXPECT_THAT(load({"traffic.arrivals=hadoop", "traffic.size=1KiB"}).no_influence,
              ElementsAre(HasSubstr("traffic.size")));
  EXPECT_THAT(load({"traffic.arrivals=hadoop"}).effective, HasSubstr("traffic.arrivals = \"hadoop\""));
}

TEST(Traffic, Refusals) {
  EXPECT_THAT(
      refusal({"traffic.collective=ring_allreduce"}),
      HasSubstr("--set: traffic.collective is \"ring_allreduce\", expected one of none, ring_all_reduce"));
  EXPECT_THAT(refusal({"traffic.collective=ring_allreduce"}), HasSubstr("did you mean \"ring_all_reduce\"?"));
  EXPECT_EQ(
      refusal({"traffic.arrivals=web_serch"}),
      "--set: traffic.arrivals is \"web_serch\", expected web_search, data_mining, hadoop, storage, fixed "
      "or a CSV file; did you mean \"web_search\"?");
  EXPECT_EQ(
      refusal({"traffic.arrivals=fixed", "traffic.collective=incast"}),
      "--set: traffic.arrivals stands beside traffic.collective (--set), expected flows from one place");
  EXPECT_EQ(refusal({"traffic.placement=strid:4"}),
            "--set: traffic.placement is \"strid:4\", expected linear, stride:N, random, or hosts such as "
            "0,4,8; did you mean \"stride\"?");
  EXPECT_THAT(refusal({"traffic.load=0"}), HasSubstr("traffic.load is \"0\", expected"));
  const auto refused = [](const std::vector<std::string>& overrides) {
    return generate_flows(load(overrides).settings.traffic, tree(), 1, std::nullopt).error().message;
  };
  EXPECT_EQ(refused({"traffic.collective=incast", "traffic.ranks=17"}),
            "traffic.ranks: found 17, expected at most the 16 hosts");
  EXPECT_EQ(refused({"traffic.arrivals=fixed", "traffic.size=4GiB"}),
            "traffic.size: found 4GiB, expected at most 2GiB for a flow");
}

TEST(Traffic, HostsThatATopologyMustHave) {
  EXPECT_EQ(load({"traffic.collective=incast", "traffic.ranks=20"}).settings.traffic.hosts_needed(), 20U);
  EXPECT_EQ(load({"traffic.collective=incast", "traffic.placement=3,40"}).settings.traffic.hosts_needed(),
            41U);
  EXPECT_EQ(k_ary_hosts(3, 20), 54U);
  EXPECT_EQ(k_ary_hosts(3, 54), 54U);
  EXPECT_EQ(k_ary_hosts(2, 3), 8U);
  EXPECT_EQ(host_rate(tree()), gigabits_per_second(100));
}

TEST(Traffic, BandwidthOfACollectiveByHand) {
  TrafficSettings traffic;
  traffic.collective = workload::Collective::kStarAllReduce;
  traffic.size = 1'000'000;
  traffic.ranks = 4;
  FabricReport report;
  report.records = {{.start = nanoseconds(500), .end = microseconds(60)},
                    {.start = nanoseconds(500), .end = nanoseconds(100'500)}};
  const auto result = collective_result(traffic, 16, report);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->completion, microseconds(100));
  EXPECT_DOUBLE_EQ(result->algorithm_bandwidth_gbps, 80);  // 8 Mbit in 100 us.
  EXPECT_DOUBLE_EQ(result->bus_bandwidth_gbps, 120);       // 2 x 3 / 4 of it.
  report.records[0].end = kNever;
  EXPECT_FALSE(collective_result(traffic, 16, report));
}

TEST(Traffic, SlowdownsBySizeOfFlow) {
  workload::FlowList list;
  FabricReport report;
  std::vector<TimePs> ideal;
  const auto add = [&](std::uint64_t bytes, std::int64_t took) {
    list.flows.push_back({.bytes = bytes});
    report.records.push_back({.start = nanoseconds(1), .end = nanoseconds(1 + took)});
    ideal.push_back(nanoseconds(10));
  };
  add(10'000, 10);
  add(1, 30);
  add(10'001, 50);
  add(20'000'000, 20);
  list.flows.push_back({.bytes = 5});
  report.records.push_back({.start = nanoseconds(1)});  // Still running.
  ideal.push_back(nanoseconds(10));
  const auto classes = slowdown_by_size(list, report, ideal);
  ASSERT_EQ(classes.size(), 3U);
  EXPECT_EQ(classes[0].flows, 2U);
  EXPECT_DOUBLE_EQ(classes[0].mean, 2);
  EXPECT_DOUBLE_EQ(classes[0].p50, 1);
  EXPECT_DOUBLE_EQ(classes[0].p99, 3);
  EXPECT_EQ(classes[1].bytes_above, 10'000U);
  EXPECT_EQ(classes[1].bytes_up_to, 100'000U);
  EXPECT_DOUBLE_EQ(classes[1].max, 5);
  EXPECT_EQ(classes[2].bytes_above, 10'000'000U);
  EXPECT_EQ(classes[2].bytes_up_to, 0U);
}

// Flows of the warm-up run as they would, and are not among what is judged.
TEST(Traffic, TheWarmUpIsLeftOut) {
  const std::vector<std::string> keys{"traffic.arrivals=fixed", "traffic.size=8KiB", "traffic.flows=200",
                                      "topology.from=fat_tree:16"};
  std::vector<std::string> warm = keys;
  warm.emplace_back("traffic.warm_up=5us");
  const auto judged = [](const std::vector<std::string>& overrides) {
    auto inputs = read_inputs(load(overrides));
    EXPECT_TRUE(inputs.ok());
    auto run = derive_fabric_run(inputs->loaded.settings, inputs->topology.topology, nullptr, inputs->flows);
    EXPECT_TRUE(run.ok());
    const auto report = run_flows(inputs->topology.topology, inputs->flows, run->config, {});
    EXPECT_TRUE(report.ok());
    return std::pair(results_of(*inputs, run->derived, *report), report->records);
  };
  const auto [all, records] = judged(keys);
  const auto [late, same_records] = judged(warm);
  std::uint64_t early = 0;
  TimePs shortest = kNever;
  for (const FlowRecord& record : records) {
    if (record.start < microseconds(5)) {
      ++early;
    } else {
      shortest = min(shortest, record.end - record.start);
    }
  }
  ASSERT_GT(early, 10U);
  EXPECT_EQ(late.summary["fingerprint"], all.summary["fingerprint"]);
  EXPECT_EQ(late.summary["arrivals"]["left_out"], early);
  EXPECT_EQ(late.statistics.count, 200 - early);
  EXPECT_EQ(late.statistics.bytes, (200 - early) * 8192);
  EXPECT_DOUBLE_EQ(late.statistics.fct_ns_min, as_nanoseconds(shortest));
  EXPECT_EQ(late.summary["slowdown_by_size"][0]["flows"], 200 - early);
  EXPECT_EQ(late.summary["finished"], 200);
  EXPECT_FALSE(all.summary["arrivals"].contains("left_out"));

  const auto none = generate_flows(load({"traffic.arrivals=fixed", "traffic.warm_up=1s"}).settings.traffic,
                                   tree(), 1, std::nullopt);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("traffic.warm_up: found 1s, expected at most "));
}

// [docs/fabric.md] Headers and the first round trip leave 95 % of a link.
TEST(Traffic, AnAllToAllWithAWindowFillsTheLinksOfANonBlockingTree) {
  const auto bandwidth = [](const std::string& window) {
    const LoadedFabricSettings loaded =
        load({"traffic.collective=all_to_all", "traffic.size=2MiB", "traffic.window=" + window});
    const Topology topology = tree();
    const auto list = generate_flows(loaded.settings.traffic, topology, 1, std::nullopt);
    const auto run = derive_fabric_run(loaded.settings, topology, nullptr, *list);
    const auto report = run_flows(topology, *list, run->config, {});
    return collective_result(loaded.settings.traffic, 16, *report)->bus_bandwidth_gbps;
  };
  EXPECT_GE(bandwidth("15"), 95);
  EXPECT_LT(bandwidth("1"), 80);
}

TEST(Traffic, ARingTakesItsStepsOneAfterAnother) {
  // Two ranks of one leaf, 100 Gb/s: two steps of half a megabyte, each of which takes an unloaded flow's
  // time.
  const LoadedFabricSettings loaded =
      load({"traffic.collective=ring_all_reduce", "traffic.ranks=2", "traffic.size=1000000B"});
  const Topology topology = tree();
  const auto list = generate_flows(loaded.settings.traffic, topology, 1, std::nullopt);
  ASSERT_TRUE(list.ok());
  const auto run = derive_fabric_run(loaded.settings, topology, nullptr, *list);
  ASSERT_TRUE(run.ok());
  const auto report = run_flows(topology, *list, run->config, {});
  ASSERT_TRUE(report.ok());
  const auto result = collective_result(loaded.settings.traffic, 16, *report);
  ASSERT_TRUE(result);
  const auto ideal = ideal_times(topology, *list, loaded.settings, run->derived);
  const double steps = static_cast<double>(result->completion.ps) / static_cast<double>(ideal[0].ps);
  EXPECT_NEAR(steps, 2, 0.04);
}

}  // namespace
}  // namespace wharf::sim
