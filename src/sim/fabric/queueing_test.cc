// SPDX-License-Identifier: Apache-2.0
// Queues of switch ports, each rule with numbers computed by hand. All links have 100 Gb/s, 80 ps a byte.
#include <deque>

#include "sim/fabric/fabric.h"
#include "sim/fabric/script_host_test_support.h"

namespace wharf::sim {
namespace {

constexpr LinkSpec kLink{gigabits_per_second(100), microseconds(1)};
constexpr std::int64_t kPacketPs = 1000 * 80;

/// Hosts 0 and 1 send to host 2: at the same instant, so that packets of 1000 B queue at the port to host 2.
/// The two first packets arrive at kFirst; link 0's is handled first, the port then serves one packet each 80
/// ns.
constexpr std::int64_t kFirst = kPacketPs + 1'000'000;

FabricConfig with(const PortProfile& profile) {
  FabricConfig config;
  config.profiles = {profile};
  return config;
}

TEST(Queueing, DropTailKeepsWhatFits) {
  PortProfile profile;
  profile.queues[0].capacity_bytes = 3000;
  const Topology topology = star(3, kLink, kTimeZero);
  ScriptFabric fabric(topology, with(profile));
  // Ten packets each, back to back: the port gets two packets every 80 ns and sends one. Occupancy after the
  // k-th pair: k + 1 packets of which one is being sent; it is full (3) after the second pair. From then on
  // one of each pair fits, the other is dropped: 8 drops of 20.
  fabric.send_burst(0, 2, 10, 1000);
  fabric.send_burst(1, 2, 10, 1000);
  fabric.run();
  EXPECT_EQ(fabric.received(2).size(), 12u);
  EXPECT_EQ(fabric.counters_to(2).dropped_full, 8u);
  EXPECT_EQ(fabric.received(2).back().at.ps, kFirst + 12 * kPacketPs + 1'000'000);
}

TEST(Queueing, SingleThresholdMarksAboveIt) {
  PortProfile profile;
  profile.queues[0].mark_min_bytes = 3000;
  profile.queues[0].mark_max_bytes = 3000;
  const Topology topology = star(3, kLink, kTimeZero);
  ScriptFabric fabric(topology, with(profile));
  fabric.send_burst(0, 2, 5, 1000);
  fabric.send_burst(1, 2, 5, 1000);
  fabric.run();
  // Occupancy when packet 1 to 10 leaves, itself included: at its start each decision sees both arrivals of
  // its instant. Packet 1 starts at once, alone: 1. Then 3, 4, 5, 6 while pairs arrive (2k packets have come
  // and k - 1 have left when packet k starts), then 5, 4, 3, 2, 1: marked are those that see more than 3.
  std::vector<bool> marked;
  for (const auto& packet : fabric.received(2)) marked.push_back((packet.head.flags & kHeadMarked) != 0);
  EXPECT_EQ(marked, (std::vector<bool>{false, false, true, true, true, true, true, false, false, false}));
  EXPECT_EQ(fabric.counters_to(2).marked, 5u);
}

TEST(Queueing, LinearMarkingFollowsItsProbability) {
  PortProfile profile;
  profile.queues[0].mark_min_bytes = 0;
  profile.queues[0].mark_max_bytes = 4000;
  const Topology topology = star(3, kLink, kTimeZero);
  ScriptFabric fabric(topology, with(profile));
  // One packet at a time: each leaves at an occupancy of 1000 B, so is marked with probability 1/4.
  fabric.send_burst(0, 2, 20'000, 1000);
  fabric.run();
  const double share = static_cast<double>(fabric.counters_to(2).marked) / 20'000;
  EXPECT_NEAR(share, 0.25, 0.0125);  // Four standard deviations.
}

TEST(Queueing, UnmarkableTrafficIsNotMarked) {
  PortProfile profile;
  profile.queues[0].mark_min_bytes = 0;
  profile.queues[0].mark_max_bytes = 0;
  const Topology topology = star(2, kLink, kTimeZero);
  ScriptFabric fabric(topology, with(profile));
  fabric.send(0, {.to = 1, .bytes = 1000, .flags = 0});
  fabric.send(0, {.to = 1, .bytes = 1000, .flags = kHeadEcnCapable});
  fabric.run();
  EXPECT_EQ(fabric.received(1)[0].head.flags & kHeadMarked, 0);
  EXPECT_NE(fabric.received(1)[1].head.flags & kHeadMarked, 0);
}

TEST(Queueing, WhatStaysBehindAPacketMayDecideAboutItsMark) {
  PortProfile profile;
  profile.queues[0].mark_min_bytes = profile.queues[0].mark_max_bytes = 2500;
  const Topology topology = star(3, kLink, kTimeZero);
  const auto marked = [&] {
    ScriptFabric fabric(topology, with(profile));
    fabric.send_burst(0, 2, 4, 1000);
    fabric.send_burst(1, 2, 4, 1000);
    fabric.run();
    std::vector<std::uint32_t> places;
    for (std::uint32_t i = 0; i < fabric.received(2).size(); ++i) {
      if ((fabric.received(2)[i].head.flags & kHeadMarked) != 0) places.push_back(i);
    }
    return places;
  };
  // Two come for each that leaves: with itself the n-th to leave is one of n + 1, at most 5 (of 8 come, 3
  // have gone), and then one of 4, 3, 2 and 1. Three packets are more than 2500 bytes, two are not.
  EXPECT_THAT(marked(), testing::ElementsAre(1u, 2u, 3u, 4u, 5u));
  profile.queues[0].mark_behind = true;
  EXPECT_THAT(marked(), testing::ElementsAre(2u, 3u, 4u));
}

TEST(Queueing, ArrivalsAreTrimmedAndOvertake) {
  PortProfile profile = PortProfile::composite(2000, kUnlimitedBytes, kUnlimitedBytes);
  profile.queues[1].overflow = OverflowRule::kTrimArrival;
  const Topology topology = star(3, kLink, kTimeZero);
  ScriptFabric fabric(topology, with(profile));
  fabric.send_burst(0, 2, 2, 1000);
  fabric.send_burst(1, 2, 2, 1000);
  fabric.run();
  // Packet 1 is being sent, 2 waits, and the next pair finds: at 80 ns later packet 1 still counts as it is
  // the instant of its end, at which arrivals come first; the port then settles, so 3 fits (2000 B) and 4
  // does not. The trimmed packet goes before the two whole ones that wait.
  ASSERT_EQ(fabric.received(2).size(), 4u);
  EXPECT_EQ(fabric.received(2)[0].head.bytes, 1000);
  EXPECT_EQ(fabric.received(2)[1].head.bytes, 64);
  EXPECT_EQ(fabric.received(2)[1].number, 1u);
  EXPECT_EQ(fabric.received(2)[1].from, 1u);
  EXPECT_NE(fabric.received(2)[1].head.flags & kHeadTrimmedLastHop, 0);
  EXPECT_EQ(fabric.received(2)[1].at.ps, kFirst + kPacketPs + 64 * 80 + 1'000'000);
  EXPECT_EQ(fabric.received(2)[3].at.ps, kFirst + 3 * kPacketPs + 64 * 80 + 1'000'000);
  EXPECT_EQ(fabric.counters_to(2).trimmed, 1u);
}

// 17 hosts at once: for each packet that fits 16 are trimmed, and their headers take more than the link has.
TEST(Queueing, TrimmedPacketsMayLeaveDataItsShare) {
  const Topology topology = star(18, kLink, kTimeZero);
  const auto whole_ones = [&](std::uint32_t percent) {
    PortProfile profile = PortProfile::composite(2000, kUnlimitedBytes, kUnlimitedBytes);
    if (percent != 0) profile.share_with_trimmed(percent);
    ScriptFabric fabric(topology, with(profile));
    for (std::uint32_t host = 0; host < 17; ++host) fabric.send_burst(host, 17, 400, 1000);
    fabric.run();
    std::uint32_t whole = 0;
    for (const auto& packet : fabric.received(17)) whole += (packet.head.flags & kHeadTrimmed) == 0 ? 1 : 0;
    return whole;
  };
  // The first one, and what waits when all have arrived: two that fit.
  EXPECT_NEAR(whole_ones(0), 3, 1);
  // The arrivals of 400 packets' time: a quarter goes to headers, or half.
  EXPECT_NEAR(whole_ones(25), 300 + 2, 4);
  EXPECT_NEAR(whole_ones(50), 200 + 2, 4);
}

TEST(Queueing, HalfOfTheTrimsHitTheNewestQueuedPacket) {
  const PortProfile profile = PortProfile::composite(10'000, kUnlimitedBytes, kUnlimitedBytes);
  const Topology topology = star(3, kLink, kTimeZero);
  ScriptFabric fabric(topology, with(profile));
  fabric.send_burst(0, 2, 8000, 1000);
  fabric.send_burst(1, 2, 8000, 1000);
  fabric.run();
  // In each pair the first packet (of host 0) fits and the second (of host 1) overflows: by the draw either
  // it is trimmed, or the newest, which came from host 0 just before.
  std::uint64_t trimmed[2] = {0, 0};
  for (const auto& packet : fabric.received(2)) {
    if ((packet.head.flags & kHeadTrimmed) != 0) ++trimmed[packet.from];
  }
  const std::uint64_t all = trimmed[0] + trimmed[1];
  EXPECT_EQ(fabric.received(2).size(), 16'000u);
  EXPECT_GT(all, 7000u);
  EXPECT_NEAR(static_cast<double>(trimmed[0]) / static_cast<double>(all), 0.5, 0.03);
}

TEST(Queueing, HalfOfTheDropsMayHitTheNewestQueuedPacket) {
  PortProfile profile = PortProfile::composite(10'000, kUnlimitedBytes, kUnlimitedBytes);
  profile.queues[1].overflow = OverflowRule::kDropNewestOrArrival;
  const Topology topology = star(3, kLink, kTimeZero);
  ScriptFabric fabric(topology, with(profile));
  fabric.send_burst(0, 2, 8000, 1000);
  fabric.send_burst(1, 2, 8000, 1000);
  fabric.run();
  // As above: of each pair one is dropped, that of host 0 or that of host 1. Ten find room at the end.
  std::uint64_t arrived[2] = {0, 0};
  for (const auto& packet : fabric.received(2)) ++arrived[packet.from];
  EXPECT_EQ(arrived[0] + arrived[1] + fabric.counters_to(2).dropped_full, 16'000u);
  EXPECT_NEAR(static_cast<double>(arrived[0] + arrived[1]), 8010, 2);
  EXPECT_NEAR(static_cast<double>(arrived[0]) / static_cast<double>(arrived[0] + arrived[1]), 0.5, 0.03);
}

TEST(Queueing, PriorityOvertakesWaitingPackets) {
  const PortProfile profile = PortProfile::composite(100'000, kUnlimitedBytes, kUnlimitedBytes);
  const Topology topology = star(3, kLink, kTimeZero);
  ScriptFabric fabric(topology, with(profile));
  fabric.send_burst(0, 2, 5, 1000);
  fabric.send_burst(1, 2, 4, 1000);
  fabric.send(1, {.to = 2, .bytes = 100, .traffic_class = 0, .number = 99});
  fabric.run();
  // The urgent packet arrives 3 x 80 + 8 ns after the first pair, during the fourth service; it is fifth.
  EXPECT_EQ(fabric.received(2)[4].number, 99u);
  EXPECT_EQ(fabric.received(2)[4].at.ps, kFirst + 4 * kPacketPs + 100 * 80 + 1'000'000);
}

TEST(Queueing, WeightsShareTheBytes) {
  PortProfile profile;
  profile.queues[0].weight = 1;
  profile.queues[1].weight = 3;
  profile.queue_of_class = {0, 0, 0, 0, 1, 1, 1, 1};
  const Topology topology = star(3, kLink, kTimeZero);
  ScriptFabric fabric(topology, with(profile));
  fabric.send_burst(0, 2, 400, 1000, 0);
  fabric.send_burst(1, 2, 400, 1000, 4);
  fabric.run();
  // Among the first 400 sent, queue 1 has three quarters (within two packets for the start).
  std::uint32_t heavy = 0;
  for (std::uint32_t i = 0; i < 400; ++i) heavy += fabric.received(2)[i].from == 1 ? 1 : 0;
  EXPECT_NEAR(heavy, 300, 2);
  EXPECT_EQ(fabric.received(2).size(), 800u);
}

TEST(Queueing, RefusesWhatMakesNoSense) {
  const Topology topology = star(3, kLink, kTimeZero);
  PortProfile profile;
  profile.queues[1].mark_min_bytes = 5000;
  profile.queues[1].mark_max_bytes = 4000;
  EXPECT_THAT(validate(with(profile), topology).error().message, testing::HasSubstr("ecn_min is 5000"));
  EXPECT_FALSE(validate({}, topology).ok());
  FabricConfig both = with(PortProfile::composite(1000, 1, 2));
  both.flow_control.kind = FlowControl::kPause;
  EXPECT_THAT(validate(both, topology).error().message, testing::HasSubstr("under flow control"));
  FabricConfig resuming = with(PortProfile{});
  resuming.flow_control.xoff_bytes = 4000;
  resuming.flow_control.xon_bytes = 4001;
  EXPECT_EQ(validate(resuming, topology).error().message,
            "fabric.pfc_xon is 4001 bytes, expected at most fabric.pfc_xoff (4000 bytes)");
}

// What a host sends when its link is free again may begin to wait for a time of its own: it is called then,
// though nothing arrives at it.
TEST(Queueing, AHostIsCalledAtATimeThatItsLastPacketSet) {
  for (const bool in_turns : {false, true}) {
    FabricConfig config = with(PortProfile::single_queue());
    config.turns = in_turns;
    const Topology topology = star(2, kLink, kTimeZero);
    ScriptFabric fabric(topology, config);
    fabric.send_burst(0, 1, 3, 1000);
    fabric.send(0, {.to = 1, .number = 3, .not_before = microseconds(50)});
    fabric.send(0, {.to = 1, .number = 4, .not_before = microseconds(90)});
    fabric.run();
    ASSERT_EQ(fabric.received(1).size(), 5U) << (in_turns ? "in turns" : "by events");
    EXPECT_EQ(fabric.received(1)[3].at, microseconds(52) + picoseconds(2 * kPacketPs));
    EXPECT_EQ(fabric.received(1)[4].at, microseconds(92) + picoseconds(2 * kPacketPs));
  }
}

}  // namespace
}  // namespace wharf::sim
