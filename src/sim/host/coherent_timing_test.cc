// SPDX-License-Identifier: Apache-2.0
// Every latency of Tables 2 and 3 of "Efficient Remote Memory Ordering for Non-Coherent Interconnects"
// (ASPLOS '26), and of its published configuration where a table has one figure for several steps: what is
// awaited is not there a picosecond before the sum worked out by hand, and is there at the sum; one
// picosecond (or cycle) more of one latency moves it by as much as the path has of it. Capacities and peak
// rates are at the end.
//
// Queues before the DRAM and what buses carry one at a time: memory_controller_test.cc,
// coherent_contention_test.cc.
//
// | latency | test |
// |---|---|
// | caches: level 1 2 cycles, bus 1, level 2 20; 4 miss registers, 20 targets | Latencies kLevel1 to kJoined
// | | memory bus: 8 to memory (3 + 4, and 1 of the snoop filter), 2 back, 4 of a snoop's answer, 16 B a cycle
// | |   | Latencies kClosedRow, kModified, kLoadMiss, kLoadModified, kStoreShared, kTwoMisses | | DRAM: rcd,
// cl, rp, burst, front and back end, refi, rfc | Latencies kClosedRow to kRefreshed | | DRAM: ras, rrd, faw,
// rtp, wr, wtr, rtw, banks, ranks, channels | ddr_memory_test.cc | | link: 602 and 600 cycles, 16 B a cycle,
// header of one, credits | Latencies kClosedRow, kBehindWrite, kCredit | | root complex: lookup 50 cycles,
// answer 50, one between answers | Latencies kClosedRow, kSpacedAnswer | | ordering queue: 256 entries, 256
// trackers | QueueEntries, QueueTrackers | | device: 3 ns per DMA request | Latencies kSecondIssue | |
// last-level cache for devices | Latencies kLastLevel | | MMIO: way of 31 cycles and 25 back, root complex 60
// ns with 16 entries, link, device 10 ns, fence | |   | MmioLatencies | | write combining: 8 buffers; reorder
// buffer: 16 numbers a network, order | WriteCombiningBuffers, MmioLatencies, |   |
// NumberedStoreWaitsForTheOneBefore | | peak rates: link, DRAM, root complex | PeakRateOfTheLink,
// DdrMemory.PeakRate, PeakRateOfTheRootComplex |
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/host/coherent_rig_test_support.h"
#include "sim/host/pcie/mmio_path.h"

namespace wharf::sim {
namespace {

using ordering::RlsqDesign;

constexpr std::int64_t kCycle = 333;
constexpr std::uint64_t kAwaited = 99;
constexpr std::uint64_t kNextChannel = 128;
constexpr std::uint64_t kSameBankNextRow = 1 << 20;
constexpr std::uint64_t kSameSetOfLevel1 = 512 * 64;

struct System {
  CoherentConfig host = config_of(RlsqDesign::kBaseline);
  DmaConfig dma;
};

void load(CoherentRig& rig, std::uint32_t core, std::uint64_t ticket, std::uint64_t offset) {
  rig.host->core_cache(core).load(rig.simulation.now(), ticket, rig.base + offset, 8);
}
std::uint32_t stream(CoherentRig& rig) { return rig.engine->add_stream({}, SourceOrdering::kNone); }
void nothing(CoherentRig&) {}
void as_published(System&) {}

/// One access whose end is awaited, in a host that `prepare` has left idle. `ps` is the sum by hand.
struct Probe {
  std::int64_t ps;
  void (*adjust)(System&);
  void (*prepare)(CoherentRig&);
  void (*begin)(CoherentRig&);
};

enum ProbeName : std::uint8_t {
  kLevel1,
  kLevel2,
  kLoadMiss,
  kTwoMisses,
  kFifthMiss,
  kJoined,
  kLoadModified,
  kStoreShared,
  kClosedRow,
  kOpenRow,
  kOtherRow,
  kRefreshed,
  kLastLevel,
  kModified,
  kSecondIssue,
  kBehindWrite,
  kSpacedAnswer,
  kCredit,
  kProbeCount
};

const std::array<Probe, kProbeCount> kProbes = {{
    // Level 1.
    {2 * kCycle, as_published, [](CoherentRig& rig) { load(rig, 0, 1, 0); },
     [](CoherentRig& rig) { load(rig, 0, kAwaited, 0); }},
    // Level 1, bus, level 2: two other lines have taken its place in level 1.
    {(2 + 1 + 20) * kCycle, as_published,
     [](CoherentRig& rig) {
       for (std::uint64_t i = 0; i < 3; ++i) load(rig, 0, i, i * kSameSetOfLevel1);
     },
     [](CoherentRig& rig) { load(rig, 0, kAwaited, 0); }},
    // Both levels looked through, 8 cycles to a closed row and 2 back, the line's four beats, bus and
    // level 1.
    {(2 + 1 + 20 + 8 + 2 + 4 + 1 + 2) * kCycle + 52'500, as_published, nothing,
     [](CoherentRig& rig) { load(rig, 0, kAwaited, 0); }},
    // Two cores at once: the second request has the header of the first before it.
    {(40 + 1) * kCycle + 52'500, as_published, nothing,
     [](CoherentRig& rig) {
       load(rig, 0, 1, 0);
       load(rig, 1, kAwaited, kNextChannel);
     }},
    // Five misses, four registers: the fifth begins when the header of the first answer is there.
    {(23 + 8 + 2 + 40) * kCycle + 2 * 52'500, as_published, nothing,
     [](CoherentRig& rig) {
       for (std::uint64_t i = 0; i < 4; ++i) load(rig, 0, i, i * kNextChannel);
       load(rig, 0, kAwaited, 4 * kNextChannel);
     }},
    // Twenty loads wait for a line; the 21st finds it in level 1 when its bytes have come.
    {(23 + 8 + 2 + 4 + 2) * kCycle + 52'500, as_published, nothing,
     [](CoherentRig& rig) {
       for (std::uint64_t i = 0; i < 20; ++i) load(rig, 0, i, 0);
       load(rig, 0, kAwaited, 8);
     }},
    // Out through both levels, in through both of the owner, its answer, four beats, bus and level 1.
    {(23 + 23 + 4 + 4 + 3) * kCycle, as_published, [](CoherentRig& rig) { rig.write_line_in_cache(0, 0, 7); },
     [](CoherentRig& rig) { load(rig, 1, kAwaited, 0); }},
    // The same without bytes: the other copy is invalidated.
    {(23 + 23 + 4 + 3) * kCycle, as_published,
     [](CoherentRig& rig) {
       load(rig, 0, 1, 0);
       rig.run();
       load(rig, 1, 2, 0);
     },
     [](CoherentRig& rig) {
       const std::array<std::byte, 8> value{};
       rig.host->core_cache(1).store(rig.simulation.now(), kAwaited, rig.base, value);
     }},
    // Link, lookup, bus to memory, DRAM 10 + 13.75 + 13.75 + 5 + 10 ns, bus, answer, link, the line's beats.
    {(602 + 50 + 8 + 2 + 50 + 600 + 4) * kCycle + 52'500, as_published, nothing,
     [](CoherentRig& rig) { rig.read(stream(rig), kAwaited, 0, 64); }},
    // No activate: 13.75 ns less.
    {1316 * kCycle + 38'750, as_published, [](CoherentRig& rig) { rig.read(stream(rig), 1, 64, 64); },
     [](CoherentRig& rig) { rig.read(stream(rig), kAwaited, 0, 64); }},
    // A precharge before it: 13.75 ns more.
    {1316 * kCycle + 66'250, as_published,
     [](CoherentRig& rig) { rig.read(stream(rig), 1, kSameBankNextRow, 64); },
     [](CoherentRig& rig) { rig.read(stream(rig), kAwaited, 0, 64); }},
    // The first rank's refresh is due at half of 7.8 us; the line's command is ready in that instant, 660
    // cycles and the front end after the request, and waits for 260 ns.
    {3'900'000 + 260'000 + (2 + 50 + 600 + 4) * kCycle + 42'500,
     [](System& system) { system.host.ddr.refi = nanoseconds(7'800); }, nothing,
     [](CoherentRig& rig) {
       DmaAccess access;
       access.ticket = kAwaited;
       access.address = rig.base;
       access.length = 64;
       rig.engine->start(TimePs{3'900'000 - (602 + 50 + 8) * kCycle - 10'000}, stream(rig), access);
     }},
    // The last-level cache instead of DRAM: 12 ns.
    {1316 * kCycle + 12'000, [](System& system) { system.host.coherence.ddio_hit_ratio = 1; }, nothing,
     [](CoherentRig& rig) { rig.read(stream(rig), kAwaited, 0, 64); }},
    // A core's caches instead of it: 2 + 1 + 20 cycles, and 4 of the snoop's answer.
    {(602 + 50 + 23 + 4 + 50 + 600 + 4) * kCycle, as_published,
     [](CoherentRig& rig) { rig.write_line_in_cache(0, 0, 7); },
     [](CoherentRig& rig) { rig.read(stream(rig), kAwaited, 0, 64); }},
    // The second request of a stream leaves 3 ns after the first.
    {3'000 + 1333 * kCycle, as_published,
     [](CoherentRig& rig) {
       rig.write_line_in_cache(0, 0, 7);
       rig.write_line_in_cache(0, kNextChannel, 7);
     },
     [](CoherentRig& rig) {
       const std::uint32_t one = stream(rig);
       rig.read(one, 1, kNextChannel, 64);
       rig.read(one, kAwaited, 0, 64);
     }},
    // Behind a write of 60 bytes, which takes a cycle for its header and four for its data. (Of another
    // thread, so that the read waits for the link alone; not the whole line, so that the write is still
    // waiting
    // for memory when the read crosses the bus.)
    {5 * kCycle + 1333 * kCycle,
     [](System& system) { system.host.root_complex.queue.design = RlsqDesign::kThreadSpecific; },
     [](CoherentRig& rig) { rig.write_line_in_cache(0, 0, 7); },
     [](CoherentRig& rig) {
       DmaAccess write;
       write.kind = ordering::Kind::kWrite;
       write.label = write.first_label = write.last_label = ordering::Label::kRelaxed;
       write.address = rig.base + kNextChannel;
       write.length = 60;
       rig.engine->start(rig.simulation.now(), rig.engine->add_stream({0, 1}, SourceOrdering::kNone), write);
       DmaAccess read = write;
       read.kind = ordering::Kind::kRead;
       read.ticket = kAwaited;
       read.address = rig.base;
       rig.engine->start(rig.simulation.now(), rig.engine->add_stream({0, 2}, SourceOrdering::kNone), read);
     }},
    // Two answers that are ready in one instant, because the first had to come from memory: with 10 cycles
    // between answers (the published one cycle hides behind the two that eight bytes take of the link).
    {(602 + 50 + 8 + 2 + 50 + 10 + 600 + 1) * kCycle + 52'500,
     [](System& system) {
       system.host.root_complex.queue.design = RlsqDesign::kStrictSpeculative;
       system.host.root_complex.spacing = picoseconds(10 * kCycle);
     },
     [](CoherentRig& rig) { rig.write_line_in_cache(0, kNextChannel, 7); },
     [](CoherentRig& rig) {
       rig.read(stream(rig), 1, 0, 8);
       rig.read(stream(rig), kAwaited, kNextChannel, 8);
     }},
    // One credit: it is back one way after the queue has taken the first request.
    {(602 + 50 + 600 + 1333) * kCycle, [](System& system) { system.host.io_link.non_posted_credits = 1; },
     [](CoherentRig& rig) {
       rig.write_line_in_cache(0, 0, 7);
       rig.write_line_in_cache(0, kNextChannel, 7);
     },
     [](CoherentRig& rig) {
       rig.read(stream(rig), 1, kNextChannel, 64);
       rig.read(stream(rig), kAwaited, 0, 64);
     }},
}};

/// Whether the awaited access of `probe` is done `ps` after its begin.
bool is_done(const Probe& probe, const System& system, std::int64_t ps) {
  CoherentRig rig(system.host, 2, system.dma);
  probe.prepare(rig);
  rig.run();
  const auto is_awaited = [](const CoherentRig::Done& one) { return one.ticket == kAwaited; };
  const TimePs begin = rig.simulation.now();
  probe.begin(rig);
  rig.simulation.run_until(begin + TimePs{ps});
  const bool done = std::ranges::any_of(rig.done, is_awaited) || std::ranges::any_of(rig.cached, is_awaited);
  rig.run();
  return done;
}

/// One more of a latency: how much later (earlier, if negative) the probe is done.
struct Latency {
  std::string_view key;
  ProbeName probe;
  void (*longer)(System&);
  std::int64_t shift;
};

constexpr TimePs kOne = picoseconds(1);

const std::vector<Latency> kLatencies = {
    {"core_cache.level1_cycles", kLevel1, [](System& s) { ++s.host.core_cache.level1_cycles; }, kCycle},
    {"core_cache.between_cycles", kLevel2, [](System& s) { ++s.host.core_cache.between_cycles; }, kCycle},
    {"core_cache.level2_cycles", kLevel2, [](System& s) { ++s.host.core_cache.level2_cycles; }, kCycle},
    {"core_cache.cycle", kLoadMiss, [](System& s) { s.host.core_cache.cycle += kOne; }, 26},
    {"core_cache.level1_cycles", kLoadMiss, [](System& s) { ++s.host.core_cache.level1_cycles; }, 2 * kCycle},
    {"core_cache.level2_cycles", kLoadMiss, [](System& s) { ++s.host.core_cache.level2_cycles; }, kCycle},
    {"core_cache.level2_cycles", kModified, [](System& s) { ++s.host.core_cache.level2_cycles; }, kCycle},
    // A fifth register: the fifth request is four headers behind, its line four lines.
    {"core_cache.misses", kFifthMiss, [](System& s) { ++s.host.core_cache.cache.misses; },
     (40 + 4 * 5 - 73) * kCycle - 52'500},
    // A place more: answered with the others, through the bus between the levels.
    {"core_cache.targets", kJoined, [](System& s) { ++s.host.core_cache.cache.targets; }, kCycle},
    {"coherence.cycle", kLoadMiss, [](System& s) { s.host.coherence.cycle += kOne; }, 8 + 2 + 4},
    {"coherence.request_cycles", kLoadMiss, [](System& s) { ++s.host.coherence.request_cycles; }, kCycle},
    {"coherence.memory_request_cycles", kLoadMiss,
     [](System& s) { ++s.host.coherence.memory_request_cycles; }, kCycle},
    {"coherence.memory_response_cycles", kLoadMiss,
     [](System& s) { ++s.host.coherence.memory_response_cycles; }, kCycle},
    {"coherence.grant_cycles", kLoadMiss, [](System& s) { ++s.host.coherence.grant_cycles; }, kCycle},
    {"coherence.snoop_cycles", kLoadModified, [](System& s) { ++s.host.coherence.snoop_cycles; }, kCycle},
    {"coherence.snoop_response_cycles", kLoadModified,
     [](System& s) { ++s.host.coherence.snoop_response_cycles; }, kCycle},
    {"coherence.snoop_response_cycles", kStoreShared,
     [](System& s) { ++s.host.coherence.snoop_response_cycles; }, kCycle},
    {"coherence.snoop_response_cycles", kModified,
     [](System& s) { ++s.host.coherence.snoop_response_cycles; }, kCycle},
    {"coherence.header_cycles", kTwoMisses, [](System& s) { ++s.host.coherence.header_cycles; }, kCycle},
    {"coherence.width_bytes", kLoadMiss, [](System& s) { s.host.coherence.width_bytes = 32; }, -2 * kCycle},
    {"coherence.last_level", kLastLevel, [](System& s) { s.host.coherence.last_level += kOne; }, 1},
    {"ddr.front_end", kClosedRow, [](System& s) { s.host.ddr.front_end += kOne; }, 1},
    {"ddr.rcd", kClosedRow, [](System& s) { s.host.ddr.rcd += kOne; }, 1},
    {"ddr.cl", kClosedRow, [](System& s) { s.host.ddr.cl += kOne; }, 1},
    {"ddr.burst", kClosedRow, [](System& s) { s.host.ddr.burst += kOne; }, 1},
    {"ddr.back_end", kClosedRow, [](System& s) { s.host.ddr.back_end += kOne; }, 1},
    {"ddr.cl", kOpenRow, [](System& s) { s.host.ddr.cl += kOne; }, 1},
    {"ddr.rcd", kOpenRow, [](System& s) { s.host.ddr.rcd += kOne; }, 0},
    {"ddr.rp", kOtherRow, [](System& s) { s.host.ddr.rp += kOne; }, 1},
    {"ddr.rfc", kRefreshed, [](System& s) { s.host.ddr.rfc += kOne; }, 1},
    // Half of it: the command is now a picosecond ahead of the refresh.
    {"ddr.refi", kRefreshed, [](System& s) { s.host.ddr.refi += kOne * 2; }, -260'000},
    {"io_link.up", kClosedRow, [](System& s) { s.host.io_link.up += kOne; }, 1},
    {"io_link.down", kClosedRow, [](System& s) { s.host.io_link.down += kOne; }, 1},
    // Of a line's four beats on the link and four on the bus, which it begins to cross at once, the later
    // count.
    {"io_link.cycle", kClosedRow, [](System& s) { s.host.io_link.cycle += kOne; }, 4},
    {"io_link.header_bytes", kBehindWrite, [](System& s) { ++s.host.io_link.header_bytes; }, kCycle},
    {"io_link.width_bytes", kBehindWrite, [](System& s) { s.host.io_link.width_bytes = 32; }, -2 * kCycle},
    {"io_link.up", kCredit, [](System& s) { s.host.io_link.up += kOne; }, 2},
    {"io_link.down", kCredit, [](System& s) { s.host.io_link.down += kOne; }, 2},
    // Both leave at once, the second behind the header of the first; its line behind the first line.
    {"io_link.non_posted_credits", kCredit, [](System& s) { ++s.host.io_link.non_posted_credits; },
     (5 - 602 - 50 - 600) * kCycle},
    {"root_complex.lookup", kClosedRow, [](System& s) { s.host.root_complex.lookup += kOne; }, 1},
    {"root_complex.answer", kClosedRow, [](System& s) { s.host.root_complex.answer += kOne; }, 1},
    {"root_complex.spacing", kSpacedAnswer, [](System& s) { s.host.root_complex.spacing += kOne; }, 1},
    {"dma.issue", kSecondIssue, [](System& s) { s.dma.issue += kOne; }, 1},
};

TEST(CoherentTiming, Latencies) {
  std::array<bool, kProbeCount> seen{};
  for (const Latency& latency : kLatencies) {
    const Probe& probe = kProbes[latency.probe];
    SCOPED_TRACE(testing::Message() << latency.key << ", probe " << static_cast<int>(latency.probe));
    System system;
    probe.adjust(system);
    EXPECT_FALSE(is_done(probe, system, probe.ps - 1));
    EXPECT_TRUE(is_done(probe, system, probe.ps));
    latency.longer(system);
    EXPECT_FALSE(is_done(probe, system, probe.ps + latency.shift - 1));
    EXPECT_TRUE(is_done(probe, system, probe.ps + latency.shift));
    seen[latency.probe] = true;
  }
  EXPECT_TRUE(std::ranges::all_of(seen, [](bool one) { return one; }));
}

/// Requests that were held before a queue that an acquire from slow memory keeps full.
std::uint64_t held(const CoherentConfig& config, std::uint64_t reads, std::uint64_t lines) {
  DmaConfig dma;
  dma.issue = kTimeZero;
  CoherentRig rig(config, 1, dma);
  const std::uint32_t one = stream(rig);
  for (std::uint64_t i = 0; i < reads; ++i) {
    DmaAccess access;
    access.label = access.first_label = access.last_label =
        i == 0 ? ordering::Label::kAcquire : ordering::Label::kRelaxed;
    access.address = rig.base + i % lines * 64;
    access.length = 8;
    rig.engine->start(rig.simulation.now(), one, access);
  }
  rig.run();
  EXPECT_EQ(rig.done.size(), reads);
  return rig.host->root_complex().counters().held_non_posted;
}

CoherentConfig slow_memory() {
  CoherentConfig config = config_of(RlsqDesign::kThreadSpecific);
  config.io_link.non_posted_credits = 0;
  config.ddr.front_end = microseconds(2);
  return config;
}

TEST(CoherentTiming, QueueEntries) {
  CoherentConfig config = slow_memory();
  EXPECT_EQ(config.root_complex.queue.entries, 256U);
  EXPECT_EQ(held(config, 256, 128), 0U);
  EXPECT_EQ(held(config, 257, 128), 1U);
  ++config.root_complex.queue.entries;
  EXPECT_EQ(held(config, 257, 128), 0U);
}

TEST(CoherentTiming, QueueTrackers) {
  CoherentConfig config = slow_memory();
  EXPECT_EQ(config.root_complex.queue.trackers, 256U);
  config.root_complex.queue.entries = 1024;
  EXPECT_EQ(held(config, 256, 256), 0U);
  EXPECT_EQ(held(config, 257, 257), 1U);
  // What shares a line shares its tracker.
  EXPECT_EQ(held(config, 300, 256), 0U);
}

// A line takes a header and four beats of the link: 64 B in 5 cycles, 38.4 GB/s. The requests, a cycle each,
// and the bus, 5 cycles a line, keep up: the first line after 1333 cycles, then 99 times 5.
TEST(CoherentTiming, PeakRateOfTheLink) {
  const System system;
  const Probe probe{(1333 + 99 * 5) * kCycle, as_published,
                    [](CoherentRig& rig) {
                      for (std::uint64_t line = 0; line < 100; ++line)
                        rig.write_line_in_cache(0, line * 64, line);
                    },
                    [](CoherentRig& rig) { rig.read(stream(rig), kAwaited, 0, 6400); }};
  EXPECT_FALSE(is_done(probe, system, probe.ps - 1));
  EXPECT_TRUE(is_done(probe, system, probe.ps));
}

/// Stores of one core, and when each was taken and has arrived.
class MmioRig : public MmioClient {
 public:
  explicit MmioRig(const MmioConfig& config, std::uint64_t seed = 1)
      : path(simulation, config, seed, "mmio") {
    path.connect(*this);
  }
  void mmio_ready(TimePs now) override {
    ready.push_back(now);
    if (!path.fencing()) go_on(now);
  }
  void mmio_arrived(TimePs now, const ordering::MmioOperation& write) override {
    arrived.push_back({write.address, now});
  }
  /// Stores `count` times `bytes` bytes to lines one after another, as fast as they are taken.
  void store(ordering::MmioKind kind, std::uint32_t count, std::uint32_t bytes = 64) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::array<std::byte, 64> data{};
      waiting.push_back(ordering::mmio_store(kind, 64 * i, std::span(data).first(bytes)));
    }
    go_on(simulation.now());
  }
  void go_on(TimePs now) {
    while (taken.size() < waiting.size() && path.store(now, waiting[taken.size()])) taken.push_back(now);
  }
  void run() { simulation.run_until(kNever - picoseconds(1)); }

  struct Arrival {
    std::uint64_t address;
    TimePs at;
  };
  Simulation simulation;
  MmioPath path;
  std::vector<ordering::MmioOperation> waiting;
  std::vector<TimePs> taken;
  std::vector<TimePs> ready;
  std::vector<Arrival> arrived;
};

/// As a profile makes it: the core sends as far ahead as the reorder buffer has promised room.
MmioConfig mmio(MmioOrderPlace place = MmioOrderPlace::kRootComplex) {
  MmioConfig config;
  config.place = place;
  const std::uint32_t entries = config.reorder.entries_per_network;
  config.sequencer.windows = {entries, entries, entries};
  return config;
}

/// When the probe's event happens, from the start of the program.
struct MmioProbe {
  std::int64_t ps;
  TimePs (*happens)(const MmioConfig&);
  MmioOrderPlace place = MmioOrderPlace::kRootComplex;
};
using ordering::MmioKind;

// A line that is full leaves at once: way, root complex, link with the line's four beats, device.
const MmioProbe kMmioStore{(31 + 600 + 4) * kCycle + 60'000 + 10'000, [](const MmioConfig& config) {
                             MmioRig rig(config);
                             rig.store(MmioKind::kWriteCombiningStore, 1);
                             rig.run();
                             return rig.arrived.at(0).at;
                           }};
// A fence ends when the root complex has taken the write and has said so.
const MmioProbe kMmioFence{(31 + 25) * kCycle, [](const MmioConfig& config) {
                             MmioRig rig(config);
                             rig.store(MmioKind::kWriteCombiningStore, 1);
                             rig.path.fence(kTimeZero);
                             rig.run();
                             return rig.ready.at(0);
                           }};
// The 17th write leaves the core when there is room on the way, and enters the root complex when the first
// has left it, 31 cycles and 60 ns after the start.
const MmioProbe kMmioFull{(31 + 600 + 4) * kCycle + 2 * 60'000 + 10'000, [](const MmioConfig& config) {
                            MmioRig rig(config);
                            rig.store(MmioKind::kWriteCombiningStore, 17);
                            rig.run();
                            return rig.arrived.at(16).at;
                          }};
// The 17th number is free when the reorder buffer has passed the first on and the core has been told ...
TimePs seventeenth_number(const MmioConfig& config) {
  MmioRig rig(config);
  rig.store(MmioKind::kStore, 17);
  rig.run();
  return rig.taken.at(16);
}
const MmioProbe kMmioNumbers{(31 + 25) * kCycle, seventeenth_number};
// ... which takes the link there and back if the buffer is at the device.
const MmioProbe kMmioNumbersAtDevice{(31 + 600 + 4 + 25) * kCycle + 60'000 + 10'000 + 200'466,
                                     seventeenth_number, MmioOrderPlace::kDevice};

struct MmioLatency {
  std::string_view key;
  const MmioProbe& probe;
  void (*longer)(MmioConfig&);
  std::int64_t shift;
};

TEST(CoherentTiming, MmioLatencies) {
  const std::vector<MmioLatency> latencies = {
      {"mmio.down_cycles", kMmioStore, [](MmioConfig& c) { ++c.down_cycles; }, kCycle},
      {"mmio.root_complex", kMmioStore, [](MmioConfig& c) { c.root_complex += kOne; }, 1},
      {"io_link.down", kMmioStore, [](MmioConfig& c) { c.link.down += kOne; }, 1},
      {"io_link.cycle", kMmioStore, [](MmioConfig& c) { c.link.cycle += kOne; }, 4},
      {"mmio.device", kMmioStore, [](MmioConfig& c) { c.device += kOne; }, 1},
      {"mmio.cycle", kMmioFence, [](MmioConfig& c) { c.cycle += kOne; }, 31 + 25},
      {"mmio.up_cycles", kMmioFence, [](MmioConfig& c) { ++c.up_cycles; }, kCycle},
      {"mmio.root_complex", kMmioFull, [](MmioConfig& c) { c.root_complex += kOne; }, 2},
      // It leaves at 31 cycles and enters at 62; 16 lines of 5 cycles have left the link before it does.
      {"mmio.root_complex_entries", kMmioFull, [](MmioConfig& c) { ++c.root_complex_entries; },
       (31 + 80 - 31) * kCycle - 60'000},
      {"mmio.up_cycles", kMmioNumbers, [](MmioConfig& c) { ++c.up_cycles; }, kCycle},
      // With more numbers, the way is full, until the root complex takes the first.
      {"mmio.reorder_entries", kMmioNumbers,
       [](MmioConfig& c) {
         c.reorder.entries_per_network = 32;
         c.sequencer.windows = {32, 32, 32};
       },
       -25 * kCycle},
      {"mmio.device", kMmioNumbersAtDevice, [](MmioConfig& c) { c.device += kOne; }, 1},
      {"io_link.up", kMmioNumbersAtDevice, [](MmioConfig& c) { c.link.up += kOne; }, 1},
  };
  for (const MmioLatency& latency : latencies) {
    SCOPED_TRACE(latency.key);
    MmioConfig config = mmio(latency.probe.place);
    EXPECT_EQ(latency.probe.happens(config).ps, latency.probe.ps);
    latency.longer(config);
    EXPECT_EQ(latency.probe.happens(config).ps, latency.probe.ps + latency.shift);
  }
}

// Eight lines that are not full stay; the ninth pushes one out, whose eight bytes take one beat of the link.
TEST(CoherentTiming, WriteCombiningBuffers) {
  MmioRig rig(mmio());
  rig.store(MmioKind::kWriteCombiningStore, 8, 8);
  rig.run();
  EXPECT_TRUE(rig.arrived.empty());
  MmioRig ninth(mmio());
  ninth.store(MmioKind::kWriteCombiningStore, 9, 8);
  ninth.run();
  ASSERT_EQ(ninth.arrived.size(), 1U);
  EXPECT_EQ(ninth.arrived[0].at.ps, (31 + 600 + 1) * kCycle + 60'000 + 10'000);
}

// Two writes on ways of different lengths: where the second arrives first, plain stores stay swapped, while
// of numbered ones the second enters the root complex with the first, and comes a line's five cycles behind
// it.
TEST(CoherentTiming, NumberedStoreWaitsForTheOneBefore) {
  std::uint32_t swapped = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    MmioConfig config = mmio();
    config.spread = nanoseconds(20);
    MmioRig plain(config, seed);
    plain.store(MmioKind::kWriteCombiningStore, 2);
    plain.run();
    MmioRig numbered(config, seed);
    numbered.store(MmioKind::kRelease, 2);
    numbered.run();
    ASSERT_EQ(plain.arrived.size(), 2U);
    ASSERT_EQ(numbered.arrived.size(), 2U);
    EXPECT_EQ(numbered.arrived[0].address, 0U);
    if (plain.arrived[0].address == 0) continue;
    ++swapped;
    // The first one's own arrival, when nothing is before it on the link.
    const TimePs first = plain.arrived[1].at;
    if (first - plain.arrived[0].at <= TimePs{5 * kCycle}) continue;
    EXPECT_EQ(numbered.arrived[0].at, first);
    EXPECT_EQ(numbered.arrived[1].at, first + TimePs{5 * kCycle});
  }
  EXPECT_GE(swapped, 5U);
}

// Sixteen writes in 60 ns, 136.5 Gb/s: the last of 160 leaves the root complex after ten times 60 ns, behind
// 15 others on the link.
TEST(CoherentTiming, PeakRateOfTheRootComplex) {
  MmioRig rig(mmio());
  rig.store(MmioKind::kWriteCombiningStore, 160);
  rig.run();
  ASSERT_EQ(rig.arrived.size(), 160U);
  EXPECT_EQ(rig.arrived.back().at.ps, (31 + 15 * 5 + 600 + 4) * kCycle + 10 * 60'000 + 10'000);
}

}  // namespace
}  // namespace wharf::sim
