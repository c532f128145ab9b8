// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/rccc.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "base/random.h"
#include "engine/congestion/oversubscription_rate.h"
#include "engine/congestion/random_history_test_support.h"

namespace wharf::congestion {
namespace {

/// 14.02272 us at 100 Gb/s: MaxWnd 262926 B, 4 * 4150 B are 64 quanta.
constexpr RcccConfig kConfig{.mtu_bytes = 4150, .max_window = 262'926};

Acknowledgement credit(std::uint64_t units) { return {.granted_bytes = units * 256, .credit = true}; }

TEST(Rccc, ASourceSpeculatesWithAWholeWindowUntilItHears) {
  RcccSender sender(kConfig);
  // 262926 / 4150 = 63.4: 64 packets, the last one overdraws.
  int sent = 0;
  std::uint64_t target = 0;
  for (; sender.permits(4150); ++sent) {
    target = sender.on_send(kTimeZero, {.window_bytes = 4150, .backlog_bytes = 1'000'000}).grant_bytes;
  }
  EXPECT_EQ(sent, 64);
  EXPECT_EQ(sender.credit(), 262'926 - 64 * 4150);
  // min(1000000, 262926) + 2674 = 265600 = 1037.5 quanta.
  EXPECT_EQ(target, 1038U * 256);
  sender.on_acknowledgement(microseconds(14), {.confirmed = {1, 4150}});
  EXPECT_FALSE(sender.speculating());
  EXPECT_EQ(sender.credit(), -2674) << "debt stays";
}

TEST(Rccc, TheFirstAnswerZeroesSpeculativeCreditAndRealCreditCounts) {
  RcccSender sender(kConfig);
  const PacketRequest request = sender.on_send(kTimeZero, {.window_bytes = 4150, .backlog_bytes = 1});
  EXPECT_EQ(request.grant_bytes, 17U * 256) << "one MTU at least while speculating: 4150 / 256 = 16.2";
  sender.on_acknowledgement(microseconds(14), credit(64));
  EXPECT_EQ(sender.credit(), 16'384);
  sender.on_acknowledgement(microseconds(15), credit(64));
  sender.on_acknowledgement(microseconds(15), credit(63));
  EXPECT_EQ(sender.credit(), 16'384) << "repeated and older counts";
  sender.on_acknowledgement(microseconds(16), credit(2000));
  EXPECT_EQ(sender.credit(), 262'926) << "at most MaxWnd";
}

TEST(Rccc, CountersWrapAtTwentyFourBits) {
  RcccSender sender(kConfig);
  sender.on_acknowledgement(kTimeZero, credit(0x7f'ffff));
  sender.on_acknowledgement(kTimeZero, credit(0xff'fffe));
  for (int i = 0; i < 63; ++i) sender.on_send(kTimeZero, {.window_bytes = 4150});
  EXPECT_EQ(sender.credit(), 262'926 - 63 * 4150);
  sender.on_acknowledgement(kTimeZero, credit(2));
  EXPECT_EQ(sender.credit(), 262'926 - 63 * 4150 + 4 * 256);
  EXPECT_EQ(credit_difference(3, 0xff'ffff), 4);
  EXPECT_EQ(credit_difference(0xff'ffff, 3), -4);
}

TEST(Rccc, DemandIsLimitedByTheWindowAndSharedByContexts) {
  RcccSender sender(kConfig);
  sender.on_acknowledgement(kTimeZero, {});
  EXPECT_EQ(sender.demand(100'000, 50'000, 1), 196U * 256) << "50000 / 256 = 195.3";
  EXPECT_EQ(sender.demand(1'000, 50'000, 1), 196U * 256) << "it never goes back";
  RcccSender shared(kConfig);
  shared.on_acknowledgement(kTimeZero, {});
  EXPECT_EQ(shared.demand(100'000, 50'000, 4), 49U * 256) << "12500 / 256 = 48.8";
  shared.on_acknowledgement(kTimeZero, credit(40));
  EXPECT_EQ(shared.demand(100'000, 50'000, 4), (40U + 39U) * 256) << "(50000 - 10240) / 4 / 256 = 38.8";
  RcccSender little(kConfig);
  little.on_acknowledgement(kTimeZero, {});
  EXPECT_EQ(little.demand(3, 50'000, 1000), 1U * 256) << "a share of three bytes is still a demand";
}

TEST(Rccc, NacksEndSpeculationAndTimeoutsGiveItBack) {
  RcccSender sender(kConfig);
  sender.on_send(kTimeZero, {.window_bytes = 4150});
  sender.on_loss(milliseconds(1), {.lost = {1, 4150}, .cause = LossCause::kTimeout});
  EXPECT_EQ(sender.credit(), 262'926);
  sender.on_send(kTimeZero, {.window_bytes = 4150});
  sender.on_loss(milliseconds(2), {.lost = {1, 4150}, .cause = LossCause::kTrimmedLastHop});
  EXPECT_EQ(sender.credit(), 0);
  EXPECT_FALSE(sender.permits(1));
  sender.on_loss(milliseconds(3), {.lost = {1, 4150}, .cause = LossCause::kTimeout});
  EXPECT_EQ(sender.credit(), 0) << "spent is spent";
}

TEST(Rccc, GrantsAreFourPacketsAtNinetyNinePerCentOfTheLink) {
  CreditIssuer issuer(kConfig);
  issuer.reserve(2);
  EXPECT_EQ(issuer.deadline(), kNever);
  // 64 * 256 * 8 bits / 100 Gb/s / 0.99
  EXPECT_EQ(issuer.grant_time(), picoseconds(1'323'960));
  issuer.on_demand(1, 100);
  EXPECT_EQ(issuer.deadline(), kTimeZero);
  const auto first = issuer.next(microseconds(5));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->source, 1U);
  EXPECT_EQ(first->total_units, 64U);
  EXPECT_EQ(issuer.deadline(), microseconds(5) + picoseconds(1'323'960));
  EXPECT_FALSE(issuer.next(microseconds(5) + picoseconds(1'323'959)));
  const auto second = issuer.next(microseconds(5) + picoseconds(1'323'960));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->total_units, 100U) << "what is left of the demand";
  EXPECT_EQ(issuer.deadline(), microseconds(5) + picoseconds(1'323'960 + 744'727)) << "36 quanta";
  issuer.set_rate(32768);
  EXPECT_EQ(issuer.grant_time(), picoseconds(2'647'920));
}

std::vector<std::uint32_t> order(CreditIssuer& issuer, int grants) {
  std::vector<std::uint32_t> sources;
  TimePs now = issuer.deadline();
  for (int i = 0; i < grants; ++i) {
    const auto made = issuer.next(now);
    if (!made) break;
    sources.push_back(made->source);
    now = issuer.deadline();
  }
  return sources;
}

TEST(Rccc, SourcesTakeTurnsAndIdleOnesComeLast) {
  CreditIssuer issuer(kConfig);
  issuer.reserve(3);
  issuer.on_demand(2, 128);
  issuer.on_demand(0, 192);
  issuer.on_demand(1, 64);
  EXPECT_EQ(order(issuer, 6), (std::vector<std::uint32_t>{2, 0, 1, 2, 0, 0}));
  // All are satisfied: slow grants in turn, each up to 262926 / 256 = 1027 quanta, that is 16 grants.
  EXPECT_EQ(order(issuer, 3), (std::vector<std::uint32_t>{1, 2, 0}));
  EXPECT_EQ(order(issuer, 1000).size(), 45U);
  EXPECT_EQ(issuer.deadline(), kNever);
  EXPECT_EQ(issuer.granted_units(1), 64U + 16U * 64U);
  // Someone who wants credit goes before the idle ones.
  issuer.on_demand(0, 193);
  issuer.on_demand(1, 64 + 16 * 64 + 1);
  EXPECT_EQ(order(issuer, 1), (std::vector<std::uint32_t>{1}));
}

TEST(Rccc, IdleSourcesMayGetLessAndMoreSlowly) {
  RcccConfig config = kConfig;
  config.idle_packets = 1;
  config.idle_percent = 50;
  ASSERT_TRUE(check(config));
  CreditIssuer issuer(config);
  issuer.reserve(1);
  issuer.on_demand(0, 64);
  ASSERT_TRUE(issuer.next(kTimeZero));
  // A packet is 17 quanta, and 60 packets are the most of 1027 quanta; each takes the time of two.
  TimePs now = issuer.deadline();
  EXPECT_EQ(now, issuer.grant_time());
  for (std::uint32_t given = 1; given <= 60; ++given) {
    const auto made = issuer.next(now);
    ASSERT_TRUE(made) << given;
    EXPECT_EQ(made->total_units, 64 + 17 * given);
    EXPECT_NEAR(static_cast<double>((issuer.deadline() - now).ps), 703'354, 2);
    now = issuer.deadline();
  }
  EXPECT_FALSE(issuer.next(now));
  config.idle_percent = 101;
  EXPECT_FALSE(check(config));
  config.idle_percent = 50;
  config.idle_packets = 5;
  EXPECT_FALSE(check(config));
}

// With a turn per packet a satisfied source is told its count again, which takes the time of four quanta.
TEST(Rccc, APacketOfASatisfiedSourceMayHaveATurnOfItsOwn) {
  RcccConfig config = kConfig;
  config.slow_grants = false;
  config.turn_per_packet = true;
  CreditIssuer issuer(config);
  issuer.reserve(2);
  issuer.on_demand(0, 64);
  issuer.on_demand(1, 64);
  EXPECT_EQ(order(issuer, 4), (std::vector<std::uint32_t>{0, 1}));
  const TimePs now = issuer.deadline();
  ASSERT_EQ(now, kNever);
  issuer.on_demand(0, 64);
  issuer.on_demand(0, 60);
  issuer.on_demand(1, 65);
  const TimePs later = issuer.deadline();
  const auto told = issuer.next(later);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->source, 0U);
  EXPECT_EQ(told->total_units, 64U) << "nothing new";
  EXPECT_EQ(issuer.deadline() - later, picoseconds(82'747)) << "256 bytes four times at 99 Gb/s";
  EXPECT_EQ(order(issuer, 4), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(issuer.granted_units(1), 65U);
  // Idle grants beyond its demand are not taken back.
  config.slow_grants = true;
  CreditIssuer generous(config);
  generous.reserve(1);
  generous.on_demand(0, 64);
  EXPECT_EQ(order(generous, 3).size(), 3U);
  generous.on_demand(0, 65);
  EXPECT_EQ(order(generous, 1).size(), 1U);
  EXPECT_EQ(generous.granted_units(0), 64U + 2U * 64U);
}

TEST(Rccc, ATrimmedPacketIsADemandOfOne) {
  CreditIssuer issuer(kConfig);
  issuer.reserve(1);
  issuer.on_trimmed(0);
  const auto made = issuer.next(kTimeZero);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->total_units, 17U);
}

TEST(Rccc, AForgottenSourceGetsNothing) {
  CreditIssuer issuer(kConfig);
  issuer.reserve(2);
  issuer.on_demand(0, 1000);
  issuer.on_demand(1, 64);
  issuer.forget(0);
  EXPECT_EQ(order(issuer, 1), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(issuer.granted_units(0), 0U);
}

TEST(Rccc, RefusesByName) {
  EXPECT_TRUE(check(kConfig).ok());
  EXPECT_EQ(check(RcccConfig{.grant_packets = 0}).error().message, "grant_packets is 0, expected 1 to 256");
  EXPECT_FALSE(check(RcccConfig{.max_window = 100}).ok());
}

TEST(OversubscriptionRate, FallsWithTrimsInsideAndMarksAndRisesInDoublingSteps) {
  const OversubscriptionConfig config{.oversubscription_ppm = 4'000'000};
  OversubscriptionRate rate(config);
  rate.expire(kTimeZero, 0);
  EXPECT_EQ(rate.deadline(), microseconds(12) * 9 / 8) << "1.5 * 0.75 base RTT";
  // 2 of 10 trimmed inside the fabric: 1 - 0.2; 6 of the other 8 marked: g = 0.375, 1 - 0.075 * 0.5.
  for (int i = 0; i < 10; ++i) rate.on_packet(i < 6, i >= 8, false);
  rate.expire(microseconds(14), 0);
  EXPECT_NEAR(rate.rate_q16() / 65536.0, 0.8 * 0.9625, 1e-4);
  const std::uint32_t low = rate.rate_q16();
  // No marks: g = 0.1875, and steps of 0.01, 0.02, 0.04. Trims of the last hop are the receiver's own.
  for (std::uint32_t step = 0; step < 3; ++step) {
    rate.on_packet(false, false, false);
    rate.on_packet(false, true, true);
    rate.expire(microseconds(100 * (step + 1)), 0);
    EXPECT_EQ(rate.rate_q16(), low + 655U * ((2U << step) - 1U));
  }
  rate.expire(microseconds(1000), 0xffff'ffff);
  EXPECT_EQ(rate.rate_q16(), low + 655U * 7) << "no packets, no opinion";
  EXPECT_EQ(rate.deadline(), microseconds(1000) + microseconds(12) * 15 / 8 - picoseconds(1));
  for (int i = 0; i < 20; ++i) {
    rate.on_packet(false, true, false);
    rate.expire(microseconds(2000 + 100 * i), 0);
  }
  EXPECT_EQ(rate.rate_q16(), 14'746U) << "0.9 / 4 at least";
  EXPECT_FALSE(check(OversubscriptionConfig{.oversubscription_ppm = 0}).ok());
}

RC_GTEST_PROP(Rccc, ASourceNeverSpendsWhatItDoesNotHave, (std::uint64_t seed)) {
  RcccSender sender(kConfig);
  RandomHistory history(seed, 4150, microseconds(12));
  for (int i = 0; i < 300; ++i) {
    history.step(sender);
    RC_ASSERT(sender.credit() > -4150);
    RC_ASSERT(sender.credit() <= 262'926);
  }
}

RC_GTEST_PROP(Rccc, CreditIsConserved, (std::uint64_t seed)) {
  // Sources against one issuer; credits may be lost and overtake one another, demands too.
  constexpr std::uint32_t kSources = 4;
  RandomStream random(seed, "rccc.conservation");
  CreditIssuer issuer(kConfig);
  issuer.reserve(kSources);
  std::vector<RcccSender> senders(kSources, RcccSender(kConfig));
  std::vector<std::uint64_t> spent(kSources, 0);
  std::vector<std::uint32_t> latest(kSources, 0);
  for (RcccSender& sender : senders) sender.on_acknowledgement(kTimeZero, {});
  TimePs now{};
  for (int i = 0; i < 2000; ++i) {
    now += picoseconds(static_cast<std::int64_t>(random.below(2'000'000)));
    const auto source = static_cast<std::uint32_t>(random.below(kSources));
    RcccSender& sender = senders[source];
    if (random.below(4) == 0) {
      const std::uint64_t target = sender.demand(random.below(500'000), ~0ULL, 1);
      if (random.below(3) != 0) issuer.on_demand(source, static_cast<std::uint32_t>(target / 256));
    }
    if (sender.permits(4150) && random.below(2) == 0) {
      sender.on_send(now, {.window_bytes = 4150, .backlog_bytes = random.below(100'000)});
      spent[source] += 4150;
    }
    if (random.below(10) == 0) issuer.on_trimmed(source);
    while (const auto made = issuer.next(now)) {
      latest[made->source] = made->total_units;
      const std::int32_t beyond = credit_difference(made->total_units, issuer.target_units(made->source));
      RC_ASSERT(beyond <= 262'926 / 256);
      if (random.below(3) != 0) senders[made->source].on_acknowledgement(now, credit(made->total_units));
    }
    for (std::uint32_t s = 0; s < kSources; ++s) {
      RC_ASSERT(spent[s] <= std::uint64_t{issuer.granted_units(s)} * 256 + 4149);
      RC_ASSERT(latest[s] == issuer.granted_units(s));
    }
  }
}

}  // namespace
}  // namespace wharf::congestion
