// SPDX-License-Identifier: Apache-2.0
// A core's accesses to a device, to the picosecond: sums over the way of Table 3, written out. Cycles are of
// 333 ps; 31 lead down to the root complex and 25 back, 60 ns through it in each direction, 199.8 ns down the
// link and 200.466 ns up, 10 ns at the device. 16 bytes cross the link per cycle, behind a cycle of header.
#include "sim/host/pcie/mmio_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace wharf::sim {
namespace {

using ordering::MmioKind;
using ordering::MmioOperation;

constexpr TimePs kCycle = picoseconds(333);
/// A load of 8 bytes that meets nobody: 31 cycles, 60, 199.8 and 10 ns, and back 200.466 ns and one cycle of
/// data, 60 ns, 25 cycles.
constexpr TimePs kLoadLatency =
    kCycle * 31 + picoseconds(60'000 + 199'800 + 10'000 + 200'466) + kCycle + nanoseconds(60) + kCycle * 25;
/// The answer to a write: 31 cycles there and 25 back.
constexpr TimePs kAnswer = kCycle * 56;

/// A core that does one thing after another, and a device that keeps words.
class Rig : public MmioClient {
 public:
  explicit Rig(const MmioConfig& config = {}, std::uint64_t seed = 1)
      : path(simulation, config, seed, "mmio") {
    path.connect(*this);
  }
  void mmio_ready(TimePs now) override { ready.push_back(now); }
  void mmio_arrived(TimePs now, const MmioOperation& write) override {
    arrived.push_back({write.address, now});
    if (takes_at_once) path.write_taken(now);
  }
  void mmio_read(TimePs now, MmioOperation& load) override {
    read_at.push_back(now);
    load.data[0] = std::byte{42};
  }
  void mmio_loaded(TimePs now, const MmioOperation& load) override {
    EXPECT_EQ(load.data[0], std::byte{42});
    loaded.push_back({load.tag, now});
  }

  bool store(MmioKind kind, std::uint64_t address, std::uint32_t length) {
    const std::array<std::byte, 64> bytes{};
    return path.store(simulation.now(), ordering::mmio_store(kind, address, std::span(bytes).first(length)));
  }
  bool load(MmioKind kind, std::uint32_t tag) {
    MmioOperation operation;
    operation.kind = kind;
    operation.length = 8;
    operation.tag = tag;
    return path.load(simulation.now(), operation);
  }
  void run(TimePs until = seconds(1)) { simulation.run_until(until); }

  Simulation simulation;
  MmioPath path;
  bool takes_at_once = true;
  std::vector<TimePs> ready;
  std::vector<TimePs> read_at;
  std::vector<std::pair<std::uint64_t, TimePs>> arrived;
  std::vector<std::pair<std::uint32_t, TimePs>> loaded;
};

// 31 cycles, 60 ns, 199.8 ns and a cycle of data, 10 ns. The second leaves when the first has been answered.
TEST(MmioPath, UncachedStoresLeaveOneByOne) {
  Rig rig;
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(rig.store(MmioKind::kUncachedStore, 8 * i, 8));
  rig.run();
  ASSERT_EQ(rig.arrived.size(), 3U);
  constexpr TimePs kFirst = kCycle * 31 + picoseconds(60'000 + 199'800) + kCycle + nanoseconds(10);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rig.arrived[i].first, 8 * i);
    EXPECT_EQ(rig.arrived[i].second, kFirst + kAnswer * i);
  }
}

// It sends a half full line off at once, in front of itself.
TEST(MmioPath, AnUncachedStoreSendsOffWhatWasCombined) {
  Rig rig;
  ASSERT_TRUE(rig.store(MmioKind::kWriteCombiningStore, 0, 8));
  rig.run();
  EXPECT_TRUE(rig.arrived.empty());
  const TimePs begin = rig.simulation.now();
  ASSERT_TRUE(rig.store(MmioKind::kUncachedStore, 512, 8));
  rig.run(begin + seconds(1));
  ASSERT_EQ(rig.arrived.size(), 2U);
  EXPECT_EQ(rig.arrived[0].first, 0U);
  EXPECT_EQ(rig.arrived[1].first, 512U);
  // Each of the two takes two cycles of the link: the second follows as closely.
  EXPECT_EQ(rig.arrived[1].second - rig.arrived[0].second, kCycle * 2);
}

TEST(MmioPath, ALoadIsAWayThereAndBack) {
  Rig rig;
  ASSERT_TRUE(rig.load(MmioKind::kUncachedLoad, 7));
  // The core waits.
  EXPECT_FALSE(rig.store(MmioKind::kUncachedStore, 0, 8));
  EXPECT_FALSE(rig.load(MmioKind::kUncachedLoad, 8));
  rig.run();
  ASSERT_EQ(rig.loaded.size(), 1U);
  EXPECT_EQ(rig.loaded[0], std::pair(7U, kLoadLatency));
  EXPECT_EQ(rig.ready, std::vector{kLoadLatency});
  EXPECT_TRUE(rig.path.is_idle());
}

// The experiment of HotOS '25, 2.1: the fence waits for the root complex alone, then the load takes its time.
TEST(MmioPath, AWriteAFenceAndARead) {
  Rig rig;
  ASSERT_TRUE(rig.store(MmioKind::kUncachedStore, 0, 8));
  rig.path.fence(kTimeZero, MmioFence::kAll);
  rig.run(kAnswer - picoseconds(1));
  EXPECT_TRUE(rig.ready.empty());
  rig.run(kAnswer);
  ASSERT_EQ(rig.ready, std::vector{kAnswer});
  ASSERT_TRUE(rig.load(MmioKind::kUncachedLoad, 1));
  rig.run();
  ASSERT_EQ(rig.loaded.size(), 1U);
  EXPECT_EQ(rig.loaded[0].second, kAnswer + kLoadLatency);
}

// A core's accesses in program order, with numbers and without.
TEST(MmioPath, NumberedOperationsComeBehindStoresWithoutNumbers) {
  Rig rig;
  ASSERT_TRUE(rig.store(MmioKind::kWriteCombiningStore, 0, 8));
  ASSERT_TRUE(rig.load(MmioKind::kLoad, 1));
  rig.run();
  ASSERT_EQ(rig.arrived.size(), 1U);
  ASSERT_EQ(rig.read_at.size(), 1U);
  EXPECT_GT(rig.read_at[0], rig.arrived[0].second);
  ASSERT_TRUE(rig.store(MmioKind::kUncachedStore, 0, 8));
  ASSERT_TRUE(rig.store(MmioKind::kUncachedStore, 8, 8)) << "it waits until the first is answered";
  EXPECT_FALSE(rig.store(MmioKind::kStore, 64, 8));
  EXPECT_FALSE(rig.store(MmioKind::kWriteCombiningStore, 64, 8));
  EXPECT_FALSE(rig.load(MmioKind::kLoad, 2));
  rig.run(rig.simulation.now() + seconds(1));
  EXPECT_EQ(rig.arrived.size(), 3U);
  EXPECT_TRUE(rig.store(MmioKind::kStore, 64, 8));
}

// With room for one write in the root complex the second line leaves it 120 ns after the first came. The load
// came behind both: it leaves with the second, 5 cycles of the link later.
TEST(MmioPath, ALoadPushesEarlierWritesBeforeItself) {
  MmioConfig config;
  config.root_complex_entries = 1;
  Rig rig(config);
  ASSERT_TRUE(rig.store(MmioKind::kWriteCombiningStore, 0, 64));
  ASSERT_TRUE(rig.store(MmioKind::kWriteCombiningStore, 64, 64));
  ASSERT_TRUE(rig.load(MmioKind::kUncachedLoad, 1));
  rig.run();
  ASSERT_EQ(rig.arrived.size(), 2U);
  ASSERT_EQ(rig.read_at.size(), 1U);
  constexpr TimePs kAtLink = kCycle * 31 + nanoseconds(120);
  constexpr TimePs kDown = picoseconds(199'800 + 10'000);
  EXPECT_EQ(rig.arrived[1].second, kAtLink + kDown + kCycle * 4);
  EXPECT_EQ(rig.read_at[0], kAtLink + kDown + kCycle * 5);
  EXPECT_EQ(rig.loaded[0].second - rig.read_at[0],
            picoseconds(200'466) + kCycle + nanoseconds(60) + kCycle * 25);
}

// Combined writes pass one another on both ways; what is strongly ordered passes nothing.
TEST(MmioPath, StrongAccessesPassNothing) {
  MmioConfig config;
  config.spread = nanoseconds(50);
  config.link_spread = nanoseconds(50);
  std::uint32_t passed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rig rig(config, seed);
    for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(rig.store(MmioKind::kWriteCombiningStore, 64 * i, 64));
    ASSERT_TRUE(rig.store(MmioKind::kUncachedStore, 512, 8));
    ASSERT_TRUE(rig.load(MmioKind::kUncachedLoad, 1));
    rig.run();
    ASSERT_EQ(rig.arrived.size(), 5U);
    EXPECT_EQ(rig.arrived[4].first, 512U);
    EXPECT_GE(rig.read_at[0], rig.arrived[4].second);
    for (std::size_t i = 1; i < 4; ++i) passed += rig.arrived[i].first < rig.arrived[i - 1].first ? 1U : 0U;
  }
  EXPECT_GT(passed, 5U);
}

// MMIO-Load leaves the core free, MMIO-Acquire does not; mfence waits for a load, sfence does not.
TEST(MmioPath, NumberedLoads) {
  Rig rig;
  ASSERT_TRUE(rig.load(MmioKind::kLoad, 1));
  ASSERT_TRUE(rig.store(MmioKind::kStore, 0, 64));
  rig.path.fence(kTimeZero);
  rig.run(kAnswer);
  EXPECT_EQ(rig.ready, std::vector{kAnswer});
  rig.path.fence(rig.simulation.now(), MmioFence::kAll);
  rig.run();
  ASSERT_EQ(rig.loaded.size(), 1U);
  EXPECT_EQ(rig.loaded[0].second, kLoadLatency);
  EXPECT_EQ(rig.ready, (std::vector{kAnswer, kLoadLatency}));

  Rig other;
  ASSERT_TRUE(other.load(MmioKind::kAcquire, 1));
  EXPECT_FALSE(other.store(MmioKind::kStore, 0, 64));
  EXPECT_FALSE(other.store(MmioKind::kWriteCombiningStore, 0, 64));
  EXPECT_FALSE(other.load(MmioKind::kLoad, 2));
  other.run(kLoadLatency - picoseconds(1));
  EXPECT_FALSE(other.store(MmioKind::kStore, 0, 64));
  other.run(kLoadLatency);
  EXPECT_EQ(other.ready.back(), kLoadLatency);
  EXPECT_TRUE(other.store(MmioKind::kStore, 0, 64));
}

// Each hardware thread has numbers of its own: one that has used up its window waits, the others go on.
TEST(MmioPath, AThreadWithoutANumberHoldsUpItselfAlone) {
  MmioConfig config;
  config.sequencer.numbering.threads = 3;
  config.sequencer.windows = {2, 2, 2};
  config.reorder.numbering = config.sequencer.numbering;
  Rig rig(config);
  const auto store = [&rig](std::uint32_t thread, std::uint64_t address) {
    const std::array<std::byte, 64> bytes{};
    MmioOperation operation = ordering::mmio_store(MmioKind::kStore, address, bytes);
    operation.thread = static_cast<decltype(operation.thread)>(thread);
    return rig.path.store(rig.simulation.now(), operation);
  };
  for (const std::uint32_t thread : {2U, 1U, 0U}) {
    EXPECT_TRUE(store(thread, 1024 * thread));
    EXPECT_TRUE(store(thread, 1024 * thread + 64));
    EXPECT_FALSE(store(thread, 1024 * thread + 128)) << thread;
  }
  rig.run();
  EXPECT_EQ(rig.arrived.size(), 6U);
  EXPECT_FALSE(rig.ready.empty());
  for (const std::uint32_t thread : {0U, 1U, 2U}) EXPECT_TRUE(store(thread, 1024 * thread + 128)) << thread;
}

// A credit is back one way after the device has taken the write: 200.466 ns; then the next goes down.
TEST(MmioPath, WithoutACreditAWriteWaitsBeforeTheLink) {
  MmioConfig config;
  config.link_credits = 1;
  Rig rig(config);
  ASSERT_TRUE(rig.store(MmioKind::kWriteCombiningStore, 0, 64));
  ASSERT_TRUE(rig.store(MmioKind::kWriteCombiningStore, 64, 64));
  rig.run();
  ASSERT_EQ(rig.arrived.size(), 2U);
  constexpr TimePs kDown = picoseconds(199'800 + 10'000) + kCycle * 4;
  EXPECT_EQ(rig.arrived[0].second, kCycle * 31 + nanoseconds(60) + kDown);
  EXPECT_EQ(rig.arrived[1].second - rig.arrived[0].second, picoseconds(200'466) + kDown);

  Rig stuck(config);
  stuck.takes_at_once = false;
  ASSERT_TRUE(stuck.store(MmioKind::kWriteCombiningStore, 0, 64));
  ASSERT_TRUE(stuck.store(MmioKind::kWriteCombiningStore, 64, 64));
  stuck.run();
  EXPECT_EQ(stuck.arrived.size(), 1U);
  std::vector<std::string> lines;
  stuck.path.describe_waiting(lines);
  EXPECT_EQ(lines, std::vector<std::string>{"1 writes and loads wait for a credit of the link"});
}

// The way of one may be 400 ns longer than that of the next: what must not change places does not.
TEST(MmioPath, OnWaysOfDifferentLengthsOrderIsKeptWhereItMatters) {
  MmioConfig config;
  config.spread = nanoseconds(400);
  bool do_others_pass = false;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rig uncached(config, seed);
    ASSERT_TRUE(uncached.store(MmioKind::kUncachedStore, 0, 8));
    ASSERT_TRUE(uncached.store(MmioKind::kStore, 64, 8)) << "it follows the uncached one closely";
    uncached.run();
    ASSERT_EQ(uncached.arrived.size(), 2U);
    EXPECT_EQ(uncached.arrived[0].first, 0U) << "a store passed an uncached one";

    Rig own(config, seed);
    ASSERT_TRUE(own.store(MmioKind::kWriteCombiningStore, 0, 64));
    ASSERT_TRUE(own.store(MmioKind::kStore, 8, 8));
    own.run();
    ASSERT_EQ(own.arrived.size(), 2U);
    EXPECT_EQ(own.arrived[0].first, 0U) << "the second store to the same bytes came first";

    Rig combined(config, seed);
    ASSERT_TRUE(combined.store(MmioKind::kWriteCombiningStore, 0, 8));
    ASSERT_TRUE(combined.store(MmioKind::kStore, 4, 8));
    combined.run();
    combined.path.fence(combined.simulation.now());
    combined.run(combined.simulation.now() + seconds(1));
    ASSERT_EQ(combined.arrived.size(), 2U);
    EXPECT_EQ(combined.arrived[0].first, 0U) << "combined bytes came behind what was stored on them";

    Rig other(config, seed);
    ASSERT_TRUE(other.store(MmioKind::kWriteCombiningStore, 0, 64));
    ASSERT_TRUE(other.store(MmioKind::kStore, 64, 8));
    other.run();
    ASSERT_EQ(other.arrived.size(), 2U);
    do_others_pass = do_others_pass || other.arrived[0].first != 0;
  }
  EXPECT_TRUE(do_others_pass);
}

// A release that comes before the store that it follows waits, and is said to.
TEST(MmioPath, WhatWaitsForAnEarlierNumberIsNamed) {
  MmioConfig config;
  config.spread = nanoseconds(400);
  bool is_named = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rig rig(config, seed);
    ASSERT_TRUE(rig.store(MmioKind::kStore, 0, 64));
    ASSERT_TRUE(rig.store(MmioKind::kRelease, 64, 8));
    const auto says = [&rig] {
      std::vector<std::string> lines;
      rig.path.describe_waiting(lines);
      return std::ranges::find(lines, "1 writes wait in the reorder buffer") != lines.end();
    };
    EXPECT_FALSE(says());
    for (TimePs now = kTimeZero; now < microseconds(1); now += nanoseconds(20)) {
      rig.run(now);
      is_named = is_named || says();
    }
    rig.run();
    EXPECT_EQ(rig.arrived.size(), 2U);
    std::vector<std::string> lines;
    rig.path.describe_waiting(lines);
    EXPECT_TRUE(lines.empty()) << lines.front();
  }
  EXPECT_TRUE(is_named);
}

// Answers and writes of the two flows on one link [PCIe Base 5.0 2.4.1, rule D2a].
TEST(MmioPath, ALoadsAnswerStaysBehindTheDevicesWrites) {
  Rig rig;
  LinkOrder link;
  rig.path.share_link(link);
  ordering::Request write;
  write.kind = ordering::Kind::kWrite;
  link.requested(write);
  ASSERT_TRUE(rig.load(MmioKind::kUncachedLoad, 7));
  rig.run();
  EXPECT_EQ(rig.read_at.size(), 1U);
  EXPECT_TRUE(rig.loaded.empty()) << "the write was sent before the answer and is not performed";
  ordering::Response performed;
  performed.kind = ordering::Kind::kWrite;
  link.answered(rig.simulation.now(), performed);
  EXPECT_EQ(rig.loaded.size(), 1U);
  EXPECT_TRUE(rig.path.is_idle());
}

// 2.5 ns between two lines that leave the core: a lane of 16 bytes per 625 ps.
TEST(MmioPath, TheWayTakesALinePerGap) {
  MmioConfig config;
  config.way_gap = picoseconds(2'500);
  Rig rig(config);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(rig.store(MmioKind::kWriteCombiningStore, 64 * i, 64));
  rig.run();
  ASSERT_EQ(rig.arrived.size(), 4U);
  EXPECT_EQ(rig.arrived[3].second - rig.arrived[0].second, picoseconds(7'500));
}

}  // namespace
}  // namespace wharf::sim
