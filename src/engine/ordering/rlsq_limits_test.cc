// SPDX-License-Identifier: Apache-2.0
// What the queue does when it is full, and what it tells about itself.
#include <gtest/gtest.h>

#include "engine/ordering/plain_requests_test_support.h"

namespace wharf::ordering {
namespace {

using enum RlsqDesign;
using Tags = std::vector<std::uint32_t>;

class EveryDesignLimits : public testing::TestWithParam<RlsqDesign> {};
INSTANTIATE_TEST_SUITE_P(Rlsq, EveryDesignLimits,
                         testing::Values(kBaseline, kReleaseAcquire, kThreadSpecific, kSpeculative,
                                         kStrictBlocking, kStrictSpeculative));

// M8: reads that cannot go on do not hold up posted writes.
TEST_P(EveryDesignLimits, PostedWriteGetsPastBlockedReads) {
  RlsqConfig config = with(GetParam());
  config.entries = 4;
  config.trackers = 4;
  config.posted_reserve = 1;
  ToyMemory toy(config);
  for (std::uint32_t tag = 1; tag <= 4; ++tag) EXPECT_TRUE(toy.accept(read(tag, tag)));
  EXPECT_FALSE(toy.accept(read(5, 5))) << "full";
  EXPECT_TRUE(toy.accept(write(6, 6, 9)));
  toy.serve(6);
  EXPECT_EQ(toy.memory[6], 9U);
  EXPECT_EQ(toy.answered(), Tags{});
}

// M9: 256 reads fit, the next one is held on the link, neither dropped nor overtaken.
TEST_P(EveryDesignLimits, FullQueueHoldsTheNextReadAndLosesNothing) {
  ToyMemory toy(with(GetParam()));
  for (std::uint32_t tag = 1; tag <= 256; ++tag) ASSERT_TRUE(toy.accept(read(tag, tag, Label::kStrong)));
  EXPECT_FALSE(toy.queue.can_accept(read(257, 257)));
  EXPECT_FALSE(toy.accept(read(257, 257)));
  EXPECT_EQ(toy.queue.statistics().refused_for_entries, 1U);
  for (std::uint32_t tag = 1001; tag <= 1016; ++tag) {
    EXPECT_TRUE(toy.accept(write(tag, tag, 1, Label::kStrong))) << "reserved for posted writes";
  }
  EXPECT_FALSE(toy.accept(write(1017, 1017, 1))) << "and no more";
  toy.serve_all();
  EXPECT_TRUE(toy.accept(read(257, 257)));
  toy.serve_all();
  EXPECT_EQ(toy.answered().size(), 257U);
  EXPECT_EQ(toy.answered().back(), 257U);
  EXPECT_TRUE(toy.queue.is_idle());
  EXPECT_EQ(toy.queue.statistics().entries_max, 272U);
}

TEST_P(EveryDesignLimits, TrackersLimitDifferentLinesOnly) {
  RlsqConfig config = with(GetParam());
  config.trackers = 2;
  ToyMemory toy(config);
  EXPECT_TRUE(toy.accept(read(1, 1)));
  EXPECT_TRUE(toy.accept(read(2, 2)));
  EXPECT_FALSE(toy.accept(read(3, 3)));
  EXPECT_TRUE(toy.accept(read(3, 2)));
  EXPECT_EQ(toy.queue.statistics().refused_for_trackers, 1U);
  toy.serve_all();
  EXPECT_EQ(toy.answered().size(), 3U);
}

TEST(RlsqCreate, RefusesImpossibleSizes) {
  RlsqConfig config;
  config.entries = 0;
  EXPECT_EQ(Rlsq::create(config).error().message, "rlsq: entries = 0, expected 1 to 16384");
  config.entries = 256;
  config.trackers = 20000;
  EXPECT_EQ(Rlsq::create(config).error().message, "rlsq: trackers = 20000, expected 1 to 16384");
  config.trackers = 256;
  config.posted_reserve = 0;
  EXPECT_EQ(
      Rlsq::create(config).error().message,
      "rlsq: posted_reserve = 0, expected 1 to 8192 (posted writes must always get past reads that wait)");
}

TEST(RlsqReport, SaysWhoWaitsForWhom) {
  ToyMemory toy(with(kThreadSpecific));
  toy.accept(read(1, 0x10, Label::kAcquire, 3));
  toy.accept(write(2, 0x20, 1, Label::kRelease, 3));
  toy.accept(read(3, 0x20, Label::kRelaxed, 4));
  std::vector<std::string> lines;
  toy.queue.who_waits(lines);
  EXPECT_EQ(
      lines,
      (std::vector<std::string>{
          "requester 0 thread 3, acquire read 1 of line 0x10: its line is being read",
          "requester 0 thread 3, release write 2 of line 0x20: waits for acquire read 1 of line 0x10; owns "
          "nothing",
          "requester 0 thread 4, relaxed read 3 of line 0x20: waits for release write 2 of line 0x20"}));
}

TEST(RlsqState, IsTheSameForEqualFuturesAndUnequalPasts) {
  for (const RlsqDesign design : {kBaseline, kThreadSpecific, kSpeculative}) {
    ToyMemory left(with(design));
    ToyMemory right(with(design));
    // The right one has a past: other slots, other numbers, other counters.
    for (std::uint32_t tag = 50; tag < 55; ++tag) right.accept(read(tag, tag, Label::kStrong, tag));
    right.accept(write(60, 3, 9, Label::kRelease, 2));
    right.serve_all();
    right.memory.clear();
    const auto state_of = [](const ToyMemory& toy) {
      std::vector<std::byte> state;
      toy.queue.append_state(state);
      return state;
    };
    EXPECT_EQ(state_of(left), state_of(right));
    std::uint64_t number = 100;
    for (ToyMemory* toy : {&left, &right}) {
      Request acquire = read(1, 10, Label::kAcquire, 2);
      acquire.number = number++;
      toy->accept(acquire);
      Request data = read(2, 20, Label::kRelaxed, 2);
      data.number = number++;
      toy->accept(data);
      toy->accept(write(3, 20, 5, Label::kRelease, 2));
    }
    EXPECT_EQ(state_of(left), state_of(right));
    left.order_line(10);
    left.arrive_line(10);
    EXPECT_NE(state_of(left), state_of(right));
    // A copy has the same future, and leaves the original alone.
    const std::vector<std::byte> before = state_of(right);
    ToyMemory copy = right;
    copy.serve_all();
    EXPECT_EQ(state_of(right), before);
    right.serve_all();
    EXPECT_EQ(state_of(right), state_of(copy));
  }
}

}  // namespace
}  // namespace wharf::ordering
