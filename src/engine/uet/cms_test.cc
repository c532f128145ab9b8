// SPDX-License-Identifier: Apache-2.0
// Congestion management inside the engine: windows that marks move, credit between hosts, paths, probes. The
// rules themselves are tested beside the controllers. [UE 1.0 3.6]
#include <gtest/gtest.h>

#include <set>

#include "tests/support/uet_star.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using congestion::NsccConfig;
using congestion::NsccSender;

/// A full packet counts 4096 + 44 + 12 + 4 + 8 + 40.
constexpr std::uint32_t kMtu = 4204;
/// With credits its header has four bytes more.
constexpr std::uint32_t kCreditMtu = 4208;

NsccConfig network(TimePs base_rtt = microseconds(12)) {
  return NsccConfig::for_network(gigabits_per_second(100), base_rtt, kMtu, true);
}
const NsccSender& nscc(const CongestionContext& context) { return *context.controller.as<NsccSender>(); }
const CongestionContext& context(World& world) { return world.engine(0).parts().cms[0]; }

/// NSCC with a window of 100000 bytes, delays that count at once, and no probe of the RTT.
UetConfig attentive() {
  UetConfig config;
  NsccConfig chosen = network();
  chosen.initial_window = 100'000;
  chosen.delay_gain_q20 = 1U << 20U;
  config.controller = chosen;
  config.base_rtt_probe = false;
  return config;
}

/// Marks every data packet on its way.
void mark_all(test::EnginePairOptions& options) {
  options.wire.transform = [](wire::Packet& packet, bool damaged, RandomStream&, wire::PayloadPool&) {
    if (packet.traffic_class == wire::TrafficClass::kData) packet.mark = wire::CongestionMark::kExperienced;
    return !damaged;
  };
}

TEST(Cms, Uet_3_6_13_MarksWithDelayMoveTheWindowByTheExcess) {
  test::EnginePairOptions options;
  options.wire.delay = microseconds(15);  // 30 us there and back: 18 us of delay against a target of 9.
  mark_all(options);
  World world(attentive(), options);
  ASSERT_EQ(world.post(world.request(verbs::Verb::kWrite, 4 * 4096)), engine::PostStatus::kOk);
  world.pass(microseconds(29));
  EXPECT_EQ(nscc(context(world)).window(), 100'000U);
  EXPECT_EQ(nscc(context(world)).in_flight(), 4 * 4204);
  world.pass(microseconds(2));
  // 100000 * (1 - 0.8 * 9/18), once in a round trip; then eta: 0.15 * 4204.
  EXPECT_EQ(nscc(context(world)).window(), 60'000U + 631U);
  EXPECT_EQ(nscc(context(world)).in_flight(), 0);
}

TEST(Cms, Uet_3_6_13_LongDelaysHalveAtMost) {
  test::EnginePairOptions options;
  options.wire.delay = microseconds(100);
  mark_all(options);
  World world(attentive(), options);
  ASSERT_EQ(world.post(world.request(verbs::Verb::kWrite, 4096)), engine::PostStatus::kOk);
  world.pass(microseconds(201));
  EXPECT_EQ(nscc(context(world)).window(), 50'000U + 631U);
}

TEST(Cms, Uet_3_6_13_TheWindowLimitsWhatIsInFlight) {
  UetConfig config;
  NsccConfig chosen = network();
  chosen.initial_window = 10 * kMtu;
  config.controller = chosen;
  test::EnginePairOptions options;
  options.wire.delay = microseconds(6);
  World world(config, options);
  world.watch();
  ASSERT_EQ(world.post(world.request(verbs::Verb::kWrite, 100 * 4096)), engine::PostStatus::kOk);
  world.pass(microseconds(5));
  EXPECT_EQ(world.sent.size(), 10U);
  // [UE 1.0 3.5.12] The last one that fits asks for an answer.
  EXPECT_FALSE(world.sent[8].uet.prologue.ack_requested() && !world.sent[8].uet.prologue.syn());
  EXPECT_TRUE(world.sent[9].uet.prologue.ack_requested());
}

TEST(Cms, Uet_3_6_13_AProbeAfterTheFirstAnswerLowersTheBaseRoundTrip) {
  for (const bool probes : {true, false}) {
    UetConfig config;
    config.controller = network();
    config.base_rtt_probe = probes;
    test::EnginePairOptions options;
    options.wire.delay = microseconds(10);
    World world(config, options);
    world.watch();
    ASSERT_EQ(world.post(world.request(verbs::Verb::kWrite, 64)), engine::PostStatus::kOk);
    world.pass(microseconds(15));
    world.pair().wire().options().delay = microseconds(2);
    world.pass(microseconds(30));
    // Data went 20 us; the probe 4.
    EXPECT_EQ(nscc(context(world)).base_rtt(), probes ? microseconds(4) : microseconds(12));
    EXPECT_EQ(nscc(context(world)).max_window(), probes ? 75'000U : 225'000U) << "1.5 * 100 Gb/s * 4 us";
    EXPECT_EQ(world.sent_of(wire::UetPdsType::kControl).size(), probes ? 1U : 0U);
  }
}

TEST(Cms, Uet_3_6_13_TwoSourcesShareALinkWithoutTrims) {
  // Base RTT: 4 * 2 us, a full packet on two links and its answer: below 8.8 us.
  UetConfig config;
  config.controller = network(nanoseconds(8800));
  StarOptions options;
  options.mark_bytes = 22'000;   // 0.2 BDP
  options.trim_bytes = 165'000;  // 1.5 BDP
  Star star(config, 2, options);
  constexpr std::uint32_t kMessageBytes = 8U << 20U;
  star.write(0, kMessageBytes);
  star.write(1, kMessageBytes);
  star.run_to(microseconds(400));
  star.reset_deepest();
  ASSERT_TRUE(star.run(2));
  EXPECT_TRUE(star.all_ok());
  // 2 * 8 MiB at 100 Gb/s take 1342 us; each packet's headers are 2.4 % more.
  const double last = as_nanoseconds(max(star.done(0), star.done(1)));
  EXPECT_GT(last, 1'342'000 * 1.02);
  EXPECT_LT(last, 1'342'000 * 1.05);
  // Both get about half: the first is done when little is left of the other.
  EXPECT_GT(as_nanoseconds(min(star.done(0), star.done(1))), last * 0.9);
  // Marks hold the queue about the target: 6.6 us are 82500 B.
  EXPECT_LT(star.deepest(), 140'000U);
  EXPECT_GT(star.marked(), 100U);
  EXPECT_EQ(star.engine(0).counters().timeouts, 0U);
}

TEST(Cms, Uet_3_6_13_AnIncastOfTrimsEndsInSmallWindowsAndAFullLink) {
  UetConfig config;
  config.controller = network(nanoseconds(8800));
  StarOptions options;
  options.mark_bytes = 22'000;
  options.trim_bytes = 110'000;
  constexpr std::uint32_t kSources = 8;
  Star star(config, kSources, options);
  for (std::uint32_t host = 0; host < kSources; ++host) star.write(host, 2U << 20U);
  star.run_to(microseconds(300));
  std::uint64_t windows = 0;
  for (std::uint32_t host = 0; host < kSources; ++host) {
    windows += star.context(host).controller.window();
    EXPECT_LT(star.context(host).controller.window(), 60'000U) << "of 165000 at first";
  }
  // Together about a BDP and the queue: 110000 + up to 165000.
  EXPECT_LT(windows, 320'000U);
  const std::uint64_t trimmed = star.trimmed();
  EXPECT_GT(trimmed, 100U) << "eight windows at once";
  ASSERT_TRUE(star.run(kSources));
  EXPECT_TRUE(star.all_ok());
  EXPECT_LT(as_nanoseconds(star.now()), 1'342'000 * 1.15);
  EXPECT_LT(star.trimmed(), trimmed + trimmed / 4) << "most of them at the start";
}

UetConfig credit_config(CongestionControl mode) {
  UetConfig config;
  config.congestion = mode;
  config.credit =
      congestion::RcccConfig::for_network(gigabits_per_second(100), nanoseconds(8800), kCreditMtu);
  config.controller = network(nanoseconds(8800));
  return config;
}

TEST(Cms, Uet_3_6_14_CreditCarriesAFlowAtThePaceOfTheReceiver) {
  Star star(credit_config(CongestionControl::kReceiver), 1, {});
  star.write(0, 8U << 20U);
  ASSERT_TRUE(star.run(1));
  EXPECT_TRUE(star.all_ok());
  // 2048 packets that count 4208: 8.618 MB, less what leaves in the first round trip, 110 kB, at 99 Gb/s:
  // 688 us and at most two round trips.
  EXPECT_GT(as_nanoseconds(star.now()), 688'000 + 8'800);
  EXPECT_LT(as_nanoseconds(star.now()), 688'000 + 2 * 8'800);
  EXPECT_FALSE(star.context(0).credit.speculating());
  // What was given is what was spent and what is left.
  const Cms& issuer = star.engine(1).parts().cms;
  EXPECT_GE(issuer.granted_units(0) * 256U + 165'000U, 2048U * kCreditMtu);
  EXPECT_LE(issuer.granted_units(0) * 256U, 2048U * kCreditMtu + 165'000U);
}

TEST(Cms, Uet_3_6_14_AnIncastTrimsOnlyWhatWasSpeculative) {
  for (const CongestionControl mode : {CongestionControl::kReceiver, CongestionControl::kBoth}) {
    StarOptions options;
    options.mark_bytes = 88'000;
    options.trim_bytes = 165'000;
    constexpr std::uint32_t kSources = 8;
    Star star(credit_config(mode), kSources, options);
    for (std::uint32_t host = 0; host < kSources; ++host) star.write(host, 2U << 20U);
    star.run_to(microseconds(200));
    const std::uint64_t trimmed = star.trimmed();
    // Eight times the 26 packets that leave in a round trip; 40 find room and about 26 leave meanwhile.
    EXPECT_GT(trimmed, 8U * 26U - 66U);
    EXPECT_LT(trimmed, 8U * 26U - 26U);
    ASSERT_TRUE(star.run(kSources)) << static_cast<int>(mode);
    EXPECT_TRUE(star.all_ok());
    EXPECT_EQ(star.trimmed(), trimmed) << "credit is never more than the link";
    EXPECT_LT(as_nanoseconds(star.now()), 1'342'000 * 1.10);
  }
}

TEST(Cms, Uet_3_6_14_ASourceWithoutCreditAsksForIt) {
  // Every Credit CP of the first millisecond is lost, and acknowledgements carry none.
  UetConfig config = credit_config(CongestionControl::kBoth);
  config.base_rtt_probe = false;
  Star star(config, 1, {});
  star.lose = [](const wire::Packet& packet) {
    return packet.uet.prologue.type == wire::UetPdsType::kControl &&
           packet.uet.prologue.control == wire::UetControlType::kCredit;
  };
  star.write(0, 1U << 20U);
  star.run_to(milliseconds(1));
  EXPECT_FALSE(star.context(0).credit.permits(1));
  EXPECT_EQ(star.context(0).in_flight, 0U);
  // 12 us after the window came back, then twice as late each time: 8.8 * (1 + 2 + 4 + ... + 64) = 1118 us.
  const std::uint64_t asked = star.engine(0).counters().control_packets_sent;
  EXPECT_GE(asked, 6U);
  EXPECT_LE(asked, 8U);
  star.lose = nullptr;
  ASSERT_TRUE(star.run(1, milliseconds(10)));
  EXPECT_TRUE(star.all_ok());
}

TEST(Cms, Uet_3_6_14_ASourceMayWaitBeforeItAsks) {
  UetConfig config = credit_config(CongestionControl::kBoth);
  config.base_rtt_probe = false;
  config.credit.request_patience = microseconds(400);
  Star star(config, 1, {});
  star.lose = [](const wire::Packet& packet) {
    return packet.uet.prologue.type == wire::UetPdsType::kControl &&
           packet.uet.prologue.control == wire::UetControlType::kCredit;
  };
  star.write(0, 1U << 20U);
  star.run_to(microseconds(350));
  EXPECT_FALSE(star.context(0).credit.permits(1));
  EXPECT_EQ(star.engine(0).counters().credit_requests_sent, 0U);
  star.run_to(microseconds(600));
  // At about 410 us, and twice the base RTT of 8.8 us after it, then 4, 8 times...
  EXPECT_GE(star.engine(0).counters().credit_requests_sent, 2U);
  EXPECT_LE(star.engine(0).counters().credit_requests_sent, 4U);
  star.lose = nullptr;
  ASSERT_TRUE(star.run(1, milliseconds(10)));
  EXPECT_TRUE(star.all_ok());
}

// Nothing but a packet that must go again speaks for a source whose first packets were all trimmed: the
// target has no PDC to grant to.
TEST(Cms, Uet_3_6_14_ASourceThatMustSendAgainAsksAtOnce) {
  for (const bool asks : {false, true}) {
    UetConfig config = credit_config(CongestionControl::kReceiver);
    config.credit.request_patience = milliseconds(1);
    config.credit.request_for_resends = asks;
    StarOptions options;
    options.trim_bytes = 40'000;
    constexpr std::uint32_t kSources = 32;
    Star star(config, kSources, options);
    for (std::uint32_t host = 0; host < kSources; ++host) star.write(host, 64U << 10U);
    ASSERT_TRUE(star.run(kSources));
    EXPECT_TRUE(star.all_ok());
    // 32 times 16 packets of 4208 bytes: 172 us; sources that nobody knows wait for their patience.
    if (asks) {
      EXPECT_LT(as_nanoseconds(star.now()), 250'000);
    } else {
      EXPECT_GT(as_nanoseconds(star.now()), 1'000'000);
    }
  }
}

TEST(Cms, Uet_3_6_14_DemandAndCreditTravelInTheirFields) {
  UetConfig config = credit_config(CongestionControl::kReceiver);
  World world(config);
  world.watch();
  EXPECT_TRUE(world.finish(world.request(verbs::Verb::kWrite, 100 * 4096)).ok());
  const auto requests = world.sent_of(wire::UetPdsType::kRudCcRequest);
  // 165000 / 4208: the first 40 packets are speculative; each asks for one MTU at least.
  ASSERT_GE(requests.size(), 100U);
  EXPECT_EQ(requests[0].uet.request.credit_target, 17U);
  // The fortieth: min(60 * 4208, 165000) + 3320 of debt.
  EXPECT_EQ(requests[39].uet.request.credit_target, (165'000U + 3'320U + 255U) / 256U);
  std::uint32_t target = 0;
  for (const wire::Packet& packet : requests) {
    EXPECT_GE(packet.uet.request.credit_target, target);
    target = packet.uet.request.credit_target;
  }
  std::uint32_t granted = 0;
  bool any = false;
  for (const wire::Packet& packet : world.sent_of(wire::UetPdsType::kAckCc)) {
    EXPECT_EQ(packet.uet.ack_congestion.type, wire::UetCcType::kCredit);
    EXPECT_GE(packet.uet.ack_congestion.byte_units, granted);
    granted = packet.uet.ack_congestion.byte_units;
    any = true;
  }
  EXPECT_TRUE(any);
}

TEST(Cms, Uet_3_6_16_TrimmedPathsArePassedOver) {
  UetConfig config;
  config.path_choice = congestion::PathChoice::kBitmap;
  config.paths = 8;
  config.controller = congestion::ConstantWindowConfig{.packets = 8};
  static std::uint16_t bad;
  test::EnginePairOptions options;
  options.wire.delay = microseconds(1);
  options.wire.transform = [](wire::Packet& packet, bool damaged, RandomStream&, wire::PayloadPool& pool) {
    if (packet.traffic_class == wire::TrafficClass::kData && (packet.entropy & 7U) == bad) {
      pool.release(packet.payload.buffer);
      packet.payload = {};
      packet.trim = wire::TrimState::kTrimmed;
      packet.traffic_class = wire::TrafficClass::kControl;
    }
    return !damaged;
  };
  World world(config, options);
  bad = 3;
  world.watch();
  EXPECT_TRUE(world.finish(world.request(verbs::Verb::kWrite, 120 * 4096)).ok());
  int through = 0;
  for (const wire::Packet& packet : world.sent_of(wire::UetPdsType::kRudRequest)) {
    if ((packet.entropy & 7U) == bad) ++through;
  }
  // Obliviously 15 of 120 would; here each trim costs the path four rounds and more.
  EXPECT_GE(through, 1);
  EXPECT_LE(through, 5);
}

TEST(Cms, Uet_3_6_16_ChoicesReachTheWire) {
  for (const auto& [choice, most] : {std::pair{congestion::PathChoice::kFlow, 1U},
                                     {congestion::PathChoice::kOblivious, 16U},
                                     {congestion::PathChoice::kReps, 16U},
                                     {congestion::PathChoice::kRecycle, 16U},
                                     {congestion::PathChoice::kMixed, 16U}}) {
    UetConfig config;
    config.path_choice = choice;
    config.paths = 16;
    Star star(config, 1, {});
    star.write(0, 256 * 4096);
    ASSERT_TRUE(star.run(1));
    const std::set<std::uint16_t> used(star.entropies.begin(), star.entropies.end());
    EXPECT_LE(used.size(), most);
    EXPECT_GE(used.size(), most / 2) << static_cast<int>(choice);
  }
}

/// `count` full packets with losses, NSCC with a window of 20 packets and inferred loss, no jitter.
UetConfig inferring() {
  UetConfig config;
  NsccConfig chosen = network();
  chosen.initial_window = 20 * kMtu;
  config.controller = chosen;
  config.base_rtt_probe = false;
  config.infer_loss = true;
  config.ack_per_packet = true;
  return config;
}

TEST(Cms, Uet_3_6_12_PacketsThatOthersOvertookByAWindowAndAHalfAreInferredLost) {
  test::EnginePairOptions options;
  options.wire.delay = microseconds(6);
  options.packet_interval = nanoseconds(340);
  World world(inferring(), options);
  world.watch();
  std::uint32_t first = 0;
  bool lost = false;
  world.lose = [&](const wire::Packet& packet) {
    if (packet.uet.prologue.type != wire::UetPdsType::kRudRequest) return false;
    if (first == 0) first = packet.uet.request.psn;
    if (lost || packet.uet.request.psn != first + 2) return false;
    return lost = true;
  };
  EXPECT_TRUE(world.finish(world.request(verbs::Verb::kWrite, 100 * 4096)).ok());
  EXPECT_EQ(world.counters(0).losses_inferred, 1U);
  EXPECT_EQ(world.counters(0).timeouts, 0U);
  EXPECT_EQ(world.counters(0).packets_retransmitted, 1U);
  // It is sent again when 20 * 1.5 packets have passed it, not earlier.
  std::uint32_t before = 0;
  for (const wire::Packet& packet : world.sent_of(wire::UetPdsType::kRudRequest)) {
    if (packet.uet.prologue.retransmitted()) break;
    ++before;
  }
  EXPECT_GT(before, 2U + 30U);
}

TEST(Cms, Uet_3_6_12_AQuickAnswerToAProbeFindsALostTail) {
  UetConfig config = inferring();
  config.rto_init = milliseconds(100);
  test::EnginePairOptions options;
  options.wire.delay = microseconds(6);
  World world(config, options);
  world.watch();
  int sent = 0;
  world.lose = [&](const wire::Packet& packet) {
    return packet.uet.prologue.type == wire::UetPdsType::kRudRequest && ++sent == 4;
  };
  // One by one: the silence after a packet with more behind it is longer.
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(world.post(world.request(verbs::Verb::kWrite, 4096)), engine::PostStatus::kOk);
  // Answers after 12 us, the probe 12 + 9 us later, its answer 12 us after that.
  world.pass(microseconds(12 + 21 + 12 - 1));
  EXPECT_EQ(world.counters(0).losses_inferred, 0U);
  EXPECT_EQ(world.counters(0).tail_probes_sent, 1U);
  world.pass(microseconds(2));
  EXPECT_EQ(world.counters(0).losses_inferred, 1U);
  world.pass(microseconds(13));
  EXPECT_EQ(world.completions(0).size(), 4U);
  EXPECT_EQ(world.counters(0).timeouts, 0U);
}

// What is lost beside it counts as under way and fills the window until it has timed out.
TEST(Cms, WhatIsInferredLostLeavesWhateverTheWindow) {
  UetConfig config = inferring();
  config.rto_init = milliseconds(100);
  test::EnginePairOptions options;
  options.wire.delay = microseconds(6);
  options.packet_interval = nanoseconds(340);
  World world(config, options);
  world.watch();
  int sent = 0;
  world.lose = [&](const wire::Packet& packet) {
    return packet.uet.prologue.type == wire::UetPdsType::kRudRequest && ++sent > 2 && sent <= 20;
  };
  ASSERT_EQ(world.post(world.request(verbs::Verb::kWrite, 20 * 4096)), engine::PostStatus::kOk);
  // The last answer, the silence after it, and the probe there and back.
  world.pass(microseconds(13 + 21 + 12 - 1));
  EXPECT_EQ(world.counters(0).losses_inferred, 0U);
  // Each loss takes its bytes from the window: two packets are left of it.
  world.pass(microseconds(2 + 7));
  EXPECT_EQ(world.counters(0).losses_inferred, 18U);
  EXPECT_EQ(world.counters(0).packets_retransmitted, 18U) << "within less than a round trip";
  world.pass(microseconds(13));
  EXPECT_EQ(world.completions(0).size(), 1U);
  EXPECT_EQ(world.counters(0).timeouts, 0U);
}

TEST(Cms, Uet_3_6_12_ReorderingOfAFewPacketsIsNoLoss) {
  test::EnginePairOptions options;
  options.wire.delay = microseconds(6);
  options.wire.jitter = microseconds(3);
  options.packet_interval = nanoseconds(340);
  World world(inferring(), options);
  EXPECT_TRUE(world.finish(world.request(verbs::Verb::kWrite, 100 * 4096)).ok());
  EXPECT_EQ(world.counters(0).losses_inferred, 0U);
  EXPECT_EQ(world.counters(0).packets_retransmitted, 0U);
}

TEST(Cms, RefusesWhatItsPartsRefuse) {
  UetConfig config;
  config.credit.grant_packets = 0;
  EXPECT_EQ(validate(config).error().message, "uet.credit.grant_packets is 0, expected 1 to 256");
  config = {};
  config.infer_loss = true;
  EXPECT_FALSE(validate(config).ok()) << "a constant window has no threshold";
  config = {};
  config.controller = NsccConfig{};
  EXPECT_EQ(validate(config).error().message.substr(0, 15), "uet.controller.");
}

}  // namespace
}  // namespace wharf::uet
