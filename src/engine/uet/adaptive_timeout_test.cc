// SPDX-License-Identifier: Apache-2.0
// The RTO that follows the round trips. Choice: UE 1.0 3.5 has RTO_Init_Time alone.
#include "tests/support/adaptive_timeouts.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using test::AdaptiveTimeouts;
using verbs::Verb;

UetConfig adaptive(verbs::Delivery delivery) {
  UetConfig config;
  config.congestion = CongestionControl::kNone;
  config.one_sided_delivery = delivery;
  config.rto_init = test::kAdaptiveBase;
  config.rto_cap = milliseconds(512);
  config.max_rto_retries = 7;
  config.rto_floor = test::kAdaptiveFloor;
  config.idle_timeout = kTimeZero;
  return config;
}

AdaptiveTimeouts<UetEngine> checks(World& world) {
  return {world.pair(), [&world] { world.post(world.request(Verb::kWrite, 64)); },
          [&world] { return world.counters(0).timeouts; }};
}

class UetAdaptiveTimeout : public ::testing::TestWithParam<verbs::Delivery> {};

TEST_P(UetAdaptiveTimeout, FollowsTheRoundTrips) {
  World world(adaptive(GetParam()));
  checks(world).expect_short_waits_on_a_fast_path();
}

TEST_P(UetAdaptiveTimeout, LearnsASlowPath) {
  World world(adaptive(GetParam()));
  checks(world).expect_no_repetition_on_a_slow_path();
}

// Many packets expire together: the RTO is lengthened once for all of them.
TEST_P(UetAdaptiveTimeout, OneOutageLengthensItOnce) {
  World world(adaptive(GetParam()));
  AdaptiveTimeouts timeouts = checks(world);
  timeouts.delay(microseconds(10));
  timeouts.write(100);
  world.pair().host(1).plugged = false;
  world.post(world.request(Verb::kWrite, 16 * 4096));
  world.pass(milliseconds(1));
  // With Go-Back-N the oldest speaks for all.
  EXPECT_EQ(world.counters(0).timeouts, GetParam() == verbs::Delivery::kOrdered ? 1u : 16u);
  world.pair().host(1).plugged = true;
  const TimePs before = world.now();
  ASSERT_EQ(world.pair().run_until([&] { return world.completions(0).size() == 101; }), test::RunEnd::kDone);
  EXPECT_LT(world.now() - before, milliseconds(12))
      << "twice the first one, not as often as there are packets";
}

INSTANTIATE_TEST_SUITE_P(Both, UetAdaptiveTimeout,
                         ::testing::Values(verbs::Delivery::kUnordered, verbs::Delivery::kOrdered),
                         [](const auto& which) {
                           return which.param == verbs::Delivery::kOrdered ? "Ordered" : "Unordered";
                         });

}  // namespace
}  // namespace wharf::uet
