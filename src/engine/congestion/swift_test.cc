// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/swift.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/congestion/random_history_test_support.h"

namespace wharf::congestion {
namespace {

/// Target 25 us + 4 * 1 us, no flow scaling.
SwiftConfig plain() {
  SwiftConfig config;
  config.flow_scale_range = TimePs{};
  return config;
}

void send(SwiftSender& sender, TimePs now, int packets) {
  for (int i = 0; i < packets; ++i) sender.on_send(now, {.window_bytes = 4096});
}
void ack(SwiftSender& sender, TimePs now, TimePs delay, std::uint32_t packets = 1) {
  sender.on_acknowledgement(now, {.confirmed = {packets, packets * 4096ULL}, .round_trip = delay});
}

TEST(Swift, BelowTheTargetAWindowOfAnswersAddsOnePacket) {
  const SwiftConfig config = plain();
  SwiftSender sender(config);
  EXPECT_EQ(sender.target(), microseconds(29));
  send(sender, microseconds(1), 16);
  EXPECT_FALSE(sender.permits(1));
  ack(sender, microseconds(30), microseconds(29) - picoseconds(1), 16);
  EXPECT_EQ(sender.window_q16(), 17U << 16U);
  EXPECT_EQ(sender.window(), 17U * 4096);
  EXPECT_EQ(sender.next_send(), kTimeZero);
}

TEST(Swift, AboveTheTargetItDecreasesOncePerRoundTrip) {
  const SwiftConfig config = plain();
  SwiftSender sender(config);
  send(sender, microseconds(1), 4);
  // 0.8 * (36.25 - 29) / 36.25 = 0.16.
  const TimePs delay = nanoseconds(36'250);
  ack(sender, microseconds(40), delay);
  EXPECT_NEAR(sender.window_q16() / 65536.0, 16 * 0.84, 1e-3);
  const std::uint32_t once = sender.window_q16();
  ack(sender, microseconds(40) + delay - picoseconds(1), delay);
  EXPECT_EQ(sender.window_q16(), once);
  // 0.8 * (290 - 29) / 290 = 0.72: half at most.
  ack(sender, microseconds(400), microseconds(290));
  EXPECT_NEAR(sender.window_q16(), once / 2, 1);
}

TEST(Swift, SmallWindowsHaveALargerTarget) {
  SwiftConfig config;
  config.initial_window = 1U << 16U;
  // (1 - 0.1) / (sqrt(10) - 0.1) * 50 us = 14.695 us.
  EXPECT_NEAR(static_cast<double>(SwiftSender(config).target().ps), 43'695'000, 2000);
  config.initial_window = 100U << 16U;
  EXPECT_EQ(SwiftSender(config).target(), microseconds(29));
  config.initial_window = 1000;
  EXPECT_EQ(SwiftSender(config).target(), microseconds(79));
}

TEST(Swift, BelowOnePacketItPaces) {
  SwiftConfig config = plain();
  config.initial_window = 1U << 15U;
  SwiftSender sender(config);
  EXPECT_TRUE(sender.permits(4096));
  send(sender, microseconds(100), 1);
  EXPECT_FALSE(sender.permits(4096));
  EXPECT_EQ(sender.next_send(), microseconds(150)) << "25 us / 0.5";
  ack(sender, microseconds(110), microseconds(10));
  EXPECT_EQ(sender.window_q16(), 3U << 15U) << "the whole step below one packet";
  EXPECT_EQ(sender.next_send(), kTimeZero);
}

TEST(Swift, LossesHalveAndTimeoutsInARowEndAtTheLeast) {
  const SwiftConfig config = plain();
  SwiftSender sender(config);
  send(sender, microseconds(1), 8);
  sender.on_loss(microseconds(10), {.lost = {1, 4096}, .cause = LossCause::kRefused});
  EXPECT_EQ(sender.window_q16(), 16U << 16U);
  sender.on_loss(microseconds(10), {.lost = {1, 4096}, .cause = LossCause::kTrimmed});
  EXPECT_EQ(sender.window_q16(), 8U << 16U);
  for (int i = 0; i < 4; ++i)
    sender.on_loss(microseconds(11), {.lost = {1, 4096}, .cause = LossCause::kTimeout});
  EXPECT_EQ(sender.window_q16(), 8U << 16U) << "within the round trip";
  sender.on_loss(microseconds(11), {.lost = {1, 4096}, .cause = LossCause::kTimeout});
  EXPECT_EQ(sender.window_q16(), 66U);
  // One packet per answer brings the window to 2.001; a round trip of 25 us after the reset it may fall
  // again.
  send(sender, microseconds(12), 2);
  for (int i = 0; i < 2; ++i) ack(sender, microseconds(12), microseconds(24));
  const std::uint32_t grown = sender.window_q16();
  EXPECT_GT(grown, 65'536U);
  send(sender, microseconds(12), 1);
  sender.on_loss(microseconds(12), {.lost = {1, 4096}, .cause = LossCause::kGap});
  EXPECT_EQ(sender.window_q16(), grown);
}

TEST(Swift, RefusesByName) {
  EXPECT_FALSE(check(SwiftConfig{.increase_ppm = 0}).ok());
  EXPECT_FALSE(check(SwiftConfig{.window_min = 0}).ok());
  EXPECT_FALSE(check(SwiftConfig{.base_target = kTimeZero}).ok());
  EXPECT_TRUE(check(SwiftConfig{}).ok());
}

RC_GTEST_PROP(Swift, TheWindowStaysInItsBounds, (std::uint64_t seed)) {
  const SwiftConfig config{.window_max = 64U << 16U};
  SwiftSender sender(config);
  RandomHistory history(seed, 4096, microseconds(12));
  for (int i = 0; i < 300; ++i) {
    history.step(sender);
    RC_ASSERT(sender.window_q16() >= config.window_min);
    RC_ASSERT(sender.window_q16() <= config.window_max);
    RC_ASSERT(sender.packets_in_flight() == history.in_flight());
  }
  history.settle(sender);
  RC_ASSERT(sender.packets_in_flight() == 0U);
}

}  // namespace
}  // namespace wharf::congestion
