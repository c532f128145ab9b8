// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/fabric.h"

#include "sim/fabric/window_host.h"

namespace wharf::sim {
namespace {

using WindowFabric = Fabric<WindowHost>;

FabricConfig plain() {
  FabricConfig config;
  config.profiles = {PortProfile::single_queue()};
  return config;
}

TEST(Fabric, OnePacketOverOneSwitchTakesTheSumOfItsParts) {
  const Topology topology = star(2, {gigabits_per_second(100), microseconds(1)}, nanoseconds(300));
  WindowFabric fabric(topology, plain(), [](NodeId host) {
    return WindowHost({.host = host, .destination = 1, .window = 1, .packets = 1});
  });
  fabric.run_until(milliseconds(1));
  // Store and forward: 2 x (4160 B at 80 ps/B + 1 us) + 300 ns one way, the same with 64 B back.
  EXPECT_EQ(fabric.host(1).last_arrival(), picoseconds(2 * (4160 * 80 + 1'000'000) + 300'000));
  EXPECT_EQ(fabric.host(0).last_round_trip(),
            picoseconds(2 * (4160 * 80 + 1'000'000) + 300'000 + 2 * (64 * 80 + 1'000'000) + 300'000));
  EXPECT_EQ(fabric.counters().hops, 4u);
  EXPECT_EQ(fabric.packets_in_fabric(), 0u);
}

TEST(Fabric, ALineOfPacketsArrivesAtTheRateOfTheLink) {
  const Topology topology = back_to_back({gigabits_per_second(100), microseconds(1)});
  WindowFabric fabric(topology, plain(), [](NodeId host) {
    return WindowHost({.host = host, .destination = 1, .window = 1000, .packets = 100});
  });
  fabric.run_until(milliseconds(1));
  EXPECT_EQ(fabric.host(1).received(), 100u);
  EXPECT_EQ(fabric.host(1).last_arrival(), picoseconds(100 * 4160 * 80 + 1'000'000));
}

TEST(Fabric, TwoSendersShareOnePort) {
  const Topology topology = star(3, {gigabits_per_second(100), microseconds(1)}, kTimeZero);
  WindowFabric fabric(topology, plain(), [](NodeId host) {
    return WindowHost({.host = host, .destination = 2, .window = 1000, .packets = 10});
  });
  fabric.run_until(milliseconds(1));
  EXPECT_EQ(fabric.host(2).received(), 20u);
  // First byte leaves at 0; the port is busy without a pause from the first arrival on.
  EXPECT_EQ(fabric.host(2).last_arrival(), picoseconds(4160 * 80 + 1'000'000 + 20 * 4160 * 80 + 1'000'000));
}

// A rate of 0 is unlimited. Where the time of a byte is a whole number, it is multiplied instead of divided.
TEST(Fabric, TheTimeOfBytesOnALink) {
  EXPECT_EQ(serialisation_ps(1500, 0), 0U);
  EXPECT_EQ(whole_ps_per_byte(0), 0U);
  EXPECT_EQ(whole_ps_per_byte(400'000'000'000), 20U);
  EXPECT_EQ(whole_ps_per_byte(8'000'000'000'000), 1U);
  EXPECT_EQ(whole_ps_per_byte(300'000'000'000), 0U) << "26.7 ps";
  EXPECT_EQ(whole_ps_per_byte(16'000'000'000'000), 0U) << "half a picosecond";
  EXPECT_EQ(whole_ps_per_byte(1000), 0U) << "too many for its 32 bits";
  EXPECT_EQ(serialisation_ps(3, 300'000'000'000), 80U);
  EXPECT_EQ(serialisation_ps(1, 300'000'000'000), 27U) << "rounded up";
}

}  // namespace
}  // namespace wharf::sim
