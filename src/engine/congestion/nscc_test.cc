// SPDX-License-Identifier: Apache-2.0
// Most tests use a network of 100 Gb/s and 12 us with packets of 4000 bytes: BDP 150000 B, so that both
// scaling factors are plain: MaxWnd 225000 B, target 9 us, alpha times target 12000 B, fi 20000 B, eta 600 B,
// fi_scale 1/4. [UE 1.0 3.6.13]
#include "engine/congestion/nscc.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/congestion/random_history_test_support.h"

namespace wharf::congestion {
namespace {

constexpr std::uint32_t kPacket = 4000;

NsccConfig plain(std::uint64_t window = 100'000) {
  NsccConfig config = NsccConfig::for_network(gigabits_per_second(100), microseconds(12), kPacket, true);
  config.initial_window = window;
  return config;
}

void send(NsccSender& sender, TimePs now, int packets) {
  for (int i = 0; i < packets; ++i) sender.on_send(now, {.window_bytes = kPacket});
}
void ack(NsccSender& sender, TimePs now, TimePs delay, bool marked = false, std::uint32_t packets = 1) {
  sender.on_acknowledgement(now, {.confirmed = {packets, std::uint64_t{packets} * kPacket},
                                  .marked = marked ? 1U : 0U,
                                  .round_trip = microseconds(12) + delay});
}
void lose(NsccSender& sender, TimePs now, LossCause cause, TimePs round_trip = kNever) {
  sender.on_loss(now, {.lost = {1, kPacket}, .cause = cause, .round_trip = round_trip});
}

TEST(Nscc, DerivesItsParametersFromTheNetwork) {
  const NsccConfig config = plain();
  EXPECT_EQ(config.target_delay, microseconds(9)) << "0.75 base RTT with trimming";
  EXPECT_EQ(config.alpha_q32, 5'726'623U) << "4 * 150000 * 4000 / (150000 * 12 us) = 1/750 byte per ps";
  EXPECT_EQ(config.fair_increase, 20'000U);
  EXPECT_EQ(config.eta, 600U);
  EXPECT_EQ(config.fast_scale_q16, 16'384U);
  EXPECT_EQ(config.qa_threshold, microseconds(36));
  EXPECT_EQ(config.adjust_bytes, 32'000U);
  EXPECT_EQ(config.adjust_period, microseconds(12));
  EXPECT_EQ(NsccSender(config).max_window(), 225'000U);
  EXPECT_EQ(NsccConfig::for_network(gigabits_per_second(100), microseconds(12), kPacket, false).target_delay,
            microseconds(12));
}

TEST(Nscc, ScalesThemWithTheBandwidthDelayProduct) {
  // 14.02272 us at 100 Gb/s: BDP 175284 B, a = 1.16856; 4086 bytes of each packet count in the gains.
  const NsccConfig config = NsccConfig::for_network(gigabits_per_second(100),
                                                    nanoseconds(14'022) + picoseconds(720), 4150, true, 4086);
  EXPECT_EQ(config.target_delay, nanoseconds(10'517) + picoseconds(40));
  EXPECT_NEAR(static_cast<double>(config.alpha_q32) / 4294967296.0, 0.00159158, 5e-9);
  EXPECT_EQ(config.fair_increase, 23'874U) << "5 * 4086 * 1.16856";
  EXPECT_EQ(config.eta, 716U) << "0.15 * 4086 * 1.16856";
  EXPECT_EQ(config.fast_scale_q16, 19'146U) << "0.29214";
  EXPECT_EQ(config.qa_threshold, nanoseconds(42'068) + picoseconds(160));
  EXPECT_EQ(config.adjust_bytes, 33'200U);
  EXPECT_EQ(NsccSender(config).max_window(), 262'926U);
  EXPECT_EQ(NsccSender(config).window(), 262'926U) << "MaxWnd at first";
  // 75000 B in 6 us at 100 Gb/s.
  const NsccConfig half = NsccConfig::for_network(gigabits_per_second(100), microseconds(6), kPacket, true);
  EXPECT_EQ(NsccSender(half).max_window(), 112'500U);
}

TEST(Nscc, UnmarkedAndShortGrowsInProportionToWhatIsMissing) {
  const NsccConfig config = plain();
  NsccSender sender(config);
  send(sender, microseconds(1), 20);
  // Delay 3 us: 12000 * 6/9 = 8000 per byte; nine packets pass 8 MTU: 9 * 4000 * 8000 / 100000 = 2880.
  for (int i = 0; i < 8; ++i) ack(sender, microseconds(10), microseconds(3));
  EXPECT_EQ(sender.window(), 100'000U);
  ack(sender, microseconds(10), microseconds(3));
  EXPECT_NEAR(static_cast<double>(sender.window()), 102'880, 1);
}

// A round trip of 8 ms: alpha times target is 0.93 * 6e9 ps, 2.4e19 with the 32 bits of alpha's fraction.
TEST(Nscc, GrowsInProportionOnLongRoundTripsToo) {
  NsccConfig config = NsccConfig::for_network(gigabits_per_second(100), milliseconds(8), kPacket, true);
  config.initial_window = 100'000'000;
  ASSERT_TRUE(check(config).ok());
  const double alpha = static_cast<double>(config.alpha_q32) / 4294967296.0;
  for (const TimePs delay : {microseconds(2), milliseconds(2), milliseconds(5)}) {
    NsccSender sender(config);
    send(sender, microseconds(1), 20);
    for (int i = 0; i < 9; ++i) {
      sender.on_acknowledgement(milliseconds(2),
                                {.confirmed = {1, kPacket}, .round_trip = milliseconds(8) + delay});
    }
    const double due = 9 * alpha * kPacket * static_cast<double>((config.target_delay - delay).ps) / 1e8;
    EXPECT_NEAR(static_cast<double>(sender.window()) - 1e8, due, due / 1000) << format_time(delay);
  }
}

TEST(Nscc, AfterOnePeriodEtaIsAddedToWhatIsDue) {
  const NsccConfig config = plain();
  NsccSender sender(config);
  send(sender, microseconds(1), 20);
  ack(sender, microseconds(13) - picoseconds(1), microseconds(3));
  EXPECT_EQ(sender.window(), 100'000U);
  ack(sender, microseconds(13), microseconds(3));
  // 2 * 4000 * 8000 / 100000 + 600.
  EXPECT_NEAR(static_cast<double>(sender.window()), 101'240, 1);
}

TEST(Nscc, UnmarkedButLongGrowsFairly) {
  const NsccConfig config = plain();
  NsccSender sender(config);
  send(sender, microseconds(1), 20);
  ack(sender, microseconds(13), microseconds(9));
  EXPECT_EQ(sender.window(), 101'400U) << "20000 * 4000 / 100000 + eta 600";
}

TEST(Nscc, MarkedButShortChangesNothing) {
  const NsccConfig config = plain();
  NsccSender sender(config);
  send(sender, microseconds(1), 20);
  for (int i = 0; i < 9; ++i) ack(sender, microseconds(10), microseconds(9) - picoseconds(1), true);
  EXPECT_EQ(sender.window(), 100'000U);
}

TEST(Nscc, MarkedButShortChangesNothingEvenWhenTheAverageIsLong) {
  NsccConfig config = plain();
  config.delay_gain_q20 = 1U << 19U;
  NsccSender sender(config);
  send(sender, microseconds(1), 20);
  ack(sender, microseconds(10), microseconds(36));
  ack(sender, microseconds(10), microseconds(8), true);
  EXPECT_EQ(sender.average_delay(), microseconds(13));
  EXPECT_EQ(sender.window(), 100'000U);
}

TEST(Nscc, MarkedAndLongDecreasesOncePerRoundTripByTheAverage) {
  NsccConfig config = plain();
  config.delay_gain_q20 = 1U << 20U;  // The average is the last sample.
  NsccSender sender(config);
  send(sender, microseconds(1), 20);
  ack(sender, microseconds(12), microseconds(18), true);
  EXPECT_EQ(sender.window(), 60'000U) << "1 - 0.8 * 9/18";
  ack(sender, microseconds(24), microseconds(18), true);
  EXPECT_EQ(sender.window(), 60'600U) << "within the round trip: eta only";
  ack(sender, microseconds(24) + picoseconds(1), microseconds(171), true);
  EXPECT_EQ(sender.window(), 30'300U) << "at most half: 0.8 * 162/171 = 0.758";
}

TEST(Nscc, OneLongSampleDoesNotMoveTheAverageOverTheTarget) {
  const NsccConfig config = plain();
  NsccSender sender(config);
  send(sender, microseconds(1), 20);
  ack(sender, microseconds(10), microseconds(18), true);
  EXPECT_EQ(sender.window(), 100'000U);
  EXPECT_NEAR(static_cast<double>(sender.average_delay().ps), 225'000, 20) << "18 us / 80";
}

TEST(Nscc, AWholeWindowWithoutDelayOpensItFast) {
  const NsccConfig config = plain(20'000);
  NsccSender sender(config);
  send(sender, microseconds(1), 5);
  for (int i = 0; i < 4; ++i) ack(sender, microseconds(10), nanoseconds(999));
  send(sender, microseconds(10), 6);
  ack(sender, microseconds(10), nanoseconds(999));
  EXPECT_EQ(sender.window(), 20'000U) << "20000 bytes are not more than a window";
  ack(sender, microseconds(10), nanoseconds(999));
  EXPECT_EQ(sender.window(), 21'000U) << "a quarter of each packet";
  ack(sender, microseconds(10), nanoseconds(999));
  EXPECT_EQ(sender.window(), 22'000U);
  ack(sender, microseconds(10), microseconds(1));
  EXPECT_EQ(sender.window(), 22'000U) << "delay ends it";
  // Past 8 MTU comes what the packets before and after were worth: (5 * 4000 * 10668 + 4000 * 10667) / 22000.
  ack(sender, microseconds(10), microseconds(3), true);
  EXPECT_NEAR(static_cast<double>(sender.window()), 22'000 + 11'638, 1);
}

TEST(Nscc, ATrimTakesItsBytesAndQuickAdaptThenSetsWhatArrived) {
  const NsccConfig config = plain(200'000);
  NsccSender sender(config);
  send(sender, microseconds(1), 50);
  ack(sender, microseconds(10), microseconds(3));  // The first look: until 10 + 12 + 9 = 31 us.
  lose(sender, microseconds(11), LossCause::kTrimmed);
  EXPECT_EQ(sender.window(), 196'000U);
  EXPECT_NEAR(static_cast<double>(sender.average_delay().ps), 37'032 + 150'000, 20)
      << "3 us / 80 * 79/80, and a sample of the base RTT: 12 us / 80";
  ack(sender, microseconds(12), microseconds(3), true, 2);
  // 8000 + 4000 bytes have arrived, less than 225000 / 8.
  ack(sender, microseconds(31), microseconds(3));
  EXPECT_EQ(sender.window(), 12'000U);
  EXPECT_EQ(sender.in_flight(), 45 * 4000);
  // What was in flight then says nothing about the new window: marks and trims of 45 packets.
  ack(sender, microseconds(32), microseconds(40), true, 20);
  for (int i = 0; i < 25; ++i) lose(sender, microseconds(33), LossCause::kTrimmed);
  EXPECT_EQ(sender.window(), 12'000U - 4000U) << "the last one reaches 45 packets and counts again";
  EXPECT_EQ(sender.in_flight(), 0);
}

TEST(Nscc, QuickAdaptAlsoFollowsFromDelayButNotWhenEnoughArrived) {
  const NsccConfig config = plain(200'000);
  NsccSender sender(config);
  send(sender, microseconds(1), 50);
  ack(sender, microseconds(10), microseconds(3));
  ack(sender, microseconds(31), microseconds(36) + picoseconds(1), true, 2);
  EXPECT_EQ(sender.window(), 8000U);
  NsccSender busy(config);
  send(busy, microseconds(1), 50);
  ack(busy, microseconds(10), microseconds(3));
  ack(busy, microseconds(31), microseconds(36) + picoseconds(1), true, 8);
  EXPECT_NEAR(static_cast<double>(busy.window()), 200'760, 1)
      << "32000 bytes are more than 28125; 4000 * 8000 / 200000 and eta";
}

TEST(Nscc, TrimsOfTheLastHopAreNotItsBusinessBesideReceiverCredit) {
  NsccConfig config = plain();
  NsccSender alone(config);
  send(alone, microseconds(1), 2);
  lose(alone, microseconds(2), LossCause::kTrimmedLastHop);
  // The first look sets the end of the period only, so the bytes are taken.
  EXPECT_EQ(alone.window(), 96'000U);
  config.last_hop_trims_count = false;
  NsccSender beside(config);
  send(beside, microseconds(1), 2);
  lose(beside, microseconds(2), LossCause::kTrimmedLastHop);
  EXPECT_EQ(beside.window(), 100'000U);
  EXPECT_EQ(beside.in_flight(), 4000);
}

TEST(Nscc, TheSimulatorsRulesDifferInTheirSpecialCases) {
  const NsccConfig text = plain();
  NsccConfig theirs = text;
  theirs.rules = NsccRules::kSimulator;
  // Without a valid sample the text stops; the simulator goes on with the average, here 0: 8 packets of
  // alpha * 9 us = 12000 B each, and the ninth is more than adjust_bytes: 9 * 12000 * 4000 / 100000.
  const auto without_sample = [](const NsccConfig& config) {
    NsccSender sender(config);
    send(sender, kTimeZero, 20);
    for (int i = 0; i < 9; ++i)
      sender.on_acknowledgement(microseconds(1), {.confirmed = {1, kPacket}, .round_trip = kNever});
    return sender.window();
  };
  EXPECT_EQ(without_sample(text), 100'000U);
  EXPECT_NEAR(static_cast<double>(without_sample(theirs)), 104'320, 10);
  // An unmarked delay of 20 us enters the average as a quarter of 12 us; 1/80 of each.
  const auto average = [](const NsccConfig& config) {
    NsccSender sender(config);
    send(sender, kTimeZero, 2);
    ack(sender, microseconds(1), microseconds(20));
    return as_nanoseconds(sender.average_delay());
  };
  EXPECT_NEAR(average(text), 250, 1);
  EXPECT_NEAR(average(theirs), 37.5, 1);
  // A period of 12 us is over at 12 us, or after it.
  const auto at_the_period = [](const NsccConfig& config) {
    NsccSender sender(config);
    send(sender, kTimeZero, 2);
    ack(sender, microseconds(12), microseconds(9), true);
    return sender.window();
  };
  EXPECT_EQ(at_the_period(text), 100'600U);
  EXPECT_EQ(at_the_period(theirs), 100'000U);
}

TEST(Nscc, InferredLossTakesItsBytesAndARefusalNone) {
  const NsccConfig config = plain(9'000);
  NsccSender sender(config);
  send(sender, microseconds(1), 4);
  lose(sender, microseconds(2), LossCause::kRefused);
  EXPECT_EQ(sender.window(), 9'000U);
  lose(sender, microseconds(2), LossCause::kTimeout);
  EXPECT_EQ(sender.window(), 5'000U);
  lose(sender, microseconds(2), LossCause::kGap);
  EXPECT_EQ(sender.window(), 4'000U) << "one packet at least";
  EXPECT_EQ(sender.in_flight(), 4000);
}

TEST(Nscc, TheReceiversPenaltyHalvesInARoundTripAndIsTakenBack) {
  const NsccConfig config = plain();
  NsccSender sender(config);
  send(sender, microseconds(1), 25);
  sender.on_acknowledgement(microseconds(10), {.confirmed = {1, kPacket}, .receiver_penalty = 64});
  EXPECT_EQ(sender.window(), 94'000U) << "min(100000, 96000 in flight) - 4000 * 64/128";
  sender.on_acknowledgement(
      microseconds(13), {.confirmed = {1, kPacket}, .round_trip = microseconds(15), .receiver_penalty = 127});
  EXPECT_EQ(sender.window(), 92'000U - 3968U + 600U) << "no increase but eta";
  sender.on_acknowledgement(
      microseconds(26), {.confirmed = {1, kPacket}, .round_trip = microseconds(21), .receiver_penalty = 1});
  EXPECT_EQ(sender.window(), 88'000U - 31U + 600U) << "nor a fair one";
  sender.on_acknowledgement(microseconds(27), {.penalty_over = true});
  EXPECT_EQ(sender.window(), 100'000U);
  sender.on_acknowledgement(microseconds(27), {.penalty_over = true});
  EXPECT_EQ(sender.window(), 100'000U);
}

/// 0.55 us at 100 Gb/s: 6875 B, and one and a half times that; a probe without a full packet's 0.33 us finds
/// 0.22 us, 2750 B.
TEST(Nscc, AProbeLeavesRoomForWhatItLacks) {
  const NsccConfig config =
      NsccConfig::for_network(gigabits_per_second(100), nanoseconds(550), kPacket, false);
  NsccSender sender(config);
  EXPECT_EQ(sender.max_window(), 10'313U);
  send(sender, microseconds(1), 1);
  sender.on_acknowledgement(microseconds(2), {.round_trip = nanoseconds(220)});
  EXPECT_EQ(sender.base_rtt(), nanoseconds(220));
  EXPECT_EQ(sender.max_window(), 2 * kPacket) << "one on the link and one on its way";
  EXPECT_EQ(sender.window(), 2 * kPacket);
}

TEST(Nscc, TheBaseRoundTripOnlyFallsAndTheLargestWindowFollows) {
  const NsccConfig config = plain(225'000);
  NsccSender sender(config);
  send(sender, microseconds(1), 4);
  // 10.5 us, of which the receiver held the answer for 0.5 us.
  sender.on_acknowledgement(
      microseconds(11),
      {.confirmed = {1, kPacket}, .round_trip = nanoseconds(10'500), .receiver_hold = nanoseconds(500)});
  EXPECT_EQ(sender.base_rtt(), microseconds(10));
  EXPECT_EQ(sender.max_window(), 187'500U);
  EXPECT_EQ(sender.window(), 187'500U);
  ack(sender, microseconds(12), kTimeZero);
  EXPECT_EQ(sender.base_rtt(), microseconds(10));
  lose(sender, microseconds(13), LossCause::kTrimmed, microseconds(8));
  EXPECT_EQ(sender.base_rtt(), microseconds(8)) << "a NACK is a sample, too";
  EXPECT_EQ(sender.window(), 150'000U - 4000U);
}

TEST(Nscc, AsksForAnswersWhenTheWindowIsNearlyFullOrSmall) {
  const NsccConfig config = plain(20'000);
  NsccSender sender(config);
  EXPECT_FALSE(sender.on_send(microseconds(1), {.window_bytes = kPacket}).acknowledge);
  send(sender, microseconds(1), 2);
  EXPECT_FALSE(sender.on_send(microseconds(1), {.window_bytes = kPacket}).acknowledge);
  EXPECT_TRUE(sender.permits(kPacket)) << "16000 + 4000 fill the window exactly";
  EXPECT_FALSE(sender.permits(kPacket + 1));
  EXPECT_TRUE(sender.on_send(microseconds(1), {.window_bytes = kPacket}).acknowledge);
  EXPECT_FALSE(sender.permits(1));
  const NsccConfig small = plain(16'383);
  EXPECT_TRUE(NsccSender(small).on_send(microseconds(1), {.window_bytes = 100}).acknowledge);
}

TEST(Nscc, BytesInFlightForgiveRoundingAndLossesThatWereNone) {
  const NsccConfig config = plain();
  NsccSender sender(config);
  sender.on_send(microseconds(1), {.window_bytes = 4204});
  sender.on_send(microseconds(1), {.window_bytes = 4204});
  // 4204 bytes are 17 units.
  sender.on_acknowledgement(microseconds(5), {.confirmed = {1, 17 * 256}});
  EXPECT_EQ(sender.in_flight(), 4204 - 148);
  sender.on_loss(microseconds(6), {.lost = {1, 4204}, .cause = LossCause::kTimeout});
  EXPECT_EQ(sender.in_flight(), 0) << "no packet, no bytes";
  sender.on_send(microseconds(7), {.window_bytes = 4204, .retransmission = true});
  sender.on_send(microseconds(7), {.window_bytes = 4204});
  sender.on_loss(microseconds(8), {.lost = {1, 4204}, .cause = LossCause::kTimeout});
  // It has arrived after all: 33 units in all.
  sender.on_acknowledgement(microseconds(9), {.confirmed = {1, 16 * 256}, .restored = {1, 4204}});
  EXPECT_EQ(sender.in_flight(), 4204 + 4204 - 4096);
  EXPECT_EQ(sender.packets_in_flight(), 1U);
}

TEST(Nscc, RefusesByName) {
  EXPECT_TRUE(check(plain()).ok());
  EXPECT_FALSE(check(NsccConfig{}).ok()) << "gains that nobody derived";
  NsccConfig config = plain();
  config.initial_window = kPacket - 1;
  EXPECT_EQ(check(config).error().message, "initial_window is 3999, expected 0, or mtu_bytes to MaxWnd");
  config = plain();
  config.gamma_q16 = 65537;
  EXPECT_FALSE(check(config).ok());
}

RC_GTEST_PROP(Nscc, TheWindowStaysInItsBoundsAndEveryByteIsAccountedFor, (std::uint64_t seed)) {
  const NsccConfig config = plain();
  NsccSender sender(config);
  RandomHistory history(seed, kPacket, microseconds(12));
  for (int i = 0; i < 300; ++i) {
    history.step(sender);
    RC_ASSERT(sender.window() >= config.mtu_bytes);
    RC_ASSERT(sender.window() <= sender.max_window());
    RC_ASSERT(sender.max_window() <= 225'000U);
    RC_ASSERT(sender.packets_in_flight() == history.in_flight());
    RC_ASSERT(sender.in_flight() == std::int64_t{history.in_flight()} * kPacket);
    RC_ASSERT(history.in_flight() > 0 || sender.permits(kPacket));
  }
  history.settle(sender);
  RC_ASSERT(sender.in_flight() == 0);
}

}  // namespace
}  // namespace wharf::congestion
