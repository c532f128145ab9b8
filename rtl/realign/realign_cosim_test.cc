// SPDX-License-Identifier: Apache-2.0
// The realigner beside a string of bytes: what is held, then what comes, without a gap.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "Vwharf_realign.h"
#include "Vwharf_realign_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/packed.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"

namespace wharf::rtl {
namespace {

/// One run: its bytes, of which the first flit may be hidden, and the flits that must come in.
struct Run {
  Flit head{};
  std::uint32_t held = 0;
  bool skips = false;
  std::vector<std::byte> bytes;
  std::deque<Flit> flits;
};

struct Shown {
  Flit flit{};
  std::uint32_t bytes = 0;
  bool last = false;
  bool operator==(const Shown&) const = default;
};

Run invent(RandomStream& random) {
  Run run;
  for (std::byte& byte : run.head) byte = static_cast<std::byte>(random.below(256));
  run.held = static_cast<std::uint32_t>(random.below(65));
  run.skips = random.below(3) == 0;
  const std::uint64_t total = random.below(8) == 0 ? random.below(2) : random.below(400);
  if (run.skips && total < 64) run.skips = false;
  run.bytes.resize(total);
  std::copy_n(run.head.begin(), std::min<std::size_t>(run.held, total), run.bytes.begin());
  for (std::size_t i = run.held; i < total; i += 64) {
    Flit flit;
    for (std::byte& byte : flit) byte = static_cast<std::byte>(random.below(256));
    const std::size_t count = std::min<std::size_t>(64, total - i);
    std::copy_n(flit.begin(), count, run.bytes.begin() + static_cast<std::ptrdiff_t>(i));
    run.flits.push_back(flit);
  }
  return run;
}

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"start", "in", "out"});
  for (const char* name : {"nothing held", "a whole flit held", "no bytes", "no flit comes",
                           "first flit hidden", "one after the other", "reset under way"})
    coverage.require(name);
  Stall start(random.substream(0));
  Stall in(random.substream(1));
  Stall out(random.substream(2));
  StreamRule<Shown> rule;
  std::deque<Run> runs;  // Taken; the last one may be offered.
  bool offers_start = false, offers_flit = false;
  std::deque<Flit> to_come;  // Flits of runs that were taken.
  std::size_t at = 0;        // Bytes of the first run that have come out.
  std::uint32_t quiet = 0;
  dut->start_valid_i = dut->in_valid_i = 0;
  dut.reset();
  Run next;
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(2000) == 0) {
      coverage.hit_if(!runs.empty(), "reset under way");
      dut.reset();
      runs.clear();
      to_come.clear();
      at = 0;
      rule.reset();
      offers_start = offers_flit = false;
    }
    const bool start_open = start.open(), in_open = in.open(), out_open = out.open();
    coverage.hit_stalls((start_open ? 1U : 0U) | (in_open ? 2U : 0U) | (out_open ? 4U : 0U));
    if (!offers_start && start_open) {
      next = invent(random);
      offers_start = true;
      dut->start_held_i = static_cast<std::uint8_t>(next.held);
      dut->start_skip_i = next.skips;
      dut->start_total_i = static_cast<std::uint16_t>(next.bytes.size());
      put_flit(next.head, dut->start_head_i.data());
    }
    if (!offers_flit && in_open && !to_come.empty()) {
      offers_flit = true;
      put_flit(to_come.front(), dut->in_data_i.data());
    }
    dut->start_valid_i = offers_start;
    dut->in_valid_i = offers_flit;
    dut->out_ready_i = out_open;
    dut.settle();

    const std::uint64_t now = dut.cycles();
    const Shown shown{flit_of(dut->out_data_o.data()), dut->out_bytes_o, dut->out_last_o != 0};
    if (!rule.holds(dut->out_valid_o, out_open, shown)) found.differ(now, "an offered flit changed");
    // Runs without a flit to show leave nothing behind.
    while (!runs.empty() && at == runs.front().bytes.size()) {
      runs.pop_front();
      at = runs.empty() ? 0 : runs.front().skips ? 64 : 0;
    }
    // A run that has all its flits goes on.
    quiet = !runs.empty() && to_come.empty() && !dut->out_valid_o ? quiet + 1 : 0;
    if (quiet > 2) found.differ(now, "a run that stands still");
    if (dut->out_valid_o && out_open) {
      if (runs.empty()) {
        found.differ(now, "a flit that belongs to no run");
        break;
      }
      const Run& run = runs.front();
      const std::size_t count = std::min<std::size_t>(64, run.bytes.size() - at);
      Shown want{{}, static_cast<std::uint32_t>(count), at + count == run.bytes.size()};
      std::copy_n(run.bytes.begin() + static_cast<std::ptrdiff_t>(at), count, want.flit.begin());
      if (!(shown == want)) found.differ(now, "a flit");
      at += count;
      if (at == run.bytes.size()) {
        runs.pop_front();
        at = runs.empty() ? 0 : runs.front().skips ? 64 : 0;
      }
    }
    if (offers_flit && dut->in_ready_o) {
      to_come.pop_front();
      offers_flit = false;
    }
    if (offers_start && dut->start_ready_o) {
      offers_start = false;
      coverage.hit_if(next.held == 0, "nothing held");
      coverage.hit_if(next.held == 64, "a whole flit held");
      coverage.hit_if(next.bytes.empty(), "no bytes");
      coverage.hit_if(next.flits.empty(), "no flit comes");
      coverage.hit_if(next.skips, "first flit hidden");
      coverage.hit_if(dut->out_valid_o != 0, "one after the other");
      if (!to_come.empty()) found.differ(now, "a run begins before the one before has all its flits");
      to_come = next.flits;
      if (runs.empty()) at = next.skips ? 64 : 0;
      runs.push_back(next);
    }
    dut.tick();
  }
};

TEST(Realign, AgreesWithAStringOfBytes) { expect_agreement<Vwharf_realign>(kRun, 60000); }

TEST(Realign, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_realign_planted>(kRun, "rtl/realign/faults.txt", 20000);
}

}  // namespace
}  // namespace wharf::rtl
