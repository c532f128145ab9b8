// SPDX-License-Identifier: Apache-2.0
// Bus, PCIe, DRAM and NIC pipelines act exactly on time: unloaded latency, queueing and peak rate against
// arithmetic done by hand in the comments.
#include "sim/host/memory/dram.h"
#include "sim/host/memory/on_chip_bus.h"
#include "sim/host/nic/nic_pipeline.h"
#include "sim/host/pcie/pcie.h"

namespace wharf::sim {
namespace {

constexpr StageRounding kExact = StageRounding::kNone;
/// Where posted writes land: in the last-level cache as they arrive, or 30 ns later in an open row.
TimePs in_cache(TimePs arrived, std::uint32_t) { return arrived; }
TimePs in_row(TimePs arrived, std::uint32_t) { return arrived + nanoseconds(30); }

TEST(OnChipBus, CrossingAndRate) {
  // 512 Gbps: 64 B take 64 * 8 / 512 = 1 ns, and 30 ns to cross.
  OnChipBus bus({.crossing = nanoseconds(30), .rate = gigabits_per_second(512)}, kExact);
  EXPECT_EQ(bus.cross(BusLane::kMemory, nanoseconds(100), 64), nanoseconds(131));
  // The second is ready at the same time and waits for the first to be on the bus: 1 ns later, not 30.
  EXPECT_EQ(bus.cross(BusLane::kMemory, nanoseconds(100), 64), nanoseconds(132));
  // Lanes are independent.
  EXPECT_EQ(bus.cross(BusLane::kComplete, nanoseconds(100), 64), nanoseconds(131));
  // Peak rate: 1000 lines in 1000 ns.
  TimePs last;
  for (int i = 0; i < 1000; ++i) last = bus.cross(BusLane::kSubmit, kTimeZero, 64);
  EXPECT_EQ(last, nanoseconds(1030));
}

TEST(OnChipBus, UnlimitedRateOnlyDelays) {
  OnChipBus bus({.crossing = nanoseconds(30), .rate = {}}, kExact);
  EXPECT_EQ(bus.cross(BusLane::kMemory, kTimeZero, 1'000'000), nanoseconds(30));
  EXPECT_EQ(bus.cross(BusLane::kMemory, kTimeZero, 1'000'000), nanoseconds(30));
}

TEST(Dram, LatencyAndRate) {
  // 256 Gbps: 64 B take 2 ns. The latency covers the first line.
  Dram dram({.row_hit = nanoseconds(30), .load_latency = nanoseconds(70), .rate = gigabits_per_second(256)},
            kExact);
  EXPECT_EQ(dram.row_hit(nanoseconds(10), 64), nanoseconds(40));
  EXPECT_EQ(dram.row_hit(nanoseconds(10), 64), nanoseconds(42));
  // 256 B: three more lines of 2 ns behind the first; begins when the channel is free at 14 ns.
  EXPECT_EQ(dram.row_hit(nanoseconds(10), 256), nanoseconds(14 + 30 + 6));
  EXPECT_EQ(dram.closed_row(nanoseconds(1000), 64), nanoseconds(1070));
}

PcieConfig plain_pcie() {
  return {.mmio_write = nanoseconds(150),
          .read_round_trip = nanoseconds(500),
          .posted_write = nanoseconds(250),
          .rate = gigabits_per_second(512),
          .tags = 2,
          .max_payload = 256,
          .max_read_request = 512,
          .request_header = 32,
          .completion_header = 32};
}

TEST(Pcie, ReadIsARoundTripAndItsData) {
  Pcie pcie(plain_pcie(), kExact);
  // 64 B + 32 B of completion header at 64 B/ns: 1.5 ns after the round trip.
  EXPECT_EQ(pcie.read(nanoseconds(1000), 64), picoseconds(1'501'500));
}

TEST(Pcie, ReadsOverlapUntilTheTagsRunOut) {
  Pcie pcie(plain_pcie(), kExact);
  // Two tags: the first two overlap; a request header occupies 0.5 ns, data 1.5 ns.
  EXPECT_EQ(pcie.read(kTimeZero, 64), picoseconds(501'500));
  EXPECT_EQ(pcie.read(kTimeZero, 64), picoseconds(503'000));
  // The third starts when the first tag comes back.
  EXPECT_EQ(pcie.read(kTimeZero, 64), picoseconds(501'500 + 500'000 + 1'500));
  EXPECT_EQ(pcie.read(kTimeZero, 64), picoseconds(503'000 + 500'000 + 1'500));
}

TEST(Pcie, LongReadsAreCutIntoRequestsAndCompletions) {
  PcieConfig config = plain_pcie();
  config.tags = 64;
  Pcie pcie(config, kExact);
  // 1024 B: two requests of 512 B, each answered by two completions of 256 + 32 B: 4 * 288 / 64 = 18 ns of
  // data.
  EXPECT_EQ(pcie.read(kTimeZero, 1024), nanoseconds(518));
}

// One byte more than a request holds is one request more: its answer is a header and that byte, 33 B, behind
// the 1024 B. It is the last byte that counts, not the last full request.
TEST(Pcie, TheLastByteOfALongReadIsAsked) {
  PcieConfig config = plain_pcie();
  config.tags = 64;
  for (const std::uint32_t more : {1U, 2U, 64U}) {
    Pcie pcie(config, kExact);
    EXPECT_EQ(pcie.read(kTimeZero, 1024 + more),
              nanoseconds(518) + transfer_time(Bytes{32 + more}, config.rate))
        << more;
  }
  // Of one byte alone, too.
  Pcie pcie(config, kExact);
  EXPECT_EQ(pcie.read(kTimeZero, 1), nanoseconds(500) + transfer_time(Bytes{33}, config.rate));
}

TEST(Pcie, PostedWritesAreAcceptedAtOnceAndBecomeVisibleInOrder) {
  Pcie pcie(plain_pcie(), kExact);
  // 256 B + header 32 B: 4.5 ns on the wire.
  Pcie::Posted first = pcie.write(nanoseconds(10), 256, in_row);
  EXPECT_EQ(first.accepted, nanoseconds(10));
  EXPECT_EQ(first.visible, picoseconds(10'000 + 4'500 + 250'000 + 30'000));
  // A small write behind it, which lands nowhere slow, does not overtake it.
  Pcie::Posted second = pcie.write(nanoseconds(10), 32, in_cache);
  EXPECT_EQ(second.visible, first.visible);
  // One that comes later takes its own time: 64 B at 64 B/ns.
  EXPECT_EQ(pcie.write(nanoseconds(1000), 32, in_cache).visible, nanoseconds(1251));
}

TEST(Pcie, ReadsDoNotPassPostedWrites) {
  PcieConfig config = plain_pcie();
  config.posted_credits = 0;
  Pcie pcie(config, kExact);
  // 64 KiB of posted data and headers: 65536 / 256 * 288 / 64 = 1152 ns upstream; the read waits behind it.
  (void)pcie.write(kTimeZero, 65536, in_cache);
  EXPECT_EQ(pcie.read(kTimeZero, 64), picoseconds(1'152'000 + 500'000 + 1'500));
}

TEST(Pcie, BlockingWritesComeOneAfterAnother) {
  PcieConfig config = plain_pcie();
  config.rate = {};
  config.posted_writes = PostedWriteRule::kBlocking;
  Pcie pcie(config, kExact);
  EXPECT_EQ(pcie.write(kTimeZero, 64, in_cache).accepted, nanoseconds(250));
  EXPECT_EQ(pcie.write(kTimeZero, 64, in_cache).visible, nanoseconds(500));
}

TEST(Pcie, AReadIsNotDoneBeforeTheWritesPostedBeforeItAreVisible) {
  PcieConfig config = plain_pcie();
  config.posted_write = nanoseconds(2000);
  Pcie pcie(config, kExact);
  // 96 B upstream are 1.5 ns; then 2000 ns and a row. The read's own round trip would take 502 ns.
  EXPECT_EQ(pcie.write(kTimeZero, 64, in_row).visible, picoseconds(2'031'500));
  // A write takes longer than the round trip, so that no time is left for the way back but that of the data.
  EXPECT_EQ(pcie.read(kTimeZero, 64), picoseconds(2'031'500 + 1'500));
  EXPECT_EQ(pcie.read(nanoseconds(3000), 64), picoseconds(3'501'500));
}

TEST(Pcie, WhatAReadWaitedForInMemoryHasItsWayBackStillToGo) {
  Pcie pcie(plain_pcie(), kExact);
  const auto in_busy_memory = [](TimePs arrived, std::uint32_t) { return arrived + nanoseconds(1000); };
  EXPECT_EQ(pcie.write(kTimeZero, 64, in_busy_memory).visible, picoseconds(1'500 + 1'250'000));
  // 250 ns of the round trip of 500 are the way there, as for a write; 250 are the way back, then the data.
  EXPECT_EQ(pcie.read(kTimeZero, 64), picoseconds(1'251'500 + 250'000 + 1'500));
  // A completion of another read that is ready at the same time comes behind it on the link.
  EXPECT_EQ(pcie.read(kTimeZero, 64), picoseconds(1'251'500 + 250'000 + 2 * 1'500));
}

TEST(Pcie, PostedWritesPassAReadThatWaitsForItsTag) {
  Pcie pcie(plain_pcie(), kExact);
  EXPECT_EQ(pcie.read(kTimeZero, 64), picoseconds(501'500));
  EXPECT_EQ(pcie.read(kTimeZero, 64), picoseconds(503'000));
  // The third read leaves at 501.5 ns, when a tag is there; the write behind the headers of two, 1 ns.
  EXPECT_EQ(pcie.read(kTimeZero, 64), picoseconds(1'003'000));
  EXPECT_EQ(pcie.write(kTimeZero, 64, in_cache).visible, picoseconds(1'000 + 1'500 + 250'000));
}

TEST(Pcie, WithoutACreditAPostedWriteWaitsAndSoDoesTheNic) {
  PcieConfig config = plain_pcie();
  config.posted_credits = 2;
  Pcie pcie(config, kExact);
  // 96 B are 1.5 ns upstream. Two go; the third has a credit when the first is in memory.
  EXPECT_EQ(pcie.write(kTimeZero, 64, in_row).visible, picoseconds(281'500));
  EXPECT_EQ(pcie.write(kTimeZero, 64, in_row).accepted, kTimeZero);
  const Pcie::Posted third = pcie.write(kTimeZero, 64, in_row);
  EXPECT_EQ(third.accepted, picoseconds(281'500));
  EXPECT_EQ(third.visible, picoseconds(281'500 + 281'500));
  // Three TLPs are more than there are credits: two, when the third write has landed too, and then one.
  Pcie::Posted longer = pcie.write(nanoseconds(1000), 600, in_cache);
  EXPECT_EQ(longer.accepted, picoseconds(1'000'000 + 9'000 + 250'000));
  EXPECT_EQ(longer.visible, picoseconds(1'259'000 + 1'875 + 250'000));
}

TEST(Pcie, MmioWritesOccupyTheLink) {
  Pcie pcie(plain_pcie(), kExact);
  // A doorbell of 8 B and its header are 40 B: 0.625 ns. An entry of 64 B: 96 B, 1.5 ns.
  EXPECT_EQ(pcie.mmio_write(nanoseconds(7), 8), picoseconds(157'625));
  EXPECT_EQ(pcie.mmio_write(nanoseconds(7), 64), picoseconds(157'625 + 1'500));
  // An entry with 192 B of payload leaves in four write-combined lines: 4 * 96 B are 6 ns.
  EXPECT_EQ(pcie.mmio_write(nanoseconds(200), 256), nanoseconds(356));
  // At a five-hundredth of the rate it is the link that counts: 384 B at 1.024 Gbps.
  PcieConfig slow = plain_pcie();
  slow.rate = BitsPerSecond{1'024'000'000};
  Pcie narrow(slow, kExact);
  EXPECT_EQ(narrow.mmio_write(kTimeZero, 256), nanoseconds(150 + 3000));
  EXPECT_EQ(narrow.mmio_write(kTimeZero, 256), nanoseconds(150 + 6000));
}

TEST(Pcie, WithoutACreditAnMmioWriteLeavesWhenTheNicHasTakenTheOneBefore) {
  PcieConfig config = plain_pcie();
  config.posted_credits = 1;
  Pcie pcie(config, kExact);
  // Two doorbells at once: each takes 150 ns and its 0.625 ns of the link, and the second leaves when the
  // first is there.
  EXPECT_EQ(pcie.mmio_write(nanoseconds(7), 8), picoseconds(157'625));
  EXPECT_EQ(pcie.mmio_write(nanoseconds(7), 8), picoseconds(157'625 + 150'625));
  // An entry with its payload in four write-combined lines of 96 B: one after another.
  EXPECT_EQ(pcie.mmio_write(nanoseconds(1000), 256), picoseconds(1'000'000 + 4 * 151'500));
  // With two credits: two lines, and two behind them.
  config.posted_credits = 2;
  Pcie wider(config, kExact);
  EXPECT_EQ(wider.mmio_write(kTimeZero, 256), picoseconds(2 * 153'000));
}

TEST(Pcie, CompletionsDoNotPassMmioWrites) {
  PcieConfig config = plain_pcie();
  config.posted_credits = 0;
  Pcie pcie(config, kExact);
  // 32 KiB in 512 lines of 96 B are 768 ns; the 96 B of a read's data, there at 500 ns, wait behind them.
  EXPECT_EQ(pcie.mmio_write(kTimeZero, 32768), nanoseconds(150 + 768));
  EXPECT_EQ(pcie.read(kTimeZero, 64), picoseconds(918'000 + 1'500));
}

TEST(OnChipBus, ATransactionThatIsReadyEarlierDoesNotWaitForOneBookedEarlier) {
  OnChipBusConfig config;
  config.rate = gigabits_per_second(512);
  OnChipBus bus(config, kExact);
  // A miss is known at 17 ns. The line that it displaced leaves at once, though it is told later.
  EXPECT_EQ(bus.cross(BusLane::kLoadStore, nanoseconds(17), 16), picoseconds(17'000 + 30'000 + 250));
  EXPECT_EQ(bus.cross(BusLane::kLoadStore, kTimeZero, 80), picoseconds(30'000 + 1'250));
  // One that does not fit before goes behind.
  EXPECT_EQ(bus.cross(BusLane::kLoadStore, nanoseconds(16), 80), picoseconds(17'250 + 30'000 + 1'250));
}

TEST(Dram, ACoreDoesNotWaitForWhatANicBookedAhead) {
  MemoryConfig config;
  config.rate = gigabits_per_second(512);
  Dram dram(config, kExact);
  // 4 KiB that arrive at 280 ns: 30 ns, and 63 lines behind the first.
  EXPECT_EQ(dram.row_hit(nanoseconds(280), 4096), nanoseconds(280 + 30 + 63));
  EXPECT_EQ(dram.closed_row(nanoseconds(10), 64), nanoseconds(80));
  // In the middle of them a line waits for the channels until 344 ns.
  EXPECT_EQ(dram.closed_row(nanoseconds(300), 64), nanoseconds(344 + 70));
}

NicConfig slow_nic() {
  NicConfig nic;
  nic.cycle = nanoseconds(3);
  nic.bytes_per_cycle = 32;
  return nic;
}

TEST(NicPipeline, DepthFlitsAndInitiationInterval) {
  NicPipeline pipeline(slow_nic(), kExact);
  // 8 cycles deep, 3 flits: the head leaves after 8 cycles, the tail 2 cycles later.
  PipelineVisit first = pipeline.visit(nanoseconds(100), 8, 3);
  EXPECT_EQ(first.enter, nanoseconds(100));
  EXPECT_EQ(first.head, nanoseconds(124));
  EXPECT_EQ(first.tail, nanoseconds(130));
  // The next enters when the third flit is in: 3 cycles later.
  PipelineVisit second = pipeline.visit(nanoseconds(100), 8, 1);
  EXPECT_EQ(second.enter, nanoseconds(109));
  EXPECT_EQ(second.tail, nanoseconds(133));
}

TEST(NicPipeline, ShallowPacketsDoNotOvertake) {
  NicPipeline pipeline(slow_nic(), kExact);
  EXPECT_EQ(pipeline.visit(kTimeZero, 25, 1).tail, nanoseconds(75));
  const PipelineVisit load = pipeline.visit(nanoseconds(3), 8, 1);
  EXPECT_EQ(load.enter, nanoseconds(3));
  EXPECT_EQ(load.head, nanoseconds(75));
}

TEST(NicPipeline, PeakRateIsOneFlitPerCycle) {
  NicPipeline pipeline(slow_nic(), kExact);
  PipelineVisit visit;
  for (int i = 0; i < 1000; ++i) visit = pipeline.visit(kTimeZero, 8, 2);
  EXPECT_EQ(visit.enter, nanoseconds(3 * 2 * 999));
}

TEST(NicPipeline, AccountingFloorsEachVisit) {
  // nic(8 cycles, 64 B) = floor((8 + 1) * 3.106) = 27 ns; nic(25, 8) = floor(25 * 3.106) = 77 ns.
  NicConfig nic;
  EXPECT_EQ(pipeline_latency(nic, 8, FlitCount(32)(64), StageRounding::kWholeNanoseconds), nanoseconds(27));
  EXPECT_EQ(pipeline_latency(nic, 25, FlitCount(32)(8), StageRounding::kWholeNanoseconds), nanoseconds(77));
  EXPECT_EQ(pipeline_latency(nic, 8, 2, kExact), picoseconds(27'954));
}

TEST(PipelineQueue, RoomComesBackWhenAPacketEnters) {
  PipelineQueue queue(2);
  EXPECT_TRUE(queue.has_room(kTimeZero));
  queue.add(kTimeZero, kTimeZero);  // Enters at once: needs no room.
  queue.add(kTimeZero, nanoseconds(3));
  EXPECT_TRUE(queue.has_room(kTimeZero));
  queue.add(kTimeZero, nanoseconds(6));
  EXPECT_FALSE(queue.has_room(kTimeZero));
  EXPECT_EQ(queue.room_at(), nanoseconds(3));
  EXPECT_FALSE(queue.has_room(picoseconds(2'999)));
  EXPECT_TRUE(queue.has_room(nanoseconds(3)));
}

}  // namespace
}  // namespace wharf::sim
