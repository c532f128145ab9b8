// SPDX-License-Identifier: Apache-2.0
#include "engine/reliability/round_trip_estimate.h"

namespace wharf::reliability {
namespace {

constexpr RetransmissionRule kRule{
    .base = milliseconds(4), .cap = milliseconds(512), .floor = milliseconds(2)};

TEST(RoundTripEstimate, SaysNothingBeforeTheFirstSample) {
  const RoundTripEstimate estimate;
  EXPECT_EQ(estimate.first(), kTimeZero);
  EXPECT_EQ(kRule.timeout(0, estimate.first()), milliseconds(4));
}

// [RFC 6298 2.2] SRTT is the sample, RTTVAR half of it.
TEST(RoundTripEstimate, TheFirstSampleCountsThreeTimes) {
  RoundTripEstimate estimate;
  estimate.sample(kRule, milliseconds(10));
  EXPECT_EQ(estimate.first(), milliseconds(30));
}

// [RFC 6298 2.3] RTTVAR is 3/4 of 5 ms and 1/4 of |10 ms - 18 ms|; SRTT 7/8 of 10 ms and 1/8 of 18 ms.
TEST(RoundTripEstimate, LaterSamplesCountByTheirGains) {
  RoundTripEstimate estimate;
  estimate.sample(kRule, milliseconds(10));
  estimate.sample(kRule, milliseconds(18));
  EXPECT_EQ(estimate.first(), milliseconds(11) + microseconds(5'750) * 4);
}

TEST(RoundTripEstimate, StaysBetweenFloorAndCap) {
  RoundTripEstimate fast;
  for (int i = 0; i < 100; ++i) fast.sample(kRule, microseconds(20));
  EXPECT_EQ(fast.first(), milliseconds(2));
  RoundTripEstimate slow;
  slow.sample(kRule, seconds(3));
  EXPECT_EQ(slow.first(), milliseconds(512));
}

TEST(RoundTripEstimate, SettlesOnASteadyPath) {
  RoundTripEstimate estimate;
  estimate.sample(kRule, milliseconds(1));
  for (int i = 0; i < 200; ++i) estimate.sample(kRule, milliseconds(100));
  EXPECT_GT(estimate.first(), milliseconds(99));
  EXPECT_LT(estimate.first(), milliseconds(101));
}

// [RFC 6298 3, Karn] What went twice gives no sample.
TEST(RoundTripEstimate, AnAmbiguousAnswerIsNoSample) {
  RoundTripEstimate estimate;
  estimate.begin(7, milliseconds(1));
  EXPECT_TRUE(estimate.timing());
  EXPECT_EQ(estimate.number(), 7u);
  estimate.ambiguous();
  EXPECT_FALSE(estimate.timing());
  EXPECT_EQ(estimate.first(), kTimeZero);
  estimate.begin(8, milliseconds(2));
  estimate.answered(kRule, milliseconds(12));
  EXPECT_FALSE(estimate.timing());
  EXPECT_EQ(estimate.first(), milliseconds(30));
}

// [RFC 6298 5.5 to 5.7] Lengthened until there is a sample.
TEST(RoundTripEstimate, KeepsWhatTimeOutsLengthened) {
  RoundTripEstimate estimate;
  estimate.keep(kRule, 2);
  EXPECT_EQ(estimate.first(), milliseconds(16));
  estimate.keep(kRule, 1);
  EXPECT_EQ(estimate.first(), milliseconds(32));
  for (int i = 0; i < 10; ++i) estimate.keep(kRule, 1);
  EXPECT_EQ(estimate.first(), milliseconds(512));
  estimate.sample(kRule, milliseconds(1));
  EXPECT_EQ(estimate.first(), milliseconds(3));
}

// A peer is given up no sooner for being near: behind the first time-out those of the base follow.
TEST(RetransmissionRule, AShortFirstTimeOutShortensNoOther) {
  const TimePs first = milliseconds(2);
  EXPECT_EQ(kRule.timeout(0, first), first);
  EXPECT_EQ(kRule.timeout(1, first), milliseconds(8));
  EXPECT_EQ(kRule.timeout(2, first), milliseconds(16));
  EXPECT_EQ(kRule.timeout(1, milliseconds(100)), milliseconds(200));
  EXPECT_EQ(kRule.timeout(7, milliseconds(100)), milliseconds(512));
}

TEST(RetransmissionTimer, TakesTheFirstTimeOutThatItIsTold) {
  RetransmissionTimer timer;
  timer.start(kRule, kTimeZero, milliseconds(2));
  EXPECT_EQ(timer.deadline(), milliseconds(2));
  EXPECT_EQ(timer.expire(kRule, milliseconds(2), milliseconds(2)), RetransmissionTimer::Expiry::kRetransmit);
  EXPECT_EQ(timer.deadline(), milliseconds(10));
  timer.progress(kRule, milliseconds(11), true, milliseconds(3));
  EXPECT_EQ(timer.deadline(), milliseconds(14));
}

}  // namespace
}  // namespace wharf::reliability
