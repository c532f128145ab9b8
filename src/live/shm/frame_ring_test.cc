// SPDX-License-Identifier: Apache-2.0
// A ring of frames: what goes in comes out, between threads and processes, and no lie reaches further than
// the ring.
#include "live/shm/frame_ring.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <initializer_list>
#include <thread>
#include <vector>

#include "live/shm/ring_test_support.h"

namespace wharf::live {
namespace {

constexpr std::size_t kLongest = 9216;

bool put_numbered(FrameRingWriter& writer, std::uint64_t number) {
  return writer.put(numbered_frame(number), static_cast<std::uint8_t>(number));
}

TEST(FrameRing, IsEmptyAtFirstAndAfterTheLastFrame) {
  TestRing memory(64);
  FrameRingWriter writer(memory.ring);
  FrameRingReader reader(memory.ring, kLongest);
  EXPECT_FALSE(reader.take());
  ASSERT_TRUE(put_numbered(writer, 3));
  const auto frame = reader.take();
  ASSERT_TRUE(frame);
  EXPECT_TRUE(is_numbered(*frame, 3));
  EXPECT_FALSE(reader.take());
  EXPECT_FALSE(reader.lied());
}

TEST(FrameRing, AFullOneTakesNoMoreUntilRoomIsGivenBack) {
  TestRing memory(64);
  FrameRingWriter writer(memory.ring);
  FrameRingReader reader(memory.ring, kLongest);
  const std::vector<std::byte> frame(kRingCellBytes - kRingHeadBytes, std::byte{1});  // One cell.
  std::size_t fits = 0;
  while (writer.put(frame, 0)) ++fits;
  EXPECT_EQ(fits, 63U);  // One head stays zero: it ends what can be read.
  std::size_t there = 0;
  while (reader.take()) ++there;
  EXPECT_EQ(there, fits);
  EXPECT_FALSE(writer.put(frame, 0));
  reader.release();
  EXPECT_TRUE(writer.put(frame, 0));
  EXPECT_TRUE(reader.take());
}

RC_GTEST_PROP(FrameRing, GivesEveryFrameOnceInOrder, ()) {
  TestRing memory(*rc::gen::element(64U, 128U));
  FrameRingWriter writer(memory.ring);
  FrameRingReader reader(memory.ring, kLongest);
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  for (const int step : *rc::gen::container<std::vector<int>>(400, rc::gen::inRange(0, 5))) {
    if (step < 2) {
      written += put_numbered(writer, written) ? 1U : 0U;
    } else if (step < 4) {
      const auto frame = reader.take();
      RC_ASSERT(frame.has_value() == (read < written));
      if (frame) RC_ASSERT(is_numbered(*frame, read++));
    } else {
      reader.release();
    }
  }
  while (read < written) RC_ASSERT(is_numbered(reader.take().value(), read++));
  reader.release();
  RC_ASSERT(put_numbered(writer, written));  // An empty ring has room for any of them.
  RC_ASSERT(is_numbered(reader.take().value(), read));
}

// What remote users write into each other's memory passes through here: it must not be taken for heads.
TEST(FrameRing, FramesThatLookLikeHeadsAreBytes) {
  TestRing memory(64);
  FrameRingWriter writer(memory.ring);
  FrameRingReader reader(memory.ring, kLongest);
  std::uint64_t position = 0;
  for (int turn = 0; turn < 500; ++turn) {
    std::vector<std::byte> frame(static_cast<std::size_t>(turn % 13 + 1) * 64 + 56);
    for (std::size_t at = 0; at + 8 <= frame.size(); at += 8) {
      // As if it were the head of what comes in this place one lap later.
      const std::uint64_t word = ring_head(position + 64 + (at + 8) / 64, 1);
      std::memcpy(frame.data() + at, &word, sizeof word);
    }
    const std::uint32_t cells = ring_cells(frame.size());
    if (position % 64 + cells > 64) position += 64 - position % 64;
    position += cells;
    ASSERT_TRUE(writer.put(frame, 0));
    const auto seen = reader.take();
    ASSERT_TRUE(seen && seen->bytes.size() == frame.size());
    EXPECT_TRUE(std::equal(frame.begin(), frame.end(), seen->bytes.begin()));
    ASSERT_FALSE(reader.take()) << turn;
    ASSERT_FALSE(reader.lied()) << turn;
    reader.release();
  }
}

/// Reads frames 0 to `count` - 1; how many were right.
std::uint64_t read_numbered(const FrameRing& ring, std::uint64_t count) {
  FrameRingReader reader(ring, kLongest);
  std::uint64_t right = 0;
  for (std::uint64_t number = 0; number < count;) {
    const auto frame = reader.take();
    if (!frame) {
      reader.release();
      ::sched_yield();
      continue;
    }
    right += is_numbered(*frame, number) ? 1U : 0U;
    if (number++ % 5 == 0) reader.release();
  }
  return right;
}
void write_numbered(const FrameRing& ring, std::uint64_t count) {
  FrameRingWriter writer(ring);
  for (std::uint64_t number = 0; number < count; ++number) {
    while (!put_numbered(writer, number)) ::sched_yield();
  }
}

TEST(FrameRing, CarriesBetweenThreads) {
  constexpr std::uint64_t kFrames = 20'000;
  TestRing memory(128);
  std::thread other([&memory] { write_numbered(memory.ring, kFrames); });
  EXPECT_EQ(read_numbered(memory.ring, kFrames), kFrames);
  other.join();
}

TEST(FrameRing, CarriesBetweenProcesses) {
  constexpr std::uint64_t kFrames = 20'000;
  TestRing memory(128);
  const pid_t other = ::fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    write_numbered(memory.ring, kFrames);
    ::_exit(0);
  }
  EXPECT_EQ(read_numbered(memory.ring, kFrames), kFrames);
  int status = 0;
  ::waitpid(other, &status, 0);
}

TEST(FrameRing, AReaderThatFindsAFrameDoesNotSleep) {
  TestRing memory(64);
  FrameRingWriter writer(memory.ring);
  FrameRingReader reader(memory.ring, kLongest);
  EXPECT_FALSE(writer.wakes_reader());
  EXPECT_TRUE(reader.prepare_sleep());
  ASSERT_TRUE(put_numbered(writer, 0));
  EXPECT_TRUE(writer.wakes_reader());
  EXPECT_FALSE(writer.wakes_reader());  // Once.
  EXPECT_FALSE(reader.prepare_sleep());
  reader.awake();
  EXPECT_FALSE(writer.wakes_reader());
}

/// What a reader makes of one head at the beginning of a ring of 64 cells.
struct Outcome {
  bool taken;
  bool lied;
};
Outcome reader_of(std::uint64_t word) {
  TestRing memory(64);
  memory.set_head(0, word);
  FrameRingReader reader(memory.ring, 3000);
  const bool taken = reader.take().has_value();
  return {taken, reader.lied()};
}

TEST(FrameRing, HeadsThatNoHonestWriterWritesEndTheReading) {
  EXPECT_TRUE(reader_of(ring_head(0, 3000)).taken);
  EXPECT_FALSE(reader_of(0).lied);
  for (const std::uint64_t word : std::initializer_list<std::uint64_t>{
           ring_head(1, 8),   // Of another place.
           ring_head(64, 8),  // Of the next lap.
           ring_head(0, 8) & ~(1ULL << 31U),
           ring_head(0, 0),       // Empty.
           ring_head(0, 3001),    // Too long,
           ring_head(0, 0xffff),  // and beyond the array.
           ring_head(0, 8, 0),    // Of no kind.
           ring_head(0, 8, 3),
           ring_head(0, 0, 2),  // To the beginning, from there.
           ~std::uint64_t{0},
       }) {
    const Outcome outcome = reader_of(word);
    EXPECT_FALSE(outcome.taken) << std::hex << word;
    EXPECT_TRUE(outcome.lied) << std::hex << word;
  }
}

TEST(FrameRing, NoFrameCrossesTheEndOfTheArray) {
  TestRing memory(64);
  FrameRingReader reader(memory.ring, kLongest);
  const std::size_t most = 63 * kRingCellBytes - kRingHeadBytes;
  memory.set_head(0, ring_head(0, most));
  memory.set_head(63, ring_head(63, kRingCellBytes - kRingHeadBytes + 1));
  ASSERT_TRUE(reader.take());
  EXPECT_FALSE(reader.take());
  EXPECT_TRUE(reader.lied());
  memory.set_head(63, ring_head(63, 8));
  EXPECT_FALSE(reader.take());  // Nothing more is taken from a liar.
  EXPECT_TRUE(reader.prepare_sleep());
}

TEST(FrameRing, AReaderThatLiesAboutWhatItReadGetsNoMoreThanTheRing) {
  for (const std::uint64_t lie : {std::uint64_t{64}, std::uint64_t{1} << 40U, ~std::uint64_t{0}}) {
    TestRing memory(64);
    FrameRingWriter writer(memory.ring);
    const std::vector<std::byte> frame(kRingCellBytes - kRingHeadBytes, std::byte{1});
    memory.ring.control->consumed = lie;
    std::size_t fits = 0;
    while (fits < 1000 && writer.put(frame, 0)) ++fits;
    EXPECT_EQ(fits, 63U) << lie;
  }
}

}  // namespace
}  // namespace wharf::live
