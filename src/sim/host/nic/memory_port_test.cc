// SPDX-License-Identifier: Apache-2.0
// The memory port serves accesses exactly on time and in the order that their labels demand.
#include "sim/host/nic/memory_port.h"

#include "base/bytes.h"

namespace wharf::sim {
namespace {

using engine::Access;
using engine::AccessKind;
using verbs::AccessOrder;

struct Bench {
  explicit Bench(Attachment attachment, HostConfig config = {})
      : dram(config.memory, config.time.rounding),
        bus(config.bus, config.time.rounding),
        port(config, attachment, {memory, dram, bus, tracer, payloads}, 0),
        base(memory.allocate(Bytes{4096})) {}

  Access access(AccessKind kind, bool at_target = true, AccessOrder order = AccessOrder::kRelaxed) const {
    Access made;
    made.kind = kind;
    made.order = order;
    made.at_target = at_target;
    made.length = 64;
    made.address = base;
    return made;
  }
  /// Begins `made` as soon as its label allows; returns when the engine gets its answer.
  MemoryPort::Course serve(TimePs now, const Access& made) {
    return port.begin(port.earliest(now, made), made);
  }

  HostMemory memory;
  Dram dram;
  OnChipBus bus;
  trace::Tracer tracer;
  wire::PayloadPool payloads;
  MemoryPort port;
  std::uint64_t base;
};

TEST(MemoryPort, OnTheBusATargetsAccessIsACrossingAndARow) {
  Bench bench(Attachment::kOnChipBus);
  EXPECT_EQ(bench.serve(nanoseconds(100), bench.access(AccessKind::kRead)).done, nanoseconds(160));
  const MemoryPort::Course write = bench.serve(nanoseconds(200), bench.access(AccessKind::kWrite));
  EXPECT_EQ(write.done, nanoseconds(260));
  EXPECT_EQ(write.visible, nanoseconds(260));
  // What belongs to the initiator lies in the last-level cache: a crossing. Its write is posted.
  EXPECT_EQ(bench.serve(nanoseconds(300), bench.access(AccessKind::kRead, false)).done, nanoseconds(330));
  const MemoryPort::Course posted = bench.serve(nanoseconds(400), bench.access(AccessKind::kWrite, false));
  EXPECT_EQ(posted.done, nanoseconds(400));
  EXPECT_EQ(posted.visible, nanoseconds(430));
  // A record in closed rows.
  EXPECT_EQ(bench.serve(nanoseconds(500), bench.access(AccessKind::kFetchContext)).done, nanoseconds(600));
}

TEST(MemoryPort, OverPcieReadsAreRoundTripsAndWritesArePosted) {
  Bench bench(Attachment::kPcie);
  EXPECT_EQ(bench.serve(nanoseconds(0), bench.access(AccessKind::kRead)).done, nanoseconds(530));
  EXPECT_EQ(bench.serve(nanoseconds(0), bench.access(AccessKind::kFetchWorkRequest, false)).done,
            nanoseconds(500));
  const MemoryPort::Course write = bench.serve(nanoseconds(1000), bench.access(AccessKind::kWrite));
  EXPECT_EQ(write.done, nanoseconds(1000));
  EXPECT_EQ(write.visible, nanoseconds(1280));
  // The completion record behind it is done when it is visible, and not before the data.
  EXPECT_EQ(bench.serve(nanoseconds(1001), bench.access(AccessKind::kWriteCompletion)).done,
            nanoseconds(1280));
  EXPECT_EQ(bench.serve(nanoseconds(2000), bench.access(AccessKind::kWriteCompletion)).done,
            nanoseconds(2250));
}

TEST(MemoryPort, BlockingWritesAnswerWhenTheyAreInMemory) {
  HostConfig config;
  config.pcie.posted_writes = PostedWriteRule::kBlocking;
  Bench bench(Attachment::kPcie, config);
  EXPECT_EQ(bench.serve(nanoseconds(0), bench.access(AccessKind::kWrite)).done, nanoseconds(280));
}

TEST(MemoryPort, TheAtomicUnitIsSerial) {
  Bench bench(Attachment::kOnChipBus);
  Access add = bench.access(AccessKind::kAtomic);
  add.length = 8;
  EXPECT_EQ(bench.serve(nanoseconds(0), add).done, nanoseconds(60));
  EXPECT_EQ(bench.serve(nanoseconds(0), add).done, nanoseconds(90));
  EXPECT_EQ(bench.serve(nanoseconds(0), add).done, nanoseconds(120));
}

TEST(MemoryPort, AcquireHoldsBackWhatFollowsInItsStream) {
  Bench bench(Attachment::kPcie);
  EXPECT_EQ(bench.serve(kTimeZero, bench.access(AccessKind::kRead, true, AccessOrder::kAcquire)).done,
            nanoseconds(530));
  EXPECT_EQ(bench.serve(kTimeZero, bench.access(AccessKind::kRead)).done, nanoseconds(1060));
  // Another stream is not held back.
  Bench other(Attachment::kPcie);
  EXPECT_EQ(other.serve(kTimeZero, other.access(AccessKind::kRead, true, AccessOrder::kAcquire)).done,
            nanoseconds(530));
  Access elsewhere = other.access(AccessKind::kRead);
  elsewhere.stream = 7;
  EXPECT_EQ(other.serve(kTimeZero, elsewhere).done, nanoseconds(530));
}

TEST(MemoryPort, ReleaseWaitsForEverythingBefore) {
  Bench bench(Attachment::kPcie);
  EXPECT_EQ(bench.serve(kTimeZero, bench.access(AccessKind::kWrite)).visible, nanoseconds(280));
  // The read comes behind the write: in memory when that is visible, then a way back of 250 ns and its row.
  EXPECT_EQ(bench.serve(kTimeZero, bench.access(AccessKind::kRead)).done, nanoseconds(280 + 250 + 30));
  const Access release = bench.access(AccessKind::kWrite, true, AccessOrder::kRelease);
  EXPECT_EQ(bench.port.earliest(nanoseconds(10), release), nanoseconds(560));
  // What comes behind a waiting access does not overtake it.
  EXPECT_EQ(bench.port.earliest(nanoseconds(20), bench.access(AccessKind::kWrite)), nanoseconds(560));
}

TEST(MemoryPort, ReadReleaseWaitsForReadsAlone) {
  Bench bench(Attachment::kPcie);
  EXPECT_EQ(bench.serve(kTimeZero, bench.access(AccessKind::kWrite)).visible, nanoseconds(280));
  const Access read = bench.access(AccessKind::kRead, true, AccessOrder::kReadRelease);
  EXPECT_EQ(bench.serve(nanoseconds(5), read).done, nanoseconds(280 + 250 + 30));
  EXPECT_EQ(bench.port.earliest(nanoseconds(10), read), nanoseconds(560));
}

TEST(MemoryPort, ReceiveEntriesAreFetchedAndMatched) {
  // 500 ns over PCIe and 8 cycles of 3.106 ns.
  Bench fetched(Attachment::kPcie);
  EXPECT_EQ(fetched.serve(kTimeZero, fetched.access(AccessKind::kFetchReceiveEntry)).done,
            picoseconds(524'848));
  HostConfig config;
  config.time.rounding = StageRounding::kWholeNanoseconds;
  config.nic.receive_entries = ReceiveEntryRule::kPrefetched;
  config.nic.send_notify_crossing = true;
  Bench prefetched(Attachment::kPcie, config);
  EXPECT_EQ(prefetched.serve(kTimeZero, prefetched.access(AccessKind::kFetchReceiveEntry)).done,
            nanoseconds(24 + 30));
}

TEST(MemoryPort, MovesBytesAndReportsFaults) {
  Bench bench(Attachment::kOnChipBus);
  const std::array<std::byte, 8> word{std::byte{1}, std::byte{2}};
  Access write = bench.access(AccessKind::kWrite);
  write.length = 8;
  write.data = wire::bytes_payload(word);
  EXPECT_EQ(bench.port.perform(write).status, engine::AccessStatus::kDone);
  EXPECT_EQ(load_le64(bench.memory.bytes(bench.base, Bytes{8}).data()), 0x201U);
  Access add = bench.access(AccessKind::kAtomic);
  add.atomic = verbs::Verb::kFetchAdd;
  add.operand[0] = 1;
  EXPECT_EQ(bench.port.perform(add).old_value[0], 0x201U);
  Access read = bench.access(AccessKind::kRead);
  const engine::AccessResult got = bench.port.perform(read);
  EXPECT_EQ(wire::payload_byte(got.data, 0), std::byte{2});
  bench.payloads.release(got.data.buffer);
  read.address = bench.base + 4095;
  EXPECT_EQ(bench.port.perform(read).status, engine::AccessStatus::kFault);
  EXPECT_FALSE(bench.port.is_mapped(read));
}

}  // namespace
}  // namespace wharf::sim
