// SPDX-License-Identifier: Apache-2.0
// Notification point and reaction point of queue pairs: which CNPs leave and when, what they do to the rate,
// and what waits for rate and window. [SIGCOMM 2015; IBTA vol 1 A17.9]
#include "engine/roce/congestion_control.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/roce_congested_pair.h"
#include "wire/frame.h"

namespace wharf::roce {
namespace {

using test::CongestedPair;
using test::paced_config;
using test::RunEnd;
using verbs::Verb;
using wire::RoceOpcode;

constexpr std::uint64_t kGigabit = 1'000'000'000;

bool is_write(const wire::Packet& packet) {
  return packet.roce.bth.opcode >= RoceOpcode::kRcWriteFirst &&
         packet.roce.bth.opcode <= RoceOpcode::kRcWriteOnly;
}
bool is_read_data(const wire::Packet& packet) {
  return packet.roce.bth.opcode >= RoceOpcode::kRcReadResponseFirst &&
         packet.roce.bth.opcode <= RoceOpcode::kRcReadResponseOnly;
}

RoceConfig windowed(std::uint32_t packets) {
  RoceConfig config = paced_config();
  config.congestion = congestion::ConstantWindowConfig{.packets = packets};
  return config;
}

// --- Configuration ---

TEST(RoceCongestionConfig, RefusesWhatMakesNoSense) {
  const auto message = [](const RoceConfig& config) {
    const Result<void> checked = check(config);
    return checked.ok() ? std::string("accepted") : checked.error().message;
  };
  EXPECT_EQ(message(paced_config()), "accepted");
  RoceConfig config;
  config.congestion = congestion::SwiftConfig{};
  EXPECT_EQ(message(config), "accepted");
  for (const congestion::ControllerConfig& other : {congestion::ControllerConfig(congestion::CaqmConfig{}),
                                                    congestion::ControllerConfig(congestion::LdcpConfig{}),
                                                    congestion::ControllerConfig(congestion::NsccConfig{})}) {
    config.congestion = other;
    EXPECT_EQ(message(config),
              "roce.congestion is a controller whose signals RoCE does not carry, expected DCQCN, Swift, a "
              "constant window or none");
  }
  congestion::DcqcnConfig dcqcn;
  dcqcn.rpg_gd = 9;
  config.congestion = dcqcn;
  EXPECT_EQ(message(config), "roce.congestion.rpg_gd is 9, expected 10 to 20");
  config.congestion = congestion::ConstantWindowConfig{.packets = 0};
  EXPECT_EQ(message(config), "roce.congestion.packets is 0, expected at least 1");
  config.congestion.reset();
  config.min_time_between_cnps = picoseconds(-1);
  EXPECT_EQ(message(config), "roce.min_time_between_cnps is -1 ps, expected 0 to 1 s");
  config.min_time_between_cnps = seconds(1) + picoseconds(1);
  EXPECT_EQ(message(config), "roce.min_time_between_cnps is 1000000000001 ps, expected 0 to 1 s");
  config.min_time_between_cnps = seconds(1);
  EXPECT_EQ(message(config), "accepted");
}

// --- Notification point ---

// The form that a ConnectX-4 Lx sends (published with Scapy's RoCE tests), but for addresses and queue.
TEST(RoceNotificationPoint, SendsTheBytesThatHardwareSends) {
  CongestedPair world;
  world.mark = is_write;
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64));
  world.pair.run_to(nanoseconds(100));
  const auto cnps = world.left_from(1, RoceOpcode::kCnp);
  ASSERT_EQ(cnps.size(), 1u);
  const wire::Packet& cnp = cnps[0].packet;
  EXPECT_EQ(cnp.traffic_class, wire::TrafficClass::kControl);
  EXPECT_EQ(cnp.destination, wire::HostAddress{0});
  std::array<std::byte, 128> frame{};
  ASSERT_EQ(wire::encode(cnp, frame), 74u);
  EXPECT_EQ(cnp.header_bytes, 78u);       // With the FCS.
  EXPECT_EQ(frame[15], std::byte{0xc2});  // DSCP 48, ECT(0).
  EXPECT_EQ(frame[17], std::byte{60});    // The IP datagram.
  constexpr std::array<unsigned char, 28> kExpected{0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x00, 0x11};
  for (std::size_t at = 0; at < kExpected.size(); ++at) {
    EXPECT_EQ(frame[42 + at], std::byte{kExpected[at]}) << at;
  }
  wire::Packet decoded;
  ASSERT_EQ(wire::decode(std::span(frame).first(74), wire::link_type(cnp), decoded), wire::DropReason::kNone);
  EXPECT_EQ(decoded.roce.bth.opcode, RoceOpcode::kCnp);
  EXPECT_TRUE(decoded.roce.bth.backward_congestion);
  EXPECT_EQ(world.counters(1).congestion_notifications_sent, 1u);
}

// SIGCOMM 2015 3.1: one CNP for a flow in N at most.
TEST(RoceNotificationPoint, SpacesNotificationsPerQueuePair) {
  CongestedPair world(paced_config(), {}, 2);
  world.mark = is_write;
  for (engine::QueueId queue = 0; queue < 2; ++queue) {
    world.pair.post(0, queue, world.request(Verb::kWrite, 0, 0, 64));
  }
  world.pair.run_to(microseconds(1));
  wire::Packet marked = world.left_from(0, RoceOpcode::kRcWriteOnly).at(0).packet;
  marked.payload = wire::Payload{};
  marked.mark = wire::CongestionMark::kExperienced;
  // Each queue pair has had its own, at 100 ns.
  const auto first = world.left_from(1, RoceOpcode::kCnp);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].at, nanoseconds(100));
  EXPECT_NE(first[0].packet.roce.bth.destination_queue_pair, first[1].packet.roce.bth.destination_queue_pair);
  world.pair.run_to(nanoseconds(100) + microseconds(50) - picoseconds(1));
  world.pair.inject(1, marked);
  EXPECT_EQ(world.left_from(1, RoceOpcode::kCnp).size(), 2u);
  world.pair.run_to(nanoseconds(100) + microseconds(50));
  world.pair.inject(1, marked);
  EXPECT_EQ(world.left_from(1, RoceOpcode::kCnp).size(), 3u);
}

// Marked READ data slows the responder; marked acknowledgements and CNPs say nothing.
TEST(RoceNotificationPoint, AnswersMarkedReadDataAndNoAcknowledgements) {
  CongestedPair world;
  world.mark = is_read_data;
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 0, 64));
  world.pair.run_to(microseconds(1));
  EXPECT_EQ(world.left_from(0, RoceOpcode::kCnp).size(), 1u);
  EXPECT_EQ(world.counters(1).congestion_notifications, 1u);
  EXPECT_EQ(world.rate(1), 50 * kGigabit);
  EXPECT_EQ(world.rate(0), 100 * kGigabit);
  world.mark = [](const wire::Packet& packet) { return !is_read_data(packet) && !is_write(packet); };
  world.pair.run_to(microseconds(200));
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64));
  world.pair.run_to(microseconds(201));
  world.notify(0);
  world.pair.run_to(microseconds(202));
  EXPECT_EQ(world.counters(0).congestion_notifications_sent, 1u);
  EXPECT_EQ(world.counters(1).congestion_notifications_sent, 0u);
}

TEST(RoceNotificationPoint, IsSilentWhenOff) {
  RoceConfig config = paced_config();
  config.min_time_between_cnps = kTimeZero;
  CongestedPair world(config);
  world.mark = [](const wire::Packet&) { return true; };
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 4096));
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 0, 4096));
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_TRUE(world.left_from(0, RoceOpcode::kCnp).empty());
  EXPECT_TRUE(world.left_from(1, RoceOpcode::kCnp).empty());
}

// A reset forgets what is owed and when the last CNP left.
TEST(RoceNotificationPoint, OwesNothingAfterAReset) {
  CongestedPair world;
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64));
  wire::Packet marked = world.left.at(0).packet;
  marked.payload = wire::Payload{};
  marked.roce.reth.length = 0;
  marked.mark = wire::CongestionMark::kExperienced;
  world.pair.run_to(microseconds(1));
  RoceEngine& engine = world.pair.engine(1);
  engine.receive(world.pair.now(), 0, marked);
  ASSERT_TRUE(engine.reset(world.pair.now(), 0).ok());
  world.pair.drain(1);
  EXPECT_EQ(world.counters(1).congestion_notifications_sent, 0u);
  ASSERT_TRUE(world.pair.engine(0).reset(world.pair.now(), 0).ok());
  world.connect(0);
  engine.receive(world.pair.now(), 0, marked);
  wire::Packet out;
  EXPECT_FALSE(engine.transmit(world.pair.now(), 0, wire::mask_of(wire::TrafficClass::kData), out));
  EXPECT_TRUE(engine.transmit(world.pair.now(), 0, wire::mask_of(wire::TrafficClass::kControl), out));
  EXPECT_EQ(out.roce.bth.opcode, RoceOpcode::kCnp);
}

// --- Reaction point: rate ---

// SIGCOMM 2015 3.1, by hand: alpha starts at 1, so the first CNP halves 100 Gb/s. After K = 55 us without
// another, alpha is 1020/1024; after the rate timer, the same 55 us, fast recovery has come half way back, to
// 75 Gb/s. The second CNP leaves 75 (1 - 1020/2048) Gb/s.
TEST(RoceReactionPoint, CutsTheRateAsThePaperSays) {
  CongestedPair world;
  EXPECT_EQ(world.rate(0), 100 * kGigabit);
  EXPECT_EQ(world.pair.engine(0).deadline(), kNever);
  world.notify(0);
  EXPECT_EQ(world.rate(0), 50 * kGigabit);
  EXPECT_EQ(world.pair.engine(0).deadline(), microseconds(55));
  world.pair.run_to(microseconds(55));
  EXPECT_EQ(world.rate(0), 75 * kGigabit);
  world.notify(0);
  EXPECT_EQ(world.rate(0), 37'646'484'375u);
  EXPECT_EQ(world.counters(0).congestion_notifications, 2u);
  // Idle, it comes back to the line rate and then needs no more wake-ups.
  EXPECT_EQ(world.pair.run_until_idle(seconds(10)), RunEnd::kDone);
  EXPECT_EQ(world.rate(0), 100 * kGigabit);
}

// Next send time += wire bytes * 8 / rate: at 50 Gb/s a First of 1024 + 78 bytes takes 176.32 ns, a Middle of
// 1024 + 62 bytes 173.76 ns.
TEST(RoceReactionPoint, SpacesPacketsByTheirWireBytes) {
  CongestedPair world;
  world.notify(0);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 4 * 1024));
  EXPECT_EQ(world.left.size(), 1u);
  EXPECT_EQ(world.pair.engine(0).deadline(), picoseconds(176'320));
  EXPECT_EQ(world.pair.run_until([&] { return !world.completions(0).empty(); }), RunEnd::kDone);
  const auto middles = world.left_from(0, RoceOpcode::kRcWriteMiddle);
  ASSERT_EQ(middles.size(), 2u);
  EXPECT_EQ(middles[0].at, picoseconds(176'320));
  EXPECT_EQ(middles[1].at, picoseconds(176'320 + 173'760));
  EXPECT_EQ(world.left_from(0, RoceOpcode::kRcWriteLast).at(0).at, picoseconds(176'320 + 2 * 173'760));
  EXPECT_EQ(world.pair.now(), picoseconds(176'320 + 2 * 173'760 + 200'000));
}

// READ data: at 50 Gb/s a First of 1024 + 66 bytes takes 174.4 ns.
TEST(RoceReactionPoint, SpacesReadDataLikewise) {
  CongestedPair world;
  world.notify(1);
  world.fill(1, 8192, 3 * 1024, 5);
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 8192, 3 * 1024));
  EXPECT_EQ(world.pair.run_until([&] { return !world.completions(0).empty(); }), RunEnd::kDone);
  EXPECT_EQ(world.left_from(1, RoceOpcode::kRcReadResponseFirst).at(0).at, picoseconds(100'000));
  EXPECT_EQ(world.left_from(1, RoceOpcode::kRcReadResponseMiddle).at(0).at, picoseconds(274'400));
  EXPECT_EQ(world.left_from(1, RoceOpcode::kRcReadResponseLast).at(0).at, picoseconds(274'400 + 173'760));
  EXPECT_TRUE(world.holds(0, 0, 3 * 1024, 5));
}

// Acknowledgements, NAKs and atomic results wait for no rate; neither do CNPs.
TEST(RoceReactionPoint, DoesNotPaceAnswersWithoutData) {
  CongestedPair world;
  world.notify(1, 0, 40);  // Down to 1 Mb/s, where a packet takes longer than this test.
  EXPECT_EQ(world.rate(1), 1'000'000u);
  world.pair.post(1, 0, world.request(Verb::kWrite, 0, 4096, 1024, 1));
  world.pair.post(1, 0, world.request(Verb::kWrite, 0, 4096, 1024, 1));
  EXPECT_EQ(world.left_from(1, RoceOpcode::kRcWriteOnly).size(), 1u);
  world.mark = is_write;
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 64));
  world.pair.post(0, 0, world.request(Verb::kFetchAdd, 0, 0, 8));
  world.pair.run_to(nanoseconds(250));
  EXPECT_EQ(world.left_from(1, RoceOpcode::kCnp).at(0).at, nanoseconds(100));
  EXPECT_EQ(world.left_from(1, RoceOpcode::kRcAcknowledge).at(0).at, nanoseconds(100));
  EXPECT_EQ(world.left_from(1, RoceOpcode::kRcAtomicAcknowledge).size(), 1u);
  EXPECT_EQ(world.completions(0).size(), 2u);
}

// Own requests and READ data for the peer share one rate in turn.
TEST(RoceReactionPoint, SharesOneRateBetweenRequestsAndReadData) {
  CongestedPair world;
  world.notify(1, 0, 2);
  world.pair.post(1, 0, world.request(Verb::kWrite, 0, 0, 32 * 1024, 1));
  world.pair.post(0, 0, world.request(Verb::kRead, 65536, 65536, 32 * 1024));
  world.pair.run_to(microseconds(5));
  std::uint32_t requests = 0;
  std::uint32_t data = 0;
  TimePs last = picoseconds(-1);
  for (const CongestedPair::Departure& each : world.left) {
    if (each.packet.source.number != 1 || each.packet.payload.length == 0) continue;
    EXPECT_GT(each.at, last);
    last = each.at;
    ++(is_read_data(each.packet) ? data : requests);
  }
  EXPECT_GT(data, 5u);
  EXPECT_LE(requests, data + 2);
  EXPECT_LE(data, requests + 2);
}

// A queue pair that waits holds up no other.
TEST(RoceReactionPoint, HoldsUpNoOtherQueuePair) {
  for (const bool by_rate : {true, false}) {
    CongestedPair world(by_rate ? paced_config() : windowed(1), {}, 2);
    world.notify(0, 0, 40);
    if (!by_rate) world.lose = [](const wire::Packet& packet) { return packet.roce.bth.psn == 100; };
    world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 4096));
    world.lose = nullptr;
    world.pair.post(0, 1, world.request(Verb::kWrite, 0, 8192, 4096));
    EXPECT_EQ(world.pair.run_until([&] { return !world.completions(0).empty(); }), RunEnd::kDone);
    EXPECT_EQ(world.completions(0).at(0).queue, 1u);
    // At 100 Gb/s 3 packets take 0.26 us; with one packet in flight 4 take 4 round trips.
    EXPECT_LT(world.pair.now(), microseconds(1));
    // And the slow one arrives all the same.
    EXPECT_EQ(world.pair.run_until([&] { return world.completions(0).size() == 2; }), RunEnd::kDone);
    EXPECT_TRUE(world.completions(0).at(1).ok());
  }
}

// A queue pair far below its line rate asks for acknowledgements often enough not to be taken for lossy: at
// 1 Mb/s a packet takes 8.7 ms, and the time-out is 4.2 ms.
TEST(RoceReactionPoint, ALowRateIsNoTimeout) {
  RoceConfig config = paced_config();
  config.ack_timeout = 10;
  CongestedPair world(config);
  world.notify(0, 0, 40);
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 16 * 1024));
  EXPECT_EQ(world.pair.run_until([&] { return !world.completions(0).empty(); }), RunEnd::kDone);
  EXPECT_GT(world.pair.now(), milliseconds(8));
  EXPECT_EQ(world.counters(0).timeouts, 0u);
  EXPECT_EQ(world.counters(0).requests_resent, 0u);
}

// What does not concern a queue pair in working order is dropped, counted, and changes no rate.
TEST(RoceReactionPoint, DropsHostileNotifications) {
  CongestedPair world(paced_config(), {}, 2);
  RoceEngine& engine = world.pair.engine(0);
  const auto drops = [&](auto change, const std::uint64_t Counters::*counter) {
    wire::Packet packet = CongestedPair::notification(0);
    change(packet);
    const std::uint64_t before = engine.counters().*counter;
    world.pair.inject(0, packet);
    EXPECT_EQ(engine.counters().*counter, before + 1);
    EXPECT_EQ(engine.counters().congestion_notifications, 0u);
  };
  drops([](wire::Packet& packet) { packet.roce.bth.destination_queue_pair = 900; },
        &Counters::dropped_unknown_queue);
  drops([](wire::Packet& packet) { packet.roce.bth.destination_queue_pair = 1; },
        &Counters::dropped_unknown_queue);
  drops([](wire::Packet& packet) { packet.source = {7}; }, &Counters::dropped_wrong_source);
  drops([](wire::Packet& packet) { packet.destination = {7}; }, &Counters::dropped_foreign);
  drops([](wire::Packet& packet) { packet.roce.bth.partition_key = 0x8001; }, &Counters::dropped_partition);
  drops([](wire::Packet& packet) { packet.roce.bth.version = 1; }, &Counters::dropped_version);
  drops([](wire::Packet& packet) { packet.roce.bth.opcode = RoceOpcode{0x80}; },
        &Counters::dropped_unknown_opcode);
  EXPECT_EQ(world.rate(0), 200 * kGigabit);  // Of two queue pairs.
  ASSERT_TRUE(engine.reset(world.pair.now(), 0).ok());
  drops([](wire::Packet&) {}, &Counters::dropped_not_ready);
  EXPECT_EQ(world.rate(0), 100 * kGigabit);
  ASSERT_TRUE(engine.destroy_queue(world.pair.now(), 0).ok());
  drops([](wire::Packet&) {}, &Counters::dropped_unknown_queue);
}

TEST(RoceReactionPoint, ANewConnectionStartsAtLineRate) {
  CongestedPair world;
  world.notify(0);
  EXPECT_EQ(world.rate(0), 50 * kGigabit);
  ASSERT_TRUE(world.pair.engine(0).reset(world.pair.now(), 0).ok());
  ASSERT_TRUE(world.pair.engine(1).reset(world.pair.now(), 0).ok());
  EXPECT_EQ(world.pair.engine(0).deadline(), kNever);
  EXPECT_EQ(world.rate(0), 0u);
  world.connect(0);
  EXPECT_EQ(world.rate(0), 100 * kGigabit);
}

// The error state keeps nothing back: a NAK behind READ data that waits for its turn still leaves.
TEST(RoceReactionPoint, TheErrorStateKeepsNothingBack) {
  CongestedPair world;
  world.notify(1, 0, 40);
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 0, 4096));
  verbs::WorkRequest wrong = world.request(Verb::kWrite, 0, 0, 64);
  wrong.remote.token.id ^= 0xff;
  world.pair.post(0, 0, wrong);
  EXPECT_EQ(world.pair.run_until([&] { return world.completions(0).size() == 2; }), RunEnd::kDone);
  EXPECT_TRUE(world.completions(0)[0].ok());
  EXPECT_EQ(world.completions(0)[1].status, verbs::CompletionStatus::kRemoteAccess);
  EXPECT_EQ(world.counters(0).timeouts, 0u);
  EXPECT_LT(world.pair.now(), microseconds(2));
}

// READ data that waits for its turn when the requester half fails, and no NAK behind it, leaves no more.
TEST(RoceReactionPoint, TheErrorStateForgetsReadDataThatWaits) {
  CongestedPair world;
  world.pair.post(1, 0, world.request(Verb::kWrite, 0, 0, 64, 1));
  world.notify(1, 0, 40);
  world.pair.post(0, 0, world.request(Verb::kRead, 0, 0, 4096));
  world.lose = [](const wire::Packet& packet) {
    return packet.source.number == 0 && packet.roce.bth.opcode == RoceOpcode::kRcAcknowledge;
  };
  world.pair.run_to(nanoseconds(500));
  EXPECT_TRUE(world.left_from(1, RoceOpcode::kRcReadResponseMiddle).empty());
  wire::Packet nak = world.left_from(0, RoceOpcode::kRcAcknowledge).at(0).packet;
  nak.roce.ack.aeth.syndrome = wire::nak_syndrome(wire::NakCode::kRemoteAccess);
  world.pair.inject(1, nak);
  EXPECT_EQ(world.pair.engine(1).state(0), QueueState::kError);
  const std::size_t left = world.left.size();
  world.pair.run_to(microseconds(10));  // Before the peer's time-out.
  EXPECT_EQ(world.left.size(), left);
}

// --- Reaction point: windows ---

// Packet n+1 waits for an acknowledgement, which packet n asks for.
TEST(RoceReactionPoint, AWindowHoldsThePacketBehindIt) {
  CongestedPair world(windowed(2));
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 4 * 1024));
  ASSERT_EQ(world.left.size(), 2u);
  EXPECT_FALSE(world.left[0].packet.roce.bth.acknowledge_request);
  EXPECT_TRUE(world.left[1].packet.roce.bth.acknowledge_request);
  EXPECT_EQ(world.trace(0).in_flight, 2u);
  std::vector<std::string> lines;
  world.pair.engine(0).describe_waiting(lines);
  EXPECT_NE(lines.at(0).find("is held back by congestion control"), std::string::npos) << lines[0];
  world.pair.run_to(nanoseconds(199));
  EXPECT_EQ(world.left_from(0, RoceOpcode::kRcWriteMiddle).size(), 1u);
  world.pair.run_to(nanoseconds(200));
  EXPECT_EQ(world.left_from(0, RoceOpcode::kRcWriteMiddle).size(), 2u);
  EXPECT_EQ(world.left_from(0, RoceOpcode::kRcWriteLast).size(), 1u);
  world.pair.run_until_idle();
  EXPECT_EQ(world.pair.now(), nanoseconds(400));
  EXPECT_EQ(world.trace(0).in_flight, 0u);
  EXPECT_EQ(world.counters(0).timeouts, 0u);
}

// READ data is nobody's window: a responder that may have four packets in flight sends all of it, and has
// room for four packets of its own.
TEST(RoceReactionPoint, AWindowDoesNotHoldReadData) {
  CongestedPair world(windowed(4));
  world.pair.post(0, 0, world.request(Verb::kRead, 8192, 8192, 8 * 1024));
  world.pair.run_to(nanoseconds(100));
  EXPECT_EQ(world.left_from(1, RoceOpcode::kRcReadResponseLast).size(), 1u);
  EXPECT_EQ(world.trace(1).in_flight, 0u);
  world.pair.post(1, 0, world.request(Verb::kWrite, 0, 0, 6 * 1024, 1));
  EXPECT_EQ(world.trace(1).in_flight, 4u);
  EXPECT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_EQ(world.completions(1).size(), 1u);
}

// A window that never closes changes nothing at all.
TEST(RoceReactionPoint, AWideWindowChangesNothing) {
  const auto run = [](const RoceConfig& config) {
    test::EnginePairOptions options;
    options.wire.loss = Probability::from(0.03);
    options.packet_interval = nanoseconds(50);
    CongestedPair world(config, options);
    for (const Verb verb : {Verb::kWrite, Verb::kRead, Verb::kFetchAdd, Verb::kWrite}) {
      world.pair.post(0, 0, world.request(verb, 0, 65536, verb == Verb::kFetchAdd ? 8 : 50'000));
      world.pair.post(1, 0, world.request(verb, 131072, 262144, verb == Verb::kFetchAdd ? 8 : 50'000, 1));
    }
    world.pair.run_until_idle();
    std::vector<std::array<std::int64_t, 5>> history;
    for (const auto& [at, packet] : world.left) {
      const wire::Bth& bth = packet.roce.bth;
      history.push_back({at.ps, packet.source.number, static_cast<std::int64_t>(bth.opcode), bth.psn,
                         bth.acknowledge_request ? 1 : 0});
    }
    return history;
  };
  RoceConfig off = paced_config();
  off.congestion.reset();
  off.min_time_between_cnps = kTimeZero;
  const auto plain = run(off);
  EXPECT_GT(plain.size(), 300u);
  EXPECT_EQ(run(windowed(1U << 20U)), plain);
}

}  // namespace
}  // namespace wharf::roce
