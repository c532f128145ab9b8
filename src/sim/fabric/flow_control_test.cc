// SPDX-License-Identifier: Apache-2.0
// Where pause and credits begin and end, to the byte. Links have 100 Gb/s (80 ps a byte) and 1 us unless a
// test says otherwise. [IEEE 802.1Qbb; UE 1.0 5.2]
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/fabric/fabric.h"
#include "sim/fabric/script_host_test_support.h"

namespace wharf::sim {
namespace {

constexpr LinkSpec kLink{gigabits_per_second(100), microseconds(1)};
constexpr std::int64_t kPacketPs = 1000 * 80;
constexpr std::int64_t kDelayPs = 1'000'000;
constexpr std::int64_t kFramePs = 84 * 80;

FabricConfig plain() {
  FabricConfig config;
  config.profiles = {PortProfile::single_queue()};
  return config;
}

/// Host 0 sends at 100 Gb/s, host 1 takes 10.
Topology narrowing() {
  Topology topology;
  topology.add_host();
  topology.add_host();
  const NodeId middle = topology.add_switch(0, kTimeZero);
  topology.connect(0, middle, kLink);
  topology.connect(1, middle, {gigabits_per_second(10), kLink.delay});
  return topology;
}

FabricConfig pausing(std::uint32_t xoff, std::uint32_t xon) {
  FabricConfig config = plain();
  config.flow_control = {.kind = FlowControl::kPause, .xoff_bytes = xoff, .xon_bytes = xon};
  return config;
}

/// When host 0 is paused for the first time, or may go on.
TimePs first(const ScriptFabric& fabric, bool paused) {
  for (const PauseRecord& record : fabric.pauses()) {
    if (record.port == 0 && record.paused == paused) return record.at;
  }
  return kNever;
}

// More than xoff bytes are held: the packet that brings them sends the pause back.
TEST(FlowControl, APauseBeginsAboveXoff) {
  const Topology topology = narrowing();
  struct Case {
    std::uint32_t xoff;
    std::int64_t packets;  ///< The one whose arrival is too much.
  };
  for (const Case& each : {Case{2999, 3}, Case{3000, 4}, Case{3998, 4}, Case{3999, 4}, Case{4000, 5}}) {
    ScriptFabric fabric(topology, pausing(each.xoff, 1000));
    fabric.send_burst(0, 1, 60, 1000);
    fabric.run();
    EXPECT_EQ(first(fabric, true).ps, each.packets * kPacketPs + kDelayPs + kFramePs + kDelayPs) << each.xoff;
    EXPECT_EQ(fabric.received(1).size(), 60u);
  }
}

// No more than xon bytes are held: the packet that leaves then sends the resume back.
TEST(FlowControl, APauseEndsAtXon) {
  const Topology topology = narrowing();
  struct Case {
    std::uint32_t xon;
    std::int64_t held;  ///< Packets left when host 0 is told to go on.
  };
  for (const Case& each : {Case{4999, 4}, Case{5000, 5}, Case{5001, 5}, Case{5999, 5}, Case{6000, 6}}) {
    ScriptFabric fabric(topology, pausing(8000, each.xon));
    fabric.send_burst(0, 1, 200, 1000);
    fabric.run();
    const TimePs paused = first(fabric, true);
    const TimePs resumed = first(fabric, false);
    ASSERT_NE(resumed, kNever) << each.xon;
    const std::int64_t sent =
        (paused.ps + kPacketPs - 1) / kPacketPs;  // One after the other until the pause.
    const std::int64_t told = resumed.ps - kDelayPs - kFramePs;
    const auto left =
        std::count_if(fabric.received(1).begin(), fabric.received(1).end(),
                      [&](const ReceivedPacket& packet) { return packet.at.ps - kDelayPs <= told; });
    EXPECT_EQ(sent - left, each.held) << each.xon;
    EXPECT_EQ(fabric.received(1).size(), 200u);
  }
}

// A pause stops the queue that it names; others go on.
TEST(FlowControl, APauseStopsItsQueueAlone) {
  const Topology topology = narrowing();
  FabricConfig config = pausing(8000, 5000);
  PortProfile profile = PortProfile::single_queue();
  profile.queues[1] = profile.queues[0];
  profile.queue_of_class[5] = 1;
  config.profiles = {profile};
  config.flow_control.queues = 1;
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 100, 1000);
  // Long after the pause has come, and long before it ends.
  for (std::uint32_t number = 0; number < 5; ++number) {
    fabric.send(
        0,
        {.to = 1, .bytes = 1000, .traffic_class = 5, .number = 1000 + number, .not_before = microseconds(4)});
  }
  fabric.run(nanoseconds(3900));
  const std::uint64_t sent = fabric.port(0).sent_packets;
  fabric.run(microseconds(8));
  EXPECT_LT(first(fabric, true), microseconds(4));
  EXPECT_EQ(fabric.port(0).blocked, 1u);
  EXPECT_EQ(fabric.port(0).sent_packets, sent + 5);
}

FabricConfig crediting(std::uint32_t limit, std::uint32_t spacing) {
  FabricConfig config = plain();
  config.flow_control = {
      .kind = FlowControl::kCredit, .credit_limit_bytes = limit, .update_spacing_bytes = spacing};
  return config;
}

// The frames of the switch to host 0 are lost as often as not. A lost resume frame does not hold the link for
// ever.
TEST(FlowControl, APauseEndsWithoutItsResumeFrame) {
  const Topology topology = narrowing();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FabricConfig config = pausing(8000, 5000);
    config.faults.resize(topology.ports().size());
    config.faults[topology.port(0).reverse].loss = 0.5;
    config.seed = seed;
    ScriptFabric fabric(topology, config);
    fabric.send_burst(0, 1, 400, 1000);
    fabric.run();
    EXPECT_EQ(fabric.received(1).size(), 400u) << seed;
    EXPECT_EQ(fabric.port(0).blocked, 0u) << seed;
  }
}

// Who goes on holding a link tells it again before the pause ends: here 560 us at 100 Mb/s, longer than the
// 335.5 that a frame can carry.
TEST(FlowControl, ALongPauseIsToldAgain) {
  Topology topology;
  topology.add_host();
  topology.add_host();
  const NodeId middle = topology.add_switch(0, kTimeZero);
  topology.connect(0, middle, kLink);
  topology.connect(1, middle, {BitsPerSecond{100'000'000}, kLink.delay});
  FabricConfig config = pausing(8000, 1000);
  config.faults.resize(topology.ports().size());
  config.faults[0].damage = 1e-300;
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 60, 1000);
  fabric.run();
  EXPECT_GT(first(fabric, false) - first(fabric, true), microseconds(500));
  EXPECT_EQ(fabric.received(1).size(), 60u);
}

// A packet costs as many credits as it begins: 129 bytes cost two of 128.
TEST(FlowControl, APacketCostsTheCreditsThatItBegins) {
  const Topology topology = star(2, kLink, kTimeZero);
  struct Case {
    std::uint16_t bytes;
    std::uint32_t together;  ///< Packets that four credits pay.
  };
  for (const Case& each :
       {Case{127, 4}, Case{128, 4}, Case{129, 2}, Case{256, 2}, Case{257, 1}, Case{512, 1}}) {
    ScriptFabric fabric(topology, crediting(512, 1));
    fabric.send_burst(0, 1, 6, each.bytes);
    fabric.run();
    const auto& got = fabric.received(1);
    ASSERT_EQ(got.size(), 6u);
    std::uint32_t together = 1;
    while (together < 6 && got[together].at.ps - got[together - 1].at.ps == each.bytes * 80) ++together;
    EXPECT_EQ(together, each.together) << each.bytes;
  }
}

// Choice: however wide updates are spaced, the last credits of a buffer that is empty are told at once.
TEST(FlowControl, AnEmptyBufferIsReportedAtOnce) {
  const Topology topology = star(2, kLink, kTimeZero);
  ScriptFabric fabric(topology, crediting(2048, 1U << 20U));
  fabric.send_burst(0, 1, 4, 1000);
  fabric.run();
  ASSERT_EQ(fabric.received(1).size(), 4u);
  // The second packet leaves the switch behind the first; 8 B later the update travels 1 us.
  const std::int64_t update = 3 * kPacketPs + kDelayPs + 8 * 80 + kDelayPs;
  EXPECT_EQ(fabric.received(1)[2].at.ps, update + 2 * (kPacketPs + kDelayPs));
}

// CF_Update: an ordered set of 8 B between the frames of the other direction, which takes its time there.
TEST(FlowControl, CreditUpdatesTakeRoomOnTheWayBack) {
  const Topology topology = star(2, kLink, kTimeZero);
  const auto last = [&](FlowControl kind) {
    FabricConfig config;
    config.profiles = {PortProfile::single_queue()};
    config.flow_control = {.kind = kind, .update_spacing_bytes = 2000};
    ScriptFabric fabric(topology, config);
    for (const NodeId host : {0U, 1U}) fabric.send_burst(host, 1 - host, 300, 1000);
    fabric.run();
    const Port& back = fabric.port(fabric.port_to(0));
    const std::uint64_t updates = back.sent_packets - 300;
    EXPECT_EQ(back.sent_bytes, 300'000 + 8 * updates);
    if (kind == FlowControl::kCredit) EXPECT_GE(updates, 150u);  // One for each 2000 B, at least.
    return std::pair(fabric.received(0).back().at, updates);
  };
  const auto [free, none] = last(FlowControl::kNone);
  EXPECT_EQ(none, 0u);
  const auto [busy, updates] = last(FlowControl::kCredit);
  // Most of them leave while data still wait behind them.
  EXPECT_GE((busy - free).ps, 100 * 8 * 80);
  EXPECT_LE((busy - free).ps, static_cast<std::int64_t>(updates) * 8 * 80);
}

}  // namespace
}  // namespace wharf::sim
