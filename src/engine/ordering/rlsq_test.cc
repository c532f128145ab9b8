// SPDX-License-Identifier: Apache-2.0
// The rules of each design, one by one ("Efficient Remote Memory Ordering for Non-Coherent
// Interconnects" 5.1), and the limits of the queue. What snoops do is in rlsq_snoop_test.cc.
#include "engine/ordering/rlsq.h"

#include <gtest/gtest.h>

#include "engine/ordering/plain_requests_test_support.h"

namespace wharf::ordering {
namespace {

using enum RlsqDesign;
using Tags = std::vector<std::uint32_t>;

class EveryDesign : public testing::TestWithParam<RlsqDesign> {};
INSTANTIATE_TEST_SUITE_P(Rlsq, EveryDesign,
                         testing::Values(kBaseline, kReleaseAcquire, kThreadSpecific, kSpeculative,
                                         kStrictBlocking, kStrictSpeculative));

// Baseline: reads overlap freely and are answered as their data come.
TEST(RlsqBaseline, ReadsOverlapAndAnswerAsTheyComplete) {
  ToyMemory toy(with(kBaseline));
  toy.accept(read(1, 10, Label::kStrong));
  toy.accept(read(2, 20, Label::kAcquire));
  toy.accept(read(3, 30, Label::kStrong));
  EXPECT_EQ(toy.sent.size(), 3U);
  toy.serve(30);
  toy.serve(10);
  EXPECT_EQ(toy.answered(), (Tags{3, 1}));
}

TEST(RlsqBaseline, AnswersInOrderWhenAskedTo) {
  RlsqConfig config = with(kBaseline);
  config.answers_in_order = true;
  ToyMemory toy(config);
  toy.accept(read(1, 10));
  toy.accept(read(2, 20));
  toy.serve(20);
  EXPECT_EQ(toy.answered(), Tags{});
  toy.serve(10);
  EXPECT_EQ(toy.answered(), (Tags{1, 2}));
}

TEST(RlsqBaseline, ReadWaitsUntilEarlierWritesArePerformed) {
  ToyMemory toy(with(kBaseline));
  toy.accept(write(1, 10, 5, Label::kStrong));
  toy.accept(read(2, 20, Label::kStrong));
  EXPECT_TRUE(toy.is_asked(10));
  EXPECT_FALSE(toy.is_asked(20));
  toy.serve(10);
  EXPECT_TRUE(toy.is_asked(20));
}

TEST(RlsqBaseline, OwnershipIsAskedForInParallelAndWritesArePerformedInOrder) {
  ToyMemory toy(with(kBaseline));
  toy.accept(write(1, 10, 5, Label::kStrong));
  toy.accept(write(2, 20, 6, Label::kStrong));
  EXPECT_TRUE(toy.is_asked(10));
  EXPECT_TRUE(toy.is_asked(20));
  toy.serve(20);
  EXPECT_TRUE(toy.writes.empty()) << "nothing is visible before its turn";
  toy.serve(10);
  ASSERT_EQ(toy.writes.size(), 2U);
  EXPECT_EQ(toy.writes[0].line, 10U);
}

TEST(RlsqBaseline, RelaxedOrderingWritesPassEarlierOnes) {
  ToyMemory toy(with(kBaseline));
  toy.accept(write(1, 10, 5, Label::kStrong));
  toy.accept(write(2, 20, 6, Label::kRelaxedOrdering));
  toy.serve(20);
  EXPECT_EQ(toy.memory[20], 6U);
  EXPECT_EQ(toy.memory[10], 0U);
}

TEST(RlsqBaseline, IdBasedWritesPassThoseOfOtherRequesters) {
  ToyMemory toy(with(kBaseline));
  toy.accept(write(1, 10, 5, Label::kStrong));
  Request other = write(2, 20, 6, Label::kIdBased);
  other.domain.requester = 9;
  toy.accept(other);
  toy.accept(write(3, 30, 7, Label::kIdBased));
  toy.serve(20);
  EXPECT_EQ(toy.memory[20], 6U);
  toy.serve(30);
  EXPECT_EQ(toy.memory[30], 0U) << "its own requester's write is first";
}

TEST(RlsqBaseline, WritesAreDoneThoughEarlierReadsAreNot) {
  ToyMemory toy(with(kBaseline));
  toy.accept(read(1, 10, Label::kAcquire));
  toy.accept(write(2, 20, 6, Label::kRelease));
  toy.serve(20);
  EXPECT_EQ(toy.memory[20], 6U);
}

TEST(RlsqReleaseAcquire, NothingLaterIsSentBeforeAnAcquireIsComplete) {
  ToyMemory toy(with(kReleaseAcquire));
  toy.accept(read(1, 10, Label::kAcquire));
  toy.accept(read(2, 20));
  toy.accept(write(3, 30, 6));
  toy.accept(read(4, 40, Label::kRelaxed, 7));
  EXPECT_EQ(toy.sent.size(), 1U) << "all threads are one domain";
  toy.serve(10);
  EXPECT_EQ(toy.sent.size(), 3U);
}

TEST(RlsqReleaseAcquire, AfterAnAcquireAllUpToTheNextOneAreSent) {
  ToyMemory toy(with(kReleaseAcquire));
  toy.accept(read(1, 10, Label::kAcquire));
  toy.accept(read(2, 20));
  toy.accept(read(3, 30, Label::kAcquire));
  toy.accept(read(4, 40));
  toy.serve(10);
  EXPECT_TRUE(toy.is_asked(20));
  EXPECT_TRUE(toy.is_asked(30));
  EXPECT_FALSE(toy.is_asked(40));
  toy.serve(30);
  EXPECT_TRUE(toy.is_asked(40));
  EXPECT_EQ(toy.answered(), (Tags{1, 3})) << "the acquire does not wait for the relaxed read before it";
}

TEST(RlsqReleaseAcquire, ReleaseWaitsForReadsAndPerformedWrites) {
  ToyMemory toy(with(kReleaseAcquire));
  toy.performs_at_once = false;
  toy.accept(read(1, 10));
  toy.accept(write(2, 20, 5));
  toy.accept(write(3, 30, 6, Label::kRelease));
  toy.serve(10);
  toy.serve(20);
  EXPECT_FALSE(toy.is_asked(30)) << "owned is not performed";
  ASSERT_TRUE(toy.take_perform());
  toy.finish_perform(20);
  EXPECT_TRUE(toy.is_asked(30));
}

TEST(RlsqReleaseAcquire, RelaxedRequestsAreSentTogether) {
  ToyMemory toy(with(kReleaseAcquire));
  toy.accept(write(1, 10, 5));
  toy.accept(read(2, 20));
  toy.accept(write(3, 30, 5));
  EXPECT_EQ(toy.sent.size(), 3U);
  toy.serve(30);
  EXPECT_EQ(toy.memory[30], 5U);
}

// L14: an acquire of one thread stalls the others only where they are one domain.
TEST(RlsqThreadSpecific, OtherThreadsDoNotWait) {
  for (const RlsqDesign design : {kReleaseAcquire, kThreadSpecific, kSpeculative}) {
    ToyMemory toy(with(design));
    toy.accept(read(1, 10, Label::kAcquire, 1));
    toy.accept(read(2, 20, Label::kRelaxed, 2));
    EXPECT_EQ(toy.is_asked(20), design != kReleaseAcquire);
    if (toy.is_asked(20)) toy.serve(20);
    EXPECT_EQ(toy.answered(), design == kReleaseAcquire ? Tags{} : Tags{2});
  }
}

TEST(RlsqSpeculative, EverythingIsSentAtOnceAndTakesEffectInOrder) {
  ToyMemory toy(with(kSpeculative));
  toy.accept(read(1, 10, Label::kAcquire));
  toy.accept(read(2, 20));
  toy.accept(read(3, 30, Label::kAcquire));
  toy.accept(write(4, 40, 6));
  EXPECT_EQ(toy.sent.size(), 4U);
  EXPECT_EQ(toy.sent[0].request.operation, MemoryOperation::kRead) << "its turn has come: final on arrival";
  EXPECT_EQ(toy.sent[1].request.operation, MemoryOperation::kReadTracked);
  toy.serve(20);
  toy.serve(30);
  toy.serve(40);
  EXPECT_EQ(toy.answered(), Tags{});
  EXPECT_TRUE(toy.writes.empty());
  toy.serve(10);
  EXPECT_EQ(toy.answered(), (Tags{1, 2, 3}));
  EXPECT_EQ(toy.memory[40], 6U);
}

TEST(RlsqSpeculative, TrackingEndsWhenTheValueIsUsed) {
  ToyMemory toy(with(kSpeculative));
  toy.accept(read(1, 10, Label::kAcquire));
  toy.accept(read(2, 20));
  toy.serve(20);
  EXPECT_EQ(toy.tracked.count(20), 1U);
  toy.serve(10);
  ASSERT_TRUE(toy.is_asked(20));
  EXPECT_EQ(toy.sent[0].request.operation, MemoryOperation::kDrop);
  toy.order(0);
  EXPECT_TRUE(toy.tracked.empty());
  EXPECT_TRUE(toy.queue.is_idle());
}

// Write to release: the ownership of the release is fetched while the data are written.
TEST(RlsqSpeculative, ReleaseOverlapsItsOwnershipWithEarlierWrites) {
  ToyMemory toy(with(kSpeculative));
  toy.accept(write(1, 10, 5));
  toy.accept(write(2, 20, 6, Label::kRelease));
  toy.serve(20);
  EXPECT_TRUE(toy.writes.empty());
  toy.serve(10);
  ASSERT_EQ(toy.writes.size(), 2U);
  EXPECT_EQ(toy.writes[0].line, 10U);
}

TEST(RlsqStrict, BlockingReadsOneAtATimeAcrossThreads) {
  ToyMemory toy(with(kStrictBlocking));
  toy.accept(read(1, 10, Label::kRelaxed, 1));
  toy.accept(read(2, 20, Label::kRelaxed, 2));
  toy.accept(read(3, 30, Label::kRelaxed, 3));
  EXPECT_EQ(toy.sent.size(), 1U);
  toy.serve(10);
  EXPECT_EQ(toy.sent.size(), 1U);
  toy.serve(20);
  toy.serve(30);
  EXPECT_EQ(toy.answered(), (Tags{1, 2, 3}));
}

TEST(RlsqStrict, SpeculativeReadsOverlapAndTakeEffectInOrder) {
  ToyMemory toy(with(kStrictSpeculative));
  toy.accept(read(1, 10, Label::kRelaxed, 1));
  toy.accept(read(2, 20, Label::kRelaxed, 2));
  toy.accept(read(3, 30, Label::kRelaxed, 3));
  EXPECT_EQ(toy.sent.size(), 3U);
  toy.serve(30);
  toy.serve(20);
  EXPECT_EQ(toy.answered(), Tags{});
  toy.serve(10);
  EXPECT_EQ(toy.answered(), (Tags{1, 2, 3}));
}

// L9 under total read order: writes pass reads whatever their label.
TEST(RlsqStrict, WritesPassReads) {
  for (const RlsqDesign design : {kStrictBlocking, kStrictSpeculative}) {
    ToyMemory toy(with(design));
    toy.accept(read(1, 10, Label::kAcquire));
    toy.accept(write(2, 20, 6, Label::kRelease));
    toy.serve(20);
    EXPECT_EQ(toy.memory[20], 6U);
  }
}

TEST(RlsqAscending, LinesTakeEffectFromTheLowestUpward) {
  for (const RlsqDesign design : {kReleaseAcquire, kThreadSpecific, kSpeculative}) {
    ToyMemory toy(with(design));
    for (std::uint32_t i = 0; i < 3; ++i) {
      Request line = read(i + 1, 10 + i, Label::kAscending);
      line.number = 1;
      line.is_first = i == 0;
      line.is_last = i == 2;
      toy.accept(line);
    }
    Request other = read(9, 50, Label::kAscending);
    other.number = 2;
    toy.accept(other);
    toy.serve(50);
    EXPECT_EQ(toy.answered(), Tags{9}) << "requests are not ordered among themselves";
    if (design == kSpeculative) {
      toy.serve(12);
      toy.serve(11);
      EXPECT_EQ(toy.answered(), Tags{9});
    }
    toy.serve_all();
    EXPECT_EQ(toy.answered(), (Tags{9, 1, 2, 3}));
  }
}

TEST(RlsqReadRelease, WaitsForEarlierReadsButNotForWrites) {
  ToyMemory toy(with(kThreadSpecific));
  toy.accept(write(1, 5, 1));
  toy.accept(read(2, 10));
  toy.accept(read(3, 20));
  toy.accept(read(4, 30, Label::kReadRelease));
  EXPECT_FALSE(toy.is_asked(30));
  toy.serve(20);
  EXPECT_FALSE(toy.is_asked(30));
  toy.serve(10);
  EXPECT_TRUE(toy.is_asked(30));
}

// M10: an acquire is complete when all its lines are.
TEST(RlsqAcquire, OfSeveralLinesEndsWithItsLastOne) {
  for (const RlsqDesign design : {kReleaseAcquire, kThreadSpecific, kSpeculative}) {
    ToyMemory toy(with(design));
    for (std::uint32_t i = 0; i < 3; ++i) {
      Request line = read(i + 1, 10 + i, Label::kAcquire);
      line.number = 1;
      line.is_first = i == 0;
      line.is_last = i == 2;
      toy.accept(line);
    }
    toy.accept(read(9, 50));
    EXPECT_TRUE(toy.is_asked(12)) << "its lines are not ordered among themselves";
    if (toy.is_asked(50)) toy.serve(50);
    toy.serve(12);
    toy.serve(10);
    EXPECT_EQ(toy.answered(), (Tags{3, 1}));
    toy.serve(11);
    toy.serve_all();
    EXPECT_EQ(toy.answered(), (Tags{3, 1, 2, 9}));
  }
}

TEST_P(EveryDesign, AtomicReturnsTheOldValueAndWritesTheNew) {
  ToyMemory toy(with(GetParam()));
  toy.memory[10] = 40;
  Request add = read(1, 10, Label::kAcquire);
  add.kind = Kind::kAtomic;
  add.mask = byte_mask(0, 8);
  add.atomic = verbs::Verb::kFetchAdd;
  add.operand = {2, 0};
  toy.accept(add);
  add.tag = 2;
  add.number = 2;
  add.atomic = verbs::Verb::kCompareSwap;
  add.operand = {7, 0};
  add.compare = {42, 0};
  toy.accept(add);
  add.tag = 3;
  add.number = 3;
  add.compare = {1000, 0};
  toy.accept(add);
  toy.serve_all();
  EXPECT_EQ(toy.response_of(1)->old_value[0], 40U);
  EXPECT_EQ(toy.response_of(2)->old_value[0], 42U);
  EXPECT_EQ(toy.response_of(3)->old_value[0], 7U);
  EXPECT_EQ(toy.memory[10], 7U);
}

// M5: a read sees the earlier write of its line, and not a later one.
TEST_P(EveryDesign, OwnWritesAndReadsOfOneLineKeepTheirOrder) {
  ToyMemory toy(with(GetParam()));
  toy.memory[10] = 1;
  toy.accept(read(1, 10));
  toy.accept(write(2, 10, 2));
  toy.accept(read(3, 10));
  toy.accept(write(4, 10, 3));
  toy.serve_all();
  EXPECT_EQ(toy.word_read(1), 1U);
  EXPECT_EQ(toy.word_read(3), 2U);
  EXPECT_EQ(toy.memory[10], 3U);
  EXPECT_TRUE(toy.queue.is_idle());
}

TEST(RlsqSpeculative, ReadsOfAWatchedLineShareOneMemoryRead) {
  ToyMemory toy(with(kStrictSpeculative));
  toy.accept(read(1, 10));
  for (std::uint32_t tag = 2; tag <= 9; ++tag) toy.accept(read(tag, 20));
  EXPECT_EQ(toy.sent.size(), 2U);
  toy.serve(20);
  toy.accept(read(10, 20));
  EXPECT_EQ(toy.sent.size(), 1U) << "the value is here and watched";
  toy.serve_all();
  EXPECT_EQ(toy.answered().size(), 10U);
  EXPECT_EQ(toy.queue.statistics().merged_reads, 8U);
}

// A read must not share one that was sent before it, unless snoops would tell: the device may know by now
// that the line has changed (another thread's read, and then an acquire of its own).
TEST(RlsqBaseline, ReadDoesNotShareAnOlderOneOfAnotherThread) {
  for (const RlsqDesign design : {kBaseline, kReleaseAcquire, kThreadSpecific, kSpeculative}) {
    ToyMemory toy(with(design));
    toy.accept(read(1, 20, Label::kRelaxed, 1));
    toy.order_line(20);
    toy.host_write(20, 5);
    toy.host_write(30, 6);
    toy.accept(read(2, 30, Label::kAcquire, 2));
    toy.serve(30);
    ASSERT_EQ(toy.word_read(2), 6U);
    toy.accept(read(3, 20, Label::kRelaxed, 2));
    toy.serve_all();
    EXPECT_EQ(toy.word_read(1), 0U);
    EXPECT_EQ(toy.word_read(3), 5U);
  }
}

// L13.
TEST_P(EveryDesign, TwoReadsOfOneLineNeverSeeItGoBack) {
  ToyMemory toy(with(GetParam()));
  toy.accept(write(1, 10, 1, Label::kStrong));
  toy.accept(read(2, 20, Label::kStrong));
  toy.accept(read(3, 20, Label::kRelaxed));
  if (toy.is_asked(20)) toy.serve(20);
  toy.host_write(20, 7);
  toy.serve_all();
  ASSERT_NE(toy.response_of(2), nullptr);
  ASSERT_NE(toy.response_of(3), nullptr);
  EXPECT_LE(toy.word_read(2), toy.word_read(3));
}

}  // namespace
}  // namespace wharf::ordering
