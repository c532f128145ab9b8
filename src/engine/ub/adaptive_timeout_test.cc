// SPDX-License-Identifier: Apache-2.0
// The RTO that follows the round trips. Choice: UB-Base 2.0.1 6.4.3 leaves the base to the implementation.
#include "tests/support/adaptive_timeouts.h"
#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using test::AdaptiveTimeouts;
using verbs::Verb;

UbConfig adaptive(LossRecovery recovery = LossRecovery::kSelective) {
  UbConfig config;
  config.recovery = recovery;
  config.retransmission = {
      .base = test::kAdaptiveBase, .cap = milliseconds(512), .floor = test::kAdaptiveFloor};
  return config;
}

AdaptiveTimeouts<UbEngine> checks(World& world) {
  return {world.pair(), [&world] { world.post(world.request(Verb::kWrite, 64)); },
          [&world] { return world.counters(0).timeouts; }};
}

TEST(UbAdaptiveTimeout, FollowsTheRoundTrips) {
  for (const LossRecovery recovery : {LossRecovery::kSelective, LossRecovery::kGoBackN}) {
    World world(adaptive(recovery));
    checks(world).expect_short_waits_on_a_fast_path();
  }
}

TEST(UbAdaptiveTimeout, LearnsASlowPath) {
  World world(adaptive());
  checks(world).expect_no_repetition_on_a_slow_path();
}

TEST(UbAdaptiveTimeout, AFixedOneRepeatsOnASlowPathEachTime) {
  UbConfig config = adaptive();
  config.retransmission.floor = kTimeZero;
  World world(config);
  AdaptiveTimeouts fixed = checks(world);
  fixed.delay(milliseconds(20));
  fixed.write(10);
  EXPECT_EQ(fixed.timeouts(), 30u) << "after 4, 12 and 28 ms of 40, each time";
}

// Samples are taken of streams too, which never leave the channel empty.
TEST(UbAdaptiveTimeout, FollowsAStream) {
  World world(adaptive());
  world.pair().wire().options().delay = milliseconds(10);
  for (int i = 0; i < 64; ++i) world.post(world.request(Verb::kWrite, 4096));
  std::size_t seen = 0;
  const auto keep_full = [&] {
    for (; seen < world.pair().host(0).completions.size() && seen < 2000; ++seen)
      world.post(world.request(Verb::kWrite, 4096));
    return seen >= 2000;
  };
  ASSERT_EQ(world.pair().run_until(keep_full), test::RunEnd::kDone);
  const std::uint64_t learnt = world.counters(0).timeouts;
  seen = 0;
  world.run();
  EXPECT_EQ(world.counters(0).timeouts, learnt);
  for (const verbs::Completion& each : world.pair().host(0).completions) EXPECT_TRUE(each.ok());
}

TEST(UbAdaptiveTimeout, GivesUpNoSooner) {
  UbConfig config = adaptive();
  World world(config);
  AdaptiveTimeouts near = checks(world);
  near.write(50);
  const TimePs begun = world.now();
  world.pair().host(1).plugged = false;
  const verbs::Completion failed = world.finish(world.request(Verb::kWrite, 64));
  EXPECT_EQ(failed.status, verbs::CompletionStatus::kRetryExhausted);
  EXPECT_GE(world.now() - begun, milliseconds(8 + 16 + 32 + 64 + 128 + 256 + 512));
}

TEST(UbAdaptiveTimeout, TheFloorIsNotAboveTheBase) {
  UbConfig config = adaptive();
  config.retransmission.floor = milliseconds(5);
  EXPECT_FALSE(validate(config).ok());
  config.retransmission.floor = milliseconds(4);
  EXPECT_TRUE(validate(config).ok());
}

}  // namespace
}  // namespace wharf::ub
