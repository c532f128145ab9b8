// SPDX-License-Identifier: Apache-2.0
// "Stop Taking the Scenic Route" (HotOS '25), 2.1 and 3.4: write-combining buffers; x86-TSO for the store
// buffer; and both in front of the sequence numbers of the MMIO reorder buffer.
#include "engine/ordering/write_combining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "engine/ordering/mmio_random_run_test_support.h"
#include "engine/ordering/store_buffer.h"

namespace wharf::ordering {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::byte> filled(std::size_t size, std::uint8_t value) {
  return std::vector<std::byte>(size, std::byte{value});
}

MmioOperation combining(std::uint64_t address, std::size_t length, std::uint8_t value = 1) {
  return mmio_store(MmioKind::kWriteCombiningStore, address, filled(length, value));
}

/// Address and length of everything that leaves.
std::vector<std::pair<std::uint64_t, int>> drain(WriteCombining& buffers) {
  std::vector<std::pair<std::uint64_t, int>> left;
  MmioOperation out;
  while (buffers.next_leaving(out)) left.emplace_back(out.address, out.length);
  return left;
}

std::vector<std::byte> state_of(const WriteCombining& buffers) {
  std::vector<std::byte> state;
  buffers.append_state(state);
  return state;
}

// 2.1: stores to one line merge, and a full line leaves as one 64-byte write.
TEST(WriteCombining, MergesAndLeavesWhenFull) {
  WriteCombining buffers{WriteCombiningConfig{}};
  EXPECT_TRUE(buffers.store(combining(64, 32)));
  EXPECT_THAT(drain(buffers), IsEmpty());
  EXPECT_TRUE(buffers.store(combining(96, 32)));
  EXPECT_THAT(drain(buffers), ElementsAre(Pair(64, 64)));
}

TEST(WriteCombining, TheLastStoreToAByteWins) {
  WriteCombining buffers{WriteCombiningConfig{}};
  buffers.store(combining(0, 8, 1));
  buffers.store(combining(4, 8, 2));
  buffers.fence();
  MmioOperation out;
  ASSERT_TRUE(buffers.next_leaving(out));
  EXPECT_EQ(out.length, 8);
  EXPECT_THAT(std::vector(out.data.begin() + 3, out.data.begin() + 5),
              ElementsAre(std::byte{1}, std::byte{2}));
}

// A line that is not full leaves as naturally aligned pieces of at most eight bytes.
TEST(WriteCombining, APartialLineLeavesInAlignedPieces) {
  WriteCombining buffers{WriteCombiningConfig{}};
  buffers.store(combining(3, 15));
  buffers.store(combining(40, 1));
  buffers.fence();
  EXPECT_THAT(drain(buffers), ElementsAre(Pair(3, 1), Pair(4, 4), Pair(8, 8), Pair(16, 2), Pair(40, 1)));
}

// 3.4: a ninth line makes the oldest leave.
TEST(WriteCombining, ANinthLineEvictsTheOldest) {
  WriteCombining buffers{WriteCombiningConfig{}};
  for (std::uint64_t line = 0; line < 8; ++line) EXPECT_TRUE(buffers.store(combining(line * 64, 8)));
  EXPECT_FALSE(buffers.store(combining(8 * 64, 8)));
  EXPECT_FALSE(buffers.store(combining(8 * 64, 8))) << "one victim is enough";
  EXPECT_EQ(buffers.open_lines(), 7U);
  EXPECT_THAT(drain(buffers), ElementsAre(Pair(0, 8)));
  EXPECT_TRUE(buffers.store(combining(8 * 64, 8)));
  EXPECT_EQ(buffers.open_lines(), 8U);
}

TEST(WriteCombining, ARandomVictimComesFromTheStreamHandedIn) {
  WriteCombiningConfig config;
  config.victim = CombiningVictim::kRandom;
  std::map<std::uint64_t, int> victims;
  RandomStream random(1, "victims");
  for (int run = 0; run < 200; ++run) {
    WriteCombining buffers(config);
    for (std::uint64_t line = 0; line < 8; ++line) buffers.store(combining(line * 64, 1), &random);
    EXPECT_FALSE(buffers.store(combining(8 * 64, 1), &random));
    MmioOperation out;
    ASSERT_TRUE(buffers.next_leaving(out));
    ++victims[out.line()];
  }
  EXPECT_EQ(victims.size(), 8U);
}

// 2.1: sfence waits until everything has left and reached the root complex; stores wait for the fence.
TEST(WriteCombining, AFenceIsDoneWhenEverythingHasArrived) {
  WriteCombining buffers{WriteCombiningConfig{}};
  EXPECT_TRUE(buffers.drained());
  buffers.store(combining(0, 8));
  buffers.store(combining(64, 8));
  buffers.fence();
  EXPECT_FALSE(buffers.drained());
  EXPECT_FALSE(buffers.store(combining(128, 8)));
  EXPECT_EQ(drain(buffers).size(), 2U);
  buffers.arrived();
  EXPECT_FALSE(buffers.drained()) << "one is still on its way";
  EXPECT_FALSE(buffers.store(combining(128, 8)));
  buffers.arrived();
  EXPECT_TRUE(buffers.drained());
  EXPECT_TRUE(buffers.store(combining(128, 8)));
}

TEST(WriteCombining, AnOpenLineLeavesOnATimeOut) {
  WriteCombining buffers{WriteCombiningConfig{}};
  buffers.store(combining(0, 8));
  buffers.store(combining(64, 8));
  buffers.close(1);
  EXPECT_THAT(drain(buffers), ElementsAre(Pair(64, 8)));
  EXPECT_EQ(buffers.open_lines(), 1U);
}

// 2.1: lines leave in any order, and so do the pieces of a line.
TEST(WriteCombining, OffersEveryOrderOfLeaving) {
  WriteCombining buffers{WriteCombiningConfig{}};
  buffers.store(combining(0, 64));
  buffers.store(combining(64, 16));
  EXPECT_EQ(buffers.leaving_choices(), 1U) << "the second line is open";
  buffers.fence();
  ASSERT_EQ(buffers.leaving_choices(), 3U);
  WriteCombining copy = buffers;
  EXPECT_EQ(copy.take_leaving(2).address, 72U);
  EXPECT_EQ(copy.leaving_choices(), 2U);
  EXPECT_EQ(buffers.leaving_choices(), 3U);
}

TEST(WriteCombining, AStoreToALeavingLineWaits) {
  WriteCombining buffers{WriteCombiningConfig{}};
  buffers.store(combining(0, 64));
  EXPECT_FALSE(buffers.store(combining(0, 8)));
  drain(buffers);
  EXPECT_TRUE(buffers.store(combining(0, 8)));
}

// 5.2 of the ordering paper: an operation with a number is one write, so it neither merges nor waits in an
// open line.
TEST(WriteCombining, ANumberedStoreTakesABufferOfItsOwn) {
  WriteCombining buffers{WriteCombiningConfig{}};
  const auto numbered = [](std::uint64_t address) {
    return mmio_store(MmioKind::kStore, address, filled(12, 1));
  };
  buffers.store(combining(0, 16));
  EXPECT_FALSE(buffers.store(numbered(8))) << "the bytes that it overwrites leave first";
  EXPECT_THAT(drain(buffers), ElementsAre(Pair(0, 8), Pair(8, 8)));
  EXPECT_TRUE(buffers.store(numbered(8)));
  EXPECT_FALSE(buffers.store(numbered(16))) << "the two share bytes";
  EXPECT_FALSE(buffers.store(combining(0, 16))) << "as well";
  EXPECT_TRUE(buffers.store(numbered(20)));
  EXPECT_TRUE(buffers.store(combining(0, 8))) << "other bytes of the line";
  EXPECT_TRUE(buffers.store(numbered(68)));
  EXPECT_THAT(drain(buffers), ElementsAre(Pair(8, 12), Pair(20, 12), Pair(68, 12)));
}

// Uncached stores keep their order, and come after the lines touched before them.
TEST(WriteCombining, UncachedStoresLeaveInOrderAfterEarlierLines) {
  WriteCombining buffers{WriteCombiningConfig{}};
  const auto uncached = [](std::uint64_t address) {
    return mmio_store(MmioKind::kUncachedStore, address, filled(4, 1));
  };
  buffers.store(combining(0, 8));
  EXPECT_FALSE(buffers.store(uncached(256)));
  EXPECT_THAT(drain(buffers), ElementsAre(Pair(0, 8)));
  EXPECT_TRUE(buffers.store(uncached(256)));
  EXPECT_TRUE(buffers.store(uncached(128)));
  EXPECT_EQ(buffers.leaving_choices(), 1U);
  EXPECT_THAT(drain(buffers), ElementsAre(Pair(256, 4), Pair(128, 4)));
}

TEST(WriteCombining, StateForgetsWhichBufferHoldsALine) {
  WriteCombining one{WriteCombiningConfig{}};
  WriteCombining other{WriteCombiningConfig{}};
  one.store(combining(0, 64));
  one.store(combining(64, 8));
  drain(one);
  one.arrived();
  other.store(combining(64, 8));
  EXPECT_EQ(state_of(one), state_of(other));
  other.store(combining(64, 8, 2));
  EXPECT_NE(state_of(one), state_of(other));
}

// Whatever the program and the order of leaving, every byte reaches the device with its last value before a
// fence.
RC_GTEST_PROP(WriteCombining, NoByteIsLostOrOld, (std::uint64_t seed)) {
  WriteCombiningConfig config;
  config.buffers = *rc::gen::inRange<std::uint32_t>(1, 9);
  config.victim = *rc::gen::element(CombiningVictim::kOldest, CombiningVictim::kRandom);
  RC_ASSERT(combining_run(config, seed) == "");
}

// TSO: stores become visible in program order, one at a time, and a load sees the newest own store.
TEST(StoreBuffer, PerformsInOrderAndForwardsTheNewest) {
  StoreBuffer buffer(4);
  buffer.store(0, filled(8, 1));
  buffer.store(8, filled(8, 2));
  buffer.store(0, filled(8, 3));
  std::array<std::byte, 4> value{};
  EXPECT_EQ(buffer.load(4, value), ForwardedLoad::kForwarded);
  EXPECT_EQ(value[0], std::byte{3});
  HostStore out;
  ASSERT_TRUE(buffer.next_store(out));
  EXPECT_EQ(out.data[0], std::byte{1});
  EXPECT_FALSE(buffer.next_store(out)) << "one at a time";
  EXPECT_EQ(buffer.load(16, value), ForwardedLoad::kFromMemory);
  buffer.performed();
  ASSERT_TRUE(buffer.next_store(out));
  EXPECT_EQ(out.address, 8U);
}

TEST(StoreBuffer, ALoadThatIsPartlyCoveredWaits) {
  StoreBuffer buffer(4);
  buffer.store(0, filled(4, 1));
  std::array<std::byte, 8> value{};
  EXPECT_EQ(buffer.load(0, value), ForwardedLoad::kWait);
  EXPECT_EQ(buffer.load(4, value), ForwardedLoad::kFromMemory);
}

TEST(StoreBuffer, IsBoundedAndTellsWhenAFenceIsDone) {
  StoreBuffer buffer(3);
  EXPECT_TRUE(buffer.drained());
  for (std::uint64_t i = 0; i < 3; ++i) buffer.store(8 * i, filled(8, 1));
  EXPECT_TRUE(buffer.full());
  HostStore out;
  while (buffer.next_store(out)) {
    EXPECT_FALSE(buffer.drained());
    buffer.performed();
  }
  EXPECT_TRUE(buffer.drained());
  std::vector<std::byte> used;
  std::vector<std::byte> fresh;
  buffer.append_state(used);
  StoreBuffer(3).append_state(fresh);
  EXPECT_EQ(used, fresh);
}

RC_GTEST_PROP(StoreBuffer, ALoadSeesTheThreadsOwnStores, (std::uint64_t seed)) {
  RC_ASSERT(store_buffer_run(seed) == "");
}

// "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 3A, 9.2.2: stores in program order.
TEST(WriteCombining, NothingEntersBehindAnUncachedStore) {
  WriteCombining combining({});
  const auto of = [](MmioKind kind, std::uint64_t address) {
    return mmio_store(kind, address, filled(4, 1));
  };
  ASSERT_TRUE(combining.store(of(MmioKind::kUncachedStore, 0)));
  EXPECT_FALSE(combining.store(of(MmioKind::kWriteCombiningStore, 64)));
  EXPECT_FALSE(combining.store(of(MmioKind::kStore, 64)));
  EXPECT_TRUE(combining.store(of(MmioKind::kUncachedStore, 8)));
  MmioOperation out;
  ASSERT_TRUE(combining.next_leaving(out));
  ASSERT_TRUE(combining.next_leaving(out));
  EXPECT_TRUE(combining.store(of(MmioKind::kWriteCombiningStore, 64)));
}

TEST(WriteCombining, ALoadSendsOffWhatHasNoNumber) {
  WriteCombining combining({});
  ASSERT_TRUE(combining.store(mmio_store(MmioKind::kStore, 0, filled(4, 1))));
  EXPECT_TRUE(combining.unnumbered_left()) << "its number orders it";
  ASSERT_TRUE(combining.store(mmio_store(MmioKind::kWriteCombiningStore, 64, filled(4, 1))));
  EXPECT_FALSE(combining.unnumbered_left());
  combining.send_off_unnumbered();
  EXPECT_EQ(combining.open_lines(), 0U);
  MmioOperation out;
  while (combining.next_leaving(out)) {
  }
  EXPECT_TRUE(combining.unnumbered_left());
}

}  // namespace
}  // namespace wharf::ordering
