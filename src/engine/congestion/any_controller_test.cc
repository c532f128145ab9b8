// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/any_controller.h"

#include <array>

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
    RC_ASSERT(any.room() == plain.room());
    RC_ASSERT(any.next_send() == plain.next_send());
    RC_ASSERT(any.deadline() == plain.deadline());
  }
}

// Every controller: room() says of all sizes what permits() says of each, after any history.
RC_GTEST_PROP(AnyController, RoomIsWhatIsPermitted, (std::uint8_t which)) {
  const std::array<ControllerConfig, 6> all{
      ConstantWindowConfig{.packets = 3},
      DcqcnConfig{},
      CaqmConfig{},
      LdcpConfig{},
      SwiftConfig{},
      NsccConfig::for_network(gigabits_per_second(100), microseconds(12), 4204, true)};
  const ControllerConfig& chosen = all[which % all.size()];
  AnyController any = AnyController::create(chosen).value();
  AnyController same = AnyController::create(chosen).value();
  std::uint32_t in_flight = 0;
  for (std::int64_t step = 0; step < 200; ++step) {
    const TimePs now = microseconds(step);
    const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 20'000);
    if (*rc::gen::inRange(0, 3) > 0 && any.permits(bytes)) {
      std::int64_t room = 0;
      const Departure departure{.window_bytes = bytes, .wire_bytes = bytes};
      const PacketRequest asked = any.on_send(now, departure, room);
      const PacketRequest same_asked = same.on_send(now, departure);
      RC_ASSERT(room == any.room());
      RC_ASSERT(asked.acknowledge == same_asked.acknowledge);
      RC_ASSERT(asked.grant_bytes == same_asked.grant_bytes);
      ++in_flight;
    } else if (in_flight > 0) {
      Acknowledgement told;
      told.confirmed = {1, bytes};
      told.marked = *rc::gen::inRange(0U, 2U);
      told.round_trip = microseconds(*rc::gen::inRange(5, 60));
      any.on_acknowledgement(now, told);
      same.on_acknowledgement(now, told);
      --in_flight;
    }
    RC_ASSERT(any.room() == same.room());
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, bytes, std::uint64_t{1} << 40U})
      RC_ASSERT(any.permits(size) == (static_cast<std::int64_t>(size) <= any.room()));
  }
}

}  // namespace
}  // namespace wharf::congestion
