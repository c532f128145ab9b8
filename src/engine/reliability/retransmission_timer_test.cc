// SPDX-License-Identifier: Apache-2.0
#include "engine/reliability/retransmission_timer.h"

namespace wharf::reliability {
namespace {

constexpr RetransmissionRule kRule{.base = microseconds(10), .backoff_exponent = 1, .attempts_max = 2};

TEST(RetransmissionRule, DoublesPerAttemptUpToTheCap) {
  RetransmissionRule rule{.base = microseconds(10), .backoff_exponent = 1, .cap = microseconds(35)};
  EXPECT_EQ(rule.timeout(0), microseconds(10));
  EXPECT_EQ(rule.timeout(1), microseconds(20));
  EXPECT_EQ(rule.timeout(2), microseconds(35));
  EXPECT_EQ(rule.timeout(1'000'000), microseconds(35));
}

TEST(RetransmissionRule, ExponentZeroKeepsTheBase) {
  RetransmissionRule rule{.base = microseconds(10), .backoff_exponent = 0};
  EXPECT_EQ(rule.timeout(50), microseconds(10));
}

TEST(RetransmissionRule, SaturatesInsteadOfOverflowing) {
  RetransmissionRule rule{.base = seconds(10'000), .backoff_exponent = 3};
  EXPECT_EQ(rule.timeout(10), kNever);
}

TEST(RetransmissionTimer, CountsAttemptsAndGivesUp) {
  RetransmissionTimer timer;
  timer.start(kRule, microseconds(5));
  EXPECT_EQ(timer.deadline(), microseconds(15));
  timer.start(kRule, microseconds(9));  // Runs already.
  EXPECT_EQ(timer.deadline(), microseconds(15));
  EXPECT_EQ(timer.expire(kRule, TimePs{microseconds(15).ps - 1}), RetransmissionTimer::Expiry::kNotDue);
  EXPECT_EQ(timer.expire(kRule, microseconds(15)), RetransmissionTimer::Expiry::kRetransmit);
  EXPECT_EQ(timer.deadline(), microseconds(35));
  EXPECT_EQ(timer.expire(kRule, microseconds(35)), RetransmissionTimer::Expiry::kRetransmit);
  EXPECT_EQ(timer.deadline(), microseconds(75));
  EXPECT_EQ(timer.expire(kRule, microseconds(75)), RetransmissionTimer::Expiry::kExhausted);
  EXPECT_FALSE(timer.running());
}

TEST(RetransmissionTimer, ProgressStartsOver) {
  RetransmissionTimer timer;
  timer.start(kRule, kTimeZero);
  timer.expire(kRule, microseconds(10));
  timer.progress(kRule, microseconds(11), true);
  EXPECT_EQ(timer.attempts(), 0u);
  EXPECT_EQ(timer.deadline(), microseconds(21));
  timer.progress(kRule, microseconds(12), false);
  EXPECT_EQ(timer.deadline(), kNever);
}

TEST(RetransmissionTimer, UnlimitedAttemptsNeverExhaust) {
  const RetransmissionRule rule{
      .base = microseconds(1), .cap = microseconds(2), .attempts_max = kUnlimitedAttempts};
  RetransmissionTimer timer;
  TimePs now = kTimeZero;
  timer.start(rule, now);
  for (int i = 0; i < 1000; ++i) {
    now = timer.deadline();
    ASSERT_EQ(timer.expire(rule, now), RetransmissionTimer::Expiry::kRetransmit);
  }
}

}  // namespace
}  // namespace wharf::reliability
