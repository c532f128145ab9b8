// SPDX-License-Identifier: Apache-2.0
#include "examples/add_a_congestion_controller/aimd_window.h"

#include <gtest/gtest.h>

#include "engine/congestion/any_controller.h"
#include "examples/add_a_congestion_controller/bottleneck.h"

namespace wharf::examples {
namespace {

constexpr std::uint64_t kPacket = 4096;

AimdWindow window_of(std::uint64_t packets) {
  const AimdWindowConfig config{.mtu_bytes = kPacket, .initial_bytes = packets * kPacket};
  EXPECT_TRUE(check(config).ok());
  return AimdWindow(config);
}
void send(AimdWindow& window, int packets) {
  for (int i = 0; i < packets; ++i) {
    ASSERT_TRUE(window.permits(kPacket));
    window.on_send(kTimeZero, {.window_bytes = kPacket, .wire_bytes = kPacket});
  }
}
void confirm(AimdWindow& window, std::uint32_t packets, std::uint32_t marked = 0) {
  window.on_acknowledgement(kTimeZero, {.confirmed = {packets, packets * kPacket}, .marked = marked});
}

// guide: begin
TEST(AimdWindow, KeepsASharedQueueBusyAndShort) {
  Bottleneck<AimdWindow> link({.delay_ticks = 20, .mark_above = 20}, {window_of(10)});
  link.run(5'000);  // The window finds its range.
  const BottleneckResult result = link.run(50'000);
  EXPECT_EQ(result.served_in_all(), result.ticks) << "a marking threshold of one round trip leaves no gap";
  EXPECT_LE(result.queue_longest, 24U);
  EXPECT_EQ(result.dropped, 0U);
}
// guide: end

TEST(AimdWindow, AConstantWindowFillsTheQueueInstead) {
  using congestion::AnyController;
  const congestion::ControllerConfig chosen = congestion::ConstantWindowConfig{.packets = 64};
  const auto constant = AnyController::create(chosen).value();
  Bottleneck<AnyController> link({.delay_ticks = 20, .mark_above = 20}, {constant});
  link.run(5'000);
  EXPECT_EQ(link.run(50'000).queue_longest, 64U - 19U) << "all but the answers on their way";
}

// guide: begin
TEST(AimdWindow, UnequalSendersBecomeEqual) {
  Bottleneck<AimdWindow> link({.delay_ticks = 20, .mark_above = 20}, {window_of(40), window_of(1)});
  const BottleneckResult early = link.run(100);
  EXPECT_GT(early.served[0], 5 * early.served[1]);
  link.run(20'000);
  const BottleneckResult late = link.run(50'000);
  EXPECT_NEAR(static_cast<double>(late.served[0]) / static_cast<double>(late.served[1]), 1.0, 0.1);
}
// guide: end

TEST(AimdWindow, GrowsByOnePacketPerRoundTrip) {
  AimdWindow window = window_of(10);
  send(window, 10);
  confirm(window, 10);
  EXPECT_EQ(window.window_bytes(), 11 * kPacket);
}

TEST(AimdWindow, TakesOneMarkPerWindowOfData) {
  AimdWindow window = window_of(8);
  send(window, 8);
  confirm(window, 1, 1);
  EXPECT_EQ(window.window_bytes(), 4 * kPacket);
  confirm(window, 7, 7);
  EXPECT_EQ(window.window_bytes(), 4 * kPacket) << "they left before the cut";
  send(window, 1);
  confirm(window, 1, 1);
  EXPECT_EQ(window.window_bytes(), 2 * kPacket);
}

TEST(AimdWindow, ALossCutsARefusalDoesNotAndOnePacketAlwaysMayLeave) {
  AimdWindow window = window_of(2);
  send(window, 2);
  window.on_loss(kTimeZero, {.lost = {1, kPacket}, .cause = LossCause::kRefused});
  EXPECT_EQ(window.window_bytes(), 2 * kPacket);
  window.on_loss(kTimeZero, {.lost = {1, kPacket}, .cause = LossCause::kTimeout});
  EXPECT_EQ(window.window_bytes(), kPacket);
  EXPECT_TRUE(window.permits(10 * kPacket)) << "nothing is in flight";
}

TEST(AimdWindow, RefusesAWindowThatLetsNothingLeave) {
  EXPECT_FALSE(check(AimdWindowConfig{.mtu_bytes = 4096, .initial_bytes = 4095}).ok());
  EXPECT_FALSE(check(AimdWindowConfig{.mtu_bytes = 0, .initial_bytes = 4095}).ok());
}

}  // namespace
}  // namespace wharf::examples
