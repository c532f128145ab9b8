// SPDX-License-Identifier: Apache-2.0
// The harness of elements that keep beats in order: any of them is a ring of some size. Apart because two
// elements are.
#pragma once

#include <cstdint>

#include "base/ring.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"

namespace wharf::rtl {

/// Drives `dut`, which keeps up to `depth` beats of 32 bits, beside a Ring.
template <typename Model>
void run_beat_queue(Clocked<Model>& dut, RandomStream random, std::uint64_t cycles, std::uint32_t depth,
                    Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"in", "out"});
  for (const char* name : {"empty", "full", "push and pop", "reset with beats inside"})
    coverage.require(name);

  Ring<std::uint32_t> reference(depth);
  StreamRule<std::uint32_t> out_rule;
  Stall in(random.substream(0));
  Stall out(random.substream(1));
  dut.reset();
  bool offered = false;
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(500) == 0) {
      coverage.hit_if(!reference.empty(), "reset with beats inside");
      dut.reset();
      reference.clear();
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
    dut->in_valid_i = offered;
    dut->out_ready_i = out_open;
    dut.settle();

    const std::uint64_t now = dut.cycles();
    coverage.hit_if(reference.empty(), "empty");
    coverage.hit_if(reference.size() == depth, "full");
    if (!out_rule.holds(dut->out_valid_o, out_open, dut->out_data_o))
      found.differ(now, "an offered beat changed");
    if constexpr (requires { dut->level_o; }) {
      if (dut->level_o != reference.size()) found.differ(now, "level");
    }
    if (dut->in_ready_o && reference.size() == depth) found.differ(now, "room for a beat too many");
    if (!dut->in_ready_o && reference.size() < depth) found.differ(now, "no room where there is some");
    const bool push = offered && dut->in_ready_o;
    const bool pop = dut->out_valid_o && out_open;
    coverage.hit_if(push && pop, "push and pop");
    if (dut->out_valid_o && reference.empty()) {
      found.differ(now, "a beat that nobody sent");
    } else if (pop) {
      if (dut->out_data_o != reference.front()) found.differ(now, "another beat than the oldest");
      reference.pop_front();
    }
    if (push && found.agrees()) reference.push_back(dut->in_data_i);
    if (push) offered = false;
    dut.tick();
  }
}

/// run_beat_queue() for one depth, as expect_agreement() wants it.
inline auto beat_queue(std::uint32_t depth) {
  return [depth](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
    run_beat_queue(dut, random, cycles, depth, found);
  };
}

}  // namespace wharf::rtl
