// SPDX-License-Identifier: Apache-2.0
// The transaction table beside a map from jetty and number.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "Vwharf_transaction_table.h"
#include "Vwharf_transaction_table_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"

namespace wharf::rtl {
namespace {

constexpr std::uint32_t kJetties = 4;
constexpr std::uint32_t kDepth = 2;

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"begin", "find"});
  for (const char* name : {"waits for a slot", "found", "answered before", "number of the future",
                           "jetty beyond the table", "opened while some wait", "begins and ends at once",
                           "kept", "asked again", "held", "resumed", "resumed without being held"})
    coverage.require(name);
  Stall begin(random.substream(0));
  Stall find(random.substream(1));
  using Key = std::pair<std::uint32_t, std::uint16_t>;  // Jetty and number.
  std::map<Key, std::uint32_t> open;
  std::array<std::uint16_t, kJetties> next{};
  std::array<std::array<bool, kDepth>, kJetties> held{};  // To be asked again, by the place of their number.
  std::optional<Key> asked, answered;                     // In this cycle, and in the one before.
  bool was_open = false;                                  // When it was asked.
  bool offers = false;
  bool opening = false;
  std::uint32_t to_open = 0;
  const auto reset = [&] {
    dut.reset();
    open.clear();
    for (auto& places : held) places.fill(false);
    asked.reset();
    answered.reset();
    offers = false;
    opening = true;  // A jetty is opened before it is used.
    to_open = 0;
  };
  dut->open_valid_i = dut->begin_valid_i = dut->find_valid_i = dut->end_valid_i = dut->again_valid_i =
      dut->resume_valid_i = 0;
  reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(5000) == 0) reset();
    const bool begin_open = begin.open() && !opening, find_open = find.open() && !opening;
    if (!opening) coverage.hit_stalls((begin_open ? 1U : 0U) | (find_open ? 2U : 0U));
    dut->open_valid_i = opening || random.below(1000) == 0;
    dut->open_jetty_i = static_cast<std::uint8_t>(opening ? to_open++ : random.below(kJetties));
    if (to_open == kJetties) opening = false;
    if (!offers && begin_open && !dut->open_valid_i) {
      offers = true;
      dut->begin_jetty_i = static_cast<std::uint8_t>(random.below(kJetties));
      dut->begin_entry_i = random.next_u32();
    }
    dut->begin_valid_i = offers;
    // The answer to what was asked in the last cycle ends it, or keeps it, or asks it again, if it waits:
    // then nothing else is asked.
    const bool ends = answered.has_value() && !dut->open_valid_i && random.below(4) != 0;
    const bool holds = answered.has_value() && was_open && open.contains(*answered) &&
                       held[answered->first][answered->second % kDepth];
    const bool again = answered.has_value() && was_open && open.contains(*answered) && !holds &&
                       !dut->open_valid_i && !ends && random.below(2) == 0;
    dut->end_valid_i = ends;
    dut->again_valid_i = again;
    if (again) dut->again_entry_i = random.next_u32();
    dut->find_valid_i = find_open && !dut->open_valid_i && !again;
    dut->resume_valid_i = random.below(4) == 0 && !opening;
    dut->resume_jetty_i = static_cast<std::uint8_t>(random.below(kJetties));
    dut->resume_number_i = static_cast<std::uint16_t>(random.next_u32());
    asked.reset();
    if (dut->find_valid_i) {
      auto jetty = static_cast<std::uint32_t>(random.below(kJetties));
      const auto number = static_cast<std::uint16_t>(next[jetty] - 8 + random.below(10));
      if (random.below(16) == 0) {
        jetty += kJetties << random.below(18);
        coverage.hit("jetty beyond the table");
      }
      dut->find_jetty_i = jetty;
      dut->find_number_i = number;
      asked = {jetty, number};
    }
    dut.settle();

    const std::uint64_t now = dut.cycles();
    if (dut->found_valid_o != answered.has_value()) found.differ(now, "when an answer comes");
    if (answered) {
      // One that began as it was asked for is not there yet: nobody can have answered it.
      const auto it = was_open ? open.find(*answered) : open.end();
      if (dut->found_known_o != (it != open.end() && !holds))
        found.differ(now, "whether a transaction waits");
      if (dut->found_held_o != holds) found.differ(now, "whether a transaction is to be asked again");
      coverage.hit_if(holds, "held");
      if (it != open.end() && dut->found_entry_o != it->second)
        found.differ(now, "what is kept of a transaction");
      coverage.hit_if(it != open.end(), "found");
      if (answered->first < kJetties) {
        const auto ahead = static_cast<std::uint16_t>(answered->second - next[answered->first]);
        coverage.hit_if(it == open.end() && ahead < 4, "number of the future");
        coverage.hit_if(it == open.end() && ahead > 4, "answered before");
      }
    }
    const bool begins = offers && dut->begin_ready_o;
    if (offers) {
      const Key key{dut->begin_jetty_i, next[dut->begin_jetty_i]};
      const bool is_taken = open.contains({key.first, static_cast<std::uint16_t>(key.second - kDepth)});
      coverage.hit_if(is_taken, "waits for a slot");
      if (dut->begin_ready_o != (!is_taken && !dut->open_valid_i && !again))
        found.differ(now, "whether a transaction may begin");
      if (dut->begin_number_o != key.second) found.differ(now, "the number of a transaction");
      coverage.hit_if(begins && ends && dut->found_known_o, "begins and ends at once");
    }
    if (answered && ends && was_open && !holds)
      open.erase(*answered);
    else if (answered)
      coverage.hit_if(open.contains(*answered), "kept");
    if (dut->resume_ready_o == dut->open_valid_i) found.differ(now, "whether one may be asked again");
    if (dut->resume_valid_i && dut->resume_ready_o) {
      bool& is_held = held[dut->resume_jetty_i][dut->resume_number_i % kDepth];
      coverage.hit(is_held ? "resumed" : "resumed without being held");
      is_held = false;
    }
    if (again) {
      held[answered->first][answered->second % kDepth] = true;
      coverage.hit("asked again");
      open[*answered] = dut->again_entry_i;
    }
    was_open = asked && open.contains(*asked);
    if (begins) {
      open[{dut->begin_jetty_i, next[dut->begin_jetty_i]++}] = dut->begin_entry_i;
      offers = false;
    }
    if (dut->open_valid_i) {
      const std::uint32_t jetty = dut->open_jetty_i;
      const std::size_t before = open.size();
      std::erase_if(open, [&](const auto& entry) { return entry.first.first == jetty; });
      coverage.hit_if(open.size() != before, "opened while some wait");
      next[jetty] = 0;
      held[jetty].fill(false);
    }
    answered = asked;
    dut.tick();
  }
};

TEST(TransactionTable, AgreesWithAMap) { expect_agreement<Vwharf_transaction_table>(kRun, 200000); }

TEST(TransactionTable, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_transaction_table_planted>(kRun, "rtl/transaction_table/faults.txt", 60000);
}

}  // namespace
}  // namespace wharf::rtl
