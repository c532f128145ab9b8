// SPDX-License-Identifier: Apache-2.0
// The send window beside reliability::SendWindow, with numbers of few bits so that they wrap many times.
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "Vwharf_send_window.h"
#include "Vwharf_send_window_planted.h"
#include "base/arena.h"
#include "engine/reliability/send_window.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"

namespace wharf::rtl {
namespace {

constexpr std::uint32_t kWindow = 8;
constexpr std::uint32_t kMask = 63;  // Numbers of 6 bits.

/// The reference: the window of the engines, and how far it is on its way back.
struct Reference {
  explicit Reference(std::uint64_t first) : window(arena, kWindow, first), resend(first) {}
  Arena arena;
  reliability::SendWindow<std::uint32_t> window;
  std::uint64_t resend;  // The next number to leave, fresh or again.
};

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"fresh", "send", "ack", "back"});
  for (const char* name :
       {"window full", "nothing outstanding", "acknowledged while sent again",
        "acknowledgement of what was never sent", "acknowledgement of the past", "numbers wrap"})
    coverage.require(name);
  Stall fresh(random.substream(0));
  Stall send(random.substream(1));
  Stall ack(random.substream(2));
  Stall back(random.substream(3));
  std::unique_ptr<Reference> reference;
  const auto reset = [&] {
    const std::uint64_t first = 64 + random.below(64);
    dut->first_i = static_cast<std::uint8_t>(first & kMask);
    dut.reset();
    reference = std::make_unique<Reference>(first);
    dut->first_i = static_cast<std::uint8_t>(random.below(64));
  };
  reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(1000) == 0) reset();
    auto& window = reference->window;
    const bool is_fresh = fresh.open();
    const bool is_ready = send.open();
    const bool has_ack = ack.open() && random.below(3) == 0;
    const bool goes_back = back.open() && random.below(12) == 0;
    coverage.hit_stalls((is_fresh ? 1U : 0U) | (is_ready ? 2U : 0U) | (has_ack ? 4U : 0U) |
                        (goes_back ? 8U : 0U));
    // Mostly within the window, else anything.
    const std::uint64_t number = random.below(8) == 0
                                     ? random.below(64)
                                     : (window.una() + random.below(window.outstanding() + 1)) & kMask;
    dut->send_fresh_i = is_fresh;
    dut->send_ready_i = is_ready;
    dut->ack_valid_i = has_ack;
    dut->ack_number_i = static_cast<std::uint8_t>(number);
    dut->back_valid_i = goes_back;
    dut.settle();

    const std::uint64_t now = dut.cycles();
    coverage.hit_if(window.full(), "window full");
    coverage.hit_if(window.outstanding() == 0, "nothing outstanding");
    coverage.hit_if((window.una() & kMask) > (window.next() & kMask), "numbers wrap");
    if (dut->oldest_o != (window.una() & kMask)) found.differ(now, "the oldest outstanding number");
    if (dut->next_o != (window.next() & kMask)) found.differ(now, "the next number");
    const bool is_again = reference->resend != window.next();
    const bool sends = is_again || (is_fresh && !window.full());
    if (dut->send_valid_o != sends) found.differ(now, "whether a packet may leave");
    if (sends && dut->send_number_o != (reference->resend & kMask))
      found.differ(now, "the number of the packet");
    if (sends && dut->send_again_o != is_again) found.differ(now, "whether it was sent before");

    // An acknowledgement speaks of what was outstanding when it came.
    const std::uint64_t ahead = (number - window.una()) & kMask;
    const bool refused = has_ack && ahead > window.outstanding();
    coverage.hit_if(refused && ahead < 32, "acknowledgement of what was never sent");
    coverage.hit_if(refused && ahead >= 32, "acknowledgement of the past");
    if (dut->ack_refused_o != refused) found.differ(now, "which acknowledgements are refused");
    const std::uint64_t end = window.una() + (has_ack && !refused ? ahead : 0);
    if (sends && is_ready) {
      if (!is_again) window.push();
      ++reference->resend;
    }
    std::uint32_t released = 0;
    window.acknowledge_before(end, [&released](std::uint32_t&) { ++released; });
    if (dut->ack_released_o != released) found.differ(now, "how many packets an acknowledgement releases");
    coverage.hit_if(released > 0 && reference->resend < window.next(), "acknowledged while sent again");
    if (reference->resend < window.una() || goes_back) reference->resend = window.una();
    dut.tick();
  }
};

TEST(SendWindow, AgreesWithTheWindowOfTheEngines) { expect_agreement<Vwharf_send_window>(kRun, 100000); }

TEST(SendWindow, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_send_window_planted>(kRun, "rtl/send_window/faults.txt", 50000);
}

}  // namespace
}  // namespace wharf::rtl
