// SPDX-License-Identifier: Apache-2.0
// DCQCN, LDCP and Swift over UB, packet by packet: marks and CNPs, rates, delays, and timers of packets that
// wait for their time. [DCQCN: SIGCOMM 2015; Swift: SIGCOMM 2020; UB-Base 2.0.1 6.6]
#include <gtest/gtest.h>

#include "tests/support/ub_carried_hosts.h"

namespace wharf::ub {
namespace {

using wire::TpOpcode;

UbConfig dcqcn() {
  UbConfig config = patient();
  config.congestion = congestion::DcqcnConfig{.link = gigabits_per_second(40)};
  config.min_time_between_cnps = microseconds(50);
  return config;
}

std::size_t notifications(const std::deque<wire::Packet>& packets) {
  std::size_t found = 0;
  for (const wire::Packet& packet : packets) found += packet.ub.rtph.opcode == TpOpcode::kCnp ? 1U : 0U;
  return found;
}

TEST(UbDcqcn, PacketsArePacedAndWokenByTheDeadline) {
  CarriedHosts hosts(dcqcn());
  hosts.write(4 * kMtu);
  ASSERT_EQ(hosts.sent(0).size(), 1U);
  const wire::Packet first = hosts.sent(0).front();
  EXPECT_EQ(frame_text(first, 14, 2), "80 00") << "OPtag: mode 100, unmarked";
  // 40 Gb/s are 200 ps a byte.
  const TimePs gap = picoseconds(200) * std::int64_t{wire::link_bytes(first)};
  const TimePs second = nanoseconds(1) + gap;
  EXPECT_EQ(hosts.engine(0).deadline(), second);
  hosts.pass_to(second - picoseconds(1));
  hosts.drain(0);
  EXPECT_EQ(hosts.sent(0).size(), 1U);
  hosts.pass_to(second);
  EXPECT_EQ(hosts.sent(0).size(), 2U);
  EXPECT_EQ(hosts.engine(0).deadline(), second + gap);
  std::vector<std::string> waiting;
  hosts.engine(0).describe_waiting(waiting);
  EXPECT_FALSE(waiting.empty());
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.completed(), 1U);
  waiting.clear();
  hosts.engine(0).describe_waiting(waiting);
  EXPECT_TRUE(waiting.empty());
}

TEST(UbDcqcn, AMarkBecomesACnpAndHalvesTheRate) {
  CarriedHosts hosts(dcqcn());
  hosts.write(4 * kMtu);
  EXPECT_EQ(hosts.trace().rate.value, 40'000'000'000U);
  hosts.carry_marked(0);
  ASSERT_EQ(hosts.sent(1).size(), 2U);
  const wire::Packet& cnp = hosts.sent(1).front();
  EXPECT_EQ(cnp.traffic_class, wire::TrafficClass::kControl);
  // RTPH: Last and opcode 8, TPNs 1 and 2, no PSN. CNPETPH: ECN 1.
  EXPECT_EQ(frame_text(cnp, 42, 32),
            "88 00 00 00 01 00 00 02 00 00 00 00 00 00 00 00 "
            "40 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00");
  EXPECT_EQ(hosts.sent(1).back().ub.rtph.opcode, TpOpcode::kAck) << "without CETPH";
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().rate.value, 20'000'000'000U) << "alpha is 1";
  EXPECT_EQ(hosts.engine(1).congestion_counters().notifications_sent, 1U);
  EXPECT_EQ(hosts.engine(0).congestion_counters().notifications_received, 1U);
  hosts.carry(1);
  hosts.pass_to(hosts.engine(0).deadline());
  ASSERT_EQ(hosts.sent(0).size(), 1U);
  EXPECT_EQ(hosts.engine(0).deadline(),
            hosts.now + picoseconds(400) * std::int64_t{wire::link_bytes(hosts.sent(0).front())});
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.trace().rate.value, 40'000'000'000U) << "idle, the rate has come back";
}

TEST(UbDcqcn, MarksInIpCountAndOpenUrmaHasItsOwnForm) {
  UbConfig config = dcqcn();
  config.encapsulation = wire::UbEncapsulation::kRawEthernet;
  config.mtu = config.segment_bytes = 256;
  CarriedHosts hosts(config);
  hosts.write(256);
  hosts.sent(0).front().mark = wire::CongestionMark::kExperienced;
  hosts.carry(0);
  // Ethernet 14, NTH 12, RTPH 16, and CETPH with C 1 in place of CNPETPH.
  EXPECT_EQ(frame_text(hosts.sent(1).front(), 26, 1), "88");
  EXPECT_EQ(frame_text(hosts.sent(1).front(), 42, 8), "00 00 00 00 00 01 00 00");
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.engine(0).congestion_counters().notifications_received, 1U);
}

TEST(UbDcqcn, CnpsOfAChannelAreSpaced) {
  for (const TimePs spacing : {microseconds(50), kTimeZero}) {
    UbConfig config = dcqcn();
    config.min_time_between_cnps = spacing;
    CarriedHosts hosts(config, 3);
    hosts.write(5 * kMtu);
    hosts.pass_to(microseconds(10));
    ASSERT_EQ(hosts.sent(0).size(), 5U);
    hosts.carry_marked(0);
    const std::size_t one = spacing > kTimeZero ? 1 : 0;
    EXPECT_EQ(notifications(hosts.sent(1)), one);
    hosts.pass_to(microseconds(60) - picoseconds(1));
    hosts.carry_marked(0);
    EXPECT_EQ(notifications(hosts.sent(1)), one);
    // Another channel has a time of its own.
    hosts.write(kMtu, 2, 1);
    hosts.carry_marked(2);
    EXPECT_EQ(notifications(hosts.sent(1)), 2 * one);
    hosts.pass_to(microseconds(60));
    hosts.carry(0);
    EXPECT_EQ(notifications(hosts.sent(1)), 2 * one) << "not marked";
    hosts.carry_marked(0);
    EXPECT_EQ(notifications(hosts.sent(1)), 3 * one);
    EXPECT_TRUE(hosts.finish());
    EXPECT_EQ(hosts.engine(1).congestion_counters().notifications_sent, 3 * one);
  }
}

TEST(UbDcqcn, AFloodOfCnpsSlowsDownAndStopsNothing) {
  CarriedHosts hosts(dcqcn());
  hosts.write(8 * kMtu);
  hosts.carry_marked(0);
  const wire::Packet cnp = hosts.take(1);
  for (int i = 0; i < 10'000; ++i) hosts.arrive(cnp);
  EXPECT_EQ(hosts.trace().rate.value, 1'000'000U) << "rpg_min_rate";
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.completed(), 1U);
}

TEST(UbLdcp, MarksInTheEchoDriveTheWindow) {
  UbConfig config = patient();
  config.congestion = congestion::LdcpConfig{.initial_window = 4 * kMtu};
  CarriedHosts hosts(config);
  hosts.write(60 * kMtu);
  ASSERT_EQ(hosts.sent(0).size(), 4U);
  EXPECT_EQ(frame_text(hosts.sent(0).front(), 14, 2), "40 00") << "OPtag: mode 010, unmarked";
  hosts.carry_marked(0);
  EXPECT_EQ(frame_text(hosts.sent(1).front(), 42 + 16, 8), "00 00 04 00 00 01 00 00");
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().window, 4 * kMtu - kMtu / 2);
  hosts.carry(0);
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().window, 3584U + 146U) << "alpha MTU^2 / window";
  // 255 marks with one packet: no lower than one MTU, and it goes on.
  hosts.carry(0);
  hosts.sent(1).front().ub.ack.cetph.congested_packets = 255;
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().window, kMtu);
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.completed(), 1U);
}

TEST(UbSwift, RoundTripsAreOfPacketsThatWereSentOnce) {
  UbConfig config = patient();
  config.congestion = congestion::SwiftConfig{};
  config.retransmission = {.base = microseconds(100), .cap = microseconds(100)};
  CarriedHosts hosts(config);
  hosts.write(kMtu);
  EXPECT_FALSE(hosts.sent(0).front().ub.operator_tag) << "CC says nothing";
  EXPECT_EQ(hosts.trace().round_trip, kNever);
  hosts.pass_to(microseconds(7));
  hosts.carry(0);
  EXPECT_EQ(hosts.sent(1).front().ub.rtph.opcode, TpOpcode::kAck);
  hosts.pass_to(microseconds(10));
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().round_trip, microseconds(10) - nanoseconds(1));
  EXPECT_GT(hosts.trace().window, 16 * kMtu) << "below the target delay";
  EXPECT_TRUE(hosts.finish());
  // Sent twice: which copy is answered?
  hosts.write(kMtu);
  hosts.lose(0);
  hosts.pass_to(hosts.now + microseconds(100));
  ASSERT_EQ(hosts.counters(0).packets_retransmitted, 1U);
  hosts.carry(0);
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().round_trip, microseconds(10) - nanoseconds(1));
  EXPECT_TRUE(hosts.finish());
}

// A packet that waited behind a repeated one at the receiver says nothing about the path.
TEST(UbSwift, NoRoundTripIsTakenFromPacketsBehindARepeatedOne) {
  UbConfig config = patient();
  config.congestion = congestion::SwiftConfig{.initial_window = 2U << 16U};
  config.retransmission = {.base = microseconds(100), .cap = microseconds(100)};
  CarriedHosts hosts(config);
  hosts.write(2 * kMtu);
  hosts.lose(0);
  hosts.carry(0);
  hosts.lose(1);
  hosts.pass_to(hosts.now + microseconds(100));
  ASSERT_EQ(hosts.counters(0).packets_retransmitted, 1U) << "the window has halved: the second one waits";
  hosts.carry(0);
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().in_flight, 0U) << "both are confirmed";
  EXPECT_EQ(hosts.trace().round_trip, kNever);
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.completed(), 1U);
}

/// Below one packet: the second one follows 25 us * 65536 / 66 later.
UbConfig crawl() {
  UbConfig config = patient();
  config.congestion = congestion::SwiftConfig{.window_min = 66, .initial_window = 66};
  config.retransmission = {.base = microseconds(10), .cap = microseconds(100), .attempts_max = 3};
  return config;
}

// Nothing is under way, so silence is no reason to give the peer up.
TEST(UbSwift, TheRetransmissionTimerWaitsForAPacketThatWaitsForItsTime) {
  CarriedHosts hosts(crawl());
  hosts.write(2 * kMtu);
  ASSERT_EQ(hosts.sent(0).size(), 1U);
  hosts.lose(0);
  hosts.pass_to(milliseconds(20));
  EXPECT_EQ(hosts.counters(0).timeouts, 1U);
  EXPECT_EQ(hosts.trace().in_flight, 0U);
  EXPECT_TRUE(hosts.sent(0).empty());
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.counters(0).channels_failed, 0U);
  EXPECT_EQ(hosts.completed(), 1U);
}

// What was taken for lost may still arrive before it is sent again.
TEST(UbSwift, ALateArrivalIsConfirmedWithoutBeingSentAgain) {
  CarriedHosts hosts(crawl());
  hosts.write(kMtu);
  hosts.pass_to(milliseconds(1));
  EXPECT_EQ(hosts.trace().in_flight, 0U);
  while (!hosts.sent(0).empty()) hosts.carry(0);
  while (!hosts.sent(1).empty()) hosts.carry(1);
  EXPECT_EQ(hosts.completed(), 1U);
  EXPECT_EQ(hosts.counters(0).packets_retransmitted, 0U);
  EXPECT_TRUE(hosts.finish());
}

// A peer that is gone is given up after as many repetitions as without control.
TEST(UbSwift, ADeadPeerIsGivenUpAllTheSame) {
  CarriedHosts hosts(crawl());
  hosts.write(kMtu);
  for (int i = 0; i < 10'000 && hosts.completed() == 0; ++i) {
    hosts.sent(0).clear();
    const TimePs next = hosts.engine(0).deadline();
    ASSERT_NE(next, kNever);
    hosts.pass_to(next);
  }
  EXPECT_EQ(hosts.completed(), 1'000'000U) << "with an error";
  EXPECT_EQ(hosts.counters(0).channels_failed, 1U);
  EXPECT_EQ(hosts.counters(0).packets_retransmitted, 3U);
}

}  // namespace
}  // namespace wharf::ub
