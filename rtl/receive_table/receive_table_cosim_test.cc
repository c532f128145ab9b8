// SPDX-License-Identifier: Apache-2.0
// The receive table beside queues: what Responder::accept_jetty() and take_entry() do.
#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include <gtest/gtest.h>

#include "Vwharf_receive_table.h"
#include "Vwharf_receive_table_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"

namespace wharf::rtl {
namespace {

constexpr std::uint32_t kJetties = 4;
constexpr std::size_t kDepth = 2;

enum class Taken : std::uint8_t { kEntry, kNoJetty, kWrongToken, kNone };

struct Answer {
  Taken result = Taken::kNone;
  std::uint32_t entry = 0;
};

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"post", "take"});
  for (const char* name :
       {"taken", "closed jetty", "jetty beyond the table", "wrong token", "token unchecked", "any token",
        "none waits", "queue full", "post to a closed jetty", "post beyond the table", "closed with receives",
        "taken while opened", "posted and taken at once"})
    coverage.require(name);
  Stall post(random.substream(0));
  Stall take(random.substream(1));
  std::array<std::deque<std::uint32_t>, kJetties> queues;
  std::array<std::uint32_t, kJetties> tokens{};
  std::array<bool, kJetties> open{};
  std::optional<Answer> due;
  bool offers = false;
  const auto reset = [&] {
    dut.reset();
    for (auto& queue : queues) queue.clear();
    open.fill(false);
    due.reset();
    offers = false;
  };
  const auto any_jetty = [&] {
    return static_cast<std::uint32_t>(random.below(16) == 0 ? random.below(1U << 20U)
                                                            : random.below(kJetties));
  };
  dut->open_valid_i = dut->post_valid_i = dut->take_valid_i = 0;
  reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(3000) == 0) reset();
    const bool post_open = post.open(), take_open = take.open();
    coverage.hit_stalls((post_open ? 1U : 0U) | (take_open ? 2U : 0U));
    if (!offers && post_open) {
      offers = true;
      dut->post_jetty_i = any_jetty();
      dut->post_entry_i = random.next_u32();
    }
    dut->post_valid_i = offers;
    const bool opens = random.below(40) == 0;
    const auto who = static_cast<std::uint32_t>(random.below(kJetties));
    dut->open_valid_i = opens;
    dut->open_jetty_i = static_cast<std::uint8_t>(who);
    dut->open_value_i = random.below(4) != 0;
    dut->open_token_i = static_cast<std::uint32_t>(random.below(3));
    dut->take_valid_i = take_open;
    dut->take_jetty_i = any_jetty();
    dut->take_checks_i = random.below(2) == 0;
    dut->take_token_i = static_cast<std::uint32_t>(random.below(3));
    dut.settle();

    const std::uint64_t now = dut.cycles();
    if (dut->taken_valid_o != due.has_value()) found.differ(now, "when an answer comes");
    if (due) {
      if (dut->taken_result_o != static_cast<std::uint8_t>(due->result))
        found.differ(now, "what became of a message");
      if (due->result == Taken::kEntry && dut->taken_entry_o != due->entry)
        found.differ(now, "another receive than the oldest");
    }
    due.reset();
    if (dut->post_ready_o == opens) found.differ(now, "when a receive may come");
    const std::uint32_t jetty = dut->take_jetty_i, place = dut->post_jetty_i;
    const bool posts = offers && dut->post_ready_o;
    bool is_posted = false;
    if (posts) {
      offers = false;
      const bool is_known = place < kJetties && open[place];
      const bool is_full = is_known && queues[place].size() == kDepth;
      coverage.hit_if(place >= kJetties, "post beyond the table");
      coverage.hit_if(place < kJetties && !is_known, "post to a closed jetty");
      coverage.hit_if(is_full, "queue full");
      if (dut->post_refused_o != (!is_known || is_full)) found.differ(now, "whether a receive is refused");
      is_posted = is_known && !is_full;
    }
    if (take_open) {
      due = Answer{};
      const bool is_known = jetty < kJetties && open[jetty];
      coverage.hit_if(jetty >= kJetties, "jetty beyond the table");
      coverage.hit_if(jetty < kJetties && !is_known, "closed jetty");
      if (!is_known) {
        due->result = Taken::kNoJetty;
      } else if (dut->take_checks_i && tokens[jetty] != 0 && tokens[jetty] != dut->take_token_i) {
        due->result = Taken::kWrongToken;
        coverage.hit("wrong token");
      } else if (queues[jetty].empty()) {
        coverage.hit("none waits");
      } else {
        due = Answer{Taken::kEntry, queues[jetty].front()};
        queues[jetty].pop_front();
        coverage.hit("taken");
        coverage.hit_if(!dut->take_checks_i && tokens[jetty] != dut->take_token_i, "token unchecked");
        coverage.hit_if(dut->take_checks_i && tokens[jetty] == 0 && dut->take_token_i != 0, "any token");
        coverage.hit_if(opens && who == jetty, "taken while opened");
        coverage.hit_if(is_posted && place == jetty, "posted and taken at once");
      }
    }
    if (is_posted) queues[place].push_back(dut->post_entry_i);
    if (opens) {
      coverage.hit_if(!queues[who].empty() && !dut->open_value_i, "closed with receives");
      queues[who].clear();
      tokens[who] = dut->open_token_i;
      open[who] = dut->open_value_i;
    }
    dut.tick();
  }
};

TEST(ReceiveTable, AgreesWithQueues) { expect_agreement<Vwharf_receive_table>(kRun, 100000); }

TEST(ReceiveTable, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_receive_table_planted>(kRun, "rtl/receive_table/faults.txt", 30000);
}

}  // namespace
}  // namespace wharf::rtl
