// SPDX-License-Identifier: Apache-2.0
// The ready list beside a deque of members that are each in it once.
#include <algorithm>
#include <cstdint>
#include <deque>

#include <gtest/gtest.h>

#include "Vwharf_ready_list.h"
#include "Vwharf_ready_list_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"

namespace wharf::rtl {
namespace {

constexpr std::uint32_t kMembers = 8;

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"mark", "turn"});
  for (const char* name : {"empty", "all listed", "mark of the member that leaves", "mark of a listed member",
                           "back to the end", "reset with members listed"})
    coverage.require(name);
  std::deque<std::uint32_t> list;
  const auto is_listed = [&list](std::uint32_t member) {
    return std::ranges::find(list, member) != list.end();
  };
  Stall mark(random.substream(0));
  Stall turn(random.substream(1));
  StreamRule<std::uint32_t> turn_rule;
  bool offered = false;
  dut.reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(500) == 0) {
      coverage.hit_if(!list.empty(), "reset with members listed");
      dut.reset();
      list.clear();
      turn_rule.reset();
      offered = false;
    }
    const bool mark_open = mark.open();
    const bool turn_open = turn.open();
    coverage.hit_stalls((mark_open ? 1U : 0U) | (turn_open ? 2U : 0U));
    if (!offered && mark_open) {
      dut->mark_member_i = static_cast<std::uint8_t>(random.below(kMembers));
      offered = true;
    }
    dut->mark_valid_i = offered;
    dut->turn_ready_i = turn_open;
    dut->turn_again_i = random.below(3) == 0;
    dut.settle();

    const std::uint64_t now = dut.cycles();
    coverage.hit_if(list.empty(), "empty");
    coverage.hit_if(list.size() == kMembers, "all listed");
    if (dut->listed_o != list.size()) found.differ(now, "how many are listed");
    if (dut->turn_valid_o != !list.empty()) found.differ(now, "a turn without a member, or none with one");
    if (!list.empty() && dut->turn_member_o != list.front())
      found.differ(now, "another member than the first");
    if (!turn_rule.holds(dut->turn_valid_o, turn_open, dut->turn_member_o))
      found.differ(now, "a turn changed");
    const bool take = !list.empty() && turn_open;
    const bool again = take && dut->turn_again_i;
    if (dut->mark_ready_o != !again)
      found.differ(now, "marks wait for members that go to the end, for nothing else");
    const std::uint32_t member = dut->mark_member_i;
    const bool marked = offered && dut->mark_ready_o;
    coverage.hit_if(marked && is_listed(member) && !(take && member == list.front()),
                    "mark of a listed member");
    coverage.hit_if(marked && take && member == list.front(), "mark of the member that leaves");
    coverage.hit_if(again, "back to the end");
    if (take) {
      if (again) list.push_back(list.front());
      list.pop_front();
    }
    if (marked && !is_listed(member)) list.push_back(member);
    if (marked) offered = false;
    dut.tick();
  }
};

TEST(ReadyList, AgreesWithADeque) { expect_agreement<Vwharf_ready_list>(kRun, 50000); }

TEST(ReadyList, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_ready_list_planted>(kRun, "rtl/ready_list/faults.txt", 20000);
}

}  // namespace
}  // namespace wharf::rtl
