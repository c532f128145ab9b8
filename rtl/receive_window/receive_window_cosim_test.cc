// SPDX-License-Identifier: Apache-2.0
// The receive window beside reliability::ReceiveWindow, with numbers of 24 bits that begin near their end.
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "Vwharf_receive_window.h"
#include "Vwharf_receive_window_planted.h"
#include "base/arena.h"
#include "engine/reliability/receive_window.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"

namespace wharf::rtl {
namespace {

using reliability::Arrival;

constexpr std::uint32_t kWindow = 64;

struct Reference {
  explicit Reference(wire::Psn first) : window(arena, kWindow, reliability::first_logical(first)) {}
  Arena arena;
  reliability::ReceiveWindow window;
};

/// A number as a lossy, reordering wire brings it: mostly the next ones, some ahead, copies, and strangers.
wire::Psn arriving(RandomStream& random, const reliability::ReceiveWindow& window) {
  const std::uint64_t next = window.next();
  switch (random.below(8)) {
    case 0:
      return static_cast<wire::Psn>((next + random.below(kWindow)) & wire::kPsnMask);
    case 1:
      return static_cast<wire::Psn>((next - 1 - random.below(100)) & wire::kPsnMask);
    case 2:
      return static_cast<wire::Psn>((next + kWindow - 2 + random.below(4)) & wire::kPsnMask);
    case 3:
      return static_cast<wire::Psn>((window.end() + random.below(3)) & wire::kPsnMask);
    case 4:
      if (random.below(8) == 0) return static_cast<wire::Psn>(random.below(wire::kPsnMask + 1));
      [[fallthrough]];
    default:
      return static_cast<wire::Psn>((next + random.below(4)) & wire::kPsnMask);
  }
}

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"arrive"});
  for (const char* name : {"next", "ahead", "duplicate inside", "duplicate behind", "too far",
                           "last of the window", "many in order", "numbers wrap", "reset with a gap"})
    coverage.require(name);
  Stall arrive(random.substream(0));
  std::unique_ptr<Reference> reference;
  const auto reset = [&] {
    const auto first = static_cast<wire::Psn>((wire::kPsnMask - 200 + random.below(400)) & wire::kPsnMask);
    dut->arrive_valid_i = 0;
    dut->first_i = first;
    dut.reset();
    reference = std::make_unique<Reference>(first);
    dut->first_i = static_cast<wire::Psn>(random.below(wire::kPsnMask + 1));
  };
  reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(1000) == 0) {
      coverage.hit_if(reference->window.has_gap(), "reset with a gap");
      reset();
    }
    reliability::ReceiveWindow& window = reference->window;
    const bool arrives = arrive.open();
    coverage.hit_stalls(arrives ? 1U : 0U);
    const wire::Psn psn = arriving(random, window);
    dut->arrive_valid_i = arrives;
    dut->arrive_number_i = psn;
    dut.settle();

    const std::uint64_t now = dut.cycles();
    if (dut->next_o != (window.next() & wire::kPsnMask)) found.differ(now, "the expected number");
    if (dut->end_o != (window.end() & wire::kPsnMask)) found.differ(now, "the highest number");
    if (dut->ahead_o != window.first_bits()) found.differ(now, "which numbers have arrived ahead");
    coverage.hit_if((window.end() & wire::kPsnMask) < (window.next() & wire::kPsnMask), "numbers wrap");
    std::uint64_t logical = 0;
    const Arrival arrival = window.classify(psn, logical);
    if (dut->arrival_o != static_cast<std::uint32_t>(arrival)) found.differ(now, "what an arrival means");
    const bool takes = arrives && (arrival == Arrival::kNext || arrival == Arrival::kAhead);
    coverage.hit_if(takes && arrival == Arrival::kNext, "next");
    coverage.hit_if(takes && arrival == Arrival::kAhead, "ahead");
    coverage.hit_if(takes && logical == window.next() + kWindow - 1, "last of the window");
    coverage.hit_if(arrival == Arrival::kDuplicate && logical > window.next(), "duplicate inside");
    coverage.hit_if(arrival == Arrival::kDuplicate && logical < window.next(), "duplicate behind");
    coverage.hit_if(arrival == Arrival::kTooFar, "too far");
    const std::uint32_t advanced = takes ? window.accept(logical) : 0;
    coverage.hit_if(advanced > 8, "many in order");
    if (dut->advanced_o != advanced) found.differ(now, "how many numbers are in order");
    dut.tick();
  }
};

TEST(ReceiveWindow, AgreesWithTheWindowOfTheEngines) {
  expect_agreement<Vwharf_receive_window>(kRun, 100000);
}

TEST(ReceiveWindow, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_receive_window_planted>(kRun, "rtl/receive_window/faults.txt", 50000);
}

}  // namespace
}  // namespace wharf::rtl
