// SPDX-License-Identifier: Apache-2.0
// The retry queue beside receiver_not_ready_delay(): in order, never too early, and at most a unit and two
// cycles late.
#include <algorithm>
#include <cstdint>
#include <deque>

#include <gtest/gtest.h>

#include "Vwharf_retry_queue.h"
#include "Vwharf_retry_queue_planted.h"
#include "base/time.h"
#include "engine/reliability/receiver_not_ready.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"

namespace wharf::rtl {
namespace {

constexpr std::size_t kDepth = 4;
constexpr std::uint64_t kUnit = 3;  ///< Cycles of ten microseconds.

std::uint64_t delay_of(std::uint8_t code) {
  return kUnit * static_cast<std::uint64_t>(reliability::receiver_not_ready_delay(code) / microseconds(10));
}

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"in", "out"});
  for (const char* name : {"full", "waits behind another", "long delay", "reset with requests"})
    coverage.require(name);
  for (int code = 0; code < 12; ++code) coverage.require("code " + std::to_string(code));
  struct Entry {
    std::uint32_t number = 0;
    std::uint64_t since = 0, delay = 0;
  };
  Stall in(random.substream(0));
  Stall out(random.substream(1));
  StreamRule<std::uint32_t> rule;
  std::deque<Entry> queue;
  std::uint64_t head_since = 0;  // When the oldest became the oldest.
  const auto reset = [&] {
    dut.reset();
    queue.clear();
    rule.reset();
  };
  dut->in_valid_i = 0;
  reset();
  bool offers = false;
  bool was_long = true;  // Codes of hundreds of thousands of cycles: one at the start.
  while (dut.cycles() < cycles && found.agrees()) {
    const bool is_long = !queue.empty() && queue.front().delay > 65535 * kUnit;
    if (random.below(20000) == 0 && !is_long) {
      coverage.hit_if(!queue.empty(), "reset with requests");
      reset();
      offers = false;
    }
    const bool in_open = in.open(), out_open = out.open();
    coverage.hit_stalls((in_open ? 1U : 0U) | (out_open ? 2U : 0U));
    if (!offers && in_open) {
      offers = true;
      dut->in_code_i = was_long ? 0 : static_cast<std::uint8_t>(1 + random.below(11));
      was_long = false;
      dut->in_entry_i = random.next_u32();
    }
    dut->in_valid_i = offers;
    dut->out_ready_i = out_open;
    dut.settle();
    const std::uint64_t now = dut.cycles();
    if (!rule.holds(dut->out_valid_o, out_open, dut->out_valid_o ? dut->out_entry_o : 0))
      found.differ(now, "an offered request changed");
    if (dut->in_ready_o != (queue.size() < kDepth)) found.differ(now, "whether there is room");
    coverage.hit_if(queue.size() == kDepth, "full");
    if (dut->out_valid_o) {
      if (queue.empty() || queue.front().number != dut->out_entry_o) {
        found.differ(now, "a request that is not the oldest");
        break;
      }
      if (now < queue.front().since + queue.front().delay) found.differ(now, "a request too early");
      if (out_open) {
        coverage.hit_if(queue.front().delay > 65535 * kUnit, "long delay");
        queue.pop_front();
        head_since = now;
        coverage.hit_if(!queue.empty() && queue.front().since + queue.front().delay < now,
                        "waits behind another");
      }
    } else if (!queue.empty()) {
      const std::uint64_t due = std::max(queue.front().since + queue.front().delay + kUnit, head_since);
      if (now > due + 2) found.differ(now, "a request too late");
    }
    if (offers && dut->in_ready_o) {
      coverage.hit("code " + std::to_string(dut->in_code_i));
      if (queue.empty()) head_since = now;
      queue.push_back({dut->in_entry_i, now, delay_of(dut->in_code_i)});
      offers = false;
    }
    dut.tick();
  }
};

TEST(RetryQueue, AgreesWithTheTableOfDelays) { expect_agreement<Vwharf_retry_queue>(kRun, 400000); }

TEST(RetryQueue, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_retry_queue_planted>(kRun, "rtl/retry_queue/faults.txt", 400000);
}

/// Every code, alone.
TEST(RetryQueue, DelaysAreThoseOfTheTable) {
  for (std::uint8_t code = 1; code < 32; ++code) {
    Clocked<Vwharf_retry_queue> dut;
    dut->in_valid_i = 0;
    dut->out_ready_i = 0;
    dut.reset();
    dut->in_valid_i = 1;
    dut->in_code_i = code;
    dut.settle();
    dut.tick();
    dut->in_valid_i = 0;
    const std::uint64_t from = dut.cycles();
    while (dut.settle(), !dut->out_valid_o) dut.tick();
    EXPECT_GE(dut.cycles() - from + 1, delay_of(code)) << int{code};
    EXPECT_LE(dut.cycles() - from, delay_of(code) + kUnit + 2) << int{code};
  }
}

}  // namespace
}  // namespace wharf::rtl
