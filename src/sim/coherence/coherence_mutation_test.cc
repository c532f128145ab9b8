// SPDX-License-Identifier: Apache-2.0
// Random lives find every mistake that can be compiled in. The machines are compiled once more for that, in a
// namespace of their own, so that the shipped ones stay without mistakes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#define WHARF_COHERENCE_MUTATIONS
#define sim mutated_sim

#include "sim/coherence/cache_lines.cc"
#include "sim/coherence/coherence_exploration_test_support.h"
#include "sim/coherence/coherence_observer.cc"
#include "sim/coherence/coherence_random_test_support.h"
#include "sim/coherence/directory.cc"
#include "sim/coherence/home.cc"
#include "sim/coherence/home_state.cc"
#include "sim/coherence/io_agent.cc"
#include "sim/coherence/message.cc"
#include "sim/coherence/private_cache.cc"
#include "sim/coherence/private_cache_snoops.cc"

namespace wharf::sim {
namespace {

/// The first complaint of up to `lives` random lives, with the life that it came in; empty when there is
/// none.
std::string first_complaint(std::uint64_t lives) {
  CoherenceTotals totals;
  for (std::uint64_t seed = 1; seed <= lives; ++seed) {
    const std::string fault = run_random_coherence(seed, 150, totals);
    if (!fault.empty()) return fmt::format("life {}: {}", seed, fault);
  }
  return "";
}

/// The same of every interleaving of one core that reads a line twice and one that writes it.
std::string explored_complaint() {
  CoherenceWorldConfig config;
  config.devices = 0;
  config.lines = 1;
  config.cache.lines.level1_ways = 0;
  config.cache.lines.level2_ways = 1;
  const CoherenceStep load;
  const CoherenceStep store{.kind = CoherenceStep::Kind::kStore, .value = 1};
  CoherenceExplorer explorer(config, {{{load, load}, {load, store}}, {}});
  return explorer.run(100'000).fault;
}

TEST(CoherenceMutation, EveryMistakeIsFound) {
  for (int i = 0; i < kCoherenceMutationCount; ++i) {
    coherence_mutation = static_cast<CoherenceMutation>(i);
    std::string complaint = first_complaint(100);
    // A load must come between an invalidation and the bytes that it overtook, after the writer has written:
    // too rare for chance, but not for a search.
    if (coherence_mutation == CoherenceMutation::kNone ||
        coherence_mutation == CoherenceMutation::kLateLoadServed) {
      complaint += explored_complaint();
    }
    EXPECT_EQ(complaint.empty(), i == 0) << "mutation " << i << ": " << complaint;
  }
  coherence_mutation = CoherenceMutation::kNone;
}

}  // namespace
}  // namespace wharf::sim
