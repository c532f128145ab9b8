// SPDX-License-Identifier: Apache-2.0
// The merge beside one queue for each port and the rule of turns: the next port with a beat, counted from the
// last one.
#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include <gtest/gtest.h>

#include "Vwharf_merge.h"
#include "Vwharf_merge_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"

namespace wharf::rtl {
namespace {

constexpr std::uint32_t kPorts = 4;

struct Beat {
  std::uint32_t port = 0;
  std::uint32_t data = 0;
  bool operator==(const Beat&) const = default;
};

/// The first port with a beat behind `last`.
std::uint32_t next_in_turn(std::uint32_t valid, std::uint32_t last) {
  for (std::uint32_t step = 1; step <= kPorts; ++step) {
    const std::uint32_t port = (last + step) % kPorts;
    if (((valid >> port) & 1U) != 0) return port;
  }
  return kPorts;
}

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"in0", "in1", "in2", "in3", "out"});
  coverage.require("reset with a beat inside");
  std::deque<Beat> inside;
  std::array<Stall, kPorts> in{Stall(random.substream(0)), Stall(random.substream(1)),
                               Stall(random.substream(2)), Stall(random.substream(3))};
  Stall out(random.substream(4));
  StreamRule<Beat> out_rule;
  std::uint32_t offered = 0;
  std::uint32_t last = kPorts - 1;
  std::array<std::uint32_t, kPorts> waited{};  // Beats of other ports that went before.
  dut.reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(500) == 0) {
      coverage.hit_if(!inside.empty(), "reset with a beat inside");
      dut.reset();
      inside.clear();
      out_rule.reset();
      waited = {};
      offered = 0;
      last = kPorts - 1;
    }
    std::uint32_t open = 0;
    for (std::uint32_t port = 0; port < kPorts; ++port) {
      const bool in_open = in[port].open();
      open |= (in_open ? 1U : 0U) << port;
      if (in_open && ((offered >> port) & 1U) == 0) {
        dut->in_data_i[port] = random.next_u32();
        offered |= 1U << port;
      }
    }
    const bool out_open = out.open();
    coverage.hit_stalls(open | (out_open ? 1U << kPorts : 0U));
    dut->in_valid_i = static_cast<std::uint8_t>(offered);
    dut->out_ready_i = out_open;
    dut.settle();

    const std::uint64_t now = dut.cycles();
    const Beat shown{dut->out_port_o, dut->out_data_o};
    if (!out_rule.holds(dut->out_valid_o, out_open, shown)) found.differ(now, "an offered beat changed");
    if (dut->out_valid_o != (inside.empty() ? 0 : 1)) found.differ(now, "the output register");
    if (dut->out_valid_o && !inside.empty() && shown != inside.front()) found.differ(now, "another beat");
    if (dut->out_valid_o && out_open && !inside.empty()) inside.pop_front();

    const std::uint32_t taken = offered & dut->in_ready_o;
    const std::uint32_t turn = inside.empty() ? next_in_turn(offered, last) : kPorts;
    if (taken != (turn == kPorts ? 0U : 1U << turn)) found.differ(now, "not the port whose turn it is");
    if (turn != kPorts && found.agrees()) {
      inside.push_back({turn, dut->in_data_i[turn]});
      offered &= ~(1U << turn);
      last = turn;
      for (std::uint32_t port = 0; port < kPorts; ++port) {
        waited[port] = ((offered >> port) & 1U) != 0 ? waited[port] + 1 : 0;
        if (waited[port] >= kPorts) found.differ(now, "port " + std::to_string(port) + " is starved");
      }
    }
    dut.tick();
  }
};

TEST(Merge, TakesPortsInTurn) { expect_agreement<Vwharf_merge>(kRun, 50000); }

TEST(Merge, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_merge_planted>(kRun, "rtl/merge/faults.txt", 20000);
}

}  // namespace
}  // namespace wharf::rtl
