// SPDX-License-Identifier: Apache-2.0
// The timeout that follows the round trips. Choice: IBTA vol 1 9.7.6.1.3 has a fixed one.
#include "tests/support/adaptive_timeouts.h"
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using test::AdaptiveTimeouts;
using test::RocePair;
using verbs::Verb;

/// 4.19 ms at first.
RoceConfig adaptive() {
  RoceConfig config;
  config.ack_timeout = 10;
  config.backoff_limit = 7;
  config.timeout_floor = test::kAdaptiveFloor;
  return config;
}

AdaptiveTimeouts<RoceEngine> checks(RocePair& world) {
  return {world.pair, [&world] { world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 64)); },
          [&world] { return world.pair.engine(0).counters().timeouts; }};
}

TEST(RoceAdaptiveTimeout, FollowsTheRoundTrips) {
  RocePair world(adaptive());
  AdaptiveTimeouts fast = checks(world);
  fast.delay(microseconds(10));
  EXPECT_EQ(fast.wait_of_lost_write(), ack_timeout_duration(10)) << "before any sample";
  fast.write(100);
  EXPECT_EQ(fast.wait_of_lost_write(), test::kAdaptiveFloor);
  fast.delay(microseconds(500));
  fast.write(100);
  const TimePs waited = fast.wait_of_lost_write();
  EXPECT_GE(waited, milliseconds(1));
  EXPECT_LT(waited, microseconds(1'500));
}

TEST(RoceAdaptiveTimeout, LearnsASlowPath) {
  RocePair world(adaptive());
  checks(world).expect_no_repetition_on_a_slow_path();
}

// Without a configured back-off the second wait is the configured one all the same: a peer is given up no
// sooner.
TEST(RoceAdaptiveTimeout, GivesAPeerUpNoSooner) {
  RoceConfig config = adaptive();
  config.backoff_limit = 0;
  RocePair world(config);
  AdaptiveTimeouts fast = checks(world);
  fast.delay(microseconds(10));
  fast.write(100);
  world.pair.host(1).plugged = false;
  const TimePs begun = world.pair.now();
  world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 64));
  ASSERT_EQ(world.pair.run_until([&] { return world.pair.host(0).completions.size() == 101; }),
            test::RunEnd::kDone);
  EXPECT_FALSE(world.pair.host(0).completions.back().ok());
  EXPECT_GE(world.pair.now() - begun, ack_timeout_duration(10) * config.retry_count);
}

// The answer to a Read is many packets; the first of them ends the time that is taken.
TEST(RoceAdaptiveTimeout, ReadsGiveSamplesToo) {
  RoceConfig config = adaptive();
  config.path_mtu = 256;
  RocePair world(config);
  AdaptiveTimeouts<RoceEngine> reads{
      world.pair, [&world] { world.pair.post(0, 0, world.request(Verb::kRead, 0, 8192, 4096)); },
      [&world] { return world.pair.engine(0).counters().timeouts; }};
  reads.expect_no_repetition_on_a_slow_path();
}

TEST(RoceAdaptiveTimeout, TheFloorIsNotAboveTheFirstTimeout) {
  RoceConfig config = adaptive();
  config.timeout_floor = milliseconds(5);
  EXPECT_FALSE(check(config).ok());
  config.timeout_floor = milliseconds(4);
  EXPECT_TRUE(check(config).ok());
}

}  // namespace
}  // namespace wharf::roce
