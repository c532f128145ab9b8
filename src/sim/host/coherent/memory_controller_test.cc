// SPDX-License-Identifier: Apache-2.0
// The queues in front of the DRAM: what has room when, when writes leave, and what a read waits for. Times in
// picoseconds; front and back end 10 ns, rcd, cl and rp 13.75 ns, a line 5 ns of the data bus.
#include "sim/host/coherent/memory_controller.h"

#include <gtest/gtest.h>

namespace wharf::sim {
namespace {

constexpr std::int64_t kEnd = 10'000;
constexpr std::int64_t kStep = 13'750;
constexpr std::int64_t kBurst = 5'000;
constexpr std::int64_t kClosedRow = kEnd + 2 * kStep + kBurst + kEnd;
constexpr LineNumber kNextBank = 8192 / 64;

/// One channel without refresh.
DdrConfig queues(std::uint32_t reads, std::uint32_t writes) {
  DdrConfig config;
  config.channels = 1;
  config.refi = kTimeZero;
  config.read_entries = reads;
  config.write_entries = writes;
  return config;
}
bool room(MemoryController& memory, std::int64_t at, bool is_write) {
  return memory.has_room(TimePs{at}, 1'000, is_write);
}
std::int64_t read(MemoryController& memory, std::int64_t at, LineNumber line) {
  EXPECT_TRUE(memory.has_room(TimePs{at}, line, false));
  return memory.read(TimePs{at}, line).ps;
}
void write(MemoryController& memory, std::int64_t at, LineNumber line) {
  EXPECT_TRUE(memory.has_room(TimePs{at}, line, true));
  memory.write(TimePs{at}, line);
}

// Three entries: room for a third read, none for a fourth until the data of the first have left, 52.5 ns
// after it came.
TEST(MemoryController, ReadsHaveTheirEntriesUntilTheirDataLeave) {
  MemoryController memory(queues(3, 64));
  EXPECT_EQ(read(memory, 0, 0), kClosedRow);
  read(memory, 0, 1);
  EXPECT_TRUE(room(memory, 0, false));
  EXPECT_EQ(read(memory, 0, 2), kClosedRow + 2 * kBurst);
  EXPECT_FALSE(room(memory, 0, false));
  EXPECT_EQ(memory.room_at(0, false).ps, kClosedRow);
  EXPECT_FALSE(room(memory, kClosedRow - 1, false));
  EXPECT_TRUE(room(memory, kClosedRow, false));
  read(memory, kClosedRow, 3);
  EXPECT_FALSE(room(memory, kClosedRow, false));
  EXPECT_TRUE(room(memory, kClosedRow, true));
}

// Of eight entries, 85 percent are 6 and 50 percent are 4. Five writes wait and cost the read behind them
// nothing; the sixth sends two of them to the DRAM, and the read behind that waits: rows opened in another
// bank for lines 0 and 1, 5 ns each, wtr 7.5 ns, then its own column command and data.
TEST(MemoryController, WritesLeaveAtTheHighMarkUntilTheLowMark) {
  for (const LineNumber last : {4U, 5U}) {
    MemoryController memory(queues(32, 8));
    for (LineNumber line = 0; line <= last; ++line) write(memory, 0, line);
    const std::int64_t done = read(memory, 0, kNextBank);
    if (last == 4) {
      // The fifth is above the low mark, but the read is there as soon as it is.
      EXPECT_EQ(done, kClosedRow);
      EXPECT_EQ(memory.ddr_counters().writes, 0U);
    } else {
      const std::int64_t written = kEnd + 2 * kStep + 2 * kBurst;
      EXPECT_EQ(done, written + 7'500 + kStep + kBurst + kEnd);
      EXPECT_EQ(memory.counters().drains, 1U);
      EXPECT_EQ(memory.counters().drained_writes, 2U);
    }
    EXPECT_EQ(memory.ddr_counters().reads, 1U);
  }
}

// A drain stands behind the reads that are there: its first data wait for theirs and rtw 2.5 ns.
TEST(MemoryController, ADrainComesBehindTheReadsThatAreThere) {
  MemoryController memory(queues(32, 1));
  EXPECT_EQ(read(memory, 0, 0), kClosedRow);
  EXPECT_EQ(read(memory, 0, 1), kClosedRow + kBurst);
  write(memory, 0, 2);
  EXPECT_EQ(memory.room_at(0, true).ps, kClosedRow + kBurst - kEnd + 2'500 + kBurst);
}

// What waits above the low mark is written when the data bus has nothing to do: the fifth of five writes
// came at 0 and can be written from 10 ns on. Who reads so that its command is ready by then comes first;
// who reads a picosecond later finds the bank of line 0 opened for the oldest write.
TEST(MemoryController, WritesAboveTheLowMarkUseIdleTime) {
  MemoryController first(queues(32, 8));
  for (LineNumber line = 0; line < 5; ++line) write(first, 0, line);
  EXPECT_EQ(read(first, 0, kNextBank), kClosedRow);
  EXPECT_EQ(first.counters().idle_writes, 0U);
  // Behind the read: its data end at 42.5 ns, where the write begins, rtw 2.5 ns later at the earliest; the
  // next read's command waits for the write's data and wtr.
  EXPECT_EQ(read(first, 42'500 - kEnd, kNextBank), 42'500 + kStep + kBurst + kEnd);
  EXPECT_EQ(first.counters().idle_writes, 0U);
  EXPECT_EQ(read(first, 200'000, kNextBank), 200'000 + kEnd + kStep + kBurst + kEnd);
  EXPECT_EQ(first.counters().idle_writes, 1U);

  MemoryController later(queues(32, 8));
  for (LineNumber line = 0; line < 5; ++line) write(later, 0, line);
  const std::int64_t written = kEnd + 2 * kStep + kBurst;
  EXPECT_EQ(read(later, 1, kNextBank), written + 7'500 + kStep + kBurst + kEnd);
  EXPECT_EQ(later.counters().idle_writes, 1U);
  EXPECT_EQ(later.counters().drains, 0U);
}

// A read of a line that waits to be written, or is on its way, has its bytes after front and back end; from
// the instant on in which they are in the row, it takes them from there. It needs an entry to be looked at,
// but keeps none.
TEST(MemoryController, ReadsAreAnsweredFromQueuedWrites) {
  MemoryController memory(queues(1, 64));
  write(memory, 0, 7);
  EXPECT_EQ(read(memory, 100, 7), 100 + 2 * kEnd);
  EXPECT_EQ(read(memory, 100, 8), 100 + kClosedRow);
  EXPECT_EQ(memory.counters().forwarded_reads, 1U);

  MemoryController leaving(queues(1, 1));
  write(leaving, 0, 7);
  const std::int64_t in_row = kEnd + 2 * kStep + kBurst;
  EXPECT_EQ(read(leaving, in_row - 1, 7), in_row - 1 + 2 * kEnd);
  EXPECT_EQ(read(leaving, in_row, 7), in_row + kEnd + kStep + kBurst + kEnd);
  EXPECT_EQ(leaving.counters().forwarded_reads, 1U);
}

// Newer bytes of a line that waits take the place of the older ones, even in a full queue; a write that is
// on its way to the DRAM takes no more.
TEST(MemoryController, WritesOfALineThatWaitsBecomeOne) {
  MemoryController memory(queues(32, 4));
  write(memory, 0, 1);
  write(memory, 0, 1);
  EXPECT_EQ(memory.counters().merged_writes, 1U);
  // Of four entries, the high mark is three and the low mark two: each further write sends the oldest away.
  for (LineNumber line = 2; line <= 4; ++line) write(memory, 0, line);
  EXPECT_EQ(memory.ddr_counters().writes, 2U);
  EXPECT_FALSE(memory.has_room(TimePs{0}, 1, true));
  EXPECT_TRUE(memory.has_room(TimePs{0}, 4, true));
  write(memory, 0, 4);
  EXPECT_EQ(memory.counters().merged_writes, 2U);
}

// Four entries: with three and with four writes, room for none but the fourth; the fifth has room when the
// first is in its row, 42.5 ns after it came, the sixth 5 ns later.
TEST(MemoryController, WritesHaveTheirEntriesUntilTheyAreInTheRow) {
  MemoryController memory(queues(32, 4));
  for (LineNumber line = 0; line < 3; ++line) write(memory, 0, line);
  EXPECT_TRUE(room(memory, 0, true));
  write(memory, 0, 3);
  EXPECT_FALSE(room(memory, 0, true));
  const std::int64_t first = kEnd + 2 * kStep + kBurst;
  EXPECT_EQ(memory.room_at(0, true).ps, first);
  EXPECT_FALSE(room(memory, first - 1, true));
  EXPECT_TRUE(room(memory, first, true));
  write(memory, first, 4);
  EXPECT_FALSE(room(memory, first, true));
  EXPECT_EQ(memory.room_at(0, true).ps, first + kBurst);
  EXPECT_TRUE(room(memory, first, false));
}

// Queues of one entry: each write leaves at once, so that there is always an end of waiting.
TEST(MemoryController, QueuesOfOne) {
  MemoryController memory(queues(1, 1));
  std::int64_t at = 0;
  for (LineNumber line = 0; line < 100; ++line) {
    write(memory, at, line);
    EXPECT_FALSE(room(memory, at, true));
    const std::int64_t next = memory.room_at(0, true).ps;
    EXPECT_GT(next, at);
    at = next;
    if (room(memory, at, false)) read(memory, at, line + 1'000);
  }
  EXPECT_EQ(memory.ddr_counters().writes, 100U);
}

// Channels have queues of their own.
TEST(MemoryController, ChannelsDoNotShareTheirQueues) {
  DdrConfig config = queues(1, 1);
  config.channels = 2;
  MemoryController memory(config);
  read(memory, 0, 0);
  write(memory, 0, 1);
  EXPECT_FALSE(memory.has_room(TimePs{0}, 1, false));
  EXPECT_FALSE(memory.has_room(TimePs{0}, 0, true));
  EXPECT_TRUE(memory.has_room(TimePs{0}, 2, false));
  EXPECT_TRUE(memory.has_room(TimePs{0}, 2, true));
}

// A line in 5 ns is what the data bus carries: 10 read entries keep it busy with open rows (38.75 ns a
// read, 7.75 lines), 7 do not.
TEST(MemoryController, EntriesThatAnOpenRowNeeds) {
  for (const std::uint32_t entries : {7U, 10U}) {
    MemoryController memory(queues(entries, 64));
    std::int64_t at = 0;
    std::int64_t last = 0;
    for (LineNumber line = 0; line < 128; ++line) {
      if (!memory.has_room(TimePs{at}, line, false)) at = memory.room_at(0, false).ps;
      last = read(memory, at, line);
    }
    const std::int64_t at_full_rate = kClosedRow + 127 * kBurst;
    // Of seven, the last six come behind the first in steps of 5 ns, then the eighth an idle read later.
    EXPECT_EQ(last, entries == 10 ? at_full_rate : kClosedRow + 18 * 38'750 + kBurst);
  }
}

}  // namespace
}  // namespace wharf::sim
