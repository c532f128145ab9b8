// SPDX-License-Identifier: Apache-2.0
// The retransmission timer beside reliability::RetransmissionTimer, a cycle for a picosecond.
#include <cstdint>

#include <gtest/gtest.h>

#include "Vwharf_retransmission_timer.h"
#include "Vwharf_retransmission_timer_planted.h"
#include "engine/reliability/retransmission_timer.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"

namespace wharf::rtl {
namespace {

using reliability::RetransmissionRule;
using reliability::RetransmissionTimer;
using Expiry = RetransmissionTimer::Expiry;

// The instance of rtl/CMakeLists.txt.
constexpr RetransmissionRule kRule{
    .base = TimePs{1}, .backoff_exponent = 1, .cap = TimePs{6}, .attempts_max = 4};

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"progress", "stop", "start"});
  for (const char* name : {"sent again", "gave up", "progress ends a row",
                           "progress in the cycle of a time-out", "all confirmed", "longest time-out"})
    coverage.require(name);
  Stall progress(random.substream(0));
  Stall stop(random.substream(1));
  Stall start(random.substream(2));
  RetransmissionTimer timer;
  dut->progress_i = dut->stop_i = dut->start_i = 0;
  dut.reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(2000) == 0) {
      dut.reset();
      timer.stop();
    }
    // Progress and stops are rare, or nothing would ever time out.
    const bool progresses = progress.open() && random.below(48) == 0;
    const bool stops = stop.open() && random.below(48) == 0;
    const bool starts = start.open() && random.below(2) == 0;
    const bool outstanding = random.below(4) != 0;
    coverage.hit_stalls((progresses ? 1U : 0U) | (stops ? 2U : 0U) | (starts ? 4U : 0U));
    dut->progress_i = progresses;
    dut->outstanding_i = outstanding;
    dut->stop_i = stops;
    dut->start_i = starts;
    dut.settle();

    const std::uint64_t cycle = dut.cycles();
    const TimePs now{static_cast<std::int64_t>(cycle)};
    if ((dut->running_o != 0) != timer.running()) found.differ(cycle, "whether the timer runs");
    if (dut->attempts_o != timer.attempts()) found.differ(cycle, "how many time-outs there were");
    const std::uint32_t before = timer.attempts();
    const Expiry expiry = timer.expire(kRule, now);
    if ((dut->again_o != 0) != (expiry == Expiry::kRetransmit)) found.differ(cycle, "when to send again");
    if ((dut->exhausted_o != 0) != (expiry == Expiry::kExhausted)) found.differ(cycle, "when to give up");
    coverage.hit_if(expiry == Expiry::kRetransmit, "sent again");
    coverage.hit_if(expiry == Expiry::kExhausted, "gave up");
    coverage.hit_if(expiry == Expiry::kRetransmit && timer.deadline() == now + kRule.cap, "longest time-out");
    coverage.hit_if(progresses && before > 0, "progress ends a row");
    coverage.hit_if(progresses && expiry != Expiry::kNotDue, "progress in the cycle of a time-out");
    coverage.hit_if(progresses && !outstanding, "all confirmed");
    if (progresses) timer.progress(kRule, now, outstanding);
    if (stops) timer.stop();
    if (starts) timer.start(kRule, now);
    dut.tick();
  }
};

TEST(RetransmissionTimer, AgreesWithTheTimerOfTheEngines) {
  expect_agreement<Vwharf_retransmission_timer>(kRun, 200000);
}

TEST(RetransmissionTimer, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_retransmission_timer_planted>(kRun, "rtl/retransmission_timer/faults.txt",
                                                           200000);
}

}  // namespace
}  // namespace wharf::rtl
