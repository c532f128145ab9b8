// SPDX-License-Identifier: Apache-2.0
// The jetty table beside queues and a list of those with work.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>

#include <gtest/gtest.h>

#include "Vwharf_jetty_table.h"
#include "Vwharf_jetty_table_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"

namespace wharf::rtl {
namespace {

constexpr std::uint32_t kJetties = 4;
constexpr std::size_t kDepth = 2;

struct Shown {
  std::uint32_t jetty = 0, request = 0;
  bool operator==(const Shown&) const = default;
};

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"doorbell", "request"});
  for (const char* name : {"queue full", "closed jetty", "jetty beyond the table", "closed with requests",
                           "opened with requests", "all have work"})
    coverage.require(name);
  Stall bell(random.substream(0));
  Stall take(random.substream(1));
  StreamRule<Shown> rule;
  std::array<std::deque<std::uint32_t>, kJetties> queues;
  std::array<bool, kJetties> open{};
  std::deque<Shown> out;                        // What stands at the output, where it is out of the queues.
  std::array<std::uint32_t, kJetties> waits{};  // Turns of others while a jetty has work.
  bool offers = false;
  std::uint32_t quiet = 0;
  const auto reset = [&] {
    dut.reset();
    for (auto& queue : queues) queue.clear();
    open.fill(false);
    out.clear();
    waits.fill(0);
    rule.reset();
    offers = false;
  };
  dut->open_valid_i = dut->doorbell_valid_i = 0;
  reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(2000) == 0) reset();
    const bool bell_open = bell.open(), take_open = take.open();
    coverage.hit_stalls((bell_open ? 1U : 0U) | (take_open ? 2U : 0U));
    if (!offers && bell_open) {
      offers = true;
      dut->doorbell_jetty_i = random.below(16) == 0 ? static_cast<std::uint32_t>(random.below(1U << 20U))
                                                    : static_cast<std::uint32_t>(random.below(kJetties));
      dut->doorbell_request_i = random.next_u32();
    }
    const bool opens = random.below(40) == 0;
    const auto who = static_cast<std::uint8_t>(random.below(kJetties));
    dut->open_valid_i = opens;
    dut->open_jetty_i = who;
    dut->open_value_i = random.below(4) != 0;
    dut->doorbell_valid_i = offers;
    dut->request_ready_i = take_open;
    dut.settle();

    const std::uint64_t now = dut.cycles();
    const Shown shown{dut->request_jetty_o, dut->request_o};
    const bool is_new = dut->request_valid_o && out.empty();
    if (is_new) {  // It left its queue at the last edge.
      auto& queue = queues[shown.jetty];
      if (queue.empty() || queue.front() != shown.request) {
        found.differ(now, "a request that is not its jetty's next one");
        break;
      }
      queue.pop_front();
      out.push_back(shown);
      for (std::uint32_t jetty = 0; jetty < kJetties; ++jetty) {
        waits[jetty] = jetty == shown.jetty || queues[jetty].empty() ? 0 : waits[jetty] + 1;
        if (waits[jetty] > kJetties)
          found.differ(now, "a jetty that waits for more than a turn of all others");
      }
    }
    if (!rule.holds(dut->request_valid_o, take_open, shown)) found.differ(now, "an offered request changed");
    const bool has_work =
        std::any_of(queues.begin(), queues.end(), [](const auto& queue) { return !queue.empty(); });
    quiet = has_work && !dut->request_valid_o && !opens ? quiet + 1 : 0;
    if (quiet > 8) found.differ(now, "work that nobody does");
    coverage.hit_if(
        std::none_of(queues.begin(), queues.end(), [](const auto& queue) { return queue.empty(); }),
        "all have work");
    if (dut->request_valid_o && take_open) out.clear();

    if (offers && dut->doorbell_ready_o) {
      offers = false;
      const std::uint32_t jetty = dut->doorbell_jetty_i;
      const bool is_known = jetty < kJetties && open[jetty];
      const bool is_full = is_known && queues[jetty].size() == kDepth;
      coverage.hit_if(jetty >= kJetties, "jetty beyond the table");
      coverage.hit_if(jetty < kJetties && !is_known, "closed jetty");
      coverage.hit_if(is_full, "queue full");
      // A request that leaves its queue at this edge is still in it: the table may refuse, and says so.
      if (is_known && !is_full && dut->doorbell_refused_o)
        found.differ(now, "a doorbell refused without need");
      if ((!is_known || is_full) && !dut->doorbell_refused_o)
        found.differ(now, "a doorbell taken without a place");
      if (!dut->doorbell_refused_o && found.agrees()) queues[jetty].push_back(dut->doorbell_request_i);
    }
    if (opens) {
      coverage.hit_if(!queues[who].empty() && !dut->open_value_i, "closed with requests");
      coverage.hit_if(!queues[who].empty() && dut->open_value_i, "opened with requests");
      queues[who].clear();
      waits[who] = 0;
      open[who] = dut->open_value_i;
    }
    dut.tick();
  }
};

TEST(JettyTable, AgreesWithQueuesAndAList) { expect_agreement<Vwharf_jetty_table>(kRun, 100000); }

TEST(JettyTable, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_jetty_table_planted>(kRun, "rtl/jetty_table/faults.txt", 30000);
}

}  // namespace
}  // namespace wharf::rtl
