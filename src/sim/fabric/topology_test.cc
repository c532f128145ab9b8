// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/topology.h"

#include "sim/fabric/topology_cut.h"
#include "sim/fabric/topology_survey.h"

namespace wharf::sim {
namespace {

TEST(Topology, ConnectNumbersBothDirectionsAndCountsBundles) {
  Topology topology;
  const NodeId host = topology.add_host();
  const NodeId leaf = topology.add_switch(0, kTimeZero);
  const NodeId spine = topology.add_switch(1, kTimeZero);
  topology.connect(host, leaf, {});
  EXPECT_EQ(topology.connect(leaf, spine, {}), 2u);
  EXPECT_EQ(topology.connect(leaf, spine, {}), 4u);
  EXPECT_EQ(topology.port(5).node, spine);
  EXPECT_EQ(topology.port(5).peer, leaf);
  EXPECT_EQ(topology.port(5).reverse, 4u);
  EXPECT_EQ(topology.port(5).bundle, 1u);
  EXPECT_EQ(topology.node(leaf).ports, (std::vector<PortId>{1, 2, 4}));
}

TEST(Topology, DisconnectedHostsAreNamed) {
  Topology topology;
  for (int i = 0; i < 4; ++i) topology.add_host();
  topology.connect(0, 1, {});
  topology.connect(2, 3, {});
  const auto valid = topology.validate();
  ASSERT_FALSE(valid.ok());
  EXPECT_THAT(valid.error().message, testing::HasSubstr("host 2 cannot reach host 0"));
}

TEST(Topology, HostsDoNotForward) {
  Topology topology;
  for (int i = 0; i < 3; ++i) topology.add_host();
  topology.connect(0, 1, {});
  topology.connect(1, 2, {});
  EXPECT_FALSE(topology.validate().ok());
}

TEST(Topology, StarAndBackToBackAreValid) {
  EXPECT_TRUE(back_to_back({}).validate().ok());
  const Topology around = star(5, {}, nanoseconds(300));
  EXPECT_TRUE(around.validate().ok());
  EXPECT_EQ(around.switch_count(), 1u);
  EXPECT_EQ(around.node(5).ports.size(), 5u);
  EXPECT_EQ(around.node(5).latency, nanoseconds(300));
}

TEST(Topology, WhatOneHalfCanSendToTheOtherInARing) {
  const LinkSpec link{gigabits_per_second(100), microseconds(1)};
  Topology ring;
  for (int i = 0; i < 10; ++i) ring.add_host();
  for (int i = 0; i < 5; ++i) ring.add_switch(0, kTimeZero);
  for (NodeId i = 0; i < 10; ++i) ring.connect(i, 10 + i / 2, link);
  EXPECT_FALSE(has_links_within_tiers(ring));
  for (NodeId i = 0; i < 5; ++i) ring.connect(10 + i, 10 + (i + 1) % 5, link);
  EXPECT_TRUE(has_links_within_tiers(ring));
  // Two links of the ring lead from the first two switches; the third switch has a host of either half, and
  // passes on 100 Gb/s to the one and 100 to the fourth switch.
  EXPECT_EQ(gbps_between_halves(ring), 300U);
  EXPECT_EQ(gbps_between_halves(back_to_back(link)), 100U);
}

// Links between switches of one tier lead neither up nor down.
TEST(Topology, TiersCountTheirLinksUpAndDownApart) {
  const LinkSpec down{gigabits_per_second(100), microseconds(1)};
  const LinkSpec across{gigabits_per_second(400), microseconds(9)};
  const LinkSpec up{gigabits_per_second(200), microseconds(3)};
  Topology both;
  for (int i = 0; i < 4; ++i) both.add_host();
  for (int i = 0; i < 2; ++i) both.add_switch(0, kTimeZero);
  both.add_switch(1, kTimeZero);
  for (NodeId i = 0; i < 4; ++i) both.connect(i, 4 + i / 2, down);
  both.connect(4, 5, across);
  for (NodeId i = 4; i < 6; ++i) both.connect(i, 6, up);
  const TopologySummary summary = survey(both);
  ASSERT_EQ(summary.tiers.size(), 2U);
  const TierSummary& low = summary.tiers[0];
  EXPECT_EQ(low.switches, 2U);
  EXPECT_EQ(low.ports_down_min, 2U);
  EXPECT_EQ(low.ports_down_max, 2U);
  EXPECT_EQ(low.ports_up_min, 1U);
  EXPECT_EQ(low.ports_up_max, 1U);
  EXPECT_EQ(low.down_gbps, 400U);
  EXPECT_EQ(low.up_gbps, 400U);
  EXPECT_EQ(low.link_delay_min, microseconds(1));
  EXPECT_EQ(low.link_delay_max, microseconds(1));
  const TierSummary& high = summary.tiers[1];
  EXPECT_EQ(high.ports_down_max, 2U);
  EXPECT_EQ(high.ports_up_max, 0U);
  EXPECT_EQ(high.link_delay_min, microseconds(3));
}

}  // namespace
}  // namespace wharf::sim
