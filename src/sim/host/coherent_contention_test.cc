// SPDX-License-Identifier: Apache-2.0
// Who waits for whom inside a coherent host: the bus between the levels of a core's caches, the lanes to and
// from memory, and the queues of the memory controllers. Sums are worked out by hand, in cycles of 333 ps; an
// awaited access is not done a picosecond before its sum.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/random.h"
#include "sim/host/coherent_rig_test_support.h"

namespace wharf::sim {
namespace {

using ordering::RlsqDesign;

constexpr std::int64_t kCycle = 333;
constexpr std::uint64_t kAwaited = 99;
constexpr std::uint64_t kNextChannel = 128;
constexpr std::uint64_t kSameChannel = 8 * 128;  ///< Another line of the channel, in the same row.
constexpr std::uint64_t kNextBank = 8 * 8192;    ///< Of the same channel.
constexpr std::uint64_t kSameSetOfLevel1 = 512 * 64;
constexpr std::int64_t kClosedRow = 52'500;
constexpr std::int64_t kOpenRow = 38'750;

CoherentConfig published() { return config_of(RlsqDesign::kBaseline); }

void load(CoherentRig& rig, std::uint32_t core, std::uint64_t ticket, std::uint64_t offset) {
  rig.host->core_cache(core).load(rig.simulation.now(), ticket, rig.base + offset, 8);
}
void flush(CoherentRig& rig, std::uint32_t core, std::uint64_t offset) {
  rig.host->core_cache(core).flush(rig.simulation.now(), 0, (rig.base + offset) / kLineBytes);
}

/// `begin` in a host that `prepare` has left idle: the awaited access is done after `ps`, not before.
template <typename Prepare, typename Begin>
void expect_done_after(std::int64_t ps, const CoherentConfig& config, Prepare prepare, Begin begin) {
  for (const std::int64_t until : {ps - 1, ps}) {
    CoherentRig rig(config, 3);
    prepare(rig);
    rig.run();
    const TimePs from = rig.simulation.now();
    begin(rig);
    rig.simulation.run_until(from + TimePs{until});
    const auto is_awaited = [](const CoherentRig::Done& one) { return one.ticket == kAwaited; };
    EXPECT_EQ(std::ranges::any_of(rig.done, is_awaited) || std::ranges::any_of(rig.cached, is_awaited),
              until == ps)
        << "after " << until << " ps";
    rig.run();
    EXPECT_TRUE(rig.host->memory().is_idle());
  }
}
void nothing(CoherentRig&) {}

// Two lines of level 2 at once: the second request crosses a cycle (its header) behind the first, and its
// line behind the first line, which takes a header and two beats of 32 B. At 16 B it takes four beats; with
// headers of two cycles it takes four cycles in all.
TEST(CoherentContention, LinesOfLevel2CrossOneByOne) {
  const auto in_level2 = [](CoherentRig& rig) {
    for (std::uint64_t i = 0; i < 4; ++i) load(rig, 0, i, i * kSameSetOfLevel1);
  };
  const auto both = [](CoherentRig& rig) {
    load(rig, 0, 1, 0);
    load(rig, 0, kAwaited, kSameSetOfLevel1);
  };
  CoherentConfig config = published();
  expect_done_after((2 + 1 + 20 + 3) * kCycle, config, in_level2, both);
  config.core_cache.width_bytes = 16;
  expect_done_after((2 + 1 + 20 + 5) * kCycle, config, in_level2, both);
  config.core_cache.width_bytes = 32;
  config.core_cache.header_cycles = 2;
  expect_done_after((2 + 1 + 20 + 4) * kCycle, config, in_level2, both);
}

// A line from memory crosses to level 1 while it comes: its last byte a cycle after it came over the bus, or
// where the bus between the levels is slower (8 B: eight beats), eight beats and that cycle after its header.
TEST(CoherentContention, ALineOfMemoryCrossesAtTheSlowerOfBothBuses) {
  CoherentConfig config = published();
  const auto miss = [](CoherentRig& rig) { load(rig, 0, kAwaited, 0); };
  expect_done_after((23 + 8 + 2 + 4 + 1 + 2) * kCycle + kClosedRow, config, nothing, miss);
  config.core_cache.width_bytes = 8;
  expect_done_after((23 + 8 + 2 + 8 + 1 + 2) * kCycle + kClosedRow, config, nothing, miss);
}

// Two lines that a core has modified, read by a device: the second follows the first over the link (a header
// and four beats), unless the bus between the levels takes longer for a line (a header and eight beats).
TEST(CoherentContention, AnswersToSnoopsCrossOneByOne) {
  const auto modified = [](CoherentRig& rig) {
    rig.write_line_in_cache(0, 0, 7);
    rig.write_line_in_cache(0, 64, 7);
  };
  const auto both = [](CoherentRig& rig) {
    rig.read(rig.engine->add_stream({}, SourceOrdering::kNone), kAwaited, 0, 128);
  };
  CoherentConfig config = published();
  expect_done_after((602 + 50 + 27 + 4 + 50 + 600 + 5) * kCycle, config, modified, both);
  config.core_cache.width_bytes = 8;
  expect_done_after((602 + 50 + 27 + 4 + 50 + 600 + 9) * kCycle, config, modified, both);
}

// A line that core 1 takes from core 0 is written home when its bytes are at the home, after 23 + 23 + 4
// cycles: it takes the lane to its channel for a header and four beats. A miss of core 2 in that channel
// comes there a cycle later and waits for the other four cycles.
TEST(CoherentContention, AWriteOccupiesTheLaneToItsChannel) {
  const auto begin = [](CoherentRig& rig) {
    load(rig, 1, 1, 0);
    rig.simulation.run_until(rig.simulation.now() + TimePs{28 * kCycle});
    load(rig, 2, kAwaited, kNextBank);
  };
  const auto modified = [](CoherentRig& rig) { rig.write_line_in_cache(0, 0, 7); };
  CoherentConfig config = published();
  expect_done_after((28 + 23 + 4 + 8 + 2 + 4 + 3) * kCycle + kClosedRow, config, modified, begin);
  config.coherence.width_bytes = 32;
  expect_done_after((28 + 23 + 2 + 8 + 2 + 2 + 3) * kCycle + kClosedRow, config, modified, begin);
}

// Two lines of one channel leave a DRAM whose data bus takes but a picosecond for a line: the lane back takes
// a header and four beats for each.
TEST(CoherentContention, LinesOfAChannelComeBackOneByOne) {
  CoherentConfig config = published();
  config.ddr.burst = picoseconds(1);
  const auto both = [](CoherentRig& rig) {
    load(rig, 0, 1, 0);
    load(rig, 1, kAwaited, kSameChannel);
  };
  expect_done_after((23 + 8 + 5 + 2 + 4 + 3) * kCycle + 47'501, config, nothing, both);
  config.coherence.header_cycles = 2;
  expect_done_after((23 + 8 + 6 + 2 + 4 + 3) * kCycle + 47'501, config, nothing, both);
}

// Three cores miss in one channel. With three entries the last line is 10 ns behind the first on the data
// bus. With two, the third read enters when the data of the first leave, and finds an open row; with one, the
// second enters then, and the third when the data of the second leave.
TEST(CoherentContention, ReadsWaitForAnEntry) {
  const auto three = [](CoherentRig& rig) {
    load(rig, 0, 1, 0);
    load(rig, 1, 2, kSameChannel);
    load(rig, 2, kAwaited, 2 * kSameChannel);
  };
  constexpr std::int64_t kWay = (23 + 8 + 2 + 4 + 3) * kCycle;
  CoherentConfig config = published();
  EXPECT_EQ(config.ddr.read_entries, 32U);
  config.ddr.read_entries = 3;
  expect_done_after(kWay + kClosedRow + 10'000, config, nothing, three);
  config.ddr.read_entries = 2;
  expect_done_after(kWay + kClosedRow + kOpenRow, config, nothing, three);
  config.ddr.read_entries = 1;
  expect_done_after(kWay + kClosedRow + 2 * kOpenRow, config, nothing, three);
}

// Cores 0 and 1 flush a line each of one channel, in an open row. Core 0's write is at its controller after
// 23 + 8 + 4 cycles. With one entry it is sent to the DRAM at once, but only when it is in its row, 10 +
// 13.75 + 5 ns later, there is an entry for the other; the request of core 2 for that line has to wait at the
// home until then, its read goes to memory 8 cycles before that (the way that the write had) and is answered
// by the write. With two entries, the second write is there 5 cycles behind the first, the request a cycle
// behind that.
TEST(CoherentContention, WritesWaitForAnEntry) {
  const auto modified = [](CoherentRig& rig) {
    rig.write_line_in_cache(0, 0, 7);
    rig.write_line_in_cache(1, kSameChannel, 7);
  };
  const auto flushes = [](CoherentRig& rig) {
    flush(rig, 0, 0);
    flush(rig, 1, kSameChannel);
    load(rig, 2, kAwaited, kSameChannel);
  };
  constexpr std::int64_t kBack = (2 + 4 + 3) * kCycle;
  CoherentConfig config = published();
  config.ddr.write_entries = 1;
  expect_done_after((23 + 8 + 4) * kCycle + 28'750 + 20'000 + kBack, config, modified, flushes);
  config.ddr.write_entries = 2;
  expect_done_after((23 + 5 + 5 + 8) * kCycle + 20'000 + kBack, config, modified, flushes);
}

/// Accesses that were held before the queues of the first channel, of `count` that come at once.
std::uint64_t held(std::uint32_t entries, std::uint32_t count, bool are_writes) {
  CoherentConfig config = published();
  (are_writes ? config.ddr.write_entries : config.ddr.read_entries) = entries;
  // So slow that none of them is over when the last one comes.
  config.ddr.front_end = microseconds(2);
  DmaConfig dma;
  dma.issue = kTimeZero;
  CoherentRig rig(config, 1, dma);
  const std::uint32_t stream = rig.engine->add_stream({}, SourceOrdering::kNone);
  for (std::uint64_t i = 0; i < count; ++i) {
    DmaAccess access;
    access.kind = are_writes ? ordering::Kind::kWrite : ordering::Kind::kRead;
    access.label = access.first_label = access.last_label = ordering::Label::kRelaxed;
    access.address = rig.base + i * kSameChannel;
    access.length = 64;
    rig.engine->start(rig.simulation.now(), stream, access);
  }
  rig.run();
  EXPECT_EQ(rig.done.size(), count);
  EXPECT_TRUE(rig.host->memory().is_idle());
  const CoherentMemoryCounters& counters = rig.host->memory().counters();
  return are_writes ? counters.held_writes : counters.held_reads;
}

TEST(CoherentContention, QueuesHoldWhatTheirEntriesSay) {
  for (const std::uint32_t entries : {1U, 2U, 32U}) {
    EXPECT_EQ(held(entries, entries - 1, false), 0U);
    EXPECT_EQ(held(entries, entries, false), 0U);
    EXPECT_EQ(held(entries, entries + 1, false), 1U);
  }
  for (const std::uint32_t entries : {1U, 4U, 64U}) {
    EXPECT_EQ(held(entries, entries - 1, true), 0U);
    EXPECT_EQ(held(entries, entries, true), 0U);
    EXPECT_EQ(held(entries, entries + 1, true), 1U);
  }
}

// A device writes 4000 lines of one channel as fast as its link takes them, 1.665 ns each: three times what
// the DRAM takes. What has been performed and is not in its row is in the queue, has one of 16 places for
// writes at the home, or one of the root complex's lines, of which there are four for each tracker;
// everything else has waited for the DRAM, 5 ns a line.
TEST(CoherentContention, AFullMemoryHoldsUpTheDevice) {
  constexpr std::uint32_t kLines = 4'000;
  const CoherentConfig config = published();
  DmaConfig dma;
  dma.issue = kTimeZero;
  CoherentRig rig(config, 1, dma);
  const std::uint32_t stream = rig.engine->add_stream({}, SourceOrdering::kNone);
  for (std::uint64_t i = 0; i < kLines; ++i) {
    DmaAccess access;
    access.kind = ordering::Kind::kWrite;
    access.label = access.first_label = access.last_label = ordering::Label::kRelaxed;
    access.address = rig.base + i * kSameChannel;
    access.length = 64;
    rig.engine->start(rig.simulation.now(), stream, access);
  }
  rig.run();
  ASSERT_EQ(rig.done.size(), kLines);
  const ordering::RlsqConfig& queue = config.root_complex.queue;
  const std::uint32_t inside = config.ddr.write_entries + 4 * (queue.trackers + queue.posted_reserve) + 16;
  EXPECT_GE(rig.done.back().at.ps, std::int64_t{kLines - inside} * 5'000);
  EXPECT_GT(rig.host->memory().counters().held_writes, 1'000U);
  EXPECT_GT(rig.host->root_complex().counters().held_posted, 0U);
}

TEST(CoherentContention, RefusesQueuesThatCannotBeBuilt) {
  const auto refusal = [](void (*change)(CoherentConfig&)) {
    CoherentConfig config;
    change(config);
    const Result<void> valid = validate(config);
    return valid.ok() ? std::string() : valid.error().message;
  };
  EXPECT_EQ(refusal([](CoherentConfig& c) { c.ddr.read_entries = 0; }),
            "ddr.read_entries is 0, expected 1 to 4096");
  EXPECT_EQ(refusal([](CoherentConfig& c) { c.ddr.write_entries = 5000; }),
            "ddr.write_entries is 5000, expected 1 to 4096");
  EXPECT_EQ(refusal([](CoherentConfig& c) { c.ddr.write_high_percent = 101; }),
            "ddr.write_high_percent is 101, expected 1 to 100");
  EXPECT_EQ(refusal([](CoherentConfig& c) { c.ddr.write_low_percent = 85; }),
            "ddr.write_low_percent is 85, expected less than ddr.write_high_percent (85)");
  EXPECT_EQ(refusal([](CoherentConfig& c) { c.core_cache.width_bytes = 24; }),
            "core_cache.width_bytes is 24, expected a power of two from 1 to 64");
  EXPECT_EQ(refusal([](CoherentConfig& c) { c.core_cache.cache.lines.level1_sets = 3; }),
            "core_cache.level1_sets is 3, expected a power of two from 1 to 1048576");
  EXPECT_EQ(refusal([](CoherentConfig& c) { c.core_cache.cache.lines.level2_sets = 511; }),
            "core_cache.level2_sets is 511, expected a power of two from 1 to 1048576");
  EXPECT_EQ(refusal([](CoherentConfig&) {}), "");
}

// Everything that has a size has the size of one: accesses of every kind on few lines come to their end, with
// an observer that sees every value.
TEST(CoherentContention, NothingIsStuckWithSizesOfOne) {
  for (std::uint64_t seed = 0; seed < 2 * ordering::kRlsqDesignCount; ++seed) {
    SCOPED_TRACE(seed);
    CoherentConfig config = config_of(static_cast<RlsqDesign>(seed % ordering::kRlsqDesignCount));
    config.ddr.channels = 1;
    config.ddr.read_entries = config.ddr.write_entries = 1;
    config.coherence.directory_sets = config.coherence.directory_ways = 1;
    config.core_cache.cache.misses = config.core_cache.cache.targets = 1;
    config.core_cache.cache.evictions = config.core_cache.cache.credits = 1;
    config.core_cache.cache.lines = {1, 1, 1, 1};
    config.root_complex.queue.entries = config.root_complex.queue.trackers = 1;
    config.root_complex.queue.posted_reserve = 1;
    config.io_link.posted_credits = config.io_link.non_posted_credits = 1;
    CoherentRig rig(config, 3);
    RandomStream random(seed, "sizes of one");
    const std::array streams{rig.engine->add_stream({0, 0}, SourceOrdering::kNone),
                             rig.engine->add_stream({1, 0}, SourceOrdering::kNone)};
    std::array<std::byte, 256> bytes{};
    std::size_t dmas = 0;
    std::size_t accesses = 0;
    for (int round = 0; round < 40; ++round) {
      for (int i = 0; i < 4; ++i) {
        DmaAccess access;
        access.kind = static_cast<ordering::Kind>(random.below(3));
        access.address = rig.base + random.below(40) * 8;
        access.length =
            access.kind == ordering::Kind::kAtomic ? 8 : static_cast<std::uint32_t>(1 + random.below(190));
        access.label = access.first_label = access.last_label =
            static_cast<ordering::Label>(random.below(ordering::kLabelCount));
        access.operand = {random.below(9), 0};
        if (access.kind == ordering::Kind::kWrite) access.bytes = bytes.data();
        rig.engine->start(rig.simulation.now(), streams[random.below(2)], access);
        ++dmas;
      }
      for (std::uint32_t core = 0; core < 3; ++core) {
        const std::uint64_t offset = random.below(40) * 8;
        const std::array<std::byte, 8> value{static_cast<std::byte>(round)};
        CoreCache& cache = rig.host->core_cache(core);
        switch (random.below(3)) {
          case 0:
            cache.load(rig.simulation.now(), accesses++, rig.base + offset, 8);
            break;
          case 1:
            cache.store(rig.simulation.now(), accesses++, rig.base + offset, value);
            break;
          default:
            cache.flush(rig.simulation.now(), accesses++, (rig.base + offset) / kLineBytes);
            break;
        }
      }
      rig.simulation.run_until(rig.simulation.now() +
                               nanoseconds(static_cast<std::int64_t>(random.below(900))));
    }
    rig.run();
    EXPECT_EQ(rig.done.size(), dmas);
    EXPECT_EQ(rig.cached.size(), accesses);
    EXPECT_TRUE(rig.host->memory().is_idle());
    EXPECT_GT(rig.host->memory().counters().held_writes, 0U);
  }
}

}  // namespace
}  // namespace wharf::sim
