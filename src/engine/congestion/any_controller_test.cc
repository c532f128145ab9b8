// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/any_controller.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace wharf::congestion {
namespace {

TEST(AnyController, RefusesWhatTheChosenControllerRefuses) {
  const ControllerConfig config = ConstantWindowConfig{.packets = 0};
  const auto made = AnyController::create(config);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "packets is 0, expected at least 1");
}

RC_GTEST_PROP(AnyController, AnswersLikeTheControllerInside, (std::uint8_t drawn_packets)) {
  const ConstantWindowConfig config{.packets = drawn_packets % 8U + 1U};
  const ControllerConfig chosen = config;
  AnyController any = AnyController::create(chosen).value();
  ConstantWindow plain(config);
  std::uint32_t in_flight = 0;
  for (std::int64_t step = 0; step < 100; ++step) {
    const TimePs now = nanoseconds(step);
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
      case 1:
        RC_ASSERT(any.permits(64) == plain.permits(64));
        if (!any.permits(64)) break;
        any.on_send(now, {.window_bytes = 64});
        plain.on_send(now, {.window_bytes = 64});
        ++in_flight;
        break;
      case 2: {
        const auto packets = *rc::gen::inRange<std::uint32_t>(0, in_flight + 1);
        any.on_acknowledgement(now, {.confirmed = {packets, packets * 64ULL}});
        plain.on_acknowledgement(now, {.confirmed = {packets, packets * 64ULL}});
        in_flight -= packets;
        break;
      }
      default:
        if (in_flight == 0) break;
        any.on_loss(now, {.lost = {1, 64}});
        plain.on_loss(now, {.lost = {1, 64}});
        --in_flight;
    }
    any.expire(now);
    RC_ASSERT(any.as<ConstantWindow>()->in_flight() == in_flight);
    RC_ASSERT(plain.in_flight() == in_flight);
    RC_ASSERT(any.next_send() == plain.next_send());
    RC_ASSERT(any.deadline() == plain.deadline());
  }
}

}  // namespace
}  // namespace wharf::congestion
