// SPDX-License-Identifier: Apache-2.0
// The transaction table beside its places in C++: who stands in each, by jetty and number.
#include <array>
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "Vwharf_transaction_table.h"
#include "Vwharf_transaction_table_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"

namespace wharf::rtl {
namespace {

constexpr std::uint32_t kJetties = 4;
constexpr std::uint32_t kDepth = 2;

/// A transaction that is not over.
struct Place {
  std::uint16_t number = 0;
  std::uint32_t entry = 0;
  bool held = false;  ///< To be asked again.
  bool lost = false;  ///< Its jetty has begun anew.
};

/// What a response names.
struct Name {
  std::uint32_t jetty = 0;
  std::uint16_t number = 0;
};

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"begin", "find"});
  for (const char* name : {"waits for a slot",
                           "waits for one that is forgotten",
                           "found",
                           "answered before",
                           "number of the future",
                           "jetty beyond the table",
                           "jetty that was never opened",
                           "opened while some wait",
                           "opened while one is held",
                           "begins and ends at once",
                           "kept",
                           "asked again",
                           "held",
                           "held and forgotten",
                           "forgotten",
                           "forgotten is over",
                           "resumed",
                           "resumed without being held",
                           "forgotten as it is found",
                           "kept of one that waits",
                           "kept of one that is forgotten"})
    coverage.require(name);
  Stall begin(random.substream(0));
  Stall find(random.substream(1));
  std::array<std::array<std::optional<Place>, kDepth>, kJetties> places;
  std::array<std::uint16_t, kJetties> next{};
  std::optional<Name> asked, answered;  // In this cycle, and in the one before.
  bool was_there = false;               // When it was asked.
  bool offers = false;
  bool opening = false;
  std::uint32_t to_open = 0;
  /// The transaction of that name, if it is not over.
  const auto there = [&](const Name& name) -> Place* {
    if (name.jetty >= kJetties) return nullptr;
    std::optional<Place>& place = places[name.jetty][name.number % kDepth];
    return place && place->number == name.number ? &*place : nullptr;
  };
  const auto reset = [&] {
    dut.reset();
    for (auto& jetty : places) jetty.fill(std::nullopt);
    asked.reset();
    answered.reset();
    offers = false;
    opening = true;  // A jetty is opened before it is used.
    to_open = 0;
  };
  dut->open_valid_i = dut->begin_valid_i = dut->find_valid_i = dut->end_valid_i = dut->keep_valid_i =
      dut->again_valid_i = dut->resume_valid_i = 0;
  reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(1000) == 0) reset();
    const bool begin_open = begin.open() && !opening, find_open = find.open();
    if (!opening) coverage.hit_stalls((begin_open ? 1U : 0U) | (find_open ? 2U : 0U));
    dut->open_valid_i = random.below(opening ? 4 : 200) == 0;
    dut->open_jetty_i = static_cast<std::uint8_t>(opening ? to_open : random.below(kJetties));
    if (opening && dut->open_valid_i && ++to_open == kJetties) opening = false;
    if (!offers && begin_open && !dut->open_valid_i) {
      offers = true;
      dut->begin_jetty_i = static_cast<std::uint8_t>(random.below(kJetties));
      dut->begin_entry_i = random.next_u32();
    }
    dut->begin_valid_i = offers;
    // The answer to what was asked in the last cycle ends it, or keeps it, or asks it again, if it waits:
    // then nothing else is asked.
    Place* const place = answered && was_there ? there(*answered) : nullptr;
    const bool waits = place != nullptr && !place->held;
    const bool ends = answered.has_value() && random.below(4) != 0;
    const bool again = waits && !place->lost && !dut->open_valid_i && !ends && random.below(2) == 0;
    dut->end_valid_i = ends;
    // Or it goes on waiting with something else kept of it, even as its jetty begins anew.
    const bool keeps = waits && !ends && !again && random.below(2) == 0;
    dut->again_valid_i = again;
    dut->keep_valid_i = keeps;
    if (again || keeps) dut->again_entry_i = random.next_u32();
    dut->find_valid_i = find_open && !again && !keeps;
    dut->resume_valid_i = random.below(4) == 0 && !opening;
    dut->resume_jetty_i = static_cast<std::uint8_t>(random.below(kJetties));
    dut->resume_number_i = static_cast<std::uint16_t>(random.next_u32());
    asked.reset();
    if (dut->find_valid_i) {
      auto jetty = static_cast<std::uint32_t>(random.below(kJetties));
      auto number = static_cast<std::uint16_t>(next[jetty] - 8 + random.below(10));
      // A jetty that began anew may still be answered what it asked before; after a reset, too.
      const std::optional<Place>& any = places[jetty][random.below(kDepth)];
      if (any && random.below(2) == 0) number = any->number;
      if (opening && random.below(2) == 0) number = static_cast<std::uint16_t>(random.below(8));
      coverage.hit_if(opening && jetty >= to_open, "jetty that was never opened");
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
      if (dut->found_known_o != (waits && !place->lost)) found.differ(now, "whether a transaction waits");
      if (dut->found_lost_o != (waits && place->lost))
        found.differ(now, "whether a transaction is forgotten");
      if (dut->found_held_o != (place != nullptr && place->held))
        found.differ(now, "whether a transaction is to be asked again");
      if (place != nullptr && dut->found_entry_o != place->entry)
        found.differ(now, "what is kept of a transaction");
      coverage.hit_if(waits && !place->lost, "found");
      coverage.hit_if(waits && place->lost, "forgotten");
      coverage.hit_if(waits && place->lost && ends, "forgotten is over");
      coverage.hit_if(place != nullptr && place->held,
                      place != nullptr && place->lost ? "held and forgotten" : "held");
      coverage.hit_if(waits && !place->lost && dut->open_valid_i && dut->open_jetty_i == answered->jetty,
                      "forgotten as it is found");
      if (answered->jetty < kJetties) {
        const auto ahead = static_cast<std::uint16_t>(answered->number - next[answered->jetty]);
        coverage.hit_if(place == nullptr && ahead < 4, "number of the future");
        coverage.hit_if(place == nullptr && ahead > 4, "answered before");
      }
    }
    const bool begins = offers && dut->begin_ready_o;
    if (offers) {
      const std::uint16_t number = next[dut->begin_jetty_i];
      const std::optional<Place>& before = places[dut->begin_jetty_i][number % kDepth];
      coverage.hit_if(before && before->lost, "waits for one that is forgotten");
      coverage.hit_if(before && !before->lost, "waits for a slot");
      if (dut->begin_ready_o != (!before && !dut->open_valid_i && !again && !keeps))
        found.differ(now, "whether a transaction may begin");
      if (dut->begin_number_o != number) found.differ(now, "the number of a transaction");
      coverage.hit_if(begins && ends && dut->found_known_o, "begins and ends at once");
    }
    if (dut->resume_ready_o == dut->open_valid_i) found.differ(now, "whether one may be asked again");
    if (dut->resume_valid_i && dut->resume_ready_o) {
      std::optional<Place>& resumed = places[dut->resume_jetty_i][dut->resume_number_i % kDepth];
      coverage.hit(resumed && resumed->held ? "resumed" : "resumed without being held");
      if (resumed) resumed->held = false;
    }
    if (again) {
      place->held = true;
      place->entry = dut->again_entry_i;
      coverage.hit("asked again");
    }
    if (keeps) {
      place->entry = dut->again_entry_i;
      coverage.hit(place->lost ? "kept of one that is forgotten" : "kept of one that waits");
    }
    coverage.hit_if(place != nullptr && !ends, "kept");
    if (ends && waits) places[answered->jetty][answered->number % kDepth].reset();
    was_there = asked && there(*asked) != nullptr;
    if (begins) {
      const std::uint16_t number = next[dut->begin_jetty_i]++;
      places[dut->begin_jetty_i][number % kDepth] = Place{number, dut->begin_entry_i};
      offers = false;
    }
    if (dut->open_valid_i) {
      for (std::optional<Place>& one : places[dut->open_jetty_i]) {
        if (!one) continue;
        coverage.hit(one->held ? "opened while one is held" : "opened while some wait");
        one->lost = true;
      }
      next[dut->open_jetty_i] = 0;
    }
    answered = asked;
    dut.tick();
  }
};

TEST(TransactionTable, AgreesWithItsPlaces) { expect_agreement<Vwharf_transaction_table>(kRun, 200000); }

TEST(TransactionTable, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_transaction_table_planted>(kRun, "rtl/transaction_table/faults.txt", 60000);
}

}  // namespace
}  // namespace wharf::rtl
