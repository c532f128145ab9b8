// SPDX-License-Identifier: Apache-2.0
// How the hosts of a world are shared out among threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/fabric/partitioning.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/world_settings.h"

namespace wharf::sim {
namespace {

/// The share of the fuller of two partitions, where a request takes the server three tenths of the client's
/// time (measured for the key-value service). `clients` are the first hosts, servers the last.
double fuller_share(std::uint32_t hosts, std::uint32_t clients, std::uint32_t servers) {
  ScenarioSource source;
  source.text = "[model]\nstack = \"roce_dma\"\n[topology]\nfrom = \"fat_tree:" + std::to_string(hosts) +
                "\"\n[hosts]\nclients = " + std::to_string(clients) +
                "\nservers = " + std::to_string(servers) +
                "\n[run]\nworkload = \"key_value\"\noperations = 10\nkeys = 1000\n";
  source.profile_directory = "profiles";
  const auto scenario = load_scenario(source);
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  const auto plan = plan_world(scenario->config);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  const std::vector<std::uint8_t> parts = divide(plan->config.topology, 2, plan->config.fabric.host_work);
  std::vector<double> time(2, 0);
  for (std::uint32_t client = 0; client < clients; ++client) {
    time[parts[client]] += 1.0;
    time[parts[hosts - servers + client % servers]] += 0.3;
  }
  return std::max(time[0], time[1]) / (time[0] + time[1]);
}

TEST(WorldWork, TwoThreadsHaveAboutEquallyMuchToDo) {
  // Half, and half a leaf of four hosts. Where a request counted for the server as half, the threads of the
  // first had 48 of the 64 clients, and the server with 16: 0.58.
  EXPECT_LT(fuller_share(128, 64, 1), 0.55);
  EXPECT_LT(fuller_share(128, 127, 1), 0.55);
  EXPECT_LT(fuller_share(128, 120, 8), 0.55);
  EXPECT_LT(fuller_share(128, 64, 64), 0.55);
  EXPECT_LT(fuller_share(54, 53, 1), 0.55);
}

}  // namespace
}  // namespace wharf::sim
