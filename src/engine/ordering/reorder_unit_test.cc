// SPDX-License-Identifier: Apache-2.0
// "Stop Taking the Scenic Route" (HotOS '25), 3.1 to 3.4: the paper's steps, every case it leaves open
// (numbered as in the header), and any bounded change of places as a property.
#include "engine/ordering/reorder_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "engine/ordering/mmio_random_run_test_support.h"
#include "engine/ordering/reorder_unit_reuse.h"

namespace wharf::ordering {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

using Bytes = std::vector<std::byte>;

/// A unit with one address window that is easy to write to, and what came out of it.
struct Bench {
  explicit Bench(const ReorderUnitConfig& given) : config(given), unit(given), into(given.buffer_bytes) {}

  /// Writes `bytes` from `offset` on, cut at lines, wrapping around the window.
  ReorderedWrite write(std::uint32_t offset, const Bytes& bytes, std::uint32_t queue = 0) {
    auto result = ReorderedWrite::kTaken;
    for (std::size_t done = 0; done < bytes.size();) {
      const auto at = static_cast<std::uint32_t>(offset + done) % config.window_bytes;
      const std::size_t count = std::min<std::size_t>(kLineBytes - at % kLineBytes, bytes.size() - done);
      result = unit.write(queue, at, std::span(bytes).subspan(done, count));
      done += count;
    }
    return result;
  }
  /// Offset and length of every message that is complete.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> messages() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    while (unit.next_message(last, into)) {
      found.emplace_back(last.offset, last.length);
      unit.transmitted(last.length);
    }
    return found;
  }

  ReorderUnitConfig config;
  ReorderUnit unit;
  Bytes into;
  ReorderedMessage last;
};

ReorderUnitConfig small() {
  ReorderUnitConfig config;
  config.window_bytes = 4096;
  return config;
}

Bytes part(const Bytes& bytes, std::size_t from, std::size_t to) {
  return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(from),
               bytes.begin() + static_cast<std::ptrdiff_t>(to));
}

// A byte of the window that the data buffer has no place for is not the one that lies in the place.
TEST(ReorderUnit, WhatLiesBehindTheReachReadsAsZero) {
  ReorderUnitConfig config = small();
  config.buffer_bytes = 1024;
  Bench bench(config);
  ASSERT_EQ(bench.unit.reach(), 1024U);
  const Bytes begun = part(length_message(100, 7), 0, 64);
  bench.write(0, begun);
  Bytes out(65);
  bench.unit.read(0, 1023, out);
  EXPECT_EQ(out, Bytes(65));
  bench.unit.read(0, 0, out);
  EXPECT_EQ(part(out, 0, 64), begun);
}

// 3.1: complete when every byte from the first to the last is there; then the address register moves on.
TEST(ReorderUnit, AMessageIsCompleteWithItsLastByte) {
  Bench bench(small());
  const Bytes bytes = length_message(100, 7);
  bench.write(0, part(bytes, 0, 99));
  EXPECT_THAT(bench.messages(), IsEmpty());
  EXPECT_EQ(bench.unit.length_address(0), 0U);
  EXPECT_EQ(bench.unit.first_missing(0), 99U);
  bench.write(99, part(bytes, 99, 100));
  EXPECT_THAT(bench.messages(), ElementsAre(Pair(0, 100)));
  EXPECT_EQ(part(bench.into, 0, 100), bytes);
  EXPECT_EQ(bench.unit.length_address(0), 100U);
  EXPECT_EQ(bench.unit.first_missing(0), std::nullopt);
}

// 3.1: one write can complete several messages, each handed on once, in the order of their addresses.
TEST(ReorderUnit, LaterMessagesWaitForTheOldest) {
  Bench bench(small());
  bench.write(64, length_message(64, 2));
  bench.write(128, length_message(64, 3));
  EXPECT_THAT(bench.messages(), IsEmpty());
  bench.write(0, length_message(64, 1));
  EXPECT_THAT(bench.messages(), ElementsAre(Pair(0, 64), Pair(64, 64), Pair(128, 64)));
}

// 3.1: the length field stands at p in every message.
TEST(ReorderUnit, TheLengthFieldStandsAtItsOffset) {
  ReorderUnitConfig config = small();
  config.length_offset = 5;
  Bench bench(config);
  EXPECT_EQ(bench.unit.length_address(0), 5U);
  bench.write(0, length_message(30, 1, 5));
  bench.write(30, length_message(40, 2, 5));
  EXPECT_THAT(bench.messages(), ElementsAre(Pair(0, 30), Pair(30, 40)));
  EXPECT_EQ(bench.unit.length_address(0), 75U);
}

// 3.2: two cycles per message.
TEST(ReorderUnit, TakesTwoCyclesPerMessage) {
  Bench bench(small());
  for (std::uint32_t i = 0; i < 3; ++i) bench.write(64 * i, length_message(64, 1));
  bench.messages();
  EXPECT_EQ(bench.unit.cycles(), 6U);
}

// 1. The length byte arrives last.
TEST(ReorderUnit, Case1LengthLast) {
  ReorderUnitConfig config = small();
  config.length_offset = 1;
  Bench bench(config);
  const Bytes bytes = length_message(64, 9, 1);
  bench.unit.write(0, 0, bytes, ~ByteMask{2});
  EXPECT_THAT(bench.messages(), IsEmpty());
  bench.write(1, part(bytes, 1, 2));
  EXPECT_THAT(bench.messages(), ElementsAre(Pair(0, 64)));
  EXPECT_EQ(part(bench.into, 0, 64), bytes);
}

// 2. A message straddles the end of the data buffer, and of the window.
TEST(ReorderUnit, Case2WrapsAroundBufferAndWindow) {
  ReorderUnitConfig config = small();
  config.window_bytes = 1024;
  Bench bench(config);
  std::uint32_t offset = 0;
  for (std::uint8_t i = 0; i < 60; ++i) {
    const Bytes bytes = length_message(200, i);
    bench.write(offset + 100, part(bytes, 100, 200));
    EXPECT_THAT(bench.messages(), IsEmpty());
    bench.write(offset, part(bytes, 0, 100));
    EXPECT_THAT(bench.messages(), ElementsAre(Pair(offset % 1024, 200)));
    EXPECT_EQ(part(bench.into, 0, 200), bytes);
    offset += 200;
  }
}

// 3. A wide length field whose bytes arrive in different writes.
TEST(ReorderUnit, Case3WideLengthWaitsForAllItsBytes) {
  ReorderUnitConfig config = small();
  config.buffer_bytes = 2048;
  config.length_offset = 63;
  config.length_bytes = 2;
  Bench bench(config);
  const Bytes bytes = length_message(0x0142, 1, 63, 2);
  bench.write(0, part(bytes, 0, 64));
  for (std::uint32_t i = 128; i < 0x0142; i += 64) bench.write(i, part(bytes, i, std::min(i + 64, 0x0142U)));
  EXPECT_THAT(bench.messages(), IsEmpty());
  bench.write(64, part(bytes, 64, 128));
  EXPECT_THAT(bench.messages(), ElementsAre(Pair(0, 0x0142)));
}

// 4. A length of zero, or one that ends before its own field.
TEST(ReorderUnit, Case4ZeroAndTooShortLengths) {
  ReorderUnitConfig config = small();
  config.length_offset = 2;
  Bench bench(config);
  bench.write(0, {std::byte{1}, std::byte{1}, std::byte{2}});
  EXPECT_THAT(bench.messages(), IsEmpty());
  EXPECT_EQ(bench.unit.fault(0), ReorderFault::kTooShort);
  EXPECT_EQ(bench.unit.write(0, 64, length_message(3, 1)), ReorderedWrite::kFailed);
  EXPECT_EQ(bench.unit.active_buffers_used(), 0U);

  config.length_offset = 0;
  config.zero_length = ZeroLength::kSkipToNextLine;
  Bench skipping(config);
  skipping.write(0, length_message(10, 1));
  skipping.write(64, length_message(20, 2));
  EXPECT_THAT(skipping.messages(), ElementsAre(Pair(0, 10)));
  skipping.write(10, {std::byte{0}});
  EXPECT_THAT(skipping.messages(), ElementsAre(Pair(64, 20)));
}

// 5. A length beyond the data buffer, and the fragments that software sends instead.
TEST(ReorderUnit, Case5TooLongOrContinued) {
  ReorderUnitConfig config = small();
  config.buffer_bytes = 128;
  Bench bench(config);
  bench.write(0, {std::byte{129}});
  EXPECT_THAT(bench.messages(), IsEmpty());
  EXPECT_EQ(bench.unit.fault(0), ReorderFault::kTooLong);

  config.continuation_bit = true;
  Bench fragments(config);
  Bytes first = length_message(100, 1);
  first[0] = std::byte{0x80 | 100};
  fragments.write(0, first);
  EXPECT_THAT(fragments.messages(), ElementsAre(Pair(0, 100)));
  EXPECT_TRUE(fragments.last.continued);
  fragments.write(100, length_message(50, 1));
  EXPECT_THAT(fragments.messages(), ElementsAre(Pair(100, 50)));
  EXPECT_FALSE(fragments.last.continued);
}

// 6. A line that two messages share is sent twice: bytes already consumed set no valid bits.
TEST(ReorderUnit, Case6BytesSentTwiceAreNotTakenTwice) {
  ReorderUnitConfig config = small();
  config.window_bytes = 1024;
  Bench bench(config);
  const Bytes first = length_message(40, 1);
  Bytes line = first;
  const Bytes second = length_message(24, 2);
  line.insert(line.end(), second.begin(), second.end());
  std::uint32_t offset = 0;
  for (int lap = 0; lap < 40; ++lap) {
    bench.write(offset, first);
    EXPECT_THAT(bench.messages(), ElementsAre(Pair(offset % 1024, 40)));
    bench.write(offset, line);
    EXPECT_THAT(bench.messages(), ElementsAre(Pair((offset + 40) % 1024, 24))) << lap;
    EXPECT_EQ(bench.write(offset, line), ReorderedWrite::kStale);
    EXPECT_EQ(bench.unit.active_buffers_used(), 0U) << "no stale valid bit";
    offset += 64;
  }
}

// 7. Padding: skipped by alignment, whether it is written or not.
TEST(ReorderUnit, Case7PaddingIsSkippedByAlignment) {
  ReorderUnitConfig config = small();
  config.alignment = 64;
  Bench bench(config);
  Bytes padded = length_message(10, 1);
  padded.resize(64);
  bench.write(0, padded);
  bench.write(64, length_message(20, 2));
  bench.write(128, length_message(5, 3));
  EXPECT_THAT(bench.messages(), ElementsAre(Pair(0, 10), Pair(64, 20), Pair(128, 5)));
  EXPECT_EQ(bench.write(84, Bytes(44)), ReorderedWrite::kStale) << "padding that comes late";
  EXPECT_EQ(bench.unit.active_buffers_used(), 0U);
}

// 8. A byte written twice before its message is complete: the last value counts.
TEST(ReorderUnit, Case8TheLastValueOfAByteWins) {
  Bench bench(small());
  const Bytes old_bytes = length_message(32, 1);
  const Bytes new_bytes = length_message(32, 2);
  bench.write(0, part(old_bytes, 0, 31));
  bench.write(0, part(new_bytes, 0, 31));
  bench.write(31, part(new_bytes, 31, 32));
  EXPECT_THAT(bench.messages(), ElementsAre(Pair(0, 32)));
  EXPECT_EQ(part(bench.into, 0, 32), new_bytes);
}

// 9. Two cores in one queue are one stream: what overlaps mixes, and nothing says so. With a queue each, it
// does not.
TEST(ReorderUnit, Case9EveryCoreHasItsQueue) {
  ReorderUnitConfig config = small();
  config.queues = 2;
  config.active_buffers = 2;
  Bench bench(config);
  const Bytes one = length_message(32, 1);
  const Bytes two = length_message(32, 2);
  bench.write(0, part(one, 0, 16), 0);
  bench.write(16, part(two, 16, 32), 0);
  EXPECT_THAT(bench.messages(), ElementsAre(Pair(0, 32)));
  EXPECT_EQ(bench.into[1], std::byte{1});
  EXPECT_EQ(bench.into[31], std::byte{2});
  bench.write(32, part(one, 0, 16), 0);
  bench.write(0, two, 1);
  EXPECT_THAT(bench.messages(), ElementsAre(Pair(0, 32)));
  EXPECT_EQ(bench.last.queue, 1U);
}

// 10. Holes in the byte enables of a write.
TEST(ReorderUnit, Case10OnlyEnabledBytesCount) {
  Bench bench(small());
  const Bytes bytes = length_message(64, 1);
  bench.unit.write(0, 0, bytes, ~byte_mask(20, 4));
  EXPECT_THAT(bench.messages(), IsEmpty());
  EXPECT_EQ(bench.unit.first_missing(0), 20U);
  bench.unit.write(0, 0, bytes, byte_mask(20, 4));
  EXPECT_THAT(bench.messages(), ElementsAre(Pair(0, 64)));
}

// 11. A lost tail holds up its own queue only; a shared data buffer it keeps until the tail comes.
TEST(ReorderUnit, Case11ALostTailHoldsUpItsQueueOnly) {
  ReorderUnitConfig config = small();
  config.queues = 3;
  config.active_buffers = 2;
  Bench bench(config);
  bench.write(0, part(length_message(64, 1), 0, 63), 0);
  bench.write(0, length_message(64, 2), 1);
  EXPECT_THAT(bench.messages(), ElementsAre(Pair(0, 64)));
  EXPECT_EQ(bench.unit.first_missing(0), 63U);
  bench.write(64, part(length_message(64, 2), 0, 10), 1);
  EXPECT_EQ(bench.write(0, length_message(64, 3), 2), ReorderedWrite::kHeld);
  bench.write(63, part(length_message(64, 1), 63, 64), 0);
  EXPECT_THAT(bench.messages(), ElementsAre(Pair(0, 64)));
  EXPECT_EQ(bench.write(0, length_message(64, 3), 2), ReorderedWrite::kTaken);
}

// 12. Reads have no effect.
TEST(ReorderUnit, Case12ReadsChangeNothing) {
  Bench bench(small());
  bench.write(0, part(length_message(64, 5), 0, 10));
  std::vector<std::byte> before;
  bench.unit.append_state(before);
  Bytes out(12);
  bench.unit.read(0, 4, out);
  EXPECT_EQ(out[5], std::byte{5});
  EXPECT_EQ(out[6], std::byte{0});
  std::vector<std::byte> after;
  bench.unit.append_state(after);
  EXPECT_EQ(before, after);
}

TEST(ReorderUnit, RefusesWhatItCannotPlace) {
  Bench bench(small());
  EXPECT_EQ(bench.unit.write(0, 4096, Bytes(1)), ReorderedWrite::kOutside);
  EXPECT_EQ(bench.unit.write(1, 0, Bytes(1)), ReorderedWrite::kOutside);
  EXPECT_EQ(bench.unit.write(0, 511, Bytes(1)), ReorderedWrite::kTaken);
  EXPECT_THAT(bench.messages(), IsEmpty());
  EXPECT_EQ(bench.unit.write(0, 512, Bytes(1)), ReorderedWrite::kTooFar);
  EXPECT_EQ(bench.unit.errors().outside, 2U);
  EXPECT_EQ(bench.unit.errors().too_far, 1U);
}

// 3.3: complete messages take shared NIC memory and give it back when sent; without room, writes wait on the
// link.
TEST(ReorderUnit, WaitsForMemoryOfTheNic) {
  ReorderUnitConfig config = small();
  config.memory_bytes = 512;
  Bench bench(config);
  for (std::uint32_t i = 0; i < 8; ++i) bench.write(64 * i, length_message(60, 1));
  EXPECT_EQ(bench.messages().size(), 1U) << "60 bytes, then the next starts at 60";
  Bench full(config);
  for (std::uint32_t i = 0; i < 8; ++i) full.write(64 * i, length_message(64, 1));
  std::uint32_t taken = 0;
  while (full.unit.next_message(full.last, full.into)) ++taken;
  EXPECT_EQ(taken, 8U);
  EXPECT_EQ(full.unit.memory_free(), 0U);
  for (std::uint32_t i = 8; i < 16; ++i) full.write(64 * i, length_message(64, 1));
  EXPECT_FALSE(full.unit.next_message(full.last, full.into));
  EXPECT_EQ(full.write(1024, length_message(64, 1)), ReorderedWrite::kHeld);
  full.unit.transmitted(64);
  EXPECT_TRUE(full.unit.next_message(full.last, full.into));
  EXPECT_EQ(full.write(1024, length_message(64, 1)), ReorderedWrite::kTaken);
}

// The two ways to restore the order of one stream of lines, by number and by address, give the same stream.
RC_GTEST_PROP(ReorderUnit, AgreesWithTheReorderBufferOfNumbers, (std::uint64_t seed)) {
  RandomStream random(seed, "both");
  ReorderingPath path(random, 8);
  MmioSequencer sequencer{MmioSequencerConfig{}};
  MmioRob rob{MmioRobConfig{}};
  ReorderUnitConfig config = small();
  config.buffer_bytes = 1024;  // As many lines as the window has numbers; 512 bytes would be too few here.
  Bench bench(config);
  std::vector<std::uint64_t> by_number;
  std::vector<std::uint64_t> by_address;
  for (std::uint32_t i = 0; by_number.size() < 200;) {
    if (i < 200 && sequencer.blocked_by(0, 0, MmioKind::kStore, true) == IssueBlock::kNone) {
      MmioOperation line = mmio_store(MmioKind::kStore, i++ * 64 % 4096, length_message(64, 1));
      sequencer.stamp(line);
      path.enter(line);
      if (random.below(4) != 0) continue;
    }
    MmioOperation out = path.take();
    RC_ASSERT(bench.write(static_cast<std::uint32_t>(out.address), Bytes(out.data.begin(), out.data.end())) ==
              ReorderedWrite::kTaken);
    rob.accept(out);
    while (rob.next_dispatch(out)) by_number.push_back(out.address);
    for (const auto& [offset, length] : bench.messages()) by_address.push_back(offset);
    MmioCredit credit;
    while (rob.next_credit(credit)) sequencer.acknowledge(credit);
  }
  RC_ASSERT(by_number == by_address);
}

// 3.4: an address is free again after a fence, or after as many other lines as there are buffers.
TEST(AddressReuse, AfterAFenceOrEnoughOtherLines) {
  EXPECT_TRUE(window_needs_no_fence(1024, 8));
  EXPECT_FALSE(window_needs_no_fence(512, 8));
  AddressReuseChecker checker(1024, 8);
  EXPECT_TRUE(checker.store(0, 32));
  EXPECT_TRUE(checker.store(32, 32)) << "other bytes of the line";
  EXPECT_FALSE(checker.store(0, 32));
  checker.fence_done();
  EXPECT_TRUE(checker.store(0, 64));
  for (std::uint32_t line = 1; line < 8; ++line) EXPECT_TRUE(checker.store(64 * line, 64));
  EXPECT_FALSE(checker.store(0, 64));
  EXPECT_TRUE(checker.store(64 * 8, 64));
  EXPECT_TRUE(checker.store(0, 64));
  EXPECT_EQ(checker.violations(), 2U);
}

TEST(AddressReuse, ARandomVictimNeedsAFencePerTurn) {
  AddressReuseChecker checker(1024, 0);
  for (std::uint32_t line = 0; line < 16; ++line) EXPECT_TRUE(checker.store(64 * line, 64));
  EXPECT_FALSE(checker.store(0, 64));
  checker.fence_done();
  for (std::uint32_t line = 0; line < 16; ++line) EXPECT_TRUE(checker.store(64 * line, 64));
}

RC_GTEST_PROP(ReorderUnit, AnyBoundedChangeOfPlacesGivesTheProgramsMessages, (std::uint64_t seed)) {
  ReorderUnitConfig config;
  config.buffer_bytes = 4096;
  config.window_bytes = *rc::gen::element(8192U, 16384U);
  config.length_offset = *rc::gen::inRange(0U, 8U);
  config.length_bytes = *rc::gen::inRange(1U, 5U);
  RC_ASSERT(ReorderUnitRun(config, 255, seed).run(100) == "");
}

}  // namespace
}  // namespace wharf::ordering
