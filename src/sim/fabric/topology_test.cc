// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/topology.h"

#include "sim/fabric/topology_cut.h"

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

}  // namespace
}  // namespace wharf::sim
