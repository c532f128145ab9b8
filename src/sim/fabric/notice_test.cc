// SPDX-License-Identifier: Apache-2.0
// Hosts that start by what arrives at them, and by what others tell them beside the network: when, and that
// neither turns nor threads change anything of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/fabric/fat_tree_test_support.h"
#include "sim/fabric/relay_host_test_support.h"
#include "sim/fabric/topology_named.h"

namespace wharf::sim {
namespace {

using testing::ElementsAre;

const LinkSpec kLink{gigabits_per_second(100), nanoseconds(800)};

Topology tree() { return fat_tree(4, kLink, nanoseconds(200)); }

FabricConfig plain() {
  FabricConfig config;
  config.profiles = {PortProfile::composite(60'000, 12'000, 48'000)};
  return config;
}

/// Everything that a run leaves.
struct Seen {
  std::uint64_t history = 0;
  std::uint64_t hops = 0;
  FabricEnd end{};
  TimePs now;
  std::vector<std::vector<TimePs>> times{};
  std::vector<std::uint64_t> sent{};
  bool operator==(const Seen&) const = default;
};

template <typename OptionsOf>
Seen run(const Topology& topology, FabricConfig config, const OptionsOf& options, bool in_turns,
         std::uint32_t threads) {
  config.turns = in_turns;
  config.sample_interval = nanoseconds(2700);
  RelayFabric fabric(topology, config, options, threads);
  // Not whole numbers of windows, and where notices are on their way.
  for (int cut = 1; cut < 12; ++cut) fabric.run_until(nanoseconds(777 * cut));
  Seen seen;
  seen.end = fabric.run_until(milliseconds(2));
  seen.history = fabric.counters().history;
  seen.hops = fabric.counters().hops;
  seen.now = fabric.now();
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    for (const auto& times : {fabric.host(host).started, fabric.host(host).arrived, fabric.host(host).ended})
      seen.times.push_back(times);
  }
  for (PortId port = 0; port < topology.ports().size(); ++port)
    seen.sent.push_back(fabric.port(port).sent_bytes);
  return seen;
}

/// Runs it in every way; they agree.
template <typename OptionsOf>
Seen run_in_all_ways(const Topology& topology, const FabricConfig& config, const OptionsOf& options,
                     const std::vector<std::uint32_t>& threads_of_runs = {1, 2, 3}) {
  const Seen by_event = run(topology, config, options, false, 1);
  EXPECT_GT(by_event.hops, 100U);
  for (const std::uint32_t threads : threads_of_runs)
    EXPECT_TRUE(run(topology, config, options, true, threads) == by_event) << threads << " threads";
  EXPECT_TRUE(run(topology, config, options, false, 3) == by_event) << "by events, 3 threads";
  return by_event;
}

std::vector<TimePs> started(const Seen& seen, NodeId host) { return seen.times[host * 3]; }
std::vector<TimePs> arrived(const Seen& seen, NodeId host) { return seen.times[host * 3 + 1]; }
std::vector<TimePs> ended(const Seen& seen, NodeId host) { return seen.times[host * 3 + 2]; }

TEST(Notices, AChainOfReceiptsOverAllHosts) {
  const Topology topology = tree();
  const std::uint32_t hosts = topology.host_count();
  const Seen seen = run_in_all_ways(topology, plain(), [&](NodeId host) {
    RelayHost::Options options{.destination = (host + 1) % hosts, .bursts_limit = 2, .passes_on = true};
    if (host == 0) options.starts = {kTimeZero};
    return options;
  });
  EXPECT_EQ(seen.end, FabricEnd::kDrained);
  for (NodeId host = 1; host < hosts; ++host) {
    EXPECT_EQ(started(seen, host).size(), 2U);
    EXPECT_EQ(started(seen, host), arrived(seen, host)) << "at the instant of the receipt";
  }
  EXPECT_EQ(started(seen, 0).at(1), arrived(seen, 0).at(0));
}

TEST(Notices, AChainOfNoticesOverAllHosts) {
  const Topology topology = tree();
  EXPECT_EQ(notice_delay(topology), nanoseconds(800));
  const std::uint32_t hosts = topology.host_count();
  const Seen seen = run_in_all_ways(topology, plain(),
                                    [&](NodeId host) {
                                      RelayHost::Options options{.destination = (host + 5) % hosts,
                                                                 .told = (host + 7) % hosts,
                                                                 .packets = 1 + host % 3,
                                                                 .bursts_limit = 1};
                                      if (host == 3) options.starts = {nanoseconds(123)};
                                      return options;
                                    },
                                    {1, 2, 3, 8});
  NodeId host = 3;
  for (std::uint32_t i = 1; i < hosts; ++i) {
    const NodeId next = (host + 7) % hosts;
    ASSERT_EQ(ended(seen, host).size(), 1U);
    EXPECT_THAT(started(seen, next), ElementsAre(ended(seen, host)[0] + nanoseconds(800)));
    host = next;
  }
}

TEST(Notices, ManyAtEqualTimes) {
  // All hosts do the same at the same time: whole switches full of equal instants, and each host is told by
  // two others at once.
  const Topology topology = tree();
  const std::uint32_t hosts = topology.host_count();
  const Seen seen =
      run_in_all_ways(topology, plain(),
                      [&](NodeId host) {
                        return RelayHost::Options{.destination = host ^ 1U,
                                                  .told = (host / 2 * 2 + 2) % hosts,
                                                  .packets = 4,
                                                  .bursts_limit = 9,
                                                  .passes_on = host % 2 == 1,
                                                  .starts = {nanoseconds(500), nanoseconds(500)}};
                      },
                      {1, 2, 3, 8});
  EXPECT_GT(started(seen, 0).size(), 4U);
  for (NodeId host = 0; host < hosts; host += 2) {
    EXPECT_EQ(started(seen, host), started(seen, 0));
    EXPECT_EQ(started(seen, host + 1), started(seen, 1));
  }
}

TEST(Notices, BesideReceiptsUnderLoad) {
  const Topology topology = tree();
  const std::uint32_t hosts = topology.host_count();
  const auto options = [&](NodeId host) {
    return RelayHost::Options{.destination = host % 3 == 0 ? hosts - 1 : (host + 6) % hosts,
                              .told = host % 4 == 0 ? (host * 5 + 2) % hosts : RelayHost::kNobody,
                              .packets = 5,
                              .bursts_limit = 6,
                              .passes_on = host % 5 != 0,
                              .starts = {nanoseconds(host % 7), nanoseconds(host * 400)}};
  };
  EXPECT_GT(run_in_all_ways(topology, plain(), options).hops, 1000U);
  FabricConfig sprayed = plain();
  sprayed.load_balancing = LoadBalancing::kAdaptive;
  run_in_all_ways(topology, sprayed, options);
  FabricConfig lossy = plain();
  lossy.faults = {{.loss = 0.01, .damage = 0.01, .retry = true, .retry_limit = 2}};
  run_in_all_ways(topology, lossy, options);
  FabricConfig paused;
  paused.profiles = {PortProfile::single_queue()};
  paused.flow_control = {.kind = FlowControl::kPause, .xoff_bytes = 5'000, .xon_bytes = 2'000};
  run_in_all_ways(topology, paused, options);
  run_in_all_ways(fat_tree(4, {gigabits_per_second(400), nanoseconds(7)}, kTimeZero), plain(), options);
}

TEST(Notices, WhereNoLinkCanBeCut) {
  const Topology topology = star(5, kLink, nanoseconds(100));
  EXPECT_EQ(notice_delay(topology), kUndividedWindow);
  const auto told_by_zero = [](NodeId host) {
    RelayHost::Options options{.destination = (host + 1) % 2, .told = 1 - host % 2, .bursts_limit = 20};
    if (host == 0) options.starts = {kTimeZero};
    return options;
  };
  for (const Topology& graph : {topology, back_to_back(kLink)}) {
    const Seen seen = run_in_all_ways(graph, plain(), told_by_zero);
    EXPECT_EQ(started(seen, 1).at(0), ended(seen, 0).at(0) + microseconds(1));
    EXPECT_EQ(started(seen, 0).at(1), ended(seen, 1).at(0) + microseconds(1));
  }
}

TEST(Notices, OneThatStartsNothingEndsTheRunAtTheSameTime) {
  const Topology topology = tree();
  const Seen seen = run_in_all_ways(topology, plain(), [&](NodeId host) {
    RelayHost::Options options{.destination = host ^ 8U, .told = 15 - host, .bursts_limit = 1};
    options.starts = {microseconds(40 + host)};
    return options;
  });
  EXPECT_EQ(seen.end, FabricEnd::kDrained);
}

}  // namespace
}  // namespace wharf::sim
