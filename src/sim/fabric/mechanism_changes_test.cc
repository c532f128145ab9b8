// SPDX-License-Identifier: Apache-2.0
// Mechanisms of switches, links and hosts where something is slow, fails or changes its rate. Links have
// 100 Gb/s (80 ps a byte) and 1 us unless a test says otherwise.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/fabric/fabric.h"
#include "sim/fabric/link_changes.h"
#include "sim/fabric/mechanism_test_support.h"

namespace wharf::sim {
namespace {

using mechanism_test::kDelayPs;
using mechanism_test::kLink;
using mechanism_test::kPacketPs;
using mechanism_test::plain;

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

/// Asks for 1000 B of growth with each packet and counts what becomes of it.
class AskingHost : public ScriptHost {
 public:
  using ScriptHost::ScriptHost;
  static std::optional<congestion::CaqmFields> caqm_fields(Body& /*body*/, std::uint32_t /*mtu*/) {
    return congestion::CaqmFields{.increase = true, .hint_bytes = 1000};
  }
  static void answer_caqm(Body& body, const congestion::CaqmFields& fields) {
    body.number = fields.congestion ? 1 : 0;
  }
};

// Half of what 500 ns carry is credit: 3125 B at 100 Gb/s, 781 B at 25.
TEST(ChangedRates, CaqmGrantsWhatTheLinkCarriesNow) {
  const Topology topology = star(2, kLink, kTimeZero);
  for (const bool slow : {false, true}) {
    FabricConfig config = plain();
    config.caqm = congestion::CaqmPortConfig{.target_queue_bytes = 0, .mark_ppm = 1'000'000};
    if (slow) config.changes = {{.at = microseconds(1), .port = 3, .rate = gigabits_per_second(25)}};
    Fabric<AskingHost> fabric(topology, config, [](NodeId host) { return AskingHost(host); });
    for (int i = 0; i < 10; ++i)
      fabric.host(0).to_send.push_back({.to = 1, .not_before = microseconds(4 * i + 4)});
    fabric.run_until(seconds(1));
    ASSERT_EQ(fabric.host(1).received.size(), 10u);
    for (const ReceivedPacket& packet : fabric.host(1).received) EXPECT_EQ(packet.number, slow ? 1u : 0u);
  }
}

// A pause of a fast direction ends sooner than one of a slow direction; who tells it again over the slow one
// goes by the fast one.
TEST(ChangedRates, APauseIsToldAgainByTheTimeOfTheDirectionThatIsPaused) {
  const Topology topology = narrowing(BitsPerSecond{100'000'000});
  FabricConfig config = pausing(8000, 1000);
  config.faults.resize(topology.ports().size());
  config.faults[0].damage = 1e-300;
  config.changes = {{.at = kTimeZero, .port = topology.port(0).reverse, .rate = gigabits_per_second(25)}};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 60, 1000);
  fabric.run();
  EXPECT_GT(first(fabric, false) - first(fabric, true), microseconds(500));
  EXPECT_EQ(fabric.received(1).size(), 60u);
}

// --- Slow hosts

/// Hosts 0 and 1, joined by two switches.
Topology two_planes() {
  Topology topology;
  topology.add_host();
  topology.add_host();
  for (int i = 0; i < 2; ++i) topology.add_switch(0, kTimeZero);
  for (NodeId middle = 2; middle < 4; ++middle) {
    topology.connect(0, middle, kLink);
    topology.connect(1, middle, kLink);
  }
  return topology;
}

// The host pauses the link over which too much comes, each of its links and queues by itself, and lets each
// go on.
TEST(SlowHosts, EveryLinkThatIsPausedGoesOn) {
  const Topology topology = two_planes();
  FabricConfig config = pausing(8000, 5000);
  config.profiles[0].queues[1] = config.profiles[0].queues[0];
  config.profiles[0].queue_of_class[5] = 1;
  // 8 kB, and what each queue of both links may send until its pause has come: 27 kB.
  config.ingest = {gigabits_per_second(10), 120'000};
  ScriptFabric fabric(topology, config);
  for (std::uint32_t i = 0; i < 400; ++i)
    fabric.send(0, {.to = 1, .traffic_class = static_cast<std::uint8_t>(4 + i % 2), .number = i});
  fabric.run();
  EXPECT_EQ(fabric.received(1).size(), 400u);
  EXPECT_EQ(fabric.ingest(1).refused, 0u);
  std::vector<unsigned> paused(topology.ports().size());
  for (const PauseRecord& record : fabric.pauses()) paused[record.port] |= 1U << record.queue;
  for (const PortId port : topology.node(1).ports) EXPECT_EQ(paused[topology.port(port).reverse], 3u);
  for (PortId port = 0; port < topology.ports().size(); ++port) EXPECT_EQ(fabric.port(port).blocked, 0u);
}

// 20 kB and more at 100 Mb/s last longer than the 335.5 us that a frame can carry.
TEST(SlowHosts, TheirPausesAreToldAgain) {
  const Topology topology = star(2, kLink, kTimeZero);
  FabricConfig config = pausing(20'000, 10'000);
  config.ingest = {BitsPerSecond{100'000'000}, 100'000};
  config.faults = {{.damage = 1e-300}};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 500, 1000);
  fabric.run();
  EXPECT_EQ(fabric.received(1).size(), 500u);
  EXPECT_EQ(fabric.ingest(1).refused, 0u);
}

// --- Links that fail

// Two packets have credit at a time; those to a host that is cut off give it back at once.
TEST(FailedLinks, PacketsWithoutAWayGiveTheirCreditsBack) {
  const Topology topology = star(3, kLink, kTimeZero);
  FabricConfig config = crediting(2048, 6400);
  config.changes = {{.at = kTimeZero, .port = topology.port(topology.node(1).ports[0]).reverse, .up = false}};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 20, 1000);
  fabric.send(0, {.to = 2});
  fabric.run();
  ASSERT_EQ(fabric.received(2).size(), 1u);
  EXPECT_LT(fabric.received(2)[0].at, microseconds(30));
}

// Pause, resume and updates of credits are lost as everything is; when the link returns, its ends agree
// again.
TEST(FailedLinks, CarryNoFramesOfFlowControlAndSayThemLater) {
  const Topology topology = narrowing(gigabits_per_second(10));
  const PortId back = topology.port(0).reverse;
  for (FabricConfig config : {pausing(8000, 5000), crediting(8000, 1)}) {
    config.flow_control.consumed_update_period = milliseconds(100);
    config.changes = {{.at = microseconds(4), .port = 0, .up = false},
                      {.at = microseconds(4), .port = back, .up = false},
                      {.at = microseconds(90), .port = 0, .up = true},
                      {.at = microseconds(90), .port = back, .up = true}};
    ScriptFabric fabric(topology, config);
    fabric.send_burst(0, 1, 100, 1000);
    fabric.run(microseconds(4));
    const std::uint64_t sent = fabric.port(back).sent_packets;
    const std::uint64_t pauses = fabric.port_counters(back).pause_frames;
    fabric.run(microseconds(90));
    EXPECT_EQ(fabric.port(back).sent_packets, sent);
    // What never left was not sent, and no link has lost it.
    EXPECT_EQ(fabric.port_counters(back).pause_frames, pauses);
    EXPECT_EQ(fabric.port_counters(back).lost, 0u);
    fabric.run(microseconds(300));
    EXPECT_EQ(fabric.port_counters(back).control_frames, fabric.port(back).sent_packets);
    EXPECT_EQ(fabric.port(0).blocked, 0u);
    EXPECT_EQ(fabric.received(1).size() + fabric.port_counters(0).lost, 100u);
    EXPECT_GT(fabric.received(1).size(), 60u);
  }
}

// Host 0 has been paused when nothing passes from the switch to it any more: the resume frame neither. The
// pause ends when its time is over, 335.5 us after the last of its frames.
TEST(FailedLinks, APauseEndsThoughTheWayOfItsResumeFrameIsDown) {
  const Topology topology = narrowing(gigabits_per_second(10));
  FabricConfig config = pausing(8000, 5000);
  config.changes = {{.at = microseconds(4), .port = topology.port(0).reverse, .up = false}};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 100, 1000);
  fabric.run(microseconds(4));
  ASSERT_EQ(fabric.port(0).blocked, 1u);
  fabric.run();
  EXPECT_EQ(fabric.port(0).blocked, 0u);
  EXPECT_EQ(fabric.received(1).size(), 100u);
  EXPECT_GT(first(fabric, false) - first(fabric, true), microseconds(335));
  EXPECT_LT(first(fabric, false) - first(fabric, true), microseconds(336));
}

TEST(FailedLinks, OneWayIsWhatTheOtherWayDoesNotDoAtOnce) {
  const Topology topology = narrowing(gigabits_per_second(10));
  const PortId back = topology.port(0).reverse;
  const LinkChange down{.at = microseconds(4), .port = 0, .up = false};
  const LinkChange down_back{.at = microseconds(4), .port = back, .up = false};
  const LinkChange slower{.at = microseconds(2), .port = 0, .rate = gigabits_per_second(25)};
  LinkChange up = down;
  up.up = true;
  up.at = microseconds(9);
  EXPECT_FALSE(fails_one_way({}, topology));
  EXPECT_FALSE(fails_one_way({slower}, topology));
  EXPECT_TRUE(fails_one_way({down}, topology));
  EXPECT_FALSE(fails_one_way({down_back, slower, down}, topology));
  EXPECT_TRUE(fails_one_way({up, down_back, down}, topology));
  LinkChange up_back = up;
  up_back.port = back;
  EXPECT_FALSE(fails_one_way({up, up_back, down_back, down}, topology));
  up_back.at = microseconds(10);
  EXPECT_TRUE(fails_one_way({up, up_back, down_back, down}, topology));
}

// --- Counters and queues

// A pause that is in force when somebody looks has lasted until then.
TEST(HeldPorts, CountAPauseThatHasNotEnded) {
  const Topology topology = narrowing(gigabits_per_second(10));
  ScriptFabric fabric(topology, pausing(8000, 5000));
  fabric.send_burst(0, 1, 100, 1000);
  fabric.run(microseconds(8));
  ASSERT_EQ(fabric.port(0).blocked, 1u);
  EXPECT_EQ(fabric.port_counters(0).paused_ps,
            static_cast<std::uint64_t>((microseconds(8) - first(fabric, true)).ps));
}

// [UE 1.0 5.2] Counters of 20 bits tell less than half of their range apart when they may also run backwards.
TEST(Credits, MoreThanTheCountersCanTellApartAreRefused) {
  const Topology topology = narrowing(gigabits_per_second(10));
  FabricConfig config = crediting(524'287, 1);
  config.flow_control.credit_bytes = 1;
  EXPECT_TRUE(validate(config, topology).ok());
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 2000, 1000);
  fabric.run(microseconds(100));
  EXPECT_GT(fabric.port(3).queue_bytes[0], 500'000u);
  fabric.run();
  EXPECT_EQ(fabric.received(1).size(), 2000u);
  config.flow_control.credit_limit_bytes = 524'288;
  const auto refused = validate(config, topology);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "fabric.credit_limit is 524288 credits of 1 bytes, expected at most 524287 credits");
  config.flow_control.kind = FlowControl::kPause;
  EXPECT_TRUE(validate(config, topology).ok());
}

PortProfile three_queues() {
  PortProfile profile = PortProfile::single_queue();
  for (std::uint8_t queue = 0; queue < 3; ++queue) {
    profile.queues[queue].priority = queue == 0 ? 0 : 1;
    profile.queue_of_class[queue] = queue;
  }
  return profile;
}

// While queue 1 waits behind a queue of a higher priority, another of its own priority gets something to do:
// they share from then on.
TEST(Weights, AHigherPriorityDoesNotMoveTheShareOfALowerOne) {
  const Topology topology = star(4, kLink, kTimeZero);
  FabricConfig config = plain();
  config.profiles = {three_queues()};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 3, 100, 1000, 0);
  fabric.send_burst(1, 3, 100, 1000, 1);
  for (std::uint32_t i = 0; i < 100; ++i)
    fabric.send(2, {.to = 3, .traffic_class = 2, .number = i, .not_before = microseconds(6)});
  fabric.run();
  const auto& got = fabric.received(3);
  ASSERT_EQ(got.size(), 300u);
  const auto last = std::find_if(got.rbegin(), got.rend(), [](const auto& p) { return p.from == 0; });
  const auto after = last.base();
  ASSERT_GT(got.end() - after, 20);
  EXPECT_NEAR(std::count_if(after, after + 20, [](const auto& packet) { return packet.from == 1; }), 10, 1);
}

// What a paused queue could not send is not made up for afterwards.
TEST(Weights, AQueueThatIsHeldSavesUpNothing) {
  Topology topology;
  for (int i = 0; i < 4; ++i) topology.add_host();
  for (int i = 0; i < 2; ++i) topology.add_switch(0, kTimeZero);
  for (NodeId host = 0; host < 4; ++host) topology.connect(host, host < 2 ? 4 : 5, kLink);
  topology.connect(4, 5, kLink);
  FabricConfig config = pausing(60'000, 40'000);
  PortProfile profile = three_queues();
  for (PortQueueConfig& queue : profile.queues) queue.priority = 0;
  config.profiles = {profile};
  config.flow_control.queues = 2;
  // Until 100 us host 2 takes 1 Gb/s, so that the link between the switches holds queue 1.
  config.changes = {{.at = kTimeZero, .port = 5, .rate = gigabits_per_second(1)},
                    {.at = microseconds(100), .port = 5, .rate = gigabits_per_second(100)}};
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 2, 3000, 1000, 1);
  fabric.send_burst(1, 3, 6000, 1000, 2);
  fabric.run(microseconds(150));
  const auto between = [&](NodeId host) {
    const auto& got = fabric.received(host);
    return std::count_if(got.begin(), got.end(),
                         [](const auto& packet) { return packet.at > microseconds(110); });
  };
  // 500 packets in 40 us.
  EXPECT_NEAR(between(2), 250, 50);
  EXPECT_NEAR(between(3), 250, 50);
}

TEST(Overflow, OneQueueOfAPortMayReplaceItsNewest) {
  const Topology topology = star(2, kLink, kTimeZero);
  FabricConfig config = plain();
  config.profiles = {three_queues()};
  config.profiles[0].queues[1].overflow = OverflowRule::kDropNewestOrArrival;
  config.profiles[0].queues[3].overflow = OverflowRule::kDropNewestOrArrival;  // Nothing goes there.
  EXPECT_TRUE(validate(config, topology).ok());
  config.profiles[0].queues[2].overflow = OverflowRule::kTrimNewestOrArrival;
  const auto refused = validate(config, topology);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "queues 1 and 2 of a port replace their newest packet, expected one at most");
}

// --- Link-level retry

// The next frame leaves shortly before the replay timer of the lost one ends: the LLR_NACK that it causes
// comes when the timer has begun the replay. Nothing is given up for that.
TEST(LateNacks, DoNotCountAsASecondReplay) {
  const Topology topology = star(2, kLink, kTimeZero);
  FabricConfig config = plain();
  config.faults.assign(topology.ports().size(), {.retry = true});
  config.faults[0].loss = 0.05;
  ScriptFabric fabric(topology, config);
  for (std::uint32_t i = 0; i < 1000; ++i)
    fabric.send(0, {.to = 1, .number = i, .not_before = microseconds(4 * i)});
  fabric.run();
  EXPECT_GT(fabric.port_counters(0).retry_timeouts, 20u);
  EXPECT_LT(fabric.port_counters(0).retry_flushes, 12u);
  EXPECT_GT(fabric.received(1).size(), 985u);
}

}  // namespace
}  // namespace wharf::sim
