// SPDX-License-Identifier: Apache-2.0
// Two hosts whose memory is coherent by lines, under whole protocol stacks: what a core has written and not
// given up is what a peer reads, a NIC's writes reach a core that has a copy, labels decide what an ascending
// read sees, and what one operation costs is the sum of its steps.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/bytes.h"
#include "sim/config/coherent_keys.h"
#include "sim/two_hosts/two_hosts_test_support.h"

namespace wharf::sim {
namespace {

using ordering::RlsqDesign;
using testing::latency_of;
using testing::mechanism;
using testing::OneOperation;
using testing::Pair;
using verbs::Verb;

TwoHostsConfig coherent(Stack stack, RlsqDesign design = RlsqDesign::kBaseline) {
  TwoHostsConfig config = mechanism(stack);
  config.host.memory.system = MemorySystem::kCoherent;
  config.host.coherent.host.root_complex.queue.design = design;
  config.host.coherent.host.ddr.refi = kTimeZero;
  return config;
}

class CoherentStack : public ::testing::TestWithParam<Stack> {};
INSTANTIATE_TEST_SUITE_P(Coherent, CoherentStack,
                         ::testing::Values(Stack::kUbUrma, Stack::kRoceBlueFlame, Stack::kRoceDma,
                                           Stack::kUet),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST_P(CoherentStack, APeerReadsWhatACoreHasOnlyInItsCache) {
  Pair pair(coherent(GetParam()));
  const std::uint64_t word = pair.near_segment.base + 256;
  const auto writer = [](Pair& two, std::uint64_t at) -> verbs::Task<void> {
    co_await two.two->host(1).core().store(at, 8, 77);
  };
  const auto reader = [](Pair& two) -> verbs::Task<void> {
    co_await two.two->host(0).core().sleep(microseconds(5));
    EXPECT_TRUE((co_await two.near->read(two.near_buffer, two.near_segment.at(256), 8)).ok());
  };
  pair.two->host(1).core().spawn(writer(pair, word));
  pair.run(reader(pair));
  EXPECT_EQ(load_le64(pair.two->host(0).memory().bytes(pair.near_buffer, Bytes{8}).data()), 77U);
  // From the cache of the core: nobody has written it back.
  EXPECT_EQ(pair.two->host(1).coherent()->memory().statistics().memory_writes, 0U);
}

TEST_P(CoherentStack, ACoreSeesWhatAPeerWritesToALineOfItsCache) {
  Pair pair(coherent(GetParam()));
  const std::uint64_t word = pair.near_segment.base + 512;
  std::uint64_t seen = 0;
  const auto poller = [](Pair& two, std::uint64_t at, std::uint64_t& value) -> verbs::Task<void> {
    SimCore& core = two.two->host(1).core();
    while ((value = co_await core.load(at, 8)) == 0) co_await core.sleep(nanoseconds(100));
  };
  const auto writer = [](Pair& two) -> verbs::Task<void> {
    co_await two.two->host(0).core().sleep(microseconds(5));
    store_le64(two.two->host(0).core().bytes(two.near_buffer, Bytes{8}).data(), 99);
    EXPECT_TRUE((co_await two.near->write(two.near_buffer, two.near_segment.at(512), 8)).ok());
  };
  pair.two->host(1).core().spawn(poller(pair, word, seen));
  pair.run(writer(pair));
  pair.two->settle();
  EXPECT_EQ(seen, 99U);
}

TEST_P(CoherentStack, AtomicsOfCoreAndPeerAddUp) {
  Pair pair(coherent(GetParam()));
  constexpr int kEach = 50;
  const auto local = [](Pair& two) -> verbs::Task<void> {
    for (int i = 0; i < kEach; ++i)
      (void)co_await two.two->host(1).core().fetch_add(two.near_segment.base, 1);
  };
  const auto remote = [](Pair& two) -> verbs::Task<void> {
    for (int i = 0; i < kEach; ++i)
      EXPECT_TRUE((co_await two.near->fetch_add(two.near_segment.at(0), 1)).ok());
  };
  pair.two->host(1).core().spawn(local(pair));
  pair.run(remote(pair));
  EXPECT_EQ(load_le64(pair.two->host(1).memory().bytes(pair.near_segment.base, Bytes{8}).data()), 2U * kEach);
}

// Of every operation, each picosecond is accounted for.
TEST_P(CoherentStack, EveryPicosecondOfAnOperationIsAccountedFor) {
  for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kSend, Verb::kFetchAdd})
    EXPECT_GT(latency_of(coherent(GetParam()), {verb, 64}), kTimeZero) << name(verb);
}

struct Torn {
  int reads = 0;
  int out_of_order = 0;
};

/// A core at the target writes `round` to the words of several lines, from the last to the first; a reader
/// that gets its lines in ascending order never sees a word newer than one behind it.
Torn read_against_writer(const TwoHostsConfig& config, verbs::AccessOrder order) {
  constexpr std::uint32_t kLines = 4;
  Pair pair(config);
  Host& target = pair.two->host(1);
  const std::uint64_t base = target.memory().allocate(kibibytes(4));
  const verbs::RemoteSegment segment =
      target.expose({.base = base, .length = 4096, .read_order = order}).value();
  Torn torn;
  bool ended = false;
  const auto writer = [](Host& host, std::uint64_t at, const bool& stop) -> verbs::Task<void> {
    for (std::uint64_t round = 1; !stop; ++round) {
      for (std::uint32_t line = kLines; line-- > 0;) co_await host.core().store(at + line * 64, 8, round);
    }
  };
  const auto reader = [](Pair& two, const verbs::RemoteSegment& from, Torn& found,
                         bool& stop) -> verbs::Task<void> {
    const std::uint64_t local = two.near_buffer;
    for (int i = 0; i < 400; ++i) {
      EXPECT_TRUE((co_await two.near->read(local, from.at(0), kLines * 64)).ok());
      ++found.reads;
      const auto bytes = two.two->host(0).core().bytes(local, Bytes{kLines * 64});
      for (std::uint32_t line = 1; line < kLines; ++line) {
        if (load_le64(bytes.data() + (line - 1) * 64) > load_le64(bytes.data() + line * 64)) {
          ++found.out_of_order;
          break;
        }
      }
    }
    stop = true;
  };
  target.core().spawn(writer(target, base, ended));
  pair.run(reader(pair, segment, torn, ended));
  return torn;
}

TEST_P(CoherentStack, AscendingReadsAreInOrderWhereSomebodyKeepsIt) {
  EXPECT_EQ(
      read_against_writer(coherent(GetParam(), RlsqDesign::kSpeculative), verbs::AccessOrder::kAscending)
          .out_of_order,
      0);
  EXPECT_EQ(
      read_against_writer(coherent(GetParam(), RlsqDesign::kThreadSpecific), verbs::AccessOrder::kAscending)
          .out_of_order,
      0);
  TwoHostsConfig at_source = coherent(GetParam());
  at_source.host.coherent.order = OrderPlace::kSource;
  EXPECT_EQ(read_against_writer(at_source, verbs::AccessOrder::kAscending).out_of_order, 0);
}

/// What a READ of four lines takes that a core of the target has modified, labelled ascending.
TimePs four_modified_lines(const TwoHostsConfig& config) {
  constexpr std::uint32_t kLines = 4;
  Pair pair(config);
  Host& target = pair.two->host(1);
  const std::uint64_t base = target.memory().allocate(kibibytes(4));
  const verbs::RemoteSegment segment =
      target.expose({.base = base, .length = 4096, .read_order = verbs::AccessOrder::kAscending}).value();
  const auto writer = [](Host& host, std::uint64_t at) -> verbs::Task<void> {
    for (std::uint32_t line = 0; line < kLines; ++line) co_await host.core().store(at + line * 64, 8, 1);
  };
  TimePs elapsed;
  const auto reader = [](Pair& two, const verbs::RemoteSegment& from, TimePs& took) -> verbs::Task<void> {
    SimCore& core = two.two->host(0).core();
    co_await core.sleep(microseconds(5));
    const TimePs begin = core.now();
    EXPECT_TRUE((co_await two.near->read(two.near_buffer, from.at(0), kLines * 64)).ok());
    took = core.now() - begin;
  };
  target.core().spawn(writer(target, base));
  pair.run(reader(pair, segment, elapsed));
  return elapsed;
}

// The label of a segment reaches the root complex, or the NIC that keeps it: without order each further line
// costs the 5 cycles of its completion, a queue that waits takes 27 cycles for it, and a NIC that waits the
// way there and back besides (docs/host-model.md).
TEST_P(CoherentStack, WhoKeepsAnAscendingReadInOrderShowsInItsTime) {
  const TimePs unordered = four_modified_lines(coherent(GetParam()));
  const TimePs waiting = four_modified_lines(coherent(GetParam(), RlsqDesign::kThreadSpecific));
  const TimePs ahead = four_modified_lines(coherent(GetParam(), RlsqDesign::kSpeculative));
  TwoHostsConfig at_source = coherent(GetParam());
  at_source.host.coherent.order = OrderPlace::kSource;
  const TimePs by_nic = four_modified_lines(at_source);
  EXPECT_EQ((waiting - unordered).ps, 3 * (27 - 5) * 333);
  EXPECT_EQ(ahead, unordered);
  const CoherentConfig& host = at_source.host.coherent.host;
  const TimePs way =
      protocol_of(GetParam()) == wire::Protocol::kUb
          ? at_source.host.bus.crossing
          : host.io_link.up + host.io_link.down + host.root_complex.lookup + host.root_complex.answer;
  EXPECT_GT(by_nic - waiting, way * 3);
}

TEST(CoherentProfile, WithoutALatencyIsRefused) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "coherent_profile_without_a_latency";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "half.toml") << "[io_link]\ncycle = \"1ns\"\nup = \"200ns\"\n";
  const auto refused = load_coherent(folder, "half", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "profile half has [io_link] without down, expected a time: root complex to device");
  EXPECT_TRUE(load_coherent(folder, "half", {"io_link.down=200ns"}).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace wharf::sim
