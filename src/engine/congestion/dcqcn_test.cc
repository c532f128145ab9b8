// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/dcqcn.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/congestion/random_history_test_support.h"

namespace wharf::congestion {
namespace {

constexpr std::uint64_t kGiga = 1'000'000'000;

/// The paper's parameters at 40 Gb/s.
DcqcnConfig paper() { return {.link = gigabits_per_second(40)}; }

void notify(DcqcnSender& sender, TimePs now) { sender.on_acknowledgement(now, {.marked = 1}); }

TEST(Dcqcn, StartsAtLineRateAndPacesByWireBytes) {
  const DcqcnConfig config = paper();
  DcqcnSender sender(config);
  EXPECT_EQ(sender.next_send(), kTimeZero);
  sender.on_send(microseconds(1), {.window_bytes = 4096, .wire_bytes = 5000});
  EXPECT_EQ(sender.next_send(), microseconds(2)) << "40,000 bits at 40 Gb/s";
  EXPECT_TRUE(sender.permits(1U << 30U));
  EXPECT_EQ(sender.deadline(), kNever);
}

TEST(Dcqcn, TheFirstNotificationHalvesSinceAlphaIsOne) {
  const DcqcnConfig config = paper();
  DcqcnSender sender(config);
  notify(sender, microseconds(10));
  EXPECT_EQ(sender.rate().value, 20 * kGiga);
  EXPECT_EQ(sender.target().value, 40 * kGiga);
  EXPECT_EQ(sender.alpha_q20(), 1U << 20U) << "(1 - g) 1 + g";
  EXPECT_EQ(sender.deadline(), microseconds(65));
}

TEST(Dcqcn, FiveStagesOfFastRecoveryThenAdditiveIncrease) {
  const DcqcnConfig config = paper();
  DcqcnSender sender(config);
  notify(sender, kTimeZero);
  const std::uint64_t expected[] = {30 * kGiga, 35 * kGiga, 37'500'000'000, 38'750'000'000};
  for (int stage = 1; stage <= 4; ++stage) {
    sender.expire(microseconds(55) * stage);
    EXPECT_EQ(sender.rate().value, expected[stage - 1]) << stage;
  }
  notify(sender, microseconds(221));
  const std::uint64_t target = sender.target().value;
  EXPECT_EQ(target, 38'750'000'000U);
  const std::uint64_t cut = sender.rate().value;
  sender.expire(microseconds(221 + 4 * 55));
  EXPECT_EQ(sender.target().value, target);
  sender.expire(microseconds(221 + 5 * 55));
  EXPECT_EQ(sender.target().value, target + 40'000'000) << "the fifth stage adds R_AI";
  EXPECT_GT(sender.rate().value, cut);
}

TEST(Dcqcn, AlphaDecaysOncePerQuietPeriod) {
  const DcqcnConfig config = paper();
  DcqcnSender sender(config);
  notify(sender, kTimeZero);
  notify(sender, microseconds(54));  // No period has passed: alpha stays one, the rate halves again.
  EXPECT_EQ(sender.rate().value, 10 * kGiga);
  // Two quiet periods: alpha = (255/256)^2 = 0.992203.
  // way.
  sender.expire(microseconds(54 + 110));
  const std::uint64_t before = sender.rate().value;
  notify(sender, microseconds(54 + 110));
  const double left = static_cast<double>(sender.rate().value) / static_cast<double>(before);
  EXPECT_NEAR(left, 1 - 0.992203 / 2, 1e-5);
}

TEST(Dcqcn, BytesRaiseTheRateLikeTime) {
  DcqcnConfig config = paper();
  config.rpg_byte_reset = 10'000;
  DcqcnSender sender(config);
  notify(sender, kTimeZero);
  sender.on_send(microseconds(1), {.wire_bytes = 9999});
  EXPECT_EQ(sender.rate().value, 20 * kGiga);
  sender.on_send(microseconds(2), {.wire_bytes = 1});
  EXPECT_EQ(sender.rate().value, 30 * kGiga);
  EXPECT_EQ(sender.byte_stage(), 1U);
}

TEST(Dcqcn, HyperIncreaseWhenBothCountersArePastTheThreshold) {
  DcqcnConfig config = paper();
  config.rpg_byte_reset = 1000;
  config.rpg_threshold = 1;
  DcqcnSender sender(config);
  notify(sender, kTimeZero);
  notify(sender, microseconds(1));  // 10 Gb/s towards 20.
  sender.on_send(microseconds(2), {.wire_bytes = 2000});
  EXPECT_EQ(sender.target().value, 20'080'000'000U) << "twice R_AI: the timer has not fired";
  sender.expire(microseconds(1 + 110));
  EXPECT_EQ(sender.timer_stage(), 2U);
  EXPECT_EQ(sender.target().value, 20'080'000'000U + 40'000'000U + 100'000'000U);
}

TEST(Dcqcn, AtLineRateItNeedsNoTimer) {
  const DcqcnConfig config = paper();
  DcqcnSender sender(config);
  notify(sender, kTimeZero);
  sender.expire(milliseconds(5));
  EXPECT_EQ(sender.rate().value, 40 * kGiga);
  EXPECT_EQ(sender.deadline(), kNever);
}

TEST(DcqcnConnectX, CutsOncePerMonitorPeriodAndByHalfAtMost) {
  const DcqcnConfig config = DcqcnConfig::connectx(gigabits_per_second(100));
  ASSERT_TRUE(check(config).ok());
  DcqcnSender sender(config);
  notify(sender, microseconds(10));
  // 1 - 1023/2048 of 100 Gb/s.
  EXPECT_EQ(sender.rate().value, 50'048'828'125U);
  notify(sender, microseconds(14) - picoseconds(1));
  EXPECT_EQ(sender.rate().value, 50'048'828'125U);
  notify(sender, microseconds(14));
  EXPECT_LT(sender.rate().value, 26 * kGiga);
  EXPECT_EQ(sender.target().value, 100 * kGiga) << "nothing was raised between the cuts";
}

TEST(Dcqcn, TheFloorOfRates) {
  DcqcnConfig config = paper();
  config.rpg_min_rate = {15 * kGiga};
  DcqcnSender sender(config);
  notify(sender, kTimeZero);
  notify(sender, microseconds(1));
  EXPECT_EQ(sender.rate().value, 15 * kGiga);
}

TEST(Dcqcn, RefusesByName) {
  EXPECT_EQ(check(DcqcnConfig{.dce_tcp_g = 1024}).error().message, "dce_tcp_g is 1024, expected 1 to 1023");
  EXPECT_FALSE(check(DcqcnConfig{.rpg_gd = 9}).ok());
  EXPECT_FALSE(check(DcqcnConfig{.rpg_byte_reset = 0}).ok());
  EXPECT_TRUE(check(DcqcnConfig{}).ok());
}

TEST(NotificationPacer, OnePerInterval) {
  NotificationPacer pacer;
  EXPECT_TRUE(pacer.on_marked(microseconds(3), microseconds(50)));
  EXPECT_FALSE(pacer.on_marked(microseconds(53) - picoseconds(1), microseconds(50)));
  EXPECT_TRUE(pacer.on_marked(microseconds(53), microseconds(50)));
}

RC_GTEST_PROP(Dcqcn, RatesStayBetweenTheFloorAndTheLine, (std::uint64_t seed, bool connectx)) {
  const DcqcnConfig config = connectx ? DcqcnConfig::connectx(gigabits_per_second(40)) : paper();
  DcqcnSender sender(config);
  DcqcnSender twin(config);
  RandomHistory history(seed, 4096, microseconds(12));
  RandomHistory again(seed, 4096, microseconds(12));
  for (int i = 0; i < 300; ++i) {
    history.step(sender);
    again.step(twin);
    RC_ASSERT(sender.rate() >= config.rpg_min_rate);
    RC_ASSERT(sender.rate() <= config.link);
    RC_ASSERT(sender.rate() <= sender.target());
    RC_ASSERT(sender.rate() == twin.rate());
    RC_ASSERT(sender.deadline() > history.now());
  }
}

}  // namespace
}  // namespace wharf::congestion
