// SPDX-License-Identifier: Apache-2.0
// The jetty table beside queues, a list of those with work, and what order tags make wait.
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
constexpr std::size_t kUnderWay = kDepth + 1;  // Requests of a jetty that came out, and are not over.

struct Request {
  std::uint32_t number = 0;
  std::uint32_t order = 0;  // 1 relaxed, 2 strong; 3 is none.
  bool fence = false, fetches = false;
  bool is_ordered() const { return order == 1 || order == 2; }
};

struct Shown {
  std::uint32_t jetty = 0, request = 0;
  bool operator==(const Shown&) const = default;
};

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"doorbell", "request"});
  for (const char* name : {"queue full", "closed jetty", "jetty beyond the table", "closed with requests",
                           "opened with requests", "opened with one at the output", "all have work",
                           "strong waits", "fence waits", "the tag that is none"})
    coverage.require(name);
  Stall bell(random.substream(0));
  Stall take(random.substream(1));
  StreamRule<Shown> rule;
  std::array<std::deque<Request>, kJetties> queues;
  std::array<std::deque<Request>, kJetties> under_way;
  std::array<bool, kJetties> open{};
  std::deque<Shown> out;                        // What stands at the output, where it is out of the queues.
  std::array<std::uint32_t, kJetties> waits{};  // Turns of others while a jetty has work.
  bool offers = false;
  Request offered;
  std::uint32_t quiet = 0;
  // Whether the next request of a jetty must wait for answers.
  const auto waits_for_answers = [&](std::uint32_t jetty) {
    const Request& first = queues[jetty].front();
    const auto any = [&](auto is) {
      return std::any_of(under_way[jetty].begin(), under_way[jetty].end(), is);
    };
    const bool strong = first.order == 2 && any([](const Request& each) { return each.is_ordered(); });
    const bool fence = first.fence && any([](const Request& each) { return each.fetches; });
    coverage.hit_if(strong, "strong waits");
    coverage.hit_if(fence, "fence waits");
    return strong || fence;
  };
  const auto reset = [&] {
    dut.reset();
    for (auto& queue : queues) queue.clear();
    for (auto& queue : under_way) queue.clear();
    open.fill(false);
    out.clear();
    waits.fill(0);
    rule.reset();
    offers = false;
  };
  dut->open_valid_i = dut->doorbell_valid_i = dut->done_valid_i = 0;
  reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(2000) == 0) reset();
    const bool bell_open = bell.open(), take_open = take.open();
    coverage.hit_stalls((bell_open ? 1U : 0U) | (take_open ? 2U : 0U));
    if (!offers && bell_open) {
      offers = true;
      dut->doorbell_jetty_i = random.below(16) == 0 ? static_cast<std::uint32_t>(random.below(1U << 20U))
                                                    : static_cast<std::uint32_t>(random.below(kJetties));
      offered = {random.next_u32(), static_cast<std::uint32_t>(random.below(4)), random.below(4) == 0,
                 random.below(2) == 0};
      coverage.hit_if(offered.order == 3, "the tag that is none");
      dut->doorbell_request_i = offered.number;
      dut->doorbell_order_i = static_cast<std::uint8_t>(offered.order);
      dut->doorbell_fence_i = offered.fence;
      dut->doorbell_fetches_i = offered.fetches;
    }
    // A jetty is opened when nothing of it is under way but a request at the output, and closed at any time.
    const auto who = static_cast<std::uint8_t>(random.below(kJetties));
    const bool stands = dut->request_valid_o && dut->request_jetty_o == who;
    const std::size_t standing = !out.empty() && out.front().jetty == who ? 1 : 0;
    const bool value = under_way[who].size() == standing && random.below(4) != 0;
    const bool opens = random.below(40) == 0;
    dut->open_valid_i = opens;
    dut->open_jetty_i = who;
    dut->open_value_i = value;
    // Requests are over in any order; one that stands at the output is not.
    const auto whose = static_cast<std::uint8_t>(random.below(kJetties));
    std::size_t can_end = under_way[whose].size();
    if (can_end > 0 && !out.empty() && out.front().jetty == whose) --can_end;
    const bool ends = can_end > 0 && random.below(3) == 0;
    const std::size_t which = ends ? random.below(can_end) : 0;
    dut->done_valid_i = ends;
    dut->done_jetty_i = whose;
    if (ends) {
      dut->done_ordered_i = under_way[whose][which].is_ordered();
      dut->done_fetches_i = under_way[whose][which].fetches;
    }
    dut->doorbell_valid_i = offers;
    // As the transaction table does: so many are not over, beside the one at the output.
    const std::size_t others = dut->request_valid_o ? under_way[dut->request_jetty_o].size() - out.size() : 0;
    // The one that is forgotten is not taken.
    dut->request_ready_i = take_open && others < kDepth && !(opens && value && stands);
    const bool takes = dut->request_ready_i != 0;
    dut.settle();

    const std::uint64_t now = dut.cycles();
    const Shown shown{dut->request_jetty_o, dut->request_o};
    const bool is_new = dut->request_valid_o && out.empty();
    if (is_new) {  // It left its queue at the last edge.
      auto& queue = queues[shown.jetty];
      if (queue.empty() || queue.front().number != shown.request) {
        found.differ(now, "a request that is not its jetty's next one");
        break;
      }
      if (waits_for_answers(shown.jetty)) found.differ(now, "a request before what it waits for");
      under_way[shown.jetty].push_back(queue.front());
      if (under_way[shown.jetty].size() > kUnderWay) found.differ(now, "more requests than places");
      queue.pop_front();
      out.push_back(shown);
      for (std::uint32_t jetty = 0; jetty < kJetties; ++jetty) {
        const bool can = jetty != shown.jetty && !queues[jetty].empty() && !waits_for_answers(jetty);
        waits[jetty] = can ? waits[jetty] + 1 : 0;
        if (waits[jetty] > kJetties + 1)  // One may have begun already.

          found.differ(now, "a jetty that waits for more than a turn of all others");
      }
    }
    if (!rule.holds(dut->request_valid_o, takes, shown)) found.differ(now, "an offered request changed");
    const bool has_work = [&] {
      for (std::uint32_t jetty = 0; jetty < kJetties; ++jetty)
        if (!queues[jetty].empty() && !waits_for_answers(jetty)) return true;
      return false;
    }();
    quiet = has_work && !dut->request_valid_o && !opens && !ends ? quiet + 1 : 0;
    if (quiet > 20) found.differ(now, "work that nobody does");
    coverage.hit_if(
        std::none_of(queues.begin(), queues.end(), [](const auto& queue) { return queue.empty(); }),
        "all have work");
    if (dut->request_valid_o && takes) out.clear();
    if (ends) under_way[whose].erase(under_way[whose].begin() + static_cast<std::ptrdiff_t>(which));

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
      if (!dut->doorbell_refused_o && found.agrees()) queues[jetty].push_back(offered);
    }
    if (opens) {
      coverage.hit_if(!queues[who].empty() && !dut->open_value_i, "closed with requests");
      coverage.hit_if(!queues[who].empty() && dut->open_value_i, "opened with requests");
      queues[who].clear();
      if (dut->open_value_i && !out.empty() && out.front().jetty == who) {
        coverage.hit("opened with one at the output");
        under_way[who].clear();
        out.clear();
        rule.reset();
      }
      waits[who] = 0;
      open[who] = dut->open_value_i;
    }
    dut.tick();
  }
};

TEST(JettyTable, AgreesWithQueuesAndAList) { expect_agreement<Vwharf_jetty_table>(kRun, 100000); }

TEST(JettyTable, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_jetty_table_planted>(kRun, "rtl/jetty_table/faults.txt", 1000000);
}

}  // namespace
}  // namespace wharf::rtl
