// SPDX-License-Identifier: Apache-2.0
// The remote load-store queue in each of its designs: beside ordering::Rlsq one step at a time
// (rlsq_lockstep.h), and with everything in motion before the judge of that class (rlsq_free_run.h).
#include <cstdint>

#include <gtest/gtest.h>

#include "Vwharf_rlsq.h"
#include "Vwharf_rlsq_baseline.h"
#include "Vwharf_rlsq_planted.h"
#include "Vwharf_rlsq_release_acquire.h"
#include "Vwharf_rlsq_strict_blocking.h"
#include "Vwharf_rlsq_strict_speculative.h"
#include "Vwharf_rlsq_thread_specific.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/rlsq/rlsq_free_run.h"
#include "rtl/rlsq/rlsq_lockstep.h"

namespace wharf::rtl {
namespace {

using ordering::RlsqDesign;

auto harness(RlsqDesign design) {
  return [design](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
    Coverage& coverage = found.coverage;
    coverage.require_stalls({"request", "memory", "perform", "answer", "done", "snoop"});
    for (const char* name :
         {"read", "ownership", "full", "a write in the reserve", "ownership is kept", "snoop misses",
          "snoop hits", "snoop waits for a write", "reset with entries inside",
          "answer that nobody asked for", "share takes an ownership"})
      coverage.require(name);
    if (design != RlsqDesign::kStrictBlocking) coverage.require("read passes a read");
    if (is_speculative(design)) {
      for (const char* name :
           {"tracked read", "snoop squashes", "invalidation squashes", "a read that the class shares"})
        coverage.require(name);
    }
    for (std::uint64_t life = 0; dut.cycles() < cycles && found.agrees(); ++life) {
      const RandomStream own = random.substream(life);
      if (life % 3 == 0)
        RlsqLockstep(dut, design, own, found).run();
      else
        RlsqFreeRun(dut, design, own, found).run();
    }
  };
}

TEST(Rlsq, AgreesAsTheBaseline) {
  expect_agreement<Vwharf_rlsq_baseline>(harness(RlsqDesign::kBaseline), 60000);
}

TEST(Rlsq, AgreesWithReleaseAndAcquire) {
  expect_agreement<Vwharf_rlsq_release_acquire>(harness(RlsqDesign::kReleaseAcquire), 60000);
}

TEST(Rlsq, AgreesWithThreads) {
  expect_agreement<Vwharf_rlsq_thread_specific>(harness(RlsqDesign::kThreadSpecific), 60000);
}

TEST(Rlsq, AgreesWhenItSpeculates) {
  expect_agreement<Vwharf_rlsq>(harness(RlsqDesign::kSpeculative), 60000);
}

TEST(Rlsq, AgreesWhenReadsAreInOrder) {
  expect_agreement<Vwharf_rlsq_strict_blocking>(harness(RlsqDesign::kStrictBlocking), 60000);
}

TEST(Rlsq, AgreesWhenReadsAreInOrderAndSpeculate) {
  expect_agreement<Vwharf_rlsq_strict_speculative>(harness(RlsqDesign::kStrictSpeculative), 60000);
}

TEST(Rlsq, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_rlsq_planted>(harness(RlsqDesign::kSpeculative), "rtl/rlsq/faults.txt", 60000);
}

// Relaxed reads of different lines; memory answers two cycles after it was asked.
TEST(Rlsq, TakesARequestInEachCycle) {
  Clocked<Vwharf_rlsq> dut;
  dut->request_valid_i = dut->done_valid_i = dut->snoop_valid_i = 0;
  dut->memory_ready_i = dut->perform_ready_i = dut->answer_ready_i = 1;
  dut.reset();
  constexpr std::uint32_t kCount = 1000;
  std::uint32_t sent = 0;
  std::uint32_t answered = 0;
  const std::uint64_t from = dut.cycles();
  std::uint64_t first = 0;
  while (answered < kCount && dut.cycles() < from + 10 * kCount) {
    dut->request_valid_i = sent < kCount;
    dut->request_kind_i = 0;
    dut->request_label_i = 3;
    dut->request_line_i = sent % 16;
    dut.settle();
    if (dut->request_valid_i && dut->request_ready_o) ++sent;
    if (dut->answer_valid_o && answered++ == 0) first = dut.cycles();
    const bool asks = dut->memory_valid_o;
    const std::uint8_t entry = dut->memory_entry_o;
    dut.tick();
    dut->done_valid_i = asks;
    dut->done_entry_i = entry;
  }
  std::cout << "first answer after " << first - from << " cycles, one of them for memory\n";
  EXPECT_EQ(first - from, 5U);
  EXPECT_LE(dut.cycles() - from, kCount + 6);
}

}  // namespace
}  // namespace wharf::rtl
