// SPDX-License-Identifier: Apache-2.0
// Each command rule of the DRAM by itself: not a picosecond earlier, not one later.
#include "sim/host/coherent/ddr_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace wharf::sim {
namespace {

constexpr std::int64_t kFront = 10'000;
constexpr std::int64_t kBack = 10'000;
constexpr std::int64_t kStep = 13'750;  // Of rcd, cl and rp alike.
constexpr std::int64_t kBurst = 5'000;

/// One channel, so that neighbours share it; no refresh.
DdrConfig one_channel() {
  DdrConfig config;
  config.channels = 1;
  config.refi = kTimeZero;
  return config;
}
constexpr std::uint64_t kRow = 8192;               ///< The next bank.
constexpr std::uint64_t kSameBank = 8 * 2 * kRow;  ///< The next row of the same bank.
constexpr std::uint64_t kOtherRank = 8 * kRow;

/// From the controller's door and back to it.
std::int64_t read(DdrMemory& memory, std::int64_t at, std::uint64_t address) {
  return memory.serve(TimePs{at + kFront}, address, false).ps + kBack;
}
std::int64_t write(DdrMemory& memory, std::int64_t at, std::uint64_t address) {
  return memory.serve(TimePs{at + kFront}, address, true).ps;
}

TEST(DdrMemory, ClosedOpenAndConflictingRow) {
  DdrMemory memory(one_channel());
  EXPECT_EQ(read(memory, 0, 0), kFront + 2 * kStep + kBurst + kBack);
  EXPECT_EQ(read(memory, 1'000'000, 64), 1'000'000 + kFront + kStep + kBurst + kBack);
  EXPECT_EQ(read(memory, 2'000'000, kSameBank), 2'000'000 + kFront + 3 * kStep + kBurst + kBack);
  EXPECT_EQ(memory.counters().row_closed, 1U);
  EXPECT_EQ(memory.counters().row_hits, 1U);
  EXPECT_EQ(memory.counters().row_conflicts, 1U);
}

TEST(DdrMemory, DataBusCarriesOneBurstAtATime) {
  DdrMemory memory(one_channel());
  const std::int64_t first = read(memory, 0, 0);
  EXPECT_EQ(read(memory, 0, 64), first + kBurst);
  EXPECT_EQ(read(memory, 0, 128), first + 2 * kBurst);
}

// ras: the row opened at 10 ns may be closed at 45 ns; rp and rcd follow.
TEST(DdrMemory, RowStaysOpenForRas) {
  DdrMemory memory(one_channel());
  read(memory, 0, 0);
  EXPECT_EQ(read(memory, 0, kSameBank), kFront + 35'000 + 3 * kStep + kBurst + kBack);
}

// rrd: the second bank is activated 6 ns after the first; faw: the fifth 30 ns after the first.
TEST(DdrMemory, ActivatesKeepTheirDistance) {
  DdrMemory memory(one_channel());
  const std::int64_t first = read(memory, 0, 0);
  EXPECT_EQ(read(memory, 0, kRow), first + 6'000);
  EXPECT_EQ(read(memory, 0, 2 * kRow), first + 12'000);
  EXPECT_EQ(read(memory, 0, 3 * kRow), first + 18'000);
  EXPECT_EQ(read(memory, 0, 4 * kRow), first + 30'000);
  // Another rank has activates of its own, but the same data bus.
  EXPECT_EQ(read(memory, 0, kOtherRank), first + 35'000);
}

// A write is done with its data; wtr holds the next read of the rank, not of the other.
TEST(DdrMemory, ReadsAfterWrites) {
  DdrMemory memory(one_channel());
  const std::int64_t written = write(memory, 0, 0);
  EXPECT_EQ(written, kFront + 2 * kStep + kBurst);
  EXPECT_EQ(read(memory, 0, 64), written + 7'500 + kStep + kBurst + kBack);
  DdrMemory other(one_channel());
  write(other, 0, 0);
  EXPECT_EQ(read(other, 0, kOtherRank), written + kBurst + kBack);
}

// rtw: write data may begin 2.5 ns after the end of read data.
TEST(DdrMemory, WritesAfterReads) {
  DdrMemory memory(one_channel());
  const std::int64_t data_end = read(memory, 0, 0) - kBack;
  EXPECT_EQ(write(memory, 0, 64), data_end + 2'500 + kBurst);
}

// wr: a written row may be closed 15 ns after its data; rtp: a read one 7.5 ns after its command.
TEST(DdrMemory, RowsCloseAfterTheirAccess) {
  DdrMemory memory(one_channel());
  const std::int64_t written = write(memory, 0, 0);
  EXPECT_EQ(read(memory, 0, kSameBank), written + 15'000 + 3 * kStep + kBurst + kBack);
  DdrMemory late(one_channel());
  read(late, 0, 0);
  // The second read's command goes out at 100 ns + 10 ns, long after ras.
  read(late, 100'000, 64);
  EXPECT_EQ(read(late, 100'000, kSameBank), 110'000 + 7'500 + 3 * kStep + kBurst + kBack);
}

// A refresh is due at half of refi for the first of two ranks, then every refi; it closes the rows and takes
// rfc. One that falls due while the rank is idle delays only who comes within rfc.
TEST(DdrMemory, RefreshClosesRowsAndTakesItsTime) {
  DdrConfig config = one_channel();
  config.refi = nanoseconds(7'800);
  DdrMemory memory(config);
  read(memory, 0, 0);
  constexpr std::int64_t kDue = 3'900'000;
  // One picosecond before the command would meet it: the row is open.
  EXPECT_EQ(read(memory, kDue - kFront - 1, 64), kDue - 1 + kStep + kBurst + kBack);
  EXPECT_EQ(memory.counters().refreshes, 0U);
  // It waits for the row to be closed: rtp after the last read's command, then rp.
  const std::int64_t begins = kDue - 1 + 7'500 + kStep;
  EXPECT_EQ(read(memory, kDue - kFront, 128), begins + 260'000 + 2 * kStep + kBurst + kBack);
  EXPECT_EQ(memory.counters().refreshes, 1U);
  // Long after the next one: nothing left to wait for but the closed row.
  EXPECT_EQ(read(memory, kDue + 7'800'000 + 1'000'000, 192),
            kDue + 8'800'000 + kFront + 2 * kStep + kBurst + kBack);
  EXPECT_EQ(memory.counters().refreshes, 2U);
}

// Neighbours of the interleave lie in different channels and do not wait for each other.
TEST(DdrMemory, ChannelsInterleave) {
  DdrConfig config;
  config.refi = kTimeZero;
  DdrMemory memory(config);
  const std::int64_t first = read(memory, 0, 0);
  EXPECT_EQ(read(memory, 0, 128), first);
  EXPECT_EQ(read(memory, 0, 7 * 128), first);
  EXPECT_EQ(read(memory, 0, 8 * 128), first + kBurst);
}

// 64 B in 5 ns on each of eight channels, 102.4 GB/s: of 8000 lines asked for at once, the first of a channel
// comes after its row was opened, and the rows behind it are open before the data bus is free for them.
TEST(DdrMemory, PeakRate) {
  DdrConfig config;
  config.refi = kTimeZero;
  DdrMemory memory(config);
  std::int64_t last = 0;
  for (std::uint64_t line = 0; line < 8000; ++line) last = std::max(last, read(memory, 0, line * 64));
  EXPECT_EQ(last, kFront + 2 * kStep + 1000 * kBurst + kBack);
}

}  // namespace
}  // namespace wharf::sim
