// SPDX-License-Identifier: Apache-2.0
// Each mechanism of links, switches and hosts with numbers computed by hand. Links have 100 Gb/s (80 ps a
// byte) and 1 us unless a test says otherwise.
#include "sim/fabric/fabric.h"
#include "sim/fabric/mechanism_test_support.h"
#include "sim/fabric/port_names.h"

namespace wharf::sim {
namespace {

using mechanism_test::kDelayPs;
using mechanism_test::kLink;
using mechanism_test::kPacketPs;
using mechanism_test::plain;

/// Two leaves (switches 0 and 1) with `hosts` hosts each, joined by `spines` spines.
Topology leaf_spine(std::uint32_t hosts, std::uint32_t spines, BitsPerSecond uplink_rate) {
  Topology topology;
  for (std::uint32_t host = 0; host < 2 * hosts; ++host) topology.add_host();
  const NodeId leaf = topology.add_switch(0, kTimeZero);
  topology.add_switch(0, kTimeZero);
  for (std::uint32_t spine = 0; spine < spines; ++spine) topology.add_switch(1, kTimeZero);
  for (std::uint32_t host = 0; host < 2 * hosts; ++host) topology.connect(host, leaf + host / hosts, kLink);
  for (std::uint32_t of = 0; of < 2; ++of) {
    for (std::uint32_t spine = 0; spine < spines; ++spine)
      topology.connect(leaf + of, leaf + 2 + spine, {uplink_rate, kLink.delay});
  }
  return topology;
}

/// Packets sent by each uplink of the first leaf of leaf_spine(hosts, spines).
std::vector<std::uint64_t> uplink_packets(const ScriptFabric& fabric, std::uint32_t hosts,
                                          std::uint32_t spines) {
  std::vector<std::uint64_t> sent;
  for (std::uint32_t spine = 0; spine < spines; ++spine)
    sent.push_back(fabric.port(2 * (2 * hosts + spine)).sent_packets);
  return sent;
}

TEST(Switching, StoreAndForwardWithLatencyAndFec) {
  const Topology topology = star(2, kLink, nanoseconds(300));
  FabricConfig config = plain();
  config.fec_delay = nanoseconds(100);
  ScriptFabric fabric(topology, config);
  fabric.send(0, {.to = 1, .bytes = 4160});
  fabric.run();
  EXPECT_EQ(fabric.received(1).at(0).at.ps, 2 * (4160 * 80 + kDelayPs + 100'000) + 300'000);
}

TEST(Switching, CutThroughCountsSerialisationOnce) {
  const Topology topology = star(2, kLink, nanoseconds(300));
  FabricConfig config = plain();
  config.switching = Switching::kCutThrough;
  ScriptFabric fabric(topology, config);
  fabric.send(0, {.to = 1, .bytes = 4160});
  fabric.run();
  // The switch goes on when 64 B have come; the host takes the whole packet.
  EXPECT_EQ(fabric.received(1).at(0).at.ps, 64 * 80 + kDelayPs + 300'000 + 4160 * 80 + kDelayPs);
}

TEST(Switching, CutThroughToAFasterLinkWaitsUntilThePacketCannotRunDry) {
  Topology topology;
  topology.add_host();
  topology.add_host();
  const NodeId middle = topology.add_switch(0, kTimeZero);
  topology.connect(0, middle, kLink);
  topology.connect(1, middle, {gigabits_per_second(400), kLink.delay});
  FabricConfig config = plain();
  config.switching = Switching::kCutThrough;
  ScriptFabric fabric(topology, config);
  fabric.send(0, {.to = 1, .bytes = 4160});
  fabric.run();
  // The last byte reaches the switch at 332.8 ns + 1 us and leaves it at once.
  EXPECT_EQ(fabric.received(1).at(0).at.ps, 4160 * 80 + kDelayPs + kDelayPs);
}

TEST(Balancing, RoundRobinIsExact) {
  const Topology topology = leaf_spine(1, 4, kLink.rate);
  FabricConfig config = plain();
  config.load_balancing = LoadBalancing::kRoundRobin;
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 400, 1000);
  fabric.run();
  EXPECT_EQ(uplink_packets(fabric, 1, 4), (std::vector<std::uint64_t>{100, 100, 100, 100}));
}

TEST(Balancing, EcmpKeepsOneEntropyOnOnePathAndSpreadsMany) {
  const Topology topology = leaf_spine(1, 4, kLink.rate);
  ScriptFabric same(topology, plain());
  for (int i = 0; i < 400; ++i) same.send(0, {.to = 1, .entropy = 7});
  same.run();
  const auto one = uplink_packets(same, 1, 4);
  EXPECT_EQ(std::count(one.begin(), one.end(), 400u), 1);
  ScriptFabric many(topology, plain());
  many.send_burst(0, 1, 4000, 1000);
  many.run();
  // Binomial with mean 1000 and standard deviation 27.
  for (const std::uint64_t packets : uplink_packets(many, 1, 4))
    EXPECT_NEAR(static_cast<double>(packets), 1000, 110);
}

TEST(Balancing, SprayIgnoresEntropy) {
  const Topology topology = leaf_spine(1, 4, kLink.rate);
  FabricConfig config = plain();
  config.load_balancing = LoadBalancing::kSpray;
  ScriptFabric fabric(topology, config);
  for (int i = 0; i < 4000; ++i) fabric.send(0, {.to = 1, .entropy = 7});
  fabric.run();
  for (const std::uint64_t packets : uplink_packets(fabric, 1, 4))
    EXPECT_NEAR(static_cast<double>(packets), 1000, 110);
}

TEST(Balancing, AdaptiveAvoidsTheSlowUplink) {
  // Two uplinks, one of them at 25 Gb/s: the slow one should carry one packet in five.
  const Topology topology = leaf_spine(1, 2, kLink.rate);
  FabricConfig config = plain();
  config.load_balancing = LoadBalancing::kAdaptive;
  config.changes = {{.at = kTimeZero, .port = 4, .rate = gigabits_per_second(25)},
                    {.at = kTimeZero, .port = 6, .rate = gigabits_per_second(75)}};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 4000, 1000);
  fabric.run();
  // Offered 100 Gb/s, served 25 + 75: queues stay short only if the split follows the rates.
  const auto sent = uplink_packets(fabric, 1, 2);
  EXPECT_NEAR(static_cast<double>(sent[0]), 1000, 50);
  EXPECT_EQ(sent[0] + sent[1], 4000u);
}

TEST(Changes, AFailedUplinkIsAvoidedByItsOwnSwitch) {
  const Topology topology = leaf_spine(1, 2, kLink.rate);
  FabricConfig config = plain();
  config.load_balancing = LoadBalancing::kRoundRobin;
  config.changes = {{.at = kTimeZero, .port = 4, .up = false}};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 100, 1000);
  fabric.run();
  EXPECT_EQ(uplink_packets(fabric, 1, 2), (std::vector<std::uint64_t>{0, 100}));
  EXPECT_EQ(fabric.received(1).size(), 100u);
}

TEST(Changes, ARemoteFailureNeedsNewRoutes) {
  // The link from spine 0 down to leaf 1 is direction 9: leaf 1's uplinks are ports 8 and 10.
  const Topology topology = leaf_spine(1, 2, kLink.rate);
  FabricConfig config = plain();
  config.load_balancing = LoadBalancing::kRoundRobin;
  config.changes = {{.at = kTimeZero, .port = 9, .up = false}};
  ScriptFabric blind(topology, config);
  blind.send_burst(0, 1, 100, 1000);
  blind.run();
  EXPECT_EQ(blind.received(1).size(), 50u);
  EXPECT_EQ(blind.port_counters(4).dropped_no_route, 50u);
  config.reroute_delay = nanoseconds(10);
  ScriptFabric knowing(topology, config);
  knowing.send_burst(0, 1, 100, 1000);
  knowing.run();
  EXPECT_EQ(knowing.received(1).size(), 100u);
}

TEST(Changes, PacketsQueuedOnAFailingLinkAreLost) {
  const Topology topology = star(3, kLink, kTimeZero);
  FabricConfig config = plain();
  // Host 2's port has got 5 pairs of packets by 1.48 us and has started to send the fifth at 1.4 us.
  config.changes = {{.at = picoseconds(1'450'000), .port = 5, .up = false},
                    {.at = microseconds(3), .port = 5, .up = true}};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 2, 5, 1000);
  fabric.send_burst(1, 2, 5, 1000);
  fabric.run();
  EXPECT_EQ(fabric.received(2).size(), 5u);
  EXPECT_EQ(fabric.counters_to(2).lost, 5u);
}

TEST(Changes, ASlowLinkServesAtItsNewRate) {
  const Topology topology = star(2, kLink, kTimeZero);
  FabricConfig config = plain();
  config.changes = {{.at = nanoseconds(500), .port = 3, .rate = gigabits_per_second(25)}};
  ScriptFabric fabric(topology, config);
  fabric.send(0, {.to = 1, .bytes = 1000});
  fabric.run();
  EXPECT_EQ(fabric.received(1).at(0).at.ps, kPacketPs + kDelayPs + 4 * kPacketPs + kDelayPs);
}

TEST(LinkFaults, LossAndDamageAreCountedWhereTheyHappen) {
  const Topology topology = back_to_back(kLink);
  FabricConfig config = plain();
  config.faults = {{.loss = 0.1, .damage = 0.2}};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 10'000, 1000);
  fabric.run();
  const PortCounters& counters = fabric.port_counters(0);
  EXPECT_NEAR(static_cast<double>(counters.lost), 1000, 120);
  EXPECT_NEAR(static_cast<double>(counters.damaged), 1800, 160);
  EXPECT_EQ(fabric.received(1).size() + counters.lost + counters.damaged, 10'000u);
}

TEST(Pause, GoesOutAboveXoffAndTakesItsWireTime) {
  const Topology topology = star(3, kLink, kTimeZero);
  FabricConfig config = plain();
  config.flow_control = {.kind = FlowControl::kPause, .xoff_bytes = 3000, .xon_bytes = 1000};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 2, 200, 1000);
  fabric.send_burst(1, 2, 200, 1000);
  fabric.run();
  EXPECT_EQ(fabric.received(2).size(), 400u);
  EXPECT_EQ(fabric.counters_to(2).dropped_full, 0u);
  // A pair of packets arrives each 80 ns from 1.08 us on and one leaves, alternately of host 0 and 1. Of host
  // 1, 4 packets are held after the fifth pair has arrived, of host 0 after the sixth. The pause frame of 84
  // B goes back at once.
  const auto pauses = fabric.pauses();
  ASSERT_GT(pauses.size(), 4u);
  EXPECT_EQ(pauses[0].at.ps, kPacketPs + kDelayPs + 4 * kPacketPs + 84 * 80 + kDelayPs);
  EXPECT_EQ(pauses[0].port, 2u);
  EXPECT_TRUE(pauses[0].paused);
  EXPECT_EQ(pauses[1].at.ps, pauses[0].at.ps + kPacketPs);
  EXPECT_EQ(pauses[1].port, 0u);
  EXPECT_GT(fabric.port_counters(0).paused_ps, 0u);
  EXPECT_EQ(fabric.packets_in_fabric(), 0u);
}

TEST(Pause, PropagatesFromSwitchToSwitch) {
  const Topology topology = leaf_spine(2, 1, kLink.rate);
  FabricConfig config = plain();
  config.flow_control = {.kind = FlowControl::kPause, .xoff_bytes = 10'000, .xon_bytes = 8'000};
  // Host 2 takes 10 Gb/s: its leaf pauses the spine, the spine the first leaf, that leaf hosts 0 and 1.
  config.changes = {{.at = kTimeZero, .port = 5, .rate = gigabits_per_second(10)}};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 2, 1000, 1000);
  fabric.send_burst(1, 2, 1000, 1000);
  fabric.run();
  EXPECT_EQ(fabric.received(2).size(), 2000u);
  std::vector<bool> paused(topology.ports().size());
  for (const PauseRecord& record : fabric.pauses()) paused[record.port] = true;
  EXPECT_TRUE(paused[0] && paused[2]);  // Hosts 0 and 1.
  EXPECT_TRUE(paused[8]);               // Leaf 0 up to the spine.
  EXPECT_TRUE(paused[11]);              // The spine down to leaf 1.
}

TEST(Pause, ARingOfHeldPortsIsFoundAndNamed) {
  Topology ring;
  for (int i = 0; i < 5; ++i) ring.add_host();
  for (int i = 0; i < 5; ++i) ring.add_switch(0, kTimeZero);
  for (NodeId i = 0; i < 5; ++i) ring.connect(i, 5 + i, kLink);
  for (NodeId i = 0; i < 5; ++i) ring.connect(5 + i, 5 + (i + 1) % 5, kLink);
  FabricConfig config = plain();
  config.flow_control = {.kind = FlowControl::kPause, .xoff_bytes = 5000, .xon_bytes = 1000};
  ScriptFabric fabric(ring, config);
  // Everyone sends two switches further: each link of the ring gets twice what it can carry.
  for (NodeId i = 0; i < 5; ++i) fabric.send_burst(i, (i + 2) % 5, 500, 1000);
  EXPECT_EQ(fabric.run(), FabricEnd::kDrained);
  EXPECT_GT(fabric.packets_in_fabric(), 0u);
  const auto cycle = fabric.waiting_cycle();
  EXPECT_EQ(cycle.size(), 5u);
  EXPECT_THAT(describe_cycle(PortNames(ring, {}), cycle),
              testing::AllOf(testing::HasSubstr("leaf0-leaf1"), testing::HasSubstr("waits for leaf1-leaf2")));
}

TEST(Credits, ALinkSendsWhatItHasCreditFor) {
  const Topology topology = star(2, kLink, kTimeZero);
  FabricConfig config = plain();
  // 1000 B cost 8 credits of 128 B; there are 16.
  config.flow_control = {.kind = FlowControl::kCredit, .credit_limit_bytes = 2048, .update_spacing_bytes = 1};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 4, 1000);
  fabric.run();
  ASSERT_EQ(fabric.received(1).size(), 4u);
  // The first packet has left the switch 80 + 1000 + 80 ns after the start; 8 B later the update travels 1
  // us; then the third packet starts. The fourth follows the update for the second, 80 ns later.
  const std::int64_t update = 2 * kPacketPs + kDelayPs + 8 * 80 + kDelayPs;
  EXPECT_EQ(fabric.received(1)[1].at.ps, 3 * kPacketPs + 2 * kDelayPs);
  EXPECT_EQ(fabric.received(1)[2].at.ps, update + 2 * (kPacketPs + kDelayPs));
  EXPECT_EQ(fabric.received(1)[3].at.ps, update + kPacketPs + 2 * (kPacketPs + kDelayPs));
}

// [UE 1.0 5.2] Frames that a link loses take their credits with them, until the sender has told what it
// consumed.
TEST(Credits, ThoseOfLostFramesComeBack) {
  const Topology topology = star(2, kLink, kTimeZero);
  FabricConfig config = plain();
  config.flow_control = {.kind = FlowControl::kCredit, .credit_limit_bytes = 4096, .update_spacing_bytes = 1};
  config.faults = {LinkFaults{.loss = 0.1}};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 1000, 1000);
  EXPECT_EQ(fabric.run(), FabricEnd::kDrained);
  const std::uint64_t lost = fabric.port_counters(0).lost + fabric.counters_to(1).lost;
  EXPECT_GT(lost, 100u);
  EXPECT_GE(fabric.received(1).size() + lost, 1000u);  // Lost frames of flow control count, too.
  EXPECT_LT(fabric.received(1).size(), 1000u);
  EXPECT_EQ(fabric.packets_in_fabric(), 0u);
}

TEST(Credits, ThoseOfFramesWithoutRoomComeBack) {
  const Topology topology = star(3, kLink, kTimeZero);
  FabricConfig config = plain();
  config.profiles[0].queues[0].capacity_bytes = 3000;  // Less than both links have credit for.
  config.flow_control = {.kind = FlowControl::kCredit, .credit_limit_bytes = 8192, .update_spacing_bytes = 1};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 2, 200, 1000);
  fabric.send_burst(1, 2, 200, 1000);
  EXPECT_EQ(fabric.run(), FabricEnd::kDrained);
  EXPECT_GT(fabric.counters_to(2).dropped_full, 0u);
  EXPECT_EQ(fabric.received(2).size() + fabric.counters_to(2).dropped_full, 400u);
  EXPECT_EQ(fabric.packets_in_fabric(), 0u);
}

// What a link holds back and lets come later was counted as lost; the counters agree again afterwards.
TEST(Credits, SurviveALinkThatReorders) {
  const Topology topology = star(2, kLink, kTimeZero);
  FabricConfig config = plain();
  config.flow_control = {.kind = FlowControl::kCredit,
                         .credit_limit_bytes = 4096,
                         .update_spacing_bytes = 1,
                         .consumed_update_period = microseconds(1)};
  config.faults = {LinkFaults{.reordering = 0.3, .reorder_delay = microseconds(20)}};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 500, 1000);
  EXPECT_EQ(fabric.run(), FabricEnd::kDrained);
  EXPECT_EQ(fabric.received(1).size(), 500u);
}

TEST(Ingest, WhatTheHostCannotTakeCountsAsTrimmed) {
  const Topology topology = back_to_back(kLink);
  FabricConfig config = plain();
  config.ingest = {gigabits_per_second(50), 3000};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 10, 1000);
  fabric.run();
  // 1000 B arrive and 500 B drain each 80 ns: backlogs 1000, 1500, 2000, 2500, 3000, then the next finds 2500
  // and does not fit, the one after finds 2000 and does, and so on.
  std::vector<std::uint32_t> refused;
  for (const auto& packet : fabric.received(1)) {
    if ((packet.head.flags & kHeadTrimmed) != 0) refused.push_back(packet.number);
  }
  EXPECT_EQ(refused, (std::vector<std::uint32_t>{5, 7, 9}));
  EXPECT_EQ(fabric.ingest(1).refused, 3u);
}

TEST(Ingest, ASlowHostPausesItsSwitchAndLosesNothing) {
  const Topology topology = star(2, kLink, kTimeZero);
  FabricConfig config = plain();
  config.ingest = {gigabits_per_second(50), 1'000'000};
  config.flow_control = {.kind = FlowControl::kPause, .xoff_bytes = 20'000, .xon_bytes = 15'000};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 1000, 1000);
  fabric.run();
  EXPECT_EQ(fabric.received(1).size(), 1000u);
  EXPECT_EQ(fabric.ingest(1).refused, 0u);
  // One megabyte at 50 Gb/s takes 160 us. 15 kB last 2.4 us, longer than a resume frame and the first packet
  // take to cross (2.09 us), so the memory never idles; at the end up to about 30 kB may still wait.
  EXPECT_GT(fabric.received(1).back().at, microseconds(155));
  EXPECT_LT(fabric.received(1).back().at, microseconds(163));
}

TEST(Observation, SamplesShowTheQueueAsItIs) {
  const Topology topology = star(3, kLink, kTimeZero);
  FabricConfig config = plain();
  config.sample_interval = nanoseconds(1100);
  config.sampled_ports = {5};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 2, 10, 1000);
  fabric.send_burst(1, 2, 10, 1000);
  fabric.run(microseconds(5));
  // At 1.1 us one pair has arrived (1.08 us); at 2.2 us all 20 have, and the 14th ends.
  const auto samples = fabric.samples();
  ASSERT_EQ(samples.size(), 3u);  // Nothing happens after 3.7 us.
  EXPECT_EQ(samples[0].queued_bytes, 2000u);
  EXPECT_EQ(samples[1].queued_bytes, 6000u);
  EXPECT_EQ(samples[1].sent_bytes, 14'000u);
  EXPECT_EQ(samples[2].queued_bytes, 0u);
}

TEST(Observation, CapturedLinksKeepTheirPackets) {
  const Topology topology = star(3, kLink, kTimeZero);
  FabricConfig config = plain();
  config.captured_ports = {0, 5};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 2, 2, 1000);
  fabric.run();
  const auto captured = fabric.take_captures();
  ASSERT_EQ(captured.size(), 4u);
  EXPECT_EQ(captured[0].link, 0u);
  // When the last byte has left the port.
  EXPECT_EQ(captured[0].at.ps, kPacketPs);
  EXPECT_EQ(captured[3].link, 5u);
  EXPECT_EQ(captured[3].at.ps, kPacketPs + kDelayPs + 2 * kPacketPs);
  EXPECT_TRUE(fabric.take_captures().empty());
}

}  // namespace
}  // namespace wharf::sim
