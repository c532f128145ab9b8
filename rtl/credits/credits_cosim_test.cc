// SPDX-License-Identifier: Apache-2.0
// The credits beside a count.
#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "Vwharf_credits.h"
#include "Vwharf_credits_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"

namespace wharf::rtl {
namespace {

constexpr std::uint32_t kLimit = 5;  // No power of two: the count must stop there by itself.

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"in", "out"});
  for (const char* name : {"no credit", "all credits", "return as a beat leaves", "too many returned"})
    coverage.require(name);
  std::uint32_t credits = kLimit;
  Stall in(random.substream(0));
  Stall out(random.substream(1));
  Stall give(random.substream(2));
  StreamRule<std::uint32_t> out_rule;
  bool offered = false;
  dut.reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(500) == 0) {
      dut.reset();
      credits = kLimit;
      out_rule.reset();
      offered = false;
    }
    const bool in_open = in.open();
    const bool out_open = out.open();
    coverage.hit_stalls((in_open ? 1U : 0U) | (out_open ? 2U : 0U));
    if (!offered && in_open) {
      dut->in_data_i = random.next_u32();
      offered = true;
    }
    const std::uint32_t missing = kLimit - credits;
    // Now and then more comes back than is out.
    const auto count = static_cast<std::uint32_t>(random.below(16) == 0 ? 1 + random.below(kLimit)
                                                                        : random.below(missing + 1));
    dut->in_valid_i = offered;
    dut->out_ready_i = out_open;
    dut->give_valid_i = give.open() && count > 0;
    dut->give_count_i = static_cast<std::uint8_t>(count);
    dut.settle();

    const std::uint64_t now = dut.cycles();
    coverage.hit_if(credits == 0, "no credit");
    coverage.hit_if(credits == kLimit, "all credits");
    if (dut->credits_o != credits) found.differ(now, "the count");
    if (dut->out_valid_o != (offered && credits > 0))
      found.differ(now, "a beat leaves with a credit or not at all");
    if ((dut->in_ready_o != 0) != (out_open && credits > 0)) found.differ(now, "taken and not passed on");
    if (dut->out_valid_o && dut->out_data_o != dut->in_data_i) found.differ(now, "another beat");
    if (!out_rule.holds(dut->out_valid_o, out_open, dut->out_data_o))
      found.differ(now, "an offered beat changed");
    const bool sent = offered && credits > 0 && out_open;
    const std::uint32_t given = dut->give_valid_i ? count : 0;
    const std::uint32_t sum = credits - (sent ? 1U : 0U) + given;
    coverage.hit_if(sent && given > 0, "return as a beat leaves");
    coverage.hit_if(sum > kLimit, "too many returned");
    if (dut->error_o != (sum > kLimit)) found.differ(now, "too many returned");
    credits = std::min(sum, kLimit);
    if (sent) offered = false;
    dut.tick();
  }
};

TEST(Credits, AgreeWithACount) { expect_agreement<Vwharf_credits>(kRun, 50000); }

TEST(Credits, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_credits_planted>(kRun, "rtl/credits/faults.txt", 20000);
}

}  // namespace
}  // namespace wharf::rtl
