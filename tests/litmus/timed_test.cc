// SPDX-License-Identifier: Apache-2.0
// What the timed host shows, the explorer has found: drawn programs are explored, and run on the timed
// machines with other delays each time. WHARF_LITMUS_PROGRAMS says how many of each kind, WHARF_LITMUS_SEED
// the first one's seed: a failure names the seed that draws it again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "sim/litmus/explorer.h"
#include "sim/litmus/parser.h"
#include "tests/litmus/drawn_program.h"
#include "tests/litmus/timed_host.h"
#include "tests/support/sanitized.h"

namespace wharf::sim {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// A drawn program that takes more is left out: what is not explored says nothing.
constexpr std::uint64_t kStates = 60'000;
constexpr std::uint64_t kRunsPerProgram = 40;

struct Counts {
  std::uint64_t compared = 0;
  std::uint64_t too_large = 0;
  std::uint64_t runs = 0;
  std::uint64_t finals = 0;  ///< That the explorer found.
  std::uint64_t shown = 0;   ///< Of those, by the timed host.
};

void tell(const Counts& counts) {
  std::printf("%llu programs compared, %llu too large; %llu runs; %llu of %llu final states shown\n",
              static_cast<unsigned long long>(counts.compared),
              static_cast<unsigned long long>(counts.too_large), static_cast<unsigned long long>(counts.runs),
              static_cast<unsigned long long>(counts.shown), static_cast<unsigned long long>(counts.finals));
}

/// Runs `program` under `design` until its runs are over or one is not among those explored.
void compare(const LitmusProgram& program, LitmusDesign design, const std::string& what, std::uint64_t states,
             std::uint64_t runs, Counts& counts) {
  const LitmusExploration found = explore(program, design, LitmusSteps::kReduced, {.states = states});
  if (!found.is_complete) {
    ++counts.too_large;
    return;
  }
  ++counts.compared;
  ASSERT_EQ(found.violation, "") << what;
  ASSERT_TRUE(found.deadlock.empty()) << what << testing::PrintToString(found.deadlock);
  std::set<std::string> shown;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    const TimedOutcome timed = run_timed(program, design, seed);
    ++counts.runs;
    ASSERT_EQ(timed.violation, "") << what << "run " << seed;
    ASSERT_TRUE(timed.waiting.empty()) << what << "run " << seed << testing::PrintToString(timed.waiting);
    if (found.finals.count(timed.final) == 0) {
      std::string explored;
      for (const auto& [text, count] : found.finals) explored += "  " + text + "\n";
      FAIL() << what << "under " << name(design) << ", run " << seed << ", the timed host ends in\n  "
             << timed.final << "\nexplored:\n"
             << explored;
    }
    shown.insert(timed.final);
  }
  counts.finals += found.finals.size();
  counts.shown += shown.size();
}

Counts compare_drawn(DrawnKind kind, std::uint64_t programs) {
  Counts counts;
  const std::uint64_t first = from_environment("WHARF_LITMUS_SEED", 1);
  programs = from_environment("WHARF_LITMUS_PROGRAMS", programs);
  for (std::uint64_t seed = first; seed < first + programs; ++seed) {
    const DrawnProgram drawn = draw_program(seed, kind);
    const std::string what =
        "WHARF_LITMUS_SEED=" + std::to_string(seed) + " WHARF_LITMUS_PROGRAMS=1\n" + drawn.text;
    const auto program = parse_litmus("drawn", drawn.text);
    EXPECT_TRUE(program.ok()) << what << (program.ok() ? "" : program.error().message);
    if (!program) continue;
    EXPECT_EQ(why_not_timed(*program), "") << what;
    compare(*program, drawn.design, what, kStates, kRunsPerProgram, counts);
    if (testing::Test::HasFailure()) break;
  }
  tell(counts);
  return counts;
}

/// The programs of this folder that the timed machines can run, those first that were found here.
TEST(TimedLitmus, WhatTheSuiteShowsWasExplored) {
  Counts counts;
  std::uint64_t programs = 0;
  const bool is_full = from_environment("WHARF_LITMUS_PROGRAMS", 0) > 1;
  const std::uint64_t states = is_full ? kStates : 800;
  const std::uint64_t runs = is_full ? 10 * kRunsPerProgram : kRunsPerProgram / 4;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/litmus"))
    if (entry.path().extension() == ".litmus") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto program = parse_litmus(file.string(), text);
    ASSERT_TRUE(program.ok());
    if (!why_not_timed(*program).empty()) continue;
    if (programs++ % kEveryRow != 0) continue;
    for (const LitmusDesign design : program->designs())
      compare(*program, design, file.string() + " ", states, runs, counts);
    if (HasFailure()) break;
  }
  EXPECT_GE(programs, 100U);
  EXPECT_GE(counts.compared, 4 * counts.too_large) << "what is too large to explore says nothing";
  tell(counts);
}

/// Runs of a program of this folder until one ends in a state that was not explored.
bool is_found(const std::string& file, LitmusDesign design, TimedFlaw flaw, std::uint64_t runs) {
  std::ifstream stream("tests/litmus/" + file + ".litmus", std::ios::binary);
  const auto program = parse_litmus(file, std::string{std::istreambuf_iterator<char>(stream), {}});
  EXPECT_TRUE(program.ok()) << file;
  if (!program) return false;
  EXPECT_EQ(why_not_timed(*program), "");
  const LitmusExploration found = explore(*program, design, LitmusSteps::kReduced);
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    if (found.finals.count(run_timed(*program, design, seed, flaw).final) == 0) return true;
  }
  return false;
}

TEST(TimedLitmus, ARuleThatIsBrokenIsNoticed) {
  struct Broken {
    TimedFlaw flaw;
    const char* file;
    LitmusDesign design;
  };
  using enum TimedFlaw;
  for (const Broken& each :
       {Broken{kLinkNotShared, "mmio-completion", LitmusDesign::kMmioToday},
        Broken{kLinkNotShared, "mmio-completion-to-device", LitmusDesign::kMmioToday},
        Broken{kMemoryPassesUncached, "mmio-completion-to-device", LitmusDesign::kMmioToday},
        Broken{kFenceForgetsDevice, "mmio-load-fence-memory", LitmusDesign::kRobDevice},
        Broken{kFenceForgetsDevice, "fence-combined-memory", LitmusDesign::kMmioToday},
        Broken{kReleaseForgetsMemory, "mmio-doorbell-release", LitmusDesign::kRobDevice},
        Broken{kLoadsPassOwnStores, "host-forward", LitmusDesign::kBaseline}}) {
    EXPECT_TRUE(is_found(each.file, each.design, each.flaw, 5000)) << each.file;
    EXPECT_FALSE(is_found(each.file, each.design, TimedFlaw::kNone, 200)) << each.file;
  }
}

TEST(TimedLitmus, WhatDrawnProgramsOnMemoryShowWasExplored) {
  const Counts counts = compare_drawn(DrawnKind::kMemory, 100 / kEveryRow);
  EXPECT_LE(counts.too_large, counts.compared / 4);
}

TEST(TimedLitmus, WhatDrawnProgramsOfADeviceShowWasExplored) {
  const Counts counts = compare_drawn(DrawnKind::kMmio, 100 / kEveryRow);
  EXPECT_LE(counts.too_large, counts.compared / 4);
}

}  // namespace
}  // namespace wharf::sim
