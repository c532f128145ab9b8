// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/topology_fat_tree.h"

#include <gtest/gtest.h>

#include "sim/fabric/fat_tree_test_support.h"
#include "sim/fabric/routing.h"
#include "sim/fabric/topology_rails.h"
#include "sim/fabric/topology_survey.h"

namespace wharf::sim {
namespace {

const LinkSpec kLink{gigabits_per_second(100), microseconds(1)};

/// 16 hosts a pod, 4 pods, leaves with 4 hosts and 2 uplinks of 2 parallel links each.
FatTreeShape bundled() {
  FatTreeShape shape;
  shape.pods = 4;
  shape.leaves_per_pod = 4;
  shape.hosts_per_leaf = 4;
  shape.middles_per_pod = 2;
  shape.tops_per_middle = 2;
  shape.leaf_bundle = 2;
  shape.middle_bundle = 3;
  shape.link = {LinkSpec{gigabits_per_second(100), nanoseconds(500)},
                LinkSpec{gigabits_per_second(50), nanoseconds(700)},
                LinkSpec{gigabits_per_second(200), nanoseconds(900)}};
  shape.switch_latency = {nanoseconds(10), nanoseconds(20), nanoseconds(30)};
  return shape;
}

TEST(FatTree, CountsOfThreeTiersWithBundles) {
  const auto topology = fat_tree_of(bundled());
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->host_count(), 64U);
  EXPECT_EQ(topology->switch_count(), 16U + 8U + 4U);
  // 64 to hosts, 16 leaves x 2 middles x 2, 8 middles x 2 tops x 3.
  EXPECT_EQ(topology->ports().size(), 2U * (64 + 64 + 48));
  const TopologySummary summary = survey(*topology);
  ASSERT_EQ(summary.tiers.size(), 3U);
  EXPECT_EQ(summary.tiers[0].up_gbps, 64U * 50);
  EXPECT_EQ(summary.tiers[1].up_gbps, 48U * 200);
  EXPECT_EQ(summary.host_gbps, 6400U);
  EXPECT_EQ(summary.oversubscription_permille, 2000U);
  EXPECT_EQ(summary.bisection_gbps, 1600U);
  EXPECT_EQ(oversubscription_permille(bundled()), 2000U);
}

TEST(FatTree, HopsAndPathsBetweenPairs) {
  const auto topology = fat_tree_of(bundled());
  ASSERT_TRUE(topology.ok());
  PathSurvey paths(*topology);
  EXPECT_EQ(paths.hops(0, 0), 0U);
  EXPECT_EQ(paths.hops(0, 3), 2U);
  EXPECT_EQ(paths.paths(0, 3), 1U);
  EXPECT_EQ(paths.hops(0, 4), 4U);
  EXPECT_EQ(paths.paths(0, 4), 2U * 2 * 2);  // Two middles, two links up, two down.
  EXPECT_EQ(paths.hops(0, 63), 6U);
  EXPECT_EQ(paths.paths(0, 63),
            2U * 2 * 2 * 3 * 3 * 2);  // Middles, bundle, tops, bundles up and down, bundle.
  EXPECT_EQ(paths.path(0, 63).size(), 6U);
}

TEST(FatTree, EveryPairIsReachableAndSymmetric) {
  for (const std::uint32_t tiers : {2U, 3U}) {
    const auto shape = k_ary_shape(tiers, tiers == 2 ? 32 : 54, kLink, kTimeZero);
    ASSERT_TRUE(shape.ok());
    const auto topology = fat_tree_of(*shape);
    ASSERT_TRUE(topology.ok());
    PathSurvey paths(*topology);
    for (NodeId a = 0; a < topology->host_count(); ++a) {
      for (NodeId b = 0; b < topology->host_count(); ++b) {
        EXPECT_EQ(paths.hops(a, b), paths.hops(b, a));
        EXPECT_LE(paths.hops(a, b), 2 * tiers);
        EXPECT_EQ(paths.paths(a, b), paths.paths(b, a));
      }
    }
    EXPECT_EQ(survey(*topology).oversubscription_permille, 1000U);
  }
}

TEST(FatTree, TheKAryTreeIsTheKnownOne) {
  const auto shape = k_ary_shape(3, 16, kLink, nanoseconds(5));
  ASSERT_TRUE(shape.ok());
  const auto built = fat_tree_of(*shape);
  const Topology known = fat_tree(4, kLink, nanoseconds(5));
  ASSERT_TRUE(built.ok());
  ASSERT_EQ(built->ports().size(), known.ports().size());
  for (PortId port = 0; port < known.ports().size(); ++port) {
    EXPECT_EQ(built->port(port).node, known.port(port).node);
    EXPECT_EQ(built->port(port).peer, known.port(port).peer);
  }
  const auto refused = k_ary_shape(3, 100, kLink, kTimeZero);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.error().message,
      "found 100 hosts, expected K^3/4 with K even for a generated fat tree of 3 tiers, as 54 or 128 is; "
      "a topology file can have any number");
  EXPECT_EQ(k_ary_shape(2, 128, kLink, kTimeZero)->hosts(), 128U);
}

TEST(FatTree, TimesOnTheWayByHand) {
  const auto topology = fat_tree_of(bundled());
  ASSERT_TRUE(topology.ok());
  PathSurvey paths(*topology);
  const auto path = paths.path(0, 63);
  // Delays 2 x (500 + 700 + 900) ns, switches 2 x 10 + 2 x 20 + 30 ns; 1000 B: 80, 160, 40 ns a link.
  const TimePs fixed = nanoseconds(4200 + 90);
  EXPECT_EQ(packet_time(*topology, path, Bytes{1000}), fixed + nanoseconds(2 * (80 + 160 + 40)));
  EXPECT_EQ(train_time(*topology, path, 0, Bytes{1000}, Bytes{1000}),
            packet_time(*topology, path, Bytes{1000}));
  // Ten packets: the slowest link adds nine times its own 160 ns.
  EXPECT_EQ(train_time(*topology, path, 9, Bytes{1000}, Bytes{1000}),
            packet_time(*topology, path, Bytes{1000}) + nanoseconds(9 * 160));
  // A short last packet (100 B: 8, 16, 4 ns) waits behind the full one on the last link: 560 + 8 ns.
  EXPECT_EQ(train_time(*topology, path, 1, Bytes{1000}, Bytes{100}), fixed + nanoseconds(560 + 8));
}

TEST(FatTree, ImpossibleShapesAreRefused) {
  FatTreeShape shape = bundled();
  shape.tops_per_middle = 0;
  EXPECT_NE(fat_tree_of(shape).error().message.find("two tiers has 4 pods, expected 1"), std::string::npos);
  shape = bundled();
  shape.leaf_bundle = 0;
  EXPECT_FALSE(fat_tree_of(shape).ok());
  shape = bundled();
  shape.leaves_per_pod = 0xffff'ffff;
  EXPECT_NE(fat_tree_of(shape).error().message.find("too many hosts"), std::string::npos);
}

TEST(FatTree, RoutesOfEightThousandHostsAreSmall) {
  const auto shape = k_ary_shape(3, 8192, kLink, kTimeZero);
  ASSERT_TRUE(shape.ok());
  const auto topology = fat_tree_of(*shape);
  ASSERT_TRUE(topology.ok());
  const RoutingTables tables(*topology);
  EXPECT_EQ(tables.leaf_count(), 512U);
  // A leaf's ways to all other leaves are one group of 16 ports; a top's are 32 ports, one a pod.
  const SwitchRoutes& leaf = tables.routes(0);
  EXPECT_LE(leaf.block_count, 1U);  // Its own.
  ASSERT_FALSE(leaf.fallback.is_port());
  const PortGroup up = tables.group(leaf.fallback.group());
  EXPECT_EQ(up.count, 16U);
  EXPECT_GT(up.stride, 0U);
  for (std::uint32_t i = 0; i < up.count; ++i)
    EXPECT_EQ(tables.group_port(up, i), topology->node(topology->host_count()).ports[16 + i]);
  const SwitchRoutes& top = tables.routes(1024);
  EXPECT_EQ(top.block_shift, 4U);
  EXPECT_LE(top.block_count, 32U);
  for (std::uint32_t at = 0; at < 512; ++at)
    EXPECT_EQ(topology->port(tables.lookup(top, at).port()).peer, 8192U + 512U + at / 16U * 16U);
  EXPECT_LT(tables.bytes(), std::size_t{1} << 20U);
}

TEST(Rails, CountsHopsAndRefusals) {
  RailShape shape;
  shape.segments = 2;
  shape.servers_per_segment = 4;
  shape.rails = 8;
  shape.spines = 4;
  const auto topology = rail_network(shape);
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->host_count(), 64U);
  EXPECT_EQ(topology->switch_count(), 16U + 4U);
  PathSurvey paths(*topology);
  EXPECT_EQ(paths.hops(3, 8 + 3), 2U);  // The same rail of two servers.
  EXPECT_EQ(paths.hops(3, 8 + 4), 4U);  // Another rail: over a spine.
  EXPECT_EQ(paths.paths(3, 8 + 4), 4U);
  EXPECT_EQ(paths.hops(3, 32 + 3), 4U);  // Another segment.

  shape.hosts = RailHosts::kOnePerServer;
  const auto servers = rail_network(shape);
  ASSERT_TRUE(servers.ok());
  EXPECT_EQ(servers->host_count(), 8U);
  EXPECT_EQ(servers->node(0).ports.size(), 8U);
  EXPECT_EQ(PathSurvey(*servers).paths(0, 1), 8U);

  shape.spines = 0;
  EXPECT_EQ(rail_network(shape).error().message,
            "2 segments of 8 rails have no spine, expected at least 1 to join them");
}

TEST(Rails, TheLargestIsTaken) {
  RailShape shape;
  shape.segments = 1;
  shape.rails = 1;
  shape.spines = 0;
  shape.servers_per_segment = kTopologyHostsMax;
  const auto largest = rail_network(shape);
  ASSERT_TRUE(largest.ok()) << largest.error().message;
  EXPECT_EQ(largest->host_count(), kTopologyHostsMax);
  ++shape.servers_per_segment;
  EXPECT_FALSE(rail_network(shape).ok());
}

}  // namespace
}  // namespace wharf::sim
