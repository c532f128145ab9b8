// SPDX-License-Identifier: Apache-2.0
// The judges of random lives find every mistake that can be compiled into the MMIO machines. They are
// compiled once more for that, in a namespace of their own, so that the shipped ones stay without mistakes.
#define WHARF_WITH_MUTATIONS
#define ordering mmio_mutated_ordering

#include <gtest/gtest.h>

#include "engine/ordering/mmio_random_run_test_support.h"
#include "engine/ordering/mmio_rob.cc"
#include "engine/ordering/mmio_sequencer.cc"
#include "engine/ordering/reorder_unit.cc"
#include "engine/ordering/write_combining.cc"

namespace wharf::ordering {
namespace {

/// The first verdict of `lives` random lives of every machine; empty when all live as promised.
std::string first_verdict(std::uint64_t lives) {
  for (std::uint64_t life = 0; life < lives; ++life) {
    for (const ReleaseRule rule : {ReleaseRule::kStrict, ReleaseRule::kRefined}) {
      MmioRobConfig config;
      config.rule = rule;
      config.numbering.threads = 2;
      config.numbering.bits = 5;
      const std::string verdict = RobRun(config, true, life).run(100);
      if (!verdict.empty()) return verdict;
    }
    ReorderUnitConfig unit;
    unit.buffer_bytes = 4096;
    unit.window_bytes = 8192;
    unit.length_offset = 3;
    unit.length_bytes = 2;
    for (const std::string& verdict :
         {numbered_path_run(ReleaseRule::kRefined, life), combining_run({}, life), store_buffer_run(life),
          ReorderUnitRun(unit, 300, life).run(100)}) {
      if (!verdict.empty()) return verdict;
    }
  }
  return "";
}

TEST(MmioMutation, TheJudgesCondemnNoSoundMachine) {
  mmio_mutation = MmioMutation::kNone;
  EXPECT_EQ(first_verdict(10), "");
}

TEST(MmioMutation, TheJudgesFindEveryMistake) {
  for (int mutation = 1; mutation < kMmioMutationCount; ++mutation) {
    mmio_mutation = static_cast<MmioMutation>(mutation);
    EXPECT_NE(first_verdict(10), "") << "mutation " << mutation;
  }
  mmio_mutation = MmioMutation::kNone;
}

}  // namespace
}  // namespace wharf::ordering
