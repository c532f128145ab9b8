// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/constant_window.h"

#include <gtest/gtest.h>

namespace wharf::congestion {
namespace {

constexpr Departure kPacket{.window_bytes = 4096, .wire_bytes = 4200};

Acknowledgement confirmed(std::uint32_t packets, std::uint32_t restored = 0) {
  return {.confirmed = {packets, packets * 4096ULL}, .restored = {restored, restored * 4096ULL}};
}

TEST(ConstantWindow, LetsExactlyItsPacketsIntoFlight) {
  ConstantWindow window({.packets = 3});
  for (int sent = 0; sent < 3; ++sent) {
    EXPECT_TRUE(window.permits(4096)) << sent;
    window.on_send(kTimeZero, kPacket);
  }
  EXPECT_FALSE(window.permits(1)) << "a fourth packet, however short";
  window.on_acknowledgement(nanoseconds(1), confirmed(1));
  EXPECT_TRUE(window.permits(4096));
  EXPECT_EQ(window.in_flight(), 2U);
}

TEST(ConstantWindow, IgnoresMarksCreditsAndTime) {
  ConstantWindow window({.packets = 1});
  window.on_send(kTimeZero, kPacket);
  window.on_acknowledgement(nanoseconds(1), {.marked = 7, .granted = true, .granted_bytes = 1U << 20U});
  window.expire(seconds(1));
  EXPECT_FALSE(window.permits(1));
  EXPECT_EQ(window.next_send(), kTimeZero);
  EXPECT_EQ(window.deadline(), kNever);
}

TEST(ConstantWindow, ALostPacketLeavesFlightUntilItIsSentAgain) {
  ConstantWindow window({.packets = 2});
  window.on_send(kTimeZero, kPacket);
  window.on_send(kTimeZero, kPacket);
  window.on_loss(nanoseconds(1), {.lost = {1, 4096}, .cause = LossCause::kTimeout});
  EXPECT_TRUE(window.permits(4096));
  window.on_send(nanoseconds(2), {.window_bytes = 4096, .retransmission = true});
  EXPECT_FALSE(window.permits(4096));
  window.on_acknowledgement(nanoseconds(3), confirmed(2));
  EXPECT_EQ(window.in_flight(), 0U);
}

TEST(ConstantWindow, APacketTakenForLostButConfirmedIsNotSubtractedTwice) {
  ConstantWindow window({.packets = 2});
  window.on_send(kTimeZero, kPacket);
  window.on_send(kTimeZero, kPacket);
  window.on_loss(nanoseconds(1), {.lost = {1, 4096}});
  window.on_acknowledgement(nanoseconds(2), confirmed(1, 1));
  EXPECT_EQ(window.in_flight(), 1U);
}

TEST(ConstantWindowDeathTest, MoreConfirmedThanSentIsACallersBug) {
  ConstantWindow window({.packets = 2});
  window.on_send(kTimeZero, kPacket);
  EXPECT_DEATH(window.on_acknowledgement(kTimeZero, confirmed(2)), "invariant broken");
}

}  // namespace
}  // namespace wharf::congestion
