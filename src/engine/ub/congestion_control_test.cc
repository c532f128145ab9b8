// SPDX-License-Identifier: Apache-2.0
// C-AQM over UB, packet by packet: what is written, granted, echoed and taken, and what losses, copies and
// forgeries of it do. [UB-Base 2.0.1 5.3.5; state machine: the ns-3-UB simulator]
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ub/tp_channel.h"
#include "tests/support/ub_carried_hosts.h"
#include "tests/support/ub_world.h"
#include "tests/support/wire_bytes.h"

namespace wharf::ub {
namespace {

using wire::TpOpcode;

UbConfig caqm(std::uint32_t initial_packets) {
  UbConfig config = patient();
  config.congestion = congestion::CaqmConfig{.initial_packets = initial_packets};
  return config;
}

wire::Cetph echo_in(const wire::Packet& packet) {
  EXPECT_TRUE(wire::has_cetph(packet.ub));
  return packet.ub.ack.cetph;
}

TEST(UbCongestion, ADataPacketAsksForOneMtuInSlowStart) {
  UbConfig config = caqm(2);
  config.mtu = 4096;
  {
    CarriedHosts hosts(config);
    hosts.write(4096);
    // OPtag: TPID, CC (mode 000, Enable, I, Hint 128 units of 32 bytes), CTRL 5, then the EtherType of IPv4.
    EXPECT_EQ(frame_text(hosts.sent(0).front(), 12, 10), "88 b6 05 80 50 00 00 00 08 00");
    EXPECT_EQ(hosts.sent(0).front().header_bytes, wire::wire_header_bytes(hosts.sent(0).front()));
    EXPECT_TRUE(hosts.finish());
  }
  config.encapsulation = wire::UbEncapsulation::kCna24OnLink;
  CarriedHosts hosts(config);
  hosts.write(4096);
  // LPH 4, then SCNA 0, DCNA 1 (in their places of the address plan), CC, LB.
  EXPECT_EQ(frame_text(hosts.sent(0).front(), 10, 2), "05 80");
  EXPECT_TRUE(hosts.finish());
  config.encapsulation = wire::UbEncapsulation::kRawEthernet;
  config.mtu = config.segment_bytes = 256;
  CarriedHosts openurma(config);
  openurma.write(256);
  // Ethernet 14, RT, SCNA, DCNA, CC: one MTU is 8 units.
  EXPECT_EQ(frame_text(openurma.sent(0).front(), 21, 2), "05 08");
  EXPECT_TRUE(openurma.finish());
}

TEST(UbCongestion, ATpackReturnsBytesMarksAndGrants) {
  UbConfig config = caqm(2);
  config.mtu = 4096;
  CarriedHosts hosts(config);
  hosts.write(8192);
  hosts.carry(0);
  // Ethernet 14, IPv4 20, UDP 8. RTPH: Last and opcode 3, TPNs 1 and 2, PSN 0, TPMSN 0. CETPH: AckSequence
  // 4096, I, C 0, Hint 4096 bytes.
  EXPECT_EQ(frame_text(hosts.sent(1).front(), 42, 24),
            "83 00 00 00 01 00 00 02 00 00 00 00 00 00 00 00 00 00 10 00 01 00 10 00");
  hosts.lose(1);
  hosts.carry_marked(0);
  EXPECT_EQ(frame_text(hosts.sent(1).front(), 42 + 16, 8), "00 00 20 00 00 01 00 00")
      << "C, and nothing else";
  EXPECT_TRUE(hosts.finish());
}

TEST(UbCongestion, TheWindowHoldsThePacketBehindItAndGrowsByWhatWasGranted) {
  CarriedHosts hosts(caqm(2));
  hosts.write(20 * kMtu);
  EXPECT_EQ(hosts.sent(0).size(), 2U);
  EXPECT_EQ(hosts.trace().window, 2 * kMtu);
  EXPECT_EQ(hosts.trace().in_flight, 2U);
  EXPECT_EQ(hosts.trace().rate.value, 0U);
  hosts.carry(0);
  EXPECT_EQ(hosts.sent(0).size(), 1U);
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().window, 3 * kMtu);
  EXPECT_EQ(hosts.sent(0).size(), 3U) << "one for the confirmed packet, one for the growth";
  // 5 is no multiple of one MTU's 32 units: it means 5 bytes.
  hosts.sent(0).front().ub.cc.hint = 5;
  hosts.carry(0);
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().window, 3 * kMtu + 5);
  EXPECT_EQ(hosts.sent(0).size(), 3U) << "5 bytes make no room for a packet";
  // Refused: neither growth nor a cut.
  const congestion::CaqmFields asked = congestion::read_caqm(hosts.sent(0).front(), kMtu);
  EXPECT_EQ(asked, (congestion::CaqmFields{false, true, kMtu}));
  congestion::write_caqm(hosts.sent(0).front(), {false, false, asked.hint_bytes});
  hosts.carry(0);
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().window, 3 * kMtu + 5);
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.completed(), 1U);
}

TEST(UbCongestion, AMarkTakesBetaMtuAndEndsSlowStartForThetaRoundTrips) {
  CarriedHosts hosts(caqm(4));
  hosts.write(60 * kMtu);
  EXPECT_EQ(hosts.sent(0).back().ub.cc.hint, 32U);
  hosts.carry_marked(0);
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().window, 4 * kMtu - kMtu / 2);
  EXPECT_EQ(hosts.sent(0).size(), 3U) << "3 MTU in flight, and a window of 3.5";
  hosts.carry(0);
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().window, 4 * kMtu + kMtu / 2);
  EXPECT_EQ(hosts.sent(0).size(), 4U);
  EXPECT_EQ(hosts.sent(0).back().ub.cc.hint, 31U)
      << "avoidance: alpha MTU^2 / window is 113 bytes, of which 31 can be said";
  EXPECT_TRUE(hosts.sent(0).back().ub.cc.increase);
  // Ten averages of round trips; the two samples of zero took an eighth of 12 us each, one before the mark.
  const TimePs until = hosts.now + TimePs{(microseconds(12).ps - microseconds(12).ps / 8) * 10};
  EXPECT_EQ(hosts.engine(0).deadline(), until);
  hosts.pass_to(until - picoseconds(1));
  hosts.carry(0);
  hosts.carry(1);
  EXPECT_EQ(hosts.sent(0).back().ub.cc.hint, 31U);
  hosts.pass_to(until);
  EXPECT_EQ(hosts.engine(0).deadline(), seconds(1) + until - picoseconds(1)) << "the retransmission timer's";
  hosts.carry(0);
  hosts.carry(1);
  EXPECT_EQ(hosts.sent(0).back().ub.cc.hint, 32U);
  EXPECT_TRUE(hosts.finish());
}

TEST(UbCongestion, OneAcknowledgementReturnsTheSumOfItsPackets) {
  UbConfig config = caqm(8);
  config.acknowledge_every = 4;
  config.acknowledge_delay = milliseconds(1);
  CarriedHosts hosts(config);
  hosts.write(9 * kMtu);
  hosts.carry(0);
  hosts.carry_marked(0);
  congestion::write_caqm(hosts.sent(0).front(), {});
  hosts.carry(0);
  EXPECT_TRUE(hosts.sent(1).empty());
  hosts.carry(0);
  ASSERT_EQ(hosts.sent(1).size(), 1U);
  const wire::Cetph first = echo_in(hosts.sent(1).front());
  EXPECT_EQ(first.acknowledged_bytes, 4 * kMtu);
  EXPECT_EQ(first.congested_packets, 1U);
  EXPECT_EQ(first.hint, 2 * kMtu);
  EXPECT_TRUE(first.increase);
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().window, 8 * kMtu + 2 * kMtu - kMtu / 2);
  for (int i = 0; i < 4; ++i) hosts.carry(0);
  ASSERT_EQ(hosts.sent(1).size(), 1U);
  const wire::Cetph second = echo_in(hosts.sent(1).front());
  EXPECT_EQ(second.acknowledged_bytes, 8 * kMtu);
  EXPECT_EQ(second.congested_packets, 0U);
  EXPECT_EQ(second.hint, 4 * kMtu);
  EXPECT_TRUE(hosts.finish());
}

TEST(UbCongestion, WhatAFieldCannotHoldGoesWithTheNextAcknowledgement) {
  UbConfig config = caqm(20);
  config.mtu = 4096;
  config.acknowledge_every = 16;
  CarriedHosts hosts(config);
  hosts.write(16 * 4096);
  hosts.write(4096);
  const wire::Packet copy = hosts.sent(0).front();
  for (int i = 0; i < 16; ++i) hosts.carry(0);
  EXPECT_EQ(echo_in(hosts.sent(1).front()).hint, 65535U);
  EXPECT_EQ(echo_in(hosts.sent(1).front()).acknowledged_bytes, 65536U);
  hosts.sent(1).clear();
  // An acknowledgement that covers nothing new would be taken for a copy: it leaves the rest where it is.
  hosts.arrive(copy);
  EXPECT_EQ(echo_in(hosts.sent(1).front()).hint, 0U);
  hosts.sent(1).clear();
  hosts.carry(0);
  hosts.pass_to(hosts.now + config.acknowledge_delay);
  while (!wire::has_cetph(hosts.sent(1).front().ub)) hosts.lose(1);
  EXPECT_EQ(echo_in(hosts.sent(1).front()).hint, 4097U);
  EXPECT_TRUE(hosts.finish());

  config = caqm(400);
  config.mtu = 64;
  config.acknowledge_every = 300;
  CarriedHosts marked(config);
  marked.write(301 * 64);
  for (int i = 0; i < 300; ++i) marked.carry_marked(0);
  EXPECT_EQ(echo_in(marked.sent(1).front()).congested_packets, 255U);
  EXPECT_FALSE(echo_in(marked.sent(1).front()).increase);
  marked.carry(1);
  EXPECT_EQ(marked.trace().window, (400U * 64 - 255 * 32));
  marked.carry(0);
  marked.pass_to(marked.now + config.acknowledge_delay);
  EXPECT_TRUE(marked.finish());
  EXPECT_EQ(marked.trace().window, (400U * 64 - 255 * 32 + 64 - 45 * 32));
}

TEST(UbCongestion, PacketsAheadCountWhenTheyComeIntoOrder) {
  CarriedHosts hosts(caqm(4));
  hosts.write(4 * kMtu);
  const wire::Packet first = hosts.take(0);
  hosts.carry(0);
  hosts.carry_marked(0);
  hosts.carry(0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(hosts.sent(1).front().ub.rtph.opcode, TpOpcode::kSackCetph);
    EXPECT_EQ(echo_in(hosts.sent(1).front()).acknowledged_bytes, 0U);
    EXPECT_EQ(echo_in(hosts.sent(1).front()).congested_packets, 0U);
    EXPECT_FALSE(echo_in(hosts.sent(1).front()).increase);
    hosts.carry(1);
    EXPECT_EQ(hosts.trace().window, 4 * kMtu);
    EXPECT_EQ(hosts.trace().in_flight, 3U - static_cast<unsigned>(i)) << "the rest, and the first one again";
  }
  hosts.arrive(first);
  const wire::Cetph echo = echo_in(hosts.sent(1).front());
  EXPECT_EQ(echo.acknowledged_bytes, 4 * kMtu);
  EXPECT_EQ(echo.congested_packets, 1U);
  EXPECT_EQ(echo.hint, 3 * kMtu);
  EXPECT_TRUE(hosts.finish()) << "with the copy of the first one";
  EXPECT_EQ(hosts.trace().window, 4 * kMtu + 3 * kMtu - kMtu / 2);
  EXPECT_EQ(hosts.trace().in_flight, 0U);
}

// The same under Go-Back-N: what follows a gap is dropped and counts when it comes again.
TEST(UbCongestion, ATpnakCarriesTheEchoToo) {
  UbConfig config = caqm(4);
  config.recovery = LossRecovery::kGoBackN;
  config.acknowledge_every = 8;
  config.acknowledge_delay = milliseconds(1);
  CarriedHosts hosts(config);
  hosts.write(4 * kMtu);
  hosts.carry(0);
  hosts.lose(0);
  hosts.carry(0);
  ASSERT_EQ(hosts.sent(1).size(), 1U);
  EXPECT_EQ(hosts.sent(1).front().ub.rtph.status, wire::UbResponseStatus::kError);
  EXPECT_EQ(echo_in(hosts.sent(1).front()).hint, kMtu);
  EXPECT_EQ(echo_in(hosts.sent(1).front()).acknowledged_bytes, kMtu);
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().window, 5 * kMtu);
  EXPECT_EQ(hosts.trace().in_flight, 3U) << "three were lost and went again";
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.trace().window, 8 * kMtu) << "each packet has grown the window once";
}

TEST(UbCongestion, LostCopiedAndOvertakenAcknowledgements) {
  CarriedHosts hosts(caqm(4));
  hosts.write(60 * kMtu);
  hosts.carry(0);
  hosts.carry(0);
  hosts.lose(1);
  const wire::Packet copy = hosts.sent(1).front();
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().window, 5 * kMtu) << "the grant in the lost one is lost";
  EXPECT_EQ(hosts.trace().in_flight, 5U) << "what it confirmed is not";
  hosts.arrive(copy);
  EXPECT_EQ(hosts.trace().window, 5 * kMtu);
  hosts.carry(0);
  hosts.carry_marked(0);
  const wire::Packet overtaken = hosts.take(1);
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().window, 5 * kMtu - kMtu / 2);
  hosts.arrive(overtaken);
  EXPECT_EQ(hosts.trace().window, 5 * kMtu - kMtu / 2);
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.trace().in_flight, 0U);
}

TEST(UbCongestion, TheByteCountWrapsAt32Bits) {
  UbConfig config = caqm(4);
  Arena arena;
  TpCongestion ends(config, arena);
  ends.open(0, kMtu, 100, 100);
  wire::Packet data;
  TxPacket slot;
  slot.length = 60'000;
  std::uint64_t total = 0;
  const std::uint64_t window = ends.trace(0).window;
  for (std::uint64_t number = 100; total < (1ULL << 33U) + 600'000; ++number) {
    total += slot.length;
    ends.departs(kTimeZero, 0, slot, false, data);
    data.payload.length = slot.length;
    data.ub.cc.hint = 1;
    ends.accepted(0, data);
    wire::Packet tpack;
    tpack.ub.rtph.opcode = TpOpcode::kAck;
    ends.write_echo(0, number + 1, tpack);
    ASSERT_EQ(tpack.ub.ack.cetph.acknowledged_bytes, static_cast<std::uint32_t>(total));
    ends.confirmed(0, slot);
    ends.take_echo(0, number + 1, tpack);
    ASSERT_TRUE(ends.tell(kTimeZero, 0, true));
    ASSERT_EQ(ends.trace(0).window, window + (number - 99)) << total;
  }
  EXPECT_EQ(ends.counters().echoes_refused, 0U);
}

TEST(UbCongestion, ChannelsDoNotWaitForOneAnother) {
  for (const bool paced : {false, true}) {
    UbConfig config = patient();
    config.congestion = congestion::ConstantWindowConfig{.packets = 1};
    if (paced) {
      config.congestion = congestion::DcqcnConfig{.link = {1'000'000}, .rpg_min_rate = {1'000'000}};
    }
    CarriedHosts hosts(config, 3);
    hosts.write(4 * kMtu, 0, 1);
    ASSERT_EQ(hosts.sent(0).size(), 1U);
    hosts.write(kMtu, 0, 2);
    ASSERT_EQ(hosts.sent(0).size(), 2U) << "the channel to host 2 has sent nothing yet";
    hosts.lose(0);
    hosts.carry(0);
    while (!hosts.sent(2).empty()) hosts.carry(2);
    EXPECT_EQ(hosts.engine(0).congestion_trace({1}).in_flight, 1U);
    EXPECT_EQ(hosts.engine(0).congestion_trace({2}).in_flight, 0U);
    EXPECT_TRUE(hosts.finish());
    EXPECT_EQ(hosts.completed(), 2U);
  }
}

TEST(UbCongestion, ALossIsToldOncePerPacketAndSending) {
  UbConfig config = patient();
  config.congestion = congestion::ConstantWindowConfig{.packets = 4};  // It counts, and checks its count.
  config.retransmission = {.base = microseconds(10), .cap = microseconds(10)};
  CarriedHosts hosts(config);
  hosts.write(60 * kMtu);
  hosts.lose(0);
  hosts.carry(0);
  hosts.carry(1);
  // Packets 2 and 3, 0 again, and 4.
  EXPECT_EQ(hosts.trace().in_flight, 4U);
  EXPECT_EQ(hosts.counters(0).packets_retransmitted, 1U);
  hosts.carry(0);
  hosts.carry(1);
  EXPECT_EQ(hosts.trace().in_flight, 4U) << "packets 3, 0, 4, 5: the hole is the same one";
  EXPECT_EQ(hosts.counters(0).packets_retransmitted, 1U);
  hosts.sent(0).clear();
  hosts.pass_to(hosts.now + microseconds(10));
  EXPECT_EQ(hosts.counters(0).timeouts, 1U);
  EXPECT_EQ(hosts.counters(0).packets_retransmitted, 5U);
  EXPECT_EQ(hosts.trace().in_flight, 4U);
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.trace().in_flight, 0U);
  EXPECT_EQ(hosts.completed(), 1U);
}

TEST(UbCongestion, ForgedEchoesAndNotificationsChangeNothing) {
  CarriedHosts hosts(caqm(4));
  hosts.write(60 * kMtu);
  hosts.carry(0);
  const wire::Packet genuine = hosts.take(1);
  // More bytes than were ever sent.
  for (const std::uint32_t bytes : {5 * kMtu, 0x8000'0000U, 0xffff'ffffU}) {
    wire::Packet forged = genuine;
    forged.ub.ack.cetph.acknowledged_bytes = bytes;
    hosts.arrive(forged);
    EXPECT_EQ(hosts.trace().window, 4 * kMtu);
  }
  EXPECT_EQ(hosts.engine(0).congestion_counters().echoes_refused, 3U);
  hosts.arrive(genuine);
  EXPECT_EQ(hosts.trace().window, 5 * kMtu) << "the true one still counts";
  // An acknowledgement of what was not sent.
  wire::Packet early = genuine;
  early.ub.rtph.psn += 1000;
  early.ub.ack.cetph.hint = 0xffff;
  hosts.arrive(early);
  EXPECT_EQ(hosts.counters(0).dropped_acknowledgement, 1U);
  EXPECT_EQ(hosts.trace().window, 5 * kMtu);
  // As many marks as there can be, again and again.
  wire::Packet marks = genuine;
  marks.ub.ack.cetph.congested_packets = 255;
  for (int i = 0; i < 100; ++i) hosts.arrive(marks);
  EXPECT_EQ(hosts.trace().window, 5 * kMtu);
  wire::Packet cnp = genuine;
  cnp.ub.rtph.opcode = TpOpcode::kCnp;
  hosts.arrive(cnp);
  EXPECT_EQ(hosts.counters(0).dropped_tp_opcode, 1U) << "C-AQM has no use for it";
  cnp.ub.rtph.destination_tpn += 7;
  hosts.arrive(cnp);
  EXPECT_EQ(hosts.counters(0).dropped_unknown_channel, 1U);
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.completed(), 1U);
  EXPECT_EQ(hosts.trace().in_flight, 0U);
}

TEST(UbCongestion, AnEngineWithoutAControllerSendsAndEchoesNothing) {
  CarriedHosts hosts(patient());
  hosts.write(2 * kMtu);
  EXPECT_EQ(hosts.sent(0).size(), 2U);
  EXPECT_FALSE(hosts.sent(0).front().ub.operator_tag);
  EXPECT_EQ(wire::congestion_bits(hosts.sent(0).front().ub.cc), 0U);
  EXPECT_EQ(hosts.trace().window, congestion::SenderTrace::kNoWindow);
  hosts.sent(0).front().ub.cc = {.enabled = true, .increase = true, .hint = 32};
  hosts.carry(0);
  EXPECT_EQ(hosts.sent(1).front().ub.rtph.opcode, TpOpcode::kAck);
  hosts.sent(0).front().ub.cc = {.mode = wire::CongestionMode::kFecn};
  hosts.carry_marked(0);
  for (const wire::Packet& packet : hosts.sent(1)) EXPECT_NE(packet.ub.rtph.opcode, TpOpcode::kCnp);
  EXPECT_TRUE(hosts.finish());
}

// A peer that does not echo leaves the window where it began.
TEST(UbCongestion, APeerWithoutControlIsNoRefusal) {
  CarriedHosts hosts({caqm(4), patient()});
  hosts.write(60 * kMtu);
  EXPECT_EQ(hosts.sent(0).size(), 4U);
  hosts.carry(0);
  hosts.carry(1);
  EXPECT_EQ(hosts.sent(0).back().ub.cc.hint, 32U) << "slow start";
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.completed(), 1U);
  EXPECT_EQ(hosts.trace().window, 4 * kMtu);
}

// C-AQM's MTU is the channel's: the smaller of both ends'.
TEST(UbCongestion, TheMtuIsTheChannels) {
  UbConfig large = caqm(2);
  large.mtu = 4096;
  CarriedHosts hosts({large, caqm(2)});
  hosts.write(8 * kMtu);
  EXPECT_EQ(hosts.trace().window, 2 * kMtu);
  EXPECT_EQ(hosts.sent(0).front().ub.cc.hint, 32U);
  hosts.carry(0);
  EXPECT_EQ(echo_in(hosts.sent(1).front()).hint, kMtu);
  EXPECT_TRUE(hosts.finish());
}

// Read requests and TAACKs have PSNs and no payload: they take no room in a window and ask for none.
TEST(UbCongestion, PacketsWithoutPayloadAskForNothing) {
  CarriedHosts hosts(caqm(1));
  hosts.write(0);
  EXPECT_EQ(hosts.sent(0).front().ub.cc.hint, 0U);
  EXPECT_TRUE(hosts.sent(0).front().ub.cc.increase);
  EXPECT_TRUE(hosts.finish());
  EXPECT_EQ(hosts.trace().window, kMtu);
  EXPECT_EQ(hosts.trace(1).window, kMtu) << "of the TAACK's channel";
}

// What CC, OPtag, CETPH and CNPETPH say is all there is: no result changes when every hop encodes and
// decodes.
TEST(UbCongestion, BytesOnTheWireChangeNothing) {
  for (const auto encapsulation :
       {wire::UbEncapsulation::kUdp, wire::UbEncapsulation::kIpOnLink, wire::UbEncapsulation::kCna24OnLink,
        wire::UbEncapsulation::kRawEthernet}) {
    for (const congestion::ControllerConfig& controller :
         {congestion::ControllerConfig(congestion::CaqmConfig{.initial_packets = 2}),
          congestion::ControllerConfig(congestion::LdcpConfig{.initial_window = 4096}),
          congestion::ControllerConfig(congestion::DcqcnConfig{.link = gigabits_per_second(10)})}) {
      UbConfig config = patient();
      config.mtu = config.segment_bytes = 256;
      config.encapsulation = encapsulation;
      config.congestion = controller;
      config.min_time_between_cnps = microseconds(2);
      std::vector<std::uint64_t> results[2];
      for (const bool bytes : {false, true}) {
        test::EnginePairOptions options;
        options.wire.transform = [bytes, seen = 0U](wire::Packet& packet, bool damaged, RandomStream& random,
                                                    wire::PayloadPool& pool) mutable {
          if (++seen % 7 == 0) wire::mark_congestion(packet);
          return !bytes || test::through_bytes(packet, damaged, random, pool);
        };
        World world(config, std::move(options));
        EXPECT_TRUE(world.finish(world.request(verbs::Verb::kWrite, 20'000)).ok());
        const congestion::SenderTrace trace = world.engine(0).congestion_trace({1});
        results[bytes ? 1 : 0] = {trace.window,
                                  trace.rate.value,
                                  world.counters(0).packets_sent,
                                  world.counters(1).packets_sent,
                                  world.engine(0).congestion_counters().notifications_received,
                                  static_cast<std::uint64_t>(world.now().ps)};
      }
      EXPECT_EQ(results[0], results[1]);
    }
  }
}

TEST(UbCongestion, ANewLifeOfAChannelBeginsAfresh) {
  UbConfig config = caqm(3);
  config.retransmission = {.base = microseconds(10), .attempts_max = 1};
  World world(config);
  ASSERT_TRUE(world.finish(world.request(verbs::Verb::kWrite, 20 * kMtu)).ok());
  EXPECT_EQ(world.engine(0).congestion_trace({1}).window, 23 * kMtu);
  world.pair().wire().options().drop_if = [](const wire::Packet&) { return true; };
  EXPECT_FALSE(world.finish(world.request(verbs::Verb::kWrite, 60 * kMtu)).ok());
  EXPECT_EQ(world.engine(0).congestion_trace({1}).in_flight, 0U);
  world.pair().wire().options().drop_if = nullptr;
  engine::ExchangeBlob blob[2];
  for (std::uint32_t host = 0; host < 2; ++host)
    blob[host] = *world.engine(host).export_queue(world.queue(host));
  verbs::PeerId peer = 0;
  for (const std::uint32_t host : {1U, 0U}) {
    peer = *world.engine(host).connect(world.now(), world.queue(host), blob[1 - host]);
    world.pair().drain(host);
  }
  EXPECT_EQ(world.engine(0).congestion_trace({1}).window, 3 * kMtu);
  verbs::WorkRequest request = world.request(verbs::Verb::kWrite, 20 * kMtu);
  request.peer = peer;
  ASSERT_TRUE(world.finish(request).ok());
  EXPECT_EQ(world.engine(0).congestion_trace({1}).window, 23 * kMtu);
  EXPECT_EQ(world.engine(0).congestion_counters().echoes_refused, 0U);
}

TEST(UbCongestion, WhatMakesNoSenseIsRefused) {
  const auto refusal = [](auto change) {
    UbConfig config;
    change(config);
    const Result<void> checked = validate(config);
    return checked.ok() ? std::string() : checked.error().message;
  };
  EXPECT_EQ(refusal([](UbConfig& config) { config.congestion = congestion::CaqmConfig{}; }), "");
  // Its own packet size is not asked for.
  EXPECT_EQ(refusal([](UbConfig& config) { config.congestion = congestion::CaqmConfig{.mtu_bytes = 7}; }),
            "");
  EXPECT_THAT(refusal([](UbConfig& config) { config.congestion = congestion::NsccConfig{}; }),
              ::testing::StartsWith("ub.congestion: found NSCC"));
  EXPECT_THAT(refusal([](UbConfig& config) { config.congestion = congestion::CaqmConfig{.beta_ppm = 0}; }),
              ::testing::StartsWith("ub.congestion.beta_ppm is 0"));
  EXPECT_THAT(refusal([](UbConfig& config) {
                config.congestion = congestion::CaqmConfig{};
                config.mtu = 8192;
              }),
              ::testing::StartsWith("ub.mtu: found 8192, expected at most 4096"));
  EXPECT_THAT(refusal([](UbConfig& config) { config.min_time_between_cnps = nanoseconds(-1); }),
              ::testing::StartsWith("ub.min_time_between_cnps"));
}

}  // namespace
}  // namespace wharf::ub
