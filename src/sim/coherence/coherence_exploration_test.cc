// SPDX-License-Identifier: Apache-2.0
// All interleavings of small programs: nothing that the observer forbids can happen, and nothing gets stuck.
#include <gtest/gtest.h>

#include <string>

#include "sim/coherence/coherence_exploration_test_support.h"

namespace wharf::sim {
namespace {

using Kind = CoherenceStep::Kind;

CoherenceWorldConfig tiny(std::uint32_t caches, std::uint32_t devices, std::uint32_t lines) {
  CoherenceWorldConfig config;
  config.caches = caches;
  config.devices = devices;
  config.lines = lines;
  config.directory_ways = lines;
  config.credits = 2;
  config.cache.lines.level1_ways = 0;
  config.cache.lines.level2_ways = lines;
  return config;
}

CoherenceStep load(LineNumber line) { return {.kind = Kind::kLoad, .line = line}; }
CoherenceStep store(LineNumber line, std::uint64_t value) {
  return {.kind = Kind::kStore, .line = line, .value = value};
}

/// Explores to the end and expects no fault; how many states there are becomes a property of the test.
void expect_sound(const char* name, const CoherenceWorldConfig& config, CoherencePrograms programs) {
  CoherenceExplorer explorer(config, std::move(programs));
  constexpr std::uint64_t kStatesMost = 200'000;
  const CoherenceExploration found = explorer.run(kStatesMost);
  EXPECT_EQ(found.fault, "") << name;
  EXPECT_GT(found.ends, 0u) << name;
  EXPECT_EQ(found.endless, 0u) << name;
  EXPECT_LT(found.states, kStatesMost) << name;
  EXPECT_GT(found.states, 500u) << name;
  testing::Test::RecordProperty(
      name, std::to_string(found.states) + " states, " + std::to_string(found.ends) + " ends");
}

TEST(CoherenceExploration, TwoCoresOnOneLine) {
  expect_sound("upgrades", tiny(2, 0, 1),
               {{{load(0), store(0, 1), load(0)}, {load(0), store(0, 2), load(0)}}, {}});
  expect_sound("additions", tiny(2, 0, 1),
               {{{{.kind = Kind::kAdd}, load(0), {.kind = Kind::kFlush}, load(0)},
                 {{.kind = Kind::kAdd}, {.kind = Kind::kLoadUncached}, {.kind = Kind::kAdd}}},
                {}});
}

TEST(CoherenceExploration, RecallsFromADirectoryOfOneEntry) {
  CoherenceWorldConfig config = tiny(2, 0, 2);
  config.directory_ways = 1;
  expect_sound("recalls", config, {{{store(0, 1), load(1), load(0)}, {load(1), store(0, 2)}}, {}});
  config.write_back_places = 0;
  expect_sound("recalls, late answers", config,
               {{{store(0, 1), store(1, 2)}, {store(1, 3), store(0, 4)}}, {}});
}

TEST(CoherenceExploration, EvictionsFromACacheOfOneLine) {
  CoherenceWorldConfig config = tiny(2, 0, 2);
  config.cache.lines.level2_ways = 1;
  expect_sound("evictions", config, {{{store(0, 1), load(1), load(0)}, {load(0), store(0, 2), load(1)}}, {}});
}

TEST(CoherenceExploration, ThreeCoresShareALine) {
  expect_sound("sharers", tiny(3, 0, 1),
               {{{load(0), store(0, 1)}, {load(0), store(0, 2)}, {store(0, 3)}}, {}});
}

TEST(CoherenceExploration, DeviceReadsWhatCoresWrite) {
  for (int notice = 0; notice < kDropNoticeCount; ++notice) {
    CoherenceWorldConfig config = tiny(1, 1, 2);
    config.drops = static_cast<DropNotice>(notice);
    expect_sound(("pair " + std::to_string(notice)).c_str(), config,
                 {{{store(0, 1), store(1, 2)}}, {{{.kind = Kind::kReadPair, .line = 0, .other = 1}}}});
  }
}

// A device that tracks, gives up and tracks again, while its home has room for one line: every notice of it
// may be overtaken by a snoop or meet a line that is busy.
TEST(CoherenceExploration, DroppedLinesAreTrackedAgain) {
  for (int notice = 0; notice < kDropNoticeCount; ++notice) {
    CoherenceWorldConfig config = tiny(1, 1, 2);
    config.directory_ways = 1;
    config.drops = static_cast<DropNotice>(notice);
    expect_sound(("again " + std::to_string(notice)).c_str(), config,
                 {{{store(0, 1)}},
                  {{{.kind = Kind::kReadPair, .line = 0, .other = 1}, {.kind = Kind::kRead, .line = 0}}}});
  }
}

TEST(CoherenceExploration, DeviceWritesWhatCoresWrite) {
  expect_sound("parts", tiny(1, 1, 1),
               {{{load(0), store(0, 1), {.kind = Kind::kAdd}}},
                {{{.kind = Kind::kWrite, .word = 1, .value = 7}, {.kind = Kind::kAdd}}}});
  CoherenceWorldConfig config = tiny(2, 1, 1);
  config.write_back_places = 0;
  config.directory_ways = 1;
  CoherencePrograms lines{{{store(0, 1), load(0)}, {load(0)}},
                          {{{.kind = Kind::kWriteLine, .value = 5}, {.kind = Kind::kRead}}}};
  expect_sound("lines", config, lines);
}

TEST(CoherenceExploration, TwoDevicesOnOneLine) {
  expect_sound("devices", tiny(1, 2, 1),
               {{{store(0, 9)}},
                {{{.kind = Kind::kHeldWrite, .word = 2, .value = 5}, {.kind = Kind::kWriteLine, .value = 3}},
                 {{.kind = Kind::kHeldWrite, .word = 3, .value = 7}}}});
}

}  // namespace
}  // namespace wharf::sim
