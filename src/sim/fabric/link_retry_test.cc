// SPDX-License-Identifier: Apache-2.0
// Link-level retry: the two machines by hand, what a lost frame costs, and that any link with loss below 1
// delivers every frame once and in order. Links have 100 Gb/s (80 ps a byte) and 1 us.
#include "sim/fabric/link_retry.h"

#include <gmock/gmock.h>

#include "base/random.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/fat_tree_test_support.h"
#include "sim/fabric/script_host_test_support.h"

namespace wharf::sim {
namespace {

constexpr LinkSpec kLink{gigabits_per_second(100), microseconds(1)};
constexpr std::int64_t kPacketPs = 1000 * 80;
constexpr std::int64_t kDelayPs = 1'000'000;
constexpr std::int64_t kOrderedSetPs = 8 * 80;

FabricConfig with(std::vector<LinkFaults> faults) {
  FabricConfig config;
  config.profiles = {PortProfile::single_queue()};
  config.faults = std::move(faults);
  return config;
}

std::vector<std::uint32_t> numbers(const std::vector<ReceivedPacket>& received, std::uint32_t from) {
  std::vector<std::uint32_t> all;
  for (const ReceivedPacket& packet : received) {
    if (packet.from == from) all.push_back(packet.number);
  }
  return all;
}

std::vector<std::uint32_t> first_numbers(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::uint32_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

TEST(LinkRetryMachine, OneNackForAGapAndSilenceUntilTheMissingFrameComes) {
  using State = LinkRetryReceiver::State;
  LinkRetryReceiver receiver;
  EXPECT_TRUE(receiver.take(0));
  EXPECT_FALSE(receiver.take(2));
  EXPECT_EQ(receiver.state, State::kSendNack);
  EXPECT_EQ(receiver.last_good(), 0u);
  receiver.state = State::kNackSent;  // As a port does that sends it.
  receiver.ack_due = false;
  EXPECT_FALSE(receiver.take(3));
  receiver.miss();
  EXPECT_EQ(receiver.state, State::kNackSent);
  EXPECT_FALSE(receiver.ack_due);
  EXPECT_FALSE(receiver.take(0));  // Replayed from before: its acknowledgement and the NACK were lost.
  EXPECT_TRUE(receiver.ack_due);
  EXPECT_TRUE(receiver.take(1));
  EXPECT_EQ(receiver.state, State::kSendAcks);
  EXPECT_TRUE(receiver.ack_due);
  receiver.ack_due = false;
  EXPECT_FALSE(receiver.take(0));  // The sender has not heard that it is there.
  EXPECT_TRUE(receiver.ack_due);
}

TEST(LinkRetryMachine, AcknowledgementsAreCumulativeAndNumbersWrap) {
  LinkRetrySender sender;
  sender.first = kFrameSequenceMask;  // The last number before 0.
  PacketHead head;
  head.bytes = 100;
  for (int i = 0; i < 3; ++i) sender.keep(head);
  EXPECT_EQ(sender.sequence_of(1), 0u);
  EXPECT_FALSE(sender.acknowledge(kFrameSequenceMask - 1));  // Nothing new.
  EXPECT_FALSE(sender.acknowledge(2));                       // Never sent.
  sender.replays = 1;
  EXPECT_TRUE(sender.acknowledge(0));
  EXPECT_EQ(sender.replays, 0u);
  EXPECT_EQ(sender.kept.size(), 1u);
  EXPECT_EQ(sender.kept_bytes, 100u);
  EXPECT_EQ(sender.first, 1u);
}

/// How often a single frame had to be sent again, and when it came.
struct Single {
  std::int64_t again;
  std::int64_t at;
  std::uint64_t nacks;
};
Single send_single(LinkFaults there, std::uint64_t seed) {
  const Topology topology = back_to_back(kLink);
  there.retry = true;
  there.retry_limit = 0;
  there.retry_rules.replay_timer_max = microseconds(7);
  FabricConfig config = with({there, {.retry = true}});
  config.seed = seed;
  ScriptFabric fabric(topology, config);
  fabric.send(0, {.to = 1});
  fabric.run();
  EXPECT_EQ(fabric.received(1).size(), 1u);
  return {static_cast<std::int64_t>(fabric.port_counters(0).retried), fabric.received(1).at(0).at.ps,
          fabric.port_counters(1).retry_nacks};
}

// A damaged frame is noticed where it arrives: 80 ns of sending, 1 us there, 8 B and 1 us back. When the
// replay is damaged, too, the far end says nothing more, and the timer of 7 us after its last byte is what
// helps.
TEST(LinkRetry, ADamagedFrameCostsTheRoundTripOfItsNack) {
  std::int64_t most = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Single single = send_single({.damage = 0.5}, seed);
    std::int64_t expected = kPacketPs + kDelayPs;
    if (single.again > 0) expected += kPacketPs + 2 * kDelayPs + kOrderedSetPs;
    if (single.again > 1) expected += (single.again - 1) * (kPacketPs + 7'000'000);
    EXPECT_EQ(single.at, expected) << single.again;
    EXPECT_EQ(single.nacks, single.again > 0 ? 1u : 0u);
    most = std::max(most, single.again);
  }
  EXPECT_GT(most, 1);
}

// Nothing arrives, so nobody can say that it is missing.
TEST(LinkRetry, ALastFrameThatVanishesCostsTheReplayTimer) {
  std::int64_t most = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Single single = send_single({.loss = 0.5}, seed);
    EXPECT_EQ(single.at, kPacketPs + kDelayPs + single.again * (kPacketPs + 7'000'000));
    EXPECT_EQ(single.nacks, 0u);
    most = std::max(most, single.again);
  }
  EXPECT_GT(most, 1);
}

// The frame vanishes, its timer of 7 us replays it, and the replay is damaged: the far end has said nothing
// yet, says that it is missing, and is believed. Where a replay vanished as well the timer ends again.
TEST(LinkRetry, ADamagedReplayAfterTheTimerCostsTheRoundTripOfItsNack) {
  std::uint64_t believed = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Topology topology = back_to_back(kLink);
    LinkFaults there{.loss = 0.4, .damage = 0.4, .retry = true, .retry_limit = 0};
    there.retry_rules.replay_timer_max = microseconds(7);
    FabricConfig config = with({there, {.retry = true}});
    config.seed = seed;
    ScriptFabric fabric(topology, config);
    fabric.send(0, {.to = 1});
    fabric.run();
    ASSERT_EQ(fabric.received(1).size(), 1u);
    const auto again = static_cast<std::int64_t>(fabric.port_counters(0).retried);
    const auto timers = static_cast<std::int64_t>(fabric.port_counters(0).retry_timeouts);
    const auto nacks = static_cast<std::int64_t>(fabric.port_counters(1).retry_nacks);
    // One frame is missing, so there is one LLR_NACK at most, and each replay has one reason.
    EXPECT_LE(nacks, 1);
    EXPECT_EQ(again, timers + nacks) << seed;
    EXPECT_EQ(fabric.received(1).at(0).at.ps, (again + 1) * kPacketPs + kDelayPs + timers * 7'000'000 +
                                                  nacks * (2 * kDelayPs + kOrderedSetPs))
        << seed;
    if (timers > 0) believed += static_cast<std::uint64_t>(nacks);
  }
  EXPECT_GT(believed, 20u);
}

// Full links both ways: an ordered set of 8 B leaves at most every 2048 B of time, that is after every third
// frame.
TEST(LinkRetry, AcknowledgementsTakeRoomOnTheWayBack) {
  const Topology topology = back_to_back(kLink);
  ScriptFabric fabric(topology, with({{.retry = true}}));
  for (const NodeId host : {0U, 1U}) fabric.send_burst(host, 1 - host, 300, 1000);
  fabric.run();
  EXPECT_EQ(numbers(fabric.received(1), 0), first_numbers(300));
  const std::uint64_t acks = fabric.port_counters(0).retry_acks;
  EXPECT_EQ(fabric.port(0).sent_bytes, 300'000 + 8 * acks);
  EXPECT_EQ(fabric.port(0).sent_packets, 300u);
  // The first frames arrive after 1.08 us, when 14 have begun; the last ordered sets follow the last frame.
  const std::int64_t between = fabric.received(1).back().at.ps - 300 * kPacketPs - kDelayPs;
  EXPECT_EQ(between % kOrderedSetPs, 0);
  EXPECT_NEAR(static_cast<double>(between / kOrderedSetPs), (300 - 14) / 3.0, 2);
}

// Two frames of 1000 B in flight: their acknowledgement is there after 80 ns, 1 us, 8 B and 1 us, and lets
// the next one go.
TEST(LinkRetry, TheReplayBufferBoundsWhatIsUnderWay) {
  const Topology topology = back_to_back(kLink);
  for (const bool frames : {false, true}) {
    LinkFaults faults{.retry = true};
    faults.retry_rules.ctlos_target_spacing = 0;
    if (frames) {
      faults.retry_rules.outstanding_frames_max = 2;
    } else {
      faults.retry_rules.outstanding_bytes_max = 2999;
    }
    ScriptFabric fabric(topology, with({faults}));
    fabric.send_burst(0, 1, 100, 1000);
    fabric.run();
    ASSERT_EQ(numbers(fabric.received(1), 0), first_numbers(100));
    const std::int64_t round = kPacketPs + 2 * kDelayPs + kOrderedSetPs;
    EXPECT_EQ(fabric.received(1).back().at.ps, 49 * round + 2 * kPacketPs + kDelayPs);
  }
}

TEST(LinkRetry, GivesUpAtItsLimitAndGoesOnWithoutNumbers) {
  const Topology topology = back_to_back(kLink);
  for (const bool again : {false, true}) {
    LinkFaults faults{.damage = 1, .retry = true, .retry_limit = 2};
    faults.retry_rules.re_init_on_flush = again;
    ScriptFabric fabric(topology, with({faults}));
    fabric.send(0, {.to = 1});
    EXPECT_EQ(fabric.run(), FabricEnd::kDrained);
    EXPECT_EQ(fabric.port_counters(0).retried, 2u);
    EXPECT_EQ(fabric.port_counters(0).retry_timeouts,
              3u);  // The ordered sets of the far end are damaged, too.
    EXPECT_EQ(fabric.port_counters(0).retry_flushes, 1u);
    EXPECT_EQ(fabric.port_counters(0).lost, 1u);
    EXPECT_TRUE(fabric.received(1).empty());
  }
}

/// 200 frames over a link that gives up at the first damage.
std::vector<ReceivedPacket> after_flush(FrameAction action, bool again, PortCounters& counters) {
  const Topology topology = back_to_back(kLink);
  LinkFaults faults{.damage = 0.2, .retry = true, .retry_limit = 1};
  faults.retry_rules.flush_frame_action = action;
  faults.retry_rules.re_init_on_flush = again;
  ScriptFabric fabric(topology, with({faults, {.retry = true}}));
  fabric.send_burst(0, 1, 2000, 1000);
  EXPECT_EQ(fabric.run(), FabricEnd::kDrained);
  counters = fabric.port_counters(0);
  EXPECT_EQ(counters.retry_flushes == 0, false);
  const auto arrived = numbers(fabric.received(1), 0);
  EXPECT_TRUE(std::is_sorted(arrived.begin(), arrived.end()));
  EXPECT_EQ(std::adjacent_find(arrived.begin(), arrived.end()), arrived.end());
  return fabric.received(1);
}

TEST(LinkRetry, WhatBecomesOfFramesThatNoBufferKeeps) {
  PortCounters counters;
  const auto best_effort = after_flush(FrameAction::kBestEffort, false, counters);
  EXPECT_EQ(counters.retry_flushes, 1u);
  EXPECT_EQ(best_effort.size() + counters.lost + counters.damaged, 2000u);
  EXPECT_GT(counters.damaged, 100u);
  const auto blocked = after_flush(FrameAction::kBlock, false, counters);
  EXPECT_EQ(counters.damaged, 0u);
  EXPECT_LT(blocked.size() + counters.lost, 2000u);  // The link is down.
  const auto discarded = after_flush(FrameAction::kDiscard, false, counters);
  EXPECT_EQ(counters.damaged, 0u);
  EXPECT_EQ(discarded.size() + counters.lost, 2000u);
  // With another handshake nothing but the flushed buffers is lost.
  const auto waited = after_flush(FrameAction::kBlock, true, counters);
  EXPECT_GT(counters.retry_flushes, 1u);
  EXPECT_EQ(waited.size() + counters.lost, 2000u);
  EXPECT_EQ(counters.damaged, 0u);
}

TEST(LinkRetry, ALinkThatReturnsBeginsAgain) {
  const Topology topology = back_to_back(kLink);
  FabricConfig config = with({{.loss = 0.2, .retry = true, .retry_limit = 0}});
  for (const PortId port : {0U, 1U}) {
    config.changes.push_back({.at = microseconds(10), .port = port, .up = false});
    config.changes.push_back({.at = microseconds(50), .port = port, .up = true});
  }
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 50, 1000);
  for (std::uint32_t i = 0; i < 500; ++i)
    fabric.send(0, {.to = 1, .number = 50 + i, .not_before = microseconds(50)});
  fabric.run();
  const auto arrived = numbers(fabric.received(1), 0);
  EXPECT_TRUE(std::is_sorted(arrived.begin(), arrived.end()));
  const PortCounters counters = fabric.port_counters(0);
  EXPECT_EQ(arrived.size() + counters.lost, 550u);
  EXPECT_GT(arrived.size(), 490u) << "all that came after its return";
  EXPECT_EQ(counters.retry_flushes, 1u);
}

// Ten times slower than its topology says, from a time on: answers wait behind slow frames, and nothing is
// lost.
TEST(LinkRetry, ALinkThatSlowsDownIsWaitedFor) {
  const Topology topology = back_to_back(kLink);
  FabricConfig config = with({{.retry = true, .retry_limit = 1}});
  for (const PortId port : {0U, 1U})
    config.changes.push_back({.at = microseconds(5), .port = port, .rate = {kLink.rate.value / 100}});
  ScriptFabric fabric(topology, config);
  fabric.send_burst(0, 1, 300, 1000);
  fabric.send_burst(1, 0, 300, 1000);
  EXPECT_EQ(fabric.run(), FabricEnd::kDrained);
  for (const PortId port : {0U, 1U}) {
    EXPECT_EQ(fabric.port_counters(port).retry_timeouts, 0u);
    EXPECT_EQ(fabric.port_counters(port).retry_flushes, 0u);
    EXPECT_EQ(numbers(fabric.received(port), 1 - port), first_numbers(300));
  }
}

TEST(LinkRetry, RefusesOneDirectionAlone) {
  const Topology topology = back_to_back(kLink);
  const auto checked = validate(with({{.retry = true}, {}}), topology);
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("the other direction"), std::string::npos);
}

struct Flood {
  TimePs end;
  std::uint64_t dropped = 0;
  std::uint64_t retried = 0;
};

/// Random sizes both ways over a switch, with every fault that a link which retries may have.
Flood flood(double loss, FlowControlConfig flow, std::uint64_t seed,
            std::uint32_t capacity = kUnlimitedBytes) {
  constexpr std::uint32_t kFrames = 400;
  const Topology topology = star(3, kLink, nanoseconds(100));
  LinkFaults faults{.loss = loss / 2, .damage = loss / 2, .retry = true, .retry_limit = 0};
  FabricConfig config = with({faults});
  config.flow_control = flow;
  config.profiles[0].queues[0].capacity_bytes = capacity;
  config.seed = seed;
  ScriptFabric fabric(topology, config);
  RandomStream random(seed, "sizes");
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    for (const NodeId from : {0U, 1U, 2U}) {
      const auto bytes = static_cast<std::uint16_t>(64 + random.below(9000));
      fabric.send(from, {.to = from == 2 ? i % 2 : 2, .bytes = bytes, .number = i});
    }
  }
  EXPECT_EQ(fabric.run(), FabricEnd::kDrained);
  Flood result;
  for (const NodeId from : {0U, 1U}) EXPECT_EQ(numbers(fabric.received(2), from), first_numbers(kFrames));
  for (const NodeId to : {0U, 1U}) {
    const auto arrived = numbers(fabric.received(to), 2);
    EXPECT_TRUE(std::is_sorted(arrived.begin(), arrived.end()));
    EXPECT_EQ(std::adjacent_find(arrived.begin(), arrived.end()), arrived.end());
    EXPECT_EQ(arrived.size(), kFrames / 2);
    result.end = max(result.end, fabric.received(to).back().at);
  }
  result.end = max(result.end, fabric.received(2).back().at);
  for (PortId port = 0; port < topology.ports().size(); ++port) {
    result.dropped += fabric.port_counters(port).dropped_full;
    result.retried += fabric.port_counters(port).retried;
  }
  EXPECT_EQ(fabric.packets_in_fabric(), 0u);
  return result;
}

TEST(LinkRetry, EveryFrameArrivesOnceAndInOrderAndGoodputFallsWithLoss) {
  TimePs before;
  for (const double loss : {0.0, 0.01, 0.05, 0.2, 0.5, 0.8}) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const Flood result = flood(loss, {}, seed);
      EXPECT_EQ(result.dropped, 0u);
      EXPECT_EQ(result.retried > 0, loss > 0);
      if (seed != 1) continue;
      EXPECT_GT(result.end, before) << loss;
      before = result.end;
    }
  }
}

// Two links into one port may put what they have credit for into its queue, and never more, though CC_Update
// is sent while frames are still to be replayed.
TEST(LinkRetry, CreditsAreCountedOnceForFramesThatAreReplayed) {
  for (const double loss : {0.0, 0.05, 0.3}) {
    const Flood result = flood(loss,
                               {.kind = FlowControl::kCredit,
                                .credit_limit_bytes = 20'000,
                                .consumed_update_period = microseconds(1)},
                               5, 2 * 20'480);
    EXPECT_EQ(result.dropped, 0u) << loss;
  }
}

TEST(LinkRetry, PausesPassWhatIsReplayed) {
  for (const double loss : {0.0, 0.05, 0.3}) {
    const Flood result =
        flood(loss, {.kind = FlowControl::kPause, .xoff_bytes = 30'000, .xon_bytes = 15'000}, 6);
    EXPECT_EQ(result.dropped, 0u);
  }
}

TEST(LinkRetry, RefusesLinksThatChangeTheOrder) {
  EXPECT_EQ(
      validate(LinkFaults{.retry = true, .reordering = 0.1}).error().message,
      "faults.reordering is 0.1, expected 0 with link-level retry, which keeps frames in order and drops "
      "copies");
  EXPECT_EQ(
      validate(LinkFaults{.retry = true, .duplication = 0.5}).error().message,
      "faults.duplication is 0.5, expected 0 with link-level retry, which keeps frames in order and drops "
      "copies");
}

// Packets that overtake leave an event behind, and lost ones make one: neither may be taken for the one that
// what is in flight waits for.
TEST(LinkRetry, NothingStaysInFlightOverALinkThatReordersAndLoses) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Topology topology = back_to_back(kLink);
    FabricConfig config = with({{.loss = 0.3, .reordering = 0.3, .reorder_delay = nanoseconds(900)}});
    config.flow_control = {.kind = FlowControl::kPause};
    config.seed = seed;
    ScriptFabric fabric(topology, config);
    for (std::uint32_t i = 0; i < 300; ++i)
      fabric.send(0, {.to = 1, .bytes = 100, .number = i, .not_before = nanoseconds(200 * i)});
    EXPECT_EQ(fabric.run(), FabricEnd::kDrained);
    EXPECT_EQ(fabric.packets_in_fabric(), 0u) << seed;
    EXPECT_EQ(fabric.received(1).size() + fabric.port_counters(0).lost, 300u);
  }
}

}  // namespace
}  // namespace wharf::sim
