// SPDX-License-Identifier: Apache-2.0
// What one line costs on its way through a coherent host, to the picosecond: every figure is a sum of the
// profile's, written out.
#include "sim/host/coherent_host.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/random.h"
#include "sim/host/coherent_rig_test_support.h"

namespace wharf::sim {
namespace {

// Link up 602 cycles, lookup 50, bus to memory 8, DRAM of a closed row 10 + 13.75 + 13.75 + 5 + 10 ns, bus
// back 2, answer 50, link down 600, and 4 cycles for the line's data: 1316 cycles of 333 ps and 52.5 ns.
TEST(CoherentHost, ReadOfALineFromAClosedRow) {
  CoherentRig rig(config_of(ordering::RlsqDesign::kBaseline));
  rig.read(rig.engine->add_stream({}, SourceOrdering::kNone), 1, 0, 64);
  rig.run();
  ASSERT_EQ(rig.done.size(), 1U);
  EXPECT_EQ(rig.done[0].at.ps, 1316 * 333 + 52'500);
}

// The second line of the row finds it open: 13.75 ns less. Both lines are asked for at once: the second
// request leaves one cycle after the first (its header) and its data wait for the data bus of the DRAM.
TEST(CoherentHost, ReadOfALineFromAnOpenRow) {
  CoherentRig rig(config_of(ordering::RlsqDesign::kBaseline));
  const std::uint32_t stream = rig.engine->add_stream({}, SourceOrdering::kNone);
  rig.read(stream, 1, 0, 64);
  rig.run();
  const TimePs begin = rig.simulation.now();
  rig.read(stream, 2, 64, 64);
  rig.run();
  ASSERT_EQ(rig.done.size(), 2U);
  EXPECT_EQ((rig.done[1].at - begin).ps, 1316 * 333 + 38'750);
}

// A line that a core has modified: instead of memory, a snoop that both levels and the bus between them
// answer (2 + 1 + 20 cycles) and the way back of 4: 602 + 50 + 27 + 4 + 50 + 600 cycles. The paper's text
// says 440 ns.
TEST(CoherentHost, ReadOfALineThatACoreHasModified) {
  CoherentRig rig(config_of(ordering::RlsqDesign::kStrictBlocking));
  rig.write_line_in_cache(0, 0, 42);
  const TimePs begin = rig.simulation.now();
  std::uint64_t value = 0;
  rig.read(rig.engine->add_stream({}, SourceOrdering::kNone), 1, 0, 8, reinterpret_cast<std::byte*>(&value));
  rig.run();
  ASSERT_EQ(rig.done.size(), 1U);
  EXPECT_EQ(value, 42U);
  // Eight bytes take one cycle of the link, but the line's four on the bus.
  EXPECT_EQ((rig.done[0].at - begin).ps, (602 + 50 + 27 + 4 + 50 + 600) * 333);
}

// Four lines that a core has modified, by who keeps them in order. Unordered, each line's data take five
// cycles of the link, and the request of the next leaves one cycle after: R + 3 * 5 cycles. At the source,
// four round trips. At a root complex that waits, 27 cycles to the line and back for each but the first.
TEST(CoherentHost, FourLinesByWhoOrdersThem) {
  constexpr std::int64_t kRound = (602 + 50 + 27 + 4 + 50 + 600) * 333;
  const auto elapsed = [](ordering::RlsqDesign design, SourceOrdering source) {
    CoherentRig rig(config_of(design));
    for (std::uint64_t line = 0; line < 4; ++line) rig.write_line_in_cache(0, line * 64, line);
    const TimePs begin = rig.simulation.now();
    rig.read(rig.engine->add_stream({}, source), 1, 0, 256);
    rig.run();
    EXPECT_EQ(rig.done.size(), 1U);
    return (rig.done.back().at - begin).ps;
  };
  using ordering::RlsqDesign;
  EXPECT_EQ(elapsed(RlsqDesign::kBaseline, SourceOrdering::kNone), kRound + 3 * 5 * 333);
  EXPECT_EQ(elapsed(RlsqDesign::kStrictSpeculative, SourceOrdering::kNone), kRound + 3 * 5 * 333);
  EXPECT_EQ(elapsed(RlsqDesign::kBaseline, SourceOrdering::kLine), 4 * kRound);
  EXPECT_EQ(elapsed(RlsqDesign::kStrictBlocking, SourceOrdering::kNone), kRound + 3 * 27 * 333);
}

// One thread acquires a line from DRAM; behind it another thread reads a line that a core has modified.
// The request of the second leaves one cycle after the first and finds its line after 27 cycles. Only where
// all threads share one acquire flag does it wait for the acquire: 8 cycles to memory, 38.75 ns, 2 cycles
// back (the core has left the row open).
TEST(CoherentHost, AnAcquireDelaysItsOwnThreadOnly) {
  const auto elapsed = [](ordering::RlsqDesign design, std::uint32_t second_thread) {
    CoherentRig rig(config_of(design));
    rig.write_line_in_cache(0, 8192, 1);
    const std::array streams{rig.engine->add_stream({0, 1}, SourceOrdering::kNone),
                             rig.engine->add_stream({0, 2}, SourceOrdering::kNone)};
    const TimePs begin = rig.simulation.now();
    DmaAccess acquire;
    acquire.address = rig.base;
    acquire.length = 64;
    acquire.first_label = ordering::Label::kAcquire;
    rig.engine->start(begin, streams[0], acquire);
    DmaAccess read = acquire;
    read.ticket = 1;
    read.address = rig.base + 8192;
    read.first_label = ordering::Label::kRelaxed;
    rig.engine->start(begin, streams[second_thread - 1], read);
    rig.run();
    EXPECT_EQ(rig.done.size(), 2U);
    const std::size_t at = rig.done[0].ticket == 1 ? 0 : 1;
    return (rig.done[at].at - begin).ps;
  };
  using ordering::RlsqDesign;
  constexpr std::int64_t kAlone = (1 + 602 + 50 + 27 + 4 + 50 + 600) * 333;
  constexpr std::int64_t kBehindAcquire = (602 + 50 + 8 + 2 + 27 + 4 + 50 + 600) * 333 + 38'750;
  EXPECT_EQ(elapsed(RlsqDesign::kThreadSpecific, 2), kAlone);
  EXPECT_EQ(elapsed(RlsqDesign::kSpeculative, 2), kAlone);
  EXPECT_EQ(elapsed(RlsqDesign::kReleaseAcquire, 2), kBehindAcquire);
  // Within one thread it does anyway; the issue interval of 3 ns has passed by then.
  EXPECT_EQ(elapsed(RlsqDesign::kThreadSpecific, 1), kBehindAcquire);
}

// A device's write is seen by the core that had the line modified, and its atomic by both.
TEST(CoherentHost, WritesAndAtomicsOfADevice) {
  CoherentRig rig(config_of(ordering::RlsqDesign::kSpeculative), 2);
  rig.write_line_in_cache(0, 0, 5);
  const std::uint32_t stream = rig.engine->add_stream({0, 1}, SourceOrdering::kMessage);
  DmaAccess add;
  add.kind = ordering::Kind::kAtomic;
  add.address = rig.base;
  add.length = 8;
  add.operand = {3, 0};
  rig.engine->start(rig.simulation.now(), stream, add);
  std::array<std::byte, 200> written;
  written.fill(std::byte{0x5a});
  DmaAccess write;
  write.kind = ordering::Kind::kWrite;
  write.address = rig.base + 40;
  write.length = 200;
  write.bytes = written.data();
  rig.engine->start(rig.simulation.now(), stream, write);
  rig.run();
  EXPECT_EQ(rig.done.size(), 2U);
  std::array<std::byte, 256> read{};
  rig.read(stream, 3, 0, 256, read.data());
  rig.run();
  std::uint64_t sum = 0;
  std::memcpy(&sum, read.data(), 8);
  EXPECT_EQ(sum, 8U);
  EXPECT_EQ(read[39], std::byte{0});
  for (std::size_t i = 40; i < 240; ++i) EXPECT_EQ(read[i], std::byte{0x5a}) << i;
  EXPECT_EQ(read[240], std::byte{0});
}

// [PCIe Base 5.0 2.4.1] A read passes no write, nor one that waits before the queue: though the queue has the
// line of this read, and so a place for it, while the last write needs a tracker more than there are.
TEST(CoherentHost, AReadPassesNoWriteThatWaitsBeforeTheQueue) {
  for (const std::uint64_t writes : {2U, 3U}) {
    CoherentConfig config = config_of(ordering::RlsqDesign::kSpeculative);
    config.root_complex.queue.trackers = 1;
    config.root_complex.queue.posted_reserve = 1;
    CoherentRig rig(config, 1, {.issue = kTimeZero});
    const std::uint32_t stream = rig.engine->add_stream({}, SourceOrdering::kNone);
    for (std::uint64_t i = 0; i < writes; ++i) {
      DmaAccess write;
      write.kind = ordering::Kind::kWrite;
      write.address = rig.base + 64 * i;
      write.length = 8;  // Memory is asked for the rest of the line: no write is done before the read comes.
      rig.engine->start(rig.simulation.now(), stream, write);
    }
    rig.read(stream, 9, 0, 64);
    rig.run();
    EXPECT_EQ(rig.done.size(), writes + 1);
    EXPECT_EQ(rig.host->root_complex().counters().held_posted, writes - 2);
    EXPECT_EQ(rig.host->root_complex().counters().held_non_posted, writes - 2);
  }
}

// What labels keep in order they keep before a full queue, too: the queue can only order what it sees in
// order.
TEST(CoherentHost, AWritePassesNoReadBeforeTheQueueThatItsLabelsKeepAhead) {
  using ordering::Label;
  using ordering::RlsqDesign;
  const auto held_writes = [](RlsqDesign design, Label of_read, Label of_write) {
    CoherentConfig config = config_of(design);
    config.root_complex.queue.entries = 1;
    config.root_complex.queue.trackers = 1;
    config.root_complex.queue.posted_reserve = 1;
    CoherentRig rig(config, 1, {.issue = kTimeZero});
    const std::uint32_t stream = rig.engine->add_stream({0, 1}, SourceOrdering::kNone);
    DmaAccess access;
    access.length = 64;
    for (std::uint64_t i = 0; i < 2;
         ++i) {  // The first has the only entry; the second waits before the queue.
      access.address = rig.base + 8192 * i;
      access.first_label = of_read;
      rig.engine->start(rig.simulation.now(), stream, access);
    }
    access.kind = ordering::Kind::kWrite;
    access.address = rig.base + 8192 * 2;
    access.first_label = of_write;
    rig.engine->start(rig.simulation.now(), stream, access);
    rig.run();
    EXPECT_EQ(rig.done.size(), 3U);
    EXPECT_EQ(rig.host->root_complex().counters().held_non_posted, 1U);
    return rig.host->root_complex().counters().held_posted;
  };
  for (const RlsqDesign design :
       {RlsqDesign::kReleaseAcquire, RlsqDesign::kThreadSpecific, RlsqDesign::kSpeculative}) {
    EXPECT_EQ(held_writes(design, Label::kAcquire, Label::kRelaxed), 1U);
    EXPECT_EQ(held_writes(design, Label::kRelaxed, Label::kRelease), 1U);
    EXPECT_EQ(held_writes(design, Label::kRelaxed, Label::kRelaxed), 0U);
  }
  EXPECT_EQ(held_writes(RlsqDesign::kBaseline, Label::kAcquire, Label::kRelease), 0U);
}

// Many devices' reads, writes and atomics against many stores of cores on few lines: everything ends, and the
// observer has seen no wrong value. Also under a queue of four entries, few credits and a tiny directory.
TEST(CoherentHost, ManyAccessesToFewLines) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    CoherentConfig config = config_of(static_cast<ordering::RlsqDesign>(seed % ordering::kRlsqDesignCount));
    if (seed >= 6) {
      config.root_complex.queue.entries = 4;
      config.root_complex.queue.trackers = 4;
      config.root_complex.queue.posted_reserve = 1;
      config.io_link.posted_credits = 3;
      config.io_link.non_posted_credits = 2;
      config.coherence.directory_sets = 1;
      config.coherence.directory_ways = 4;
    }
    CoherentRig rig(config, 3);
    RandomStream random(seed, "few lines");
    std::array<std::uint32_t, 4> streams;
    for (std::uint32_t i = 0; i < 4; ++i)
      streams[i] = rig.engine->add_stream({i / 2, i % 2}, SourceOrdering::kNone);
    std::array<std::byte, 512> bytes{};
    std::size_t dmas = 0;
    std::size_t stores = 0;
    for (int round = 0; round < 60; ++round) {
      for (int i = 0; i < 6; ++i) {
        DmaAccess access;
        access.kind = static_cast<ordering::Kind>(random.below(3));
        const bool atomic = access.kind == ordering::Kind::kAtomic;
        access.address = rig.base + random.below(40) * 8;
        access.length = atomic ? 8 : static_cast<std::uint32_t>(1 + random.below(190));
        access.label = access.first_label = access.last_label =
            static_cast<ordering::Label>(random.below(ordering::kLabelCount));
        access.operand = {random.below(9), 0};
        if (access.kind == ordering::Kind::kWrite) access.bytes = bytes.data();
        rig.engine->start(rig.simulation.now(), streams[random.below(4)], access);
        ++dmas;
      }
      for (std::uint32_t core = 0; core < 3; ++core) {
        const std::uint64_t value = random.next_u64();
        std::array<std::byte, 8> stored;
        std::memcpy(stored.data(), &value, 8);
        rig.host->core_cache(core).store(rig.simulation.now(), stores++, rig.base + random.below(40) * 8,
                                         stored);
      }
      rig.simulation.run_until(rig.simulation.now() +
                               nanoseconds(static_cast<std::int64_t>(random.below(600))));
    }
    rig.run();
    EXPECT_EQ(rig.done.size(), dmas);
    EXPECT_EQ(rig.cached.size(), stores);
    EXPECT_TRUE(rig.host->memory().is_idle());
  }
}

}  // namespace
}  // namespace wharf::sim
