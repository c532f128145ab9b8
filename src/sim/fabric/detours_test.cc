// SPDX-License-Identifier: Apache-2.0
// Ways over a third group: which there are, and what they do to traffic that they were invented for.
#include "sim/fabric/detours.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "sim/fabric/script_host_test_support.h"
#include "sim/fabric/topology_dragonfly.h"
#include "sim/fabric/topology_named.h"

namespace wharf::sim {
namespace {

constexpr LinkSpec kLink{gigabits_per_second(100), nanoseconds(500)};
constexpr std::uint32_t kPackets = 200;
constexpr std::uint32_t kGroupHosts = 8;  // Of dragonfly:2x4x2, which has 9 groups.
/// What a link takes for what one host sends.
constexpr TimePs kHostTime = nanoseconds(80) * kPackets;

Topology dragonfly_of_72() {
  return *dragonfly({.hosts = 2,
                     .routers = 4,
                     .globals = 2,
                     .host_link = kLink,
                     .local_link = kLink,
                     .global_link = kLink,
                     .router_latency = nanoseconds(100)});
}

FabricConfig config_of(Routing routing) {
  FabricConfig config;
  config.profiles = {PortProfile::single_queue()};
  config.load_balancing = LoadBalancing::kSpray;
  config.routing = routing;
  return config;
}

struct Outcome {
  TimePs last;
  std::uint64_t history = 0;
  std::uint64_t received = 0;
  std::uint32_t out_of_order = 0;
  bool operator==(const Outcome&) const = default;
};

/// Host h sends kPackets packets of 1000 bytes to host (h + shift) modulo all, as fast as its link takes
/// them.
Outcome run(const FabricConfig& config, std::uint32_t shift, std::uint32_t threads = 1) {
  const Topology topology = dragonfly_of_72();
  ScriptFabric fabric(topology, config, threads);
  const std::uint32_t hosts = topology.host_count();
  for (NodeId host = 0; host < hosts; ++host) {
    for (std::uint32_t i = 0; i < kPackets; ++i)
      fabric.send(host, {.to = (host + shift) % hosts, .number = i});
  }
  fabric.run();
  Outcome outcome;
  for (NodeId host = 0; host < hosts; ++host) {
    std::uint32_t next = 0;
    for (const ReceivedPacket& packet : fabric.received(host)) {
      outcome.last = max(outcome.last, packet.at);
      outcome.out_of_order += packet.number == next++ ? 0 : 1;
    }
    outcome.received += fabric.received(host).size();
  }
  outcome.history = fabric.counters().history;
  return outcome;
}

TEST(Detours, EachLeadsToAThirdGroupAndAllAreAsLikely) {
  const Topology topology = dragonfly_of_72();
  const RoutingTables routes(topology);
  const Detours detours(topology, routes, true);
  EXPECT_TRUE(detours.any());
  std::map<std::uint32_t, int> seen;
  constexpr std::uint32_t kDraws = 7000;
  for (std::uint32_t i = 0; i < kDraws; ++i)
    ++seen[detours.pick(0, 4, static_cast<std::uint32_t>((std::uint64_t{i} << 32U) / kDraws))];
  // From group 0 to group 1: by the links to the other seven groups.
  EXPECT_EQ(seen.size(), 7U);
  for (const auto& [leaf, count] : seen) {
    EXPECT_GE(topology.node(routes.leaf_node(leaf)).pod, 2U);
    EXPECT_NEAR(count, 1000, 1);
  }
  EXPECT_EQ(detours.pick(0, 3, 0), Detours::kNone) << "within a group";
  EXPECT_EQ(detours.links(0, 0), 0U);
  EXPECT_EQ(detours.links(0, 1), 1U);
  std::uint32_t most = 0;
  for (std::uint32_t to = 0; to < 36; ++to) most = std::max(most, detours.links(0, to));
  EXPECT_EQ(most, 3U) << "a local link, a global one and a local one";
}

TEST(Detours, ThereAreNoneWhereGroupsAreNotJoinedDirectly) {
  for (const std::string_view name :
       {"fat_tree:16", "leaf_spine:8", "star:4", "rails:2x4x8x4", "dragonfly:2x2x1x2"}) {
    const auto file = named_topology(name, kLink, kTimeZero);
    ASSERT_TRUE(file.ok());
    EXPECT_FALSE(Detours(file->topology, RoutingTables(file->topology), true).any()) << name;
  }
}

// All hosts of a group send to the next one: one link carries what eight hosts send. [Kim et al. 2008, 4.1]
TEST(Detours, AdversarialTrafficNeedsThem) {
  const Outcome minimal = run(config_of(Routing::kMinimal), kGroupHosts);
  EXPECT_EQ(minimal.received, 72U * kPackets);
  EXPECT_GE(minimal.last, kHostTime * kGroupHosts);
  EXPECT_LE(minimal.last, kHostTime * kGroupHosts + microseconds(6));
  // Each packet takes two global links where there are as many as hosts: twice a host's time is the bound.
  const Outcome valiant = run(config_of(Routing::kValiant), kGroupHosts);
  EXPECT_EQ(valiant.received, 72U * kPackets);
  EXPECT_GE(valiant.last, kHostTime * 2);
  EXPECT_LE(valiant.last, minimal.last / 2);
  const Outcome ugal = run(config_of(Routing::kUgal), kGroupHosts);
  EXPECT_EQ(ugal.received, 72U * kPackets);
  EXPECT_LE(ugal.last, minimal.last * 6 / 10);
}

// One packet at a time finds all queues empty: UGAL's ways are the minimal ones.
TEST(Detours, UgalLeavesAnEmptyFabricAlone) {
  const Topology topology = dragonfly_of_72();
  std::vector<std::uint64_t> history;
  for (const Routing routing : {Routing::kMinimal, Routing::kUgal, Routing::kValiant}) {
    ScriptFabric fabric(topology, config_of(routing));
    for (std::uint32_t i = 0; i < 50; ++i)
      fabric.send(0, {.to = 71, .number = i, .not_before = microseconds(20) * (i + 1)});
    fabric.run();
    EXPECT_EQ(fabric.received(71).size(), 50U);
    history.push_back(fabric.counters().history);
  }
  EXPECT_EQ(history[0], history[1]);
  EXPECT_NE(history[0], history[2]);
}

// Within a group there is no detour.
TEST(Detours, NeighboursTakeNone) {
  const Topology topology = dragonfly_of_72();
  ScriptFabric minimal(topology, config_of(Routing::kMinimal));
  ScriptFabric valiant(topology, config_of(Routing::kValiant));
  for (ScriptFabric* const fabric : {&minimal, &valiant}) {
    for (NodeId host = 0; host < 8; ++host) fabric->send_burst(host, 7 - host, 50, 1000);
    fabric->run();
  }
  EXPECT_EQ(minimal.counters().history, valiant.counters().history);
}

TEST(Detours, ABiasKeepsUgalOnMinimalWays) {
  FabricConfig config = config_of(Routing::kUgal);
  config.ugal_bias_bytes = 1'000'000'000;
  EXPECT_EQ(run(config, kGroupHosts), run(config_of(Routing::kMinimal), kGroupHosts));
}

// With ECMP, what has the same flow and entropy takes the same way.
TEST(Detours, HashedValiantWaysKeepOrder) {
  FabricConfig config = config_of(Routing::kValiant);
  config.load_balancing = LoadBalancing::kEcmpHash;
  EXPECT_EQ(run(config, kGroupHosts).out_of_order, 0U);
  EXPECT_GT(run(config_of(Routing::kValiant), kGroupHosts).out_of_order, 0U);
}

TEST(Detours, ThreadsAndTurnsChangeNothing) {
  for (const Routing routing : {Routing::kValiant, Routing::kUgal}) {
    FabricConfig config = config_of(routing);
    const Outcome alone = run(config, kGroupHosts);
    for (const std::uint32_t threads : {2U, 3U}) EXPECT_EQ(run(config, kGroupHosts, threads), alone);
    config.turns = false;
    EXPECT_EQ(run(config, kGroupHosts), alone);
  }
}

// A global link fails: packets on their way over it are lost, later ones go other ways once routes follow.
TEST(Detours, AvoidWhatHasFailed) {
  for (const Routing routing : {Routing::kMinimal, Routing::kValiant, Routing::kUgal}) {
    const Topology topology = dragonfly_of_72();
    FabricConfig config = config_of(routing);
    PortId global = 0;
    for (PortId id = 0; id < topology.ports().size(); ++id) {
      const TopologyPort& port = topology.port(id);
      if (topology.node(port.node).pod == 0 && topology.node(port.peer).pod == 1) global = id;
    }
    config.changes = {{.at = kTimeZero, .port = global, .up = false},
                      {.at = kTimeZero, .port = topology.port(global).reverse, .up = false}};
    config.reroute_delay = nanoseconds(1);
    ScriptFabric fabric(topology, config);
    for (std::uint32_t i = 0; i < kPackets; ++i)
      fabric.send(0, {.to = 8, .number = i, .not_before = microseconds(1)});
    fabric.run();
    EXPECT_EQ(fabric.received(8).size(), kPackets) << static_cast<int>(routing);
  }
}

}  // namespace
}  // namespace wharf::sim
