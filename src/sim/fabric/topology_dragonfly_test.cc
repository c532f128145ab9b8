// SPDX-License-Identifier: Apache-2.0
// Shapes of dragonflies against the formulas of Kim et al. (ISCA 2008), and their minimal ways.
#include "sim/fabric/topology_dragonfly.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "sim/fabric/topology_survey.h"

namespace wharf::sim {
namespace {

Topology made(std::uint32_t hosts, std::uint32_t routers, std::uint32_t globals, std::uint32_t groups = 0) {
  DragonflyShape shape{.hosts = hosts, .routers = routers, .globals = globals};
  shape.groups = groups;
  auto topology = dragonfly(shape);
  EXPECT_TRUE(topology.ok()) << topology.error().message;
  return *std::move(topology);
}

std::string refusal(const DragonflyShape& shape) {
  const auto topology = dragonfly(shape);
  EXPECT_FALSE(topology.ok());
  return topology.ok() ? "" : topology.error().message;
}

/// Links between each pair of groups.
std::map<std::pair<std::uint32_t, std::uint32_t>, int> pairs_of(const Topology& topology) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> pairs;
  for (const TopologyPort& port : topology.ports()) {
    const std::uint32_t from = topology.node(port.node).pod;
    const std::uint32_t to = topology.node(port.peer).pod;
    if (from < to) ++pairs[{from, to}];
  }
  return pairs;
}

bool is_global(const Topology& topology, PortId link) {
  return topology.node(topology.port(link).node).pod != topology.node(topology.port(link).peer).pod;
}

// g = a h + 1 groups, N = a p g hosts, and each router has p + a - 1 + h links.
TEST(Dragonfly, TheLargestOneHasALinkBetweenEachPairOfGroups) {
  const Topology topology = made(2, 4, 2);
  EXPECT_EQ(topology.host_count(), 72U);
  EXPECT_EQ(topology.switch_count(), 36U);
  for (NodeId router = 72; router < 108; ++router)
    EXPECT_EQ(topology.node(router).ports.size(), 2U + 3U + 2U);
  const auto pairs = pairs_of(topology);
  EXPECT_EQ(pairs.size(), 9U * 8U / 2U);
  for (const auto& [pair, links] : pairs) EXPECT_EQ(links, 1) << pair.first << " and " << pair.second;
}

TEST(Dragonfly, FewerGroupsShareTheLinksEvenly) {
  // 8 global links of a group, 3 other groups: 2 to each, and 2 stay away.
  const Topology topology = made(1, 4, 2, 4);
  const auto pairs = pairs_of(topology);
  EXPECT_EQ(pairs.size(), 6U);
  for (const auto& [pair, links] : pairs) EXPECT_EQ(links, 2) << pair.first << " and " << pair.second;
  for (NodeId router = 16; router < 32; ++router) EXPECT_LE(topology.node(router).ports.size(), 1U + 3U + 2U);
}

// One local, one global and one local link are enough, and no minimal way takes two global ones: that way
// would have fewer links for some pairs.
TEST(Dragonfly, MinimalWaysHaveOneGlobalLink) {
  for (const Topology& topology : {made(1, 4, 2), made(2, 3, 1), made(1, 4, 2, 4), made(1, 2, 3, 3)}) {
    PathSurvey survey(topology);
    std::size_t longest = 0;
    for (NodeId from = 0; from < topology.host_count(); ++from) {
      for (NodeId to = 0; to < topology.host_count(); ++to) {
        const auto path = survey.path(from, to);
        int globals = 0;
        for (const PortId link : path) globals += is_global(topology, link) ? 1 : 0;
        EXPECT_EQ(globals, topology.node(from).pod == topology.node(to).pod ? 0 : 1) << from << " to " << to;
        longest = std::max(longest, path.size());
        EXPECT_EQ(survey.hops(from, to), path.size());
        EXPECT_GE(survey.paths(from, to), 1U);
      }
    }
    EXPECT_LE(longest, 5U);
  }
}

TEST(Dragonfly, TheLongestDetourHasTwoGlobalLinks) {
  const Topology topology = made(2, 4, 2);
  PathSurvey survey(topology);
  const auto detour = survey.detour(0, 71, Bytes{4160});
  int globals = 0;
  for (const PortId link : detour) globals += is_global(topology, link) ? 1 : 0;
  EXPECT_EQ(globals, 2);
  EXPECT_GT(detour.size(), survey.path(0, 71).size());
  EXPECT_EQ(topology.port(detour.front()).node, 0U);
  EXPECT_EQ(topology.port(detour.back()).peer, 71U);
  for (std::size_t i = 1; i < detour.size(); ++i)
    EXPECT_EQ(topology.port(detour[i]).node, topology.port(detour[i - 1]).peer);
}

TEST(Dragonfly, WhatCannotBeIsRefused) {
  EXPECT_EQ(refusal({.hosts = 0}), "a dragonfly has a count of 0, expected at least 1 of everything");
  DragonflyShape many{.hosts = 2, .routers = 4, .globals = 2};
  many.groups = 10;
  EXPECT_EQ(refusal(many),
            "a dragonfly has 10 groups, but 4 routers with 2 global links each reach 8 others, expected at "
            "most 9 groups");
  many.groups = 1;
  EXPECT_EQ(refusal(many), "a dragonfly has 1 group, expected at least 2");
  EXPECT_EQ(refusal({.hosts = 4'000'000'000, .routers = 4'000'000'000, .globals = 4'000'000'000}),
            "a dragonfly is too large, expected at most 131072 hosts and 4194304 links");
}

}  // namespace
}  // namespace wharf::sim
