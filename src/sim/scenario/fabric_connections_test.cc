// SPDX-License-Identifier: Apache-2.0
// Which flows share a connection, what sharing costs a small one, and windows of hosts with several ports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "sim/fabric/topology_file.h"
#include "sim/flows/fabric_run.h"
#include "sim/flows/flow_connections.h"
#include "sim/scenario/fabric_settings.h"
#include "workload/flow_list.h"

namespace wharf::sim {
namespace {

constexpr LinkSpec kLink{gigabits_per_second(100), microseconds(1)};

FabricSettings settings_of(std::vector<std::string> keys) {
  auto loaded = load_fabric_settings({"", std::move(keys), "profiles"});
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return loaded->settings;
}

/// What each flow takes, in microseconds.
std::vector<double> times(const Topology& topology, workload::FlowList list, std::vector<std::string> keys) {
  const FabricSettings settings = settings_of(std::move(keys));
  list.share_connections(settings.shared_connections());
  const auto run = derive_fabric_run(settings, topology, nullptr, list);
  EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message);
  const auto report = run_flows(topology, list, run->config, {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  std::vector<double> found;
  for (const FlowRecord& record : report->records) {
    EXPECT_EQ(record.status, verbs::CompletionStatus::kSuccess);
    found.push_back(as_nanoseconds(record.end - record.start) / 1000);
  }
  return found;
}

workload::FlowList small_behind_large() {
  workload::FlowList list;
  list.flows = {{.id = 1, .source = 0, .destination = 1, .bytes = 8'000'000},
                {.id = 2, .source = 0, .destination = 1, .bytes = 4096}};
  return list;
}

TEST(FabricConnections, AreNumberedByWhatSharesThem) {
  workload::FlowList list;
  list.flows = {{.id = 7}, {.id = 7}, {.id = 9}};
  const auto numbers = [&](workload::SharedConnections shared) {
    list.share_connections(shared);
    return std::vector<std::uint32_t>{list.flows[0].connection, list.flows[1].connection,
                                      list.flows[2].connection};
  };
  EXPECT_THAT(numbers(workload::SharedConnections::kAll), testing::ElementsAre(0, 0, 0));
  EXPECT_THAT(numbers(workload::SharedConnections::kNone), testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers(workload::SharedConnections::kById), testing::ElementsAre(7, 7, 9));
}

TEST(FabricConnections, StepsOfACollectiveShareOneUnlessAskedOtherwise) {
  using workload::SharedConnections;
  EXPECT_EQ(settings_of({}).shared_connections(), SharedConnections::kNone);
  EXPECT_EQ(settings_of({"fabric.connections=pair"}).shared_connections(), SharedConnections::kAll);
  EXPECT_EQ(settings_of({"traffic.collective=ring_all_reduce"}).shared_connections(),
            SharedConnections::kAll);
  // Ids are those of a matrix.
  EXPECT_EQ(settings_of({"traffic.collective=ring_all_reduce", "fabric.connection_reuse=true"})
                .shared_connections(),
            SharedConnections::kAll);
  EXPECT_EQ(
      settings_of({"traffic.collective=ring_all_reduce", "fabric.connections=flow"}).shared_connections(),
      SharedConnections::kNone);
  EXPECT_EQ(settings_of({"fabric.protocol=ub"}).shared_connections(), SharedConnections::kAll);
}

TEST(FabricConnections, AProtocolWithOneChannelPerPairSaysThatTheKeyDoesNothing) {
  const auto loaded =
      load_fabric_settings({"", {"fabric.protocol=ub", "fabric.connections=flow"}, "profiles"});
  ASSERT_TRUE(loaded.ok());
  EXPECT_THAT(loaded->no_influence,
              testing::Contains(testing::HasSubstr("only with protocol = \"uet\" or protocol = \"roce\"")));
}

// Alone, a flow of 4 KB takes about a round trip; behind 8 MB it would wait 640 us.
TEST(FabricConnections, ASmallFlowWaitsForNoLargeOneToTheSameHost) {
  const Topology topology = star(2, kLink, kTimeZero);
  for (const std::string protocol : {"uet", "roce"}) {
    const std::string key = "fabric.protocol=" + protocol;
    EXPECT_LT(times(topology, small_behind_large(), {key})[1], 20) << protocol;
    EXPECT_GT(times(topology, small_behind_large(), {key, "fabric.connections=pair"})[1], 600) << protocol;
  }
}

/// Two hosts with two ports each, in two planes.
Topology two_planes() {
  Topology topology;
  topology.add_host();
  topology.add_host();
  for (int plane = 0; plane < 2; ++plane) {
    const NodeId middle = topology.add_switch(0, kTimeZero);
    topology.connect(0, middle, kLink);
    topology.connect(1, middle, kLink);
  }
  return topology;
}

// 4 MB over two ports of 100 Gb/s: 160 us and a round trip, however packets are held back. 80 Gb/s of a port
// with headers and answers would make 175.
TEST(FabricConnections, WindowsAndCreditCountAllPortsOfAHost) {
  const Topology topology = two_planes();
  workload::FlowList list;
  list.flows = {{.id = 1, .source = 0, .destination = 1, .bytes = 4'000'000}};
  const double unheld = times(topology, list, {"fabric.control=none"})[0];
  EXPECT_LT(unheld, 180);
  for (const char* control : {"sender", "receiver", "both"})
    EXPECT_LT(times(topology, list, {std::string("fabric.control=") + control})[0], unheld * 1.05) << control;
}

struct Ran {
  DerivedFabricRun run;
  FabricReport report;
  std::vector<double> slowdowns;
  std::array<std::uint64_t, 2> packets{};  ///< Sent by the ports of host 0.
};

Ran ran(const Topology& topology, workload::FlowList list, std::vector<std::string> keys) {
  const FabricSettings settings = settings_of(std::move(keys));
  list.share_connections(settings.shared_connections());
  Ran all;
  all.run = derive_fabric_run(settings, topology, nullptr, list).value();
  all.report = run_flows(topology, list, all.run.config, {}).value();
  const std::vector<TimePs> ideal = ideal_times(topology, list, settings, all.run.derived);
  for (std::size_t i = 0; i < ideal.size(); ++i) {
    const FlowRecord& record = all.report.records[i];
    EXPECT_EQ(record.status, verbs::CompletionStatus::kSuccess);
    all.slowdowns.push_back(static_cast<double>((record.end - record.start).ps) /
                            static_cast<double>(ideal[i].ps));
  }
  const std::vector<PortId>& ports = topology.node(0).ports;
  for (std::size_t i = 0; i < ports.size(); ++i) all.packets.at(i) = all.report.ports[ports[i]].packets;
  return all;
}

// Of protocols whose packets may not overtake, and of those that were asked for one path.
TEST(FabricConnections, AFlowThatKeepsItsOrderKeepsToOnePort) {
  workload::FlowList list;
  list.flows = {{.id = 1, .source = 0, .destination = 1, .bytes = 4'000'000}};
  for (const std::string keys :
       {"fabric.protocol=roce", "fabric.protocol=ub", "fabric.path_selection=flow"}) {
    const Ran one = ran(two_planes(), list, {keys});
    EXPECT_EQ(std::min(one.packets[0], one.packets[1]), 0U) << keys;
    EXPECT_GT(std::max(one.packets[0], one.packets[1]), 900U) << keys;
    EXPECT_EQ(one.report.totals.retransmitted, 0U) << keys;
    EXPECT_NEAR(one.slowdowns[0], 1, 0.03) << keys;
  }
  // Sends of Ultra Ethernet are ordered.
  list.flows[0].verb = verbs::Verb::kSend;
  const Ran sent = ran(two_planes(), list, {});
  EXPECT_EQ(std::min(sent.packets[0], sent.packets[1]), 0U);
  EXPECT_EQ(sent.report.totals.retransmitted, 0U);
}

// What windows, queues and ideal times count are the bytes that links carry.
TEST(FabricConnections, FramesAreCountedAsTheyAreSent) {
  const Topology topology = star(2, kLink, kTimeZero);
  workload::FlowList list;
  list.flows = {{.id = 1, .source = 0, .destination = 1, .bytes = 10 * 4096}};
  for (const std::string protocol : {"roce", "ub"}) {
    const Ran one = ran(topology, list, {"fabric.protocol=" + protocol, "fabric.payload=4KiB"});
    const FabricDerived& derived = one.run.derived;
    const EngineFrames& frames = derived.frames;
    EXPECT_EQ(derived.full_packet, 4096 + std::max({frames.only, frames.first, frames.further})) << protocol;
    EXPECT_EQ(derived.ack_packet, frames.answer) << protocol;
    const PortTotals& sent = one.report.ports[topology.node(0).ports[0]];
    const std::uint64_t data = 10 * 4096 + frames.first + 9 * std::uint64_t{frames.further};
    // Unified Bus acknowledges the answer, too, in a frame of its own.
    EXPECT_EQ(sent.bytes, data + (protocol == "ub" ? (sent.packets - 10) * 90 : 0)) << protocol;
    EXPECT_NEAR(one.slowdowns[0], 1, 0.001) << protocol;
  }
}

// Alone on two links: nothing but the headers of each verb decides.
TEST(FabricConnections, AReadOrASendAloneTakesItsIdealTime) {
  const Topology topology = star(2, kLink, kTimeZero);
  for (const std::string protocol : {"roce", "ub", "uet"}) {
    for (const verbs::Verb verb : {verbs::Verb::kWrite, verbs::Verb::kRead, verbs::Verb::kSend}) {
      for (const std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{10 * 4096}}) {
        workload::FlowList list;
        list.flows = {{.id = 1, .source = 0, .destination = 1, .verb = verb, .bytes = bytes}};
        const Ran one = ran(topology, list, {"fabric.protocol=" + protocol, "fabric.payload=4KiB"});
        const std::string what =
            protocol + " " + std::string(verbs::name(verb)) + " " + std::to_string(bytes);
        // Unified Bus and reads of Ultra Ethernet have something to look up before.
        EXPECT_GT(one.slowdowns[0], 0.9999) << what;
        EXPECT_LT(one.slowdowns[0], protocol == "roce" && verb != verbs::Verb::kWrite ? 1.0001 : 1.0025)
            << what;
      }
    }
  }
}

// Of two ways that cost the same, sprayed packets take both.
TEST(FabricConnections, TheBaseRoundTripIsThatOfTheLongestPath) {
  const std::string begin =
      "graph\nhosts 2\nswitch a\nswitch b\nswitch s tier 1\nswitch t tier 1\nlink 0 a 100Gbps 1us\n"
      "link 1 b 100Gbps 1us\n";
  const std::string over_s = "link a s 100Gbps 1us\nlink s b 100Gbps 1us\n";
  const std::string over_t = "link a t 100Gbps 2ms\nlink t b 100Gbps 2ms\n";
  for (const std::string& lines : {over_s + over_t, over_t + over_s}) {
    const auto file = read_topology(begin + lines, "g");
    ASSERT_TRUE(file.ok()) << file.error().message;
    const auto run = derive_fabric_run(settings_of({}), file->topology, nullptr, {});
    ASSERT_TRUE(run.ok()) << run.error().message;
    EXPECT_GT(run->derived.base_rtt, milliseconds(8));
    EXPECT_GE(run->derived.rto, milliseconds(16));
  }
}

TEST(FabricConnections, AFlowThatMaySprayHasTheTimeOfAllPorts) {
  workload::FlowList list;
  list.flows = {{.id = 1, .source = 0, .destination = 1, .bytes = 4'000'000}};
  const Ran both = ran(two_planes(), list, {"fabric.control=none"});
  EXPECT_GT(both.packets[0], 450U);
  EXPECT_GT(both.packets[1], 450U);
  EXPECT_NEAR(both.slowdowns[0], 1, 0.03);
}

// Seven flows that wait for one port take nothing of the other from the one flow that has it.
TEST(FabricConnections, WhatWaitsForOnePortHoldsNothingUpAtTheOther) {
  const Topology topology = two_planes();
  for (const std::string key : {"fabric.protocol=roce", "fabric.path_selection=flow"}) {
    workload::FlowList list;
    std::vector<std::uint32_t> on_busy;
    // Connections are numbered by places in the list: the first flow alone has its port.
    const std::uint32_t lonely = flow_port({.source = 0, .destination = 1, .connection = 0}, 2);
    for (std::uint32_t i = 0; on_busy.size() < 7; ++i) {
      workload::Flow flow{.id = i, .source = 0, .destination = 1, .bytes = 1'000'000, .connection = i};
      const bool busy = flow_port(flow, 2) != lonely;
      if (busy) on_busy.push_back(i);
      // Others of the lonely port are so small that they do not matter.
      if (i != 0 && !busy) flow.bytes = 64;
      list.flows.push_back(flow);
    }
    const Ran all = ran(topology, list, {key});
    EXPECT_LT(all.slowdowns[0], 1.1) << key;
    for (const std::uint32_t i : on_busy) EXPECT_GT(all.slowdowns[i], 3) << key;
  }
}

// Downwards from the top alone, with queues and thresholds that hold as much time as before.
TEST(FabricConnections, SlowLinksAreSlowDownwardsWithSmallerQueues) {
  const auto shape = k_ary_shape(3, 16, kLink, kTimeZero);
  const Topology topology = fat_tree_of(*shape).value();
  workload::FlowList list;
  const auto run = derive_fabric_run(settings_of({"fabric.slow_links=2"}), topology, &*shape, list);
  ASSERT_TRUE(run.ok());
  const FabricConfig& fabric = run->config.fabric;
  ASSERT_EQ(fabric.changes.size(), 2U);
  for (const auto& change : fabric.changes) {
    const TopologyPort& port = topology.port(change.port);
    EXPECT_GT(topology.node(port.node).tier, topology.node(port.peer).tier);
    EXPECT_EQ(change.rate, gigabits_per_second(25));
    const PortProfile& slow = fabric.profiles[fabric.port_profile[change.port]];
    EXPECT_EQ(slow.queues[1].capacity_bytes, fabric.profiles[0].queues[1].capacity_bytes / 4);
    EXPECT_EQ(slow.queues[1].mark_min_bytes, fabric.profiles[0].queues[1].mark_min_bytes / 4);
  }
}

}  // namespace
}  // namespace wharf::sim
