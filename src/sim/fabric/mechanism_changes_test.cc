// SPDX-License-Identifier: Apache-2.0
// Mechanisms of switches, links and hosts where something is slow, fails or changes its rate. Links have
// 100 Gb/s (80 ps a byte) and 1 us unless a test says otherwise.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/fabric/fabric.h"
#include "sim/fabric/script_host_test_support.h"

namespace wharf::sim {
namespace {

constexpr LinkSpec kLink{gigabits_per_second(100), microseconds(1)};
constexpr std::int64_t kPacketPs = 1000 * 80;
constexpr std::int64_t kDelayPs = 1'000'000;

FabricConfig plain() {
  FabricConfig config;
  config.profiles = {PortProfile::single_queue()};
  return config;
}

FabricConfig pausing(std::uint32_t xoff, std::uint32_t xon) {
  FabricConfig config = plain();
  config.flow_control = {.kind = FlowControl::kPause, .xoff_bytes = xoff, .xon_bytes = xon};
  return config;
}

FabricConfig crediting(std::uint32_t limit, std::uint32_t spacing) {
  FabricConfig config = plain();
  config.flow_control = {
      .kind = FlowControl::kCredit, .credit_limit_bytes = limit, .update_spacing_bytes = spacing};
  return config;
}

/// Host 0 sends at 100 Gb/s, host 1 takes less.
Topology narrowing(BitsPerSecond last) {
  Topology topology;
  topology.add_host();
  topology.add_host();
  const NodeId middle = topology.add_switch(0, kTimeZero);
  topology.connect(0, middle, kLink);
  topology.connect(1, middle, {last, kLink.delay});
  return topology;
}

TimePs first(const ScriptFabric& fabric, bool paused) {
  for (const PauseRecord& record : fabric.pauses()) {
    if (record.port == 0 && record.paused == paused) return record.at;
  }
  return kNever;
}

// --- Rates that change

// What has left is as long as it was sent, whatever its link does afterwards.
TEST(ChangedRates, CutThroughGoesByTheRateAtWhichAPacketLeft) {
  const Topology topology = star(2, kLink, kTimeZero);
  FabricConfig config = plain();
  config.switching = Switching::kCutThrough;
  config.changes = {{.at = nanoseconds(400), .port = 0, .rate = gigabits_per_second(25)}};
  ScriptFabric fabric(topology, config);
  fabric.send(0, {.to = 1, .bytes = 4160});
  fabric.send(0, {.to = 1, .bytes = 4160, .not_before = microseconds(5)});
  fabric.run();
  ASSERT_EQ(fabric.received(1).size(), 2u);
  EXPECT_EQ(fabric.received(1)[0].at.ps, 64 * 80 + kDelayPs + 4160 * 80 + kDelayPs);
  // The last byte leaves the switch when it comes, at 25 Gb/s.
  EXPECT_EQ(fabric.received(1)[1].at.ps, 5'000'000 + 4160 * 320 + kDelayPs + kDelayPs);
}

}  // namespace
}  // namespace wharf::sim
