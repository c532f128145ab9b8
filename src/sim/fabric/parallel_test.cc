// SPDX-License-Identifier: Apache-2.0
// The same run on one and several threads: same event history, same counts everywhere.
#include <algorithm>

#include "sim/fabric/fabric.h"
#include "sim/fabric/fat_tree_test_support.h"
#include "sim/fabric/window_host.h"

namespace wharf::sim {
namespace {

struct Outcome {
  std::uint64_t history;
  std::uint64_t hops;
  std::uint64_t events;
  std::uint32_t in_fabric;
  std::vector<std::uint64_t> counts;

  bool operator==(const Outcome&) const = default;
};

Outcome run(const Topology& topology, const FabricConfig& config, std::uint32_t threads,
            const std::vector<std::uint32_t>& to, std::uint64_t packets) {
  Fabric<WindowHost> fabric(
      topology, config,
      [&](NodeId host) {
        return WindowHost({.host = host,
                           .destination = to[host],
                           .window = 40,
                           .packets = packets,
                           .data_bytes = static_cast<std::uint16_t>(host % 3 == 0 ? 1500 : 4160),
                           .trimmable = true,
                           .start = nanoseconds(host % 7)});
      },
      threads);
  EXPECT_EQ(fabric.partition_count(), threads);
  fabric.run_until(microseconds(20));
  fabric.run_until(microseconds(60));
  Outcome outcome{fabric.counters().history,
                  fabric.counters().hops,
                  fabric.counters().events(),
                  fabric.packets_in_fabric(),
                  {}};
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    for (const std::uint64_t count :
         {fabric.host(host).sent(), fabric.host(host).received(), fabric.host(host).answered(),
          fabric.host(host).marked(), fabric.host(host).trimmed()})
      outcome.counts.push_back(count);
  }
  for (PortId port = 0; port < topology.ports().size(); ++port) {
    outcome.counts.push_back(fabric.port(port).sent_bytes);
    outcome.counts.push_back(fabric.port_counters(port).trimmed);
    outcome.counts.push_back(fabric.port_counters(port).marked);
    outcome.counts.push_back(fabric.port_counters(port).retried);
    outcome.counts.push_back(fabric.port_counters(port).retry_acks);
    outcome.counts.push_back(fabric.port_counters(port).retry_nacks);
    outcome.counts.push_back(fabric.port_counters(port).retry_discarded);
    outcome.counts.push_back(fabric.port_counters(port).pause_frames);
  }
  return outcome;
}

/// Hosts in the first of two partitions.
std::uint32_t first_half(const Topology& topology, const std::vector<std::uint32_t>& work) {
  const std::vector<std::uint8_t> parts = divide(topology, 2, work);
  return static_cast<std::uint32_t>(std::count(parts.begin(), parts.begin() + topology.host_count(), 0));
}

TEST(Divide, TheWorkOfHostsDecidesWhereTheCutIs) {
  const Topology topology = fat_tree(6, {gigabits_per_second(100), nanoseconds(800)}, nanoseconds(200));
  ASSERT_EQ(topology.host_count(), 54U);
  EXPECT_EQ(first_half(topology, {}), 27U);
  std::vector<std::uint32_t> work(54, 3);
  EXPECT_EQ(first_half(topology, work), 27U);
  work.back() = 2 * 53;  // A server of all others: 159 and 106.
  EXPECT_EQ(first_half(topology, work), 45U);
  work.back() = 1'000;  // A partition always has a leaf.
  EXPECT_EQ(first_half(topology, work), 51U);
  EXPECT_EQ(first_half(topology, std::vector<std::uint32_t>(54, 0)), 27U);
}

class Parallel : public testing::TestWithParam<LoadBalancing> {};

TEST_P(Parallel, ThreadsChangeNothing) {
  const Topology topology = fat_tree(6, {gigabits_per_second(100), nanoseconds(800)}, nanoseconds(200));
  FabricConfig config;
  config.profiles = {PortProfile::composite(60'000, 12'000, 48'000)};
  config.load_balancing = GetParam();
  auto to = cyclic_permutation(topology.host_count(), 3);
  for (std::uint32_t host = 0; host < 12; ++host) to[host] = 53;  // Some incast, so that queues overflow.
  const Outcome alone = run(topology, config, 1, to, 1000);
  EXPECT_GT(alone.hops, 10'000u);
  for (const std::uint32_t threads : {2U, 3U, 8U})
    EXPECT_TRUE(run(topology, config, threads, to, 1000) == alone) << threads << " threads";
}

INSTANTIATE_TEST_SUITE_P(Balancing, Parallel,
                         testing::Values(LoadBalancing::kEcmpHash, LoadBalancing::kSpray,
                                         LoadBalancing::kRoundRobin, LoadBalancing::kAdaptive));

TEST(ParallelFabric, FlowControlErrorsAndChangesOnThreadsToo) {
  const Topology topology = fat_tree(6, {gigabits_per_second(100), nanoseconds(800)}, nanoseconds(200));
  FabricConfig config;
  config.profiles = {PortProfile::single_queue()};
  config.faults = {{.loss = 0.001, .damage = 0.01, .retry = true, .retry_limit = 4}};
  config.changes = {{.at = microseconds(10), .port = 200, .up = false},
                    {.at = microseconds(15), .port = 250, .rate = gigabits_per_second(25)},
                    {.at = microseconds(30), .port = 200, .up = true}};
  config.reroute_delay = microseconds(3);
  const auto to = cyclic_permutation(topology.host_count(), 3);
  for (const FlowControl kind : {FlowControl::kNone, FlowControl::kPause, FlowControl::kCredit}) {
    config.flow_control = {
        .kind = kind, .xoff_bytes = 30'000, .xon_bytes = 20'000, .credit_limit_bytes = 60'000};
    const Outcome alone = run(topology, config, 1, to, 1000);
    EXPECT_GT(alone.hops, 5'000u);
    for (const std::uint32_t threads : {2U, 3U, 8U})
      EXPECT_TRUE(run(topology, config, threads, to, 1000) == alone) << threads << " threads";
  }
}

TEST(ParallelFabric, ChangedRatesUnderCutThroughOnThreadsToo) {
  const Topology topology = fat_tree(6, {gigabits_per_second(100), nanoseconds(800)}, nanoseconds(200));
  FabricConfig config;
  config.profiles = {PortProfile::single_queue()};
  config.switching = Switching::kCutThrough;
  config.faults = {{.duplication = 0.01, .jitter = nanoseconds(5)}};
  // 30 Gb/s are no whole number of picoseconds per byte.
  for (PortId port = 0; port < topology.ports().size(); port += 3) {
    config.changes.push_back(
        {.at = nanoseconds(40) * port, .port = port, .rate = gigabits_per_second(port % 2 == 0 ? 25 : 30)});
  }
  const auto to = cyclic_permutation(topology.host_count(), 3);
  for (const bool faults : {false, true}) {
    FabricConfig chosen = config;
    if (!faults) chosen.faults.clear();
    const Outcome alone = run(topology, chosen, 1, to, 1000);
    EXPECT_GT(alone.hops, 5'000u);
    for (const std::uint32_t threads : {2U, 3U, 8U})
      EXPECT_TRUE(run(topology, chosen, threads, to, 1000) == alone) << threads << " threads";
  }
}

TEST(ParallelFabric, LinksThatRetryOnThreadsToo) {
  const Topology topology = fat_tree(6, {gigabits_per_second(100), nanoseconds(800)}, nanoseconds(200));
  const auto to = cyclic_permutation(topology.host_count(), 3);
  for (const FlowControl kind : {FlowControl::kNone, FlowControl::kPause, FlowControl::kCredit}) {
    for (const std::uint32_t limit : {0U, 1U}) {
      FabricConfig config;
      config.profiles = {PortProfile::single_queue()};
      config.faults = {
          {.loss = 0.05, .damage = 0.05, .retry = true, .retry_limit = limit, .jitter = nanoseconds(30)}};
      config.faults[0].retry_rules.outstanding_bytes_max = 40'000;
      config.flow_control = {.kind = kind,
                             .xoff_bytes = 30'000,
                             .xon_bytes = 20'000,
                             .credit_limit_bytes = 60'000,
                             .consumed_update_period = microseconds(3)};
      const Outcome alone = run(topology, config, 1, to, 300);
      EXPECT_GT(alone.hops, 5'000u);
      for (const std::uint32_t threads : {2U, 5U})
        EXPECT_TRUE(run(topology, config, threads, to, 300) == alone) << threads << " threads";
    }
  }
}

TEST(ParallelFabric, TrafficInOneDirectionReturnsItsBodies) {
  const Topology topology = fat_tree(4, {gigabits_per_second(100), microseconds(1)}, kTimeZero);
  FabricConfig config;
  config.profiles = {PortProfile::single_queue()};
  std::vector<std::uint32_t> to(16);
  for (std::uint32_t host = 0; host < 16; ++host) to[host] = host < 8 ? host + 8 : host;
  EXPECT_TRUE(run(topology, config, 2, to, 100'000) == run(topology, config, 1, to, 100'000));
}

}  // namespace
}  // namespace wharf::sim
