// SPDX-License-Identifier: Apache-2.0
// Booked time serves requests by readiness and never gives one instant twice.
#include "sim/kernel/booked_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace wharf::sim {
namespace {

TEST(BookedTime, InOrderItIsAQueue) {
  BookedTime booked;
  EXPECT_EQ(booked.take(kTimeZero, nanoseconds(5)), kTimeZero);
  EXPECT_EQ(booked.take(nanoseconds(2), nanoseconds(5)), nanoseconds(5));
  EXPECT_EQ(booked.take(nanoseconds(30), nanoseconds(5)), nanoseconds(30));
  EXPECT_EQ(booked.take(nanoseconds(1), kTimeZero), nanoseconds(1)) << "nothing takes no room";
}

TEST(BookedTime, WhatIsReadyEarlierTakesTheFirstGapThatIsLongEnough) {
  BookedTime booked;
  for (const int at : {100, 110, 130}) (void)booked.take(nanoseconds(at), nanoseconds(5));
  EXPECT_EQ(booked.take(nanoseconds(104), nanoseconds(6)), nanoseconds(115));
  EXPECT_EQ(booked.take(nanoseconds(104), nanoseconds(5)), nanoseconds(105));
  EXPECT_EQ(booked.take(nanoseconds(101), nanoseconds(9)), nanoseconds(121));
  EXPECT_EQ(booked.take(nanoseconds(101), nanoseconds(1)), nanoseconds(135)) << "until then all is taken";
  EXPECT_EQ(booked.take(nanoseconds(10), nanoseconds(90)), nanoseconds(10));
}

TEST(BookedTime, AFilledGapMakesOneOfItsNeighbours) {
  // 64 stretches are kept. Were the 30 gaps that are filled still borders, the first ones would be forgotten.
  BookedTime booked;
  for (int i = 0; i < 60; ++i) (void)booked.take(nanoseconds(1000 + 10 * i), nanoseconds(5));
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(booked.take(nanoseconds(1005 + 10 * i), nanoseconds(5)), nanoseconds(1005 + 10 * i));
  }
  for (int i = 60; i < 90; ++i) (void)booked.take(nanoseconds(1000 + 10 * i), nanoseconds(5));
  EXPECT_EQ(booked.take(nanoseconds(500), nanoseconds(5)), nanoseconds(500)) << "nothing is forgotten";
  EXPECT_EQ(booked.take(nanoseconds(1000), nanoseconds(5)), nanoseconds(1305));
}

TEST(BookedTime, BeforeTheEndOfWhatIsForgottenAllIsTaken) {
  BookedTime booked;
  // Of a hundred stretches the first 36 are forgotten, the last of them from 350 to 355.
  for (int i = 0; i < 100; ++i) (void)booked.take(nanoseconds(10 * i), nanoseconds(5));
  EXPECT_EQ(booked.take(nanoseconds(12), nanoseconds(3)), nanoseconds(355));
  EXPECT_EQ(booked.take(nanoseconds(12), nanoseconds(3)), nanoseconds(365)) << "358 to 360 is too short";
  EXPECT_EQ(booked.take(nanoseconds(12), nanoseconds(2)), nanoseconds(358));
}

// However many are booked, and however far back.
RC_GTEST_PROP(BookedTime, NoInstantIsGivenTwice, ()) {
  BookedTime booked;
  std::vector<std::pair<TimePs, TimePs>> taken;
  const int count = *rc::gen::inRange(0, 400);
  for (int i = 0; i < count; ++i) {
    const TimePs ready = picoseconds(*rc::gen::inRange<std::int64_t>(0, 4000));
    const TimePs length = picoseconds(*rc::gen::inRange<std::int64_t>(1, 9));
    const TimePs begin = booked.take(ready, length);
    RC_ASSERT(begin >= ready);
    taken.emplace_back(begin, begin + length);
  }
  std::sort(taken.begin(), taken.end());
  for (std::size_t i = 1; i < taken.size(); ++i) RC_ASSERT(taken[i - 1].second <= taken[i].first);
}

// Against a list of every stretch, as long as no more of them are known at a time than are kept.
RC_GTEST_PROP(BookedTime, TakesTheFirstFreeStretch, ()) {
  BookedTime booked;
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  const int count = *rc::gen::inRange(0, 60);
  for (int i = 0; i < count; ++i) {
    const auto ready = *rc::gen::inRange<std::int64_t>(0, 400);
    const auto length = *rc::gen::inRange<std::int64_t>(1, 9);
    std::int64_t begin = ready;
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto& [from, to] : taken) {
        if (begin >= to || begin + length <= from) continue;
        begin = to;
        moved = true;
      }
    }
    taken.emplace_back(begin, begin + length);
    RC_ASSERT(booked.take(picoseconds(ready), picoseconds(length)) == picoseconds(begin));
  }
}

}  // namespace
}  // namespace wharf::sim
