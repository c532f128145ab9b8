// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/caqm.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/congestion/caqm_switch.h"
#include "engine/congestion/random_history_test_support.h"

namespace wharf::congestion {
namespace {

constexpr std::uint32_t kMtu = 4096;

Departure packet() { return {.window_bytes = kMtu}; }

TEST(CaqmHint, IsMtusOrBytesBelowOneMtusUnits) {
  EXPECT_EQ(caqm_hint_bytes(128, kMtu), 4096U);
  EXPECT_EQ(caqm_hint_bytes(1, kMtu), 1U);
  EXPECT_EQ(caqm_hint_bytes(130, kMtu), 4098U);
  EXPECT_EQ(caqm_hint_bytes(0, kMtu), 0U);
  for (const std::uint64_t bytes : {0U, 1U, 127U, 4096U, 8192U}) {
    EXPECT_EQ(caqm_hint_bytes(caqm_hint(bytes, kMtu), kMtu), bytes);
  }
}

TEST(CaqmSender, SlowStartAsksForAnMtuPerPacketAndTakesWhatIsGranted) {
  const CaqmConfig config;
  CaqmSender sender(config);
  EXPECT_EQ(sender.window(), 40'960U);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(sender.permits(kMtu));
    const PacketRequest request = sender.on_send(kTimeZero, packet());
    EXPECT_TRUE(request.grant);
    EXPECT_EQ(request.grant_bytes, 4096U);
  }
  EXPECT_FALSE(sender.permits(1));
  sender.on_acknowledgement(microseconds(12),
                            {.confirmed = {4, 4 * kMtu}, .granted = true, .granted_bytes = 4 * kMtu});
  EXPECT_EQ(sender.window(), 57'344U);
  EXPECT_TRUE(sender.slow_start());
}

TEST(CaqmSender, ARefusalMeansAvoidanceForTenRoundTrips) {
  const CaqmConfig config;
  CaqmSender sender(config);
  sender.on_send(kTimeZero, packet());
  sender.on_acknowledgement(microseconds(20), {.confirmed = {1, kMtu}, .round_trip = microseconds(20)});
  // The average is 12 + 8 / 8 = 13 us.
  EXPECT_EQ(sender.deadline(), microseconds(150));
  EXPECT_EQ(sender.window(), 40'960U);
  // 0.5 * 4096 * 4096 / 40960 = 204.8 bytes per packet, 127 at once at most.
  EXPECT_EQ(sender.on_send(microseconds(21), packet()).grant_bytes, 127U);
  // 77.8 are left over; enough over many packets to ask for whole MTUs.
  std::uint64_t asked = 127;
  for (int i = 1; i < 1000; ++i) asked += sender.on_send(microseconds(21), packet()).grant_bytes;
  EXPECT_GT(asked, 200'000U);
  EXPECT_LE(asked, 204'800U);
  sender.expire(microseconds(150) - picoseconds(1));
  EXPECT_FALSE(sender.slow_start());
  sender.expire(microseconds(150));
  EXPECT_TRUE(sender.slow_start());
  EXPECT_EQ(sender.deadline(), kNever);
}

TEST(CaqmSender, EveryMarkTakesHalfAnMtuDownToOne) {
  const CaqmConfig config;
  CaqmSender sender(config);
  for (int i = 0; i < 9; ++i) sender.on_send(kTimeZero, packet());
  sender.on_acknowledgement(microseconds(1), {.confirmed = {3, 3 * kMtu}, .marked = 3});
  EXPECT_EQ(sender.window(), 40'960U - 6144);
  sender.on_acknowledgement(microseconds(1),
                            {.confirmed = {1, kMtu}, .marked = 1, .granted = true, .granted_bytes = 100});
  EXPECT_EQ(sender.window(), 40'960U - 6144 + 100 - 2048) << "grant and mark in one answer";
  sender.on_acknowledgement(microseconds(1), {.marked = 255});
  EXPECT_EQ(sender.window(), kMtu);
}

TEST(CaqmSender, RefusesByName) {
  EXPECT_EQ(check(CaqmConfig{.mtu_bytes = 100}).error().message,
            "mtu_bytes is 100, expected a multiple of 32 up to 65504");
  EXPECT_FALSE(check(CaqmConfig{.initial_packets = 0}).ok());
  EXPECT_FALSE(check(CaqmConfig{.alpha_ppm = 0}).ok());
  EXPECT_FALSE(check(LdcpConfig{.initial_window = 100}).ok());
  EXPECT_TRUE(check(CaqmConfig{}).ok());
  EXPECT_TRUE(check(LdcpConfig{}).ok());
}

TEST(LdcpSender, GrowsByHalfAnMtuPerWindowAndShrinksPerMark) {
  const LdcpConfig config{.initial_window = 40'960};
  LdcpSender sender(config);
  for (int i = 0; i < 10; ++i) sender.on_send(kTimeZero, packet());
  EXPECT_FALSE(sender.permits(1));
  // Ten packets of a window of ten: 10 * 204.8.
  sender.on_acknowledgement(kTimeZero, {.confirmed = {10, 10 * kMtu}});
  EXPECT_NEAR(sender.window(), 40'960 + 2048, 1);
  const std::uint32_t before = sender.window();
  sender.on_acknowledgement(kTimeZero, {.marked = 2});
  EXPECT_EQ(sender.window(), before - 4096);
}

RC_GTEST_PROP(CaqmAndLdcp, WindowsAndFlightKeepTheirBounds, (std::uint64_t seed)) {
  const CaqmConfig caqm_config{.window_limit = 500'000};
  const LdcpConfig ldcp_config{.window_limit = 500'000};
  CaqmSender caqm(caqm_config);
  LdcpSender ldcp(ldcp_config);
  RandomHistory one(seed, kMtu, microseconds(12));
  RandomHistory other(seed, kMtu, microseconds(12));
  for (int i = 0; i < 300; ++i) {
    one.step(caqm);
    other.step(ldcp);
    for (const std::uint32_t window : {caqm.window(), ldcp.window()}) {
      RC_ASSERT(window >= kMtu);
      RC_ASSERT(window <= 500'000U);
    }
    RC_ASSERT(caqm.in_flight() == std::int64_t{one.in_flight()} * kMtu);
    RC_ASSERT(ldcp.in_flight() == std::int64_t{other.in_flight()} * kMtu);
    RC_ASSERT(caqm.deadline() > one.now());
  }
  one.settle(caqm);
  other.settle(ldcp);
  RC_ASSERT(caqm.in_flight() == 0);
  RC_ASSERT(ldcp.in_flight() == 0);
}

// --- The switch. 100 Gb/s * 500 ns = 6,250 bytes; Qt 40,960.

TEST(CaqmPort, GrantsWhileCreditLasts) {
  CaqmPort port({.mark_ppm = 0}, 1);
  CaqmFields fields{.increase = true, .hint_bytes = 4096};
  // An idle period: (6,250 + 40,960) / 2 = 23,605; five grants fit.
  for (int i = 0; i < 5; ++i) {
    port.on_dequeue(microseconds(1), 4200, 0, fields);
    EXPECT_EQ(fields, (CaqmFields{.increase = true, .hint_bytes = 4096})) << i;
  }
  EXPECT_EQ(port.credit(), 3125);
  EXPECT_EQ(port.allocated(), 20'480);
  port.on_dequeue(microseconds(1), 4200, 0, fields);
  EXPECT_FALSE(fields.increase) << "the sixth is refused";
  EXPECT_FALSE(fields.congestion);
  // The next period: (6,250 - 6 * 4,200 + 40,960 - 10,000 - 20,480) / 2 = -4,235.
  CaqmFields next{.increase = true, .hint_bytes = 1};
  port.on_dequeue(nanoseconds(1500), 4200, 10'000, next);
  EXPECT_TRUE(next.congestion) << "negative credit marks";
  EXPECT_FALSE(next.increase);
  EXPECT_EQ(port.credit(), -4235 + 2048);
}

TEST(CaqmPort, AMarkedPacketGivesCreditBack) {
  CaqmPort port({.mark_ppm = 0}, 1);
  CaqmFields marked{.congestion = true};
  port.on_dequeue(microseconds(1), 4200, 0, marked);
  EXPECT_EQ(port.credit(), 23'605 + 2048);
  EXPECT_EQ(port.allocated(), -2048);
}

TEST(CaqmPort, MarksWhenCreditLacksAndGrantsFromWhatThatDefers) {
  CaqmPort port({.mark_ppm = 1'000'000}, 1);
  CaqmFields large{.increase = true, .hint_bytes = 30'000};
  port.on_dequeue(microseconds(1), 4200, 0, large);
  EXPECT_TRUE(large.congestion);
  EXPECT_FALSE(large.increase);
  EXPECT_EQ(port.deferred(), 2048);
  EXPECT_EQ(port.credit(), 23'605);
}

}  // namespace
}  // namespace wharf::congestion
