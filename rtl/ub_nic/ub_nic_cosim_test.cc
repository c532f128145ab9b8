// SPDX-License-Identifier: Apache-2.0
// Two NICs back to back: exactly once and byte for byte over a wire that loses frames; how long the way to
// the wire is, stage by stage; how fast the pair is simulated.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "Vwharf_ub_nic.h"
#include "Vwharf_ub_nic_full.h"
#include "Vwharf_ub_nic_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/ub_nic/nic_pair.h"
#include "rtl/ub_nic/nic_stages.h"

namespace wharf::rtl {
namespace {

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  NicPair(dut, random, found).run(cycles);
};

TEST(UbNic, TwoAgreeByteForByteOverALossyWire) { expect_agreement<Vwharf_ub_nic>(kRun, 120000); }

TEST(UbNic, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_ub_nic_planted>(kRun, "rtl/ub_nic/faults.txt", 120000);
}

/// nic_counters_t of an instance of use, and what a doorbell of 8 bytes needs.
using Full = Clocked<Vwharf_ub_nic_full>;

void set_up(Full& nic) {
  nic->post_valid_i = nic->doorbell_valid_i = nic->rx_valid_i = nic->answer_valid_i = nic->consumed_i = 0;
  nic->segment_valid_i = 0;
  nic->memory_ready_i = nic->tx_ready_i = 1;
  set_route(*nic, 0);
  nic.reset();
  nic->open_valid_i = nic->open_value_i = 1;
  for (std::uint32_t jetty = 0; jetty < 1024; ++jetty) {
    nic->open_jetty_i = static_cast<std::uint16_t>(jetty);
    nic.settle();
    nic.tick();
  }
  nic->open_valid_i = 0;
}

/// Rings the doorbell of `jetty` for a Write of 8 inline bytes, and says after how many cycles each stage
/// shows it.
std::array<std::uint32_t, 6> cold_path(Full& nic, std::uint32_t jetty) {
  nic->doorbell_valid_i = 1;
  nic->doorbell_jetty_i = jetty;
  Packed<464> bits;
  bits.put(static_cast<std::uint64_t>(TaOpcode::kWrite), 4);
  bits.put(1, 1);
  bits.put(0, 23);  // No order, no fence, no jetty of the other side.
  bits.put(NicMemory::kBase, 64);
  bits.put(0, 20);
  bits.put(0, 32);
  bits.put(8, 32);
  bits.put(0, 64);
  bits.put(0, 64);
  for (std::uint32_t i = 0; i < 16; ++i) bits.put(0x40 + i, 8);
  bits.put(jetty, 32);
  std::memcpy(nic->doorbell_i.data(), bits.words().data(), sizeof bits.words());
  std::array<std::uint32_t, 6> stages{};
  for (std::uint32_t cycle = 0; cycle < 64; ++cycle) {
    nic.settle();
    for (std::uint32_t stage = 0; stage < 6; ++stage) {
      if (stages[stage] == 0 && (nic->stages_o >> stage) % 2 == 1) stages[stage] = cycle;
    }
    nic.tick();
    nic->doorbell_valid_i = 0;
  }
  return stages;
}

TEST(UbNic, ColdPathTakesAsManyCyclesAsItsDescriptionSays) {
  // From the cycle in which the doorbell is taken to the one in which each stage shows the request: request,
  // job, headers, frame, kept, wire. No cycle of these depends on the jetty or on the time.
  constexpr std::array<std::uint32_t, 6> kStages{3, 4, 5, 6, 9, 10};
  Full nic;
  set_up(nic);
  for (const std::uint32_t jetty : {0U, 1U, 7U, 511U, 1023U})
    EXPECT_EQ(cold_path(nic, jetty), kStages) << jetty;
  EXPECT_LE(kStages.back(), 12U);
}

TEST(UbNic, EveryStageTakesAsManyCyclesAsItsDescriptionSays) {
  // Each operation with 8 bytes, memory answers after ten cycles: the table of README.md.
  const auto expect = [](TaOpcode operation, const NicStages& stages) {
    NicStageRun<Vwharf_ub_nic_full> run;
    const NicStages found = run.run(operation);
    const std::string_view name = wire::ta_opcode_name(operation);
    if (std::getenv("WHARF_RTL_COVERAGE") != nullptr) {
      std::cout << name << ": out " << found.out << ", to memory " << found.to_memory << ", to the answer "
                << found.to_answer << ", to the completion " << found.completion << "\n";
    }
    EXPECT_EQ(found, stages) << name;
  };
  expect(TaOpcode::kWrite, {10, 11, 19, 8});
  expect(TaOpcode::kWriteImmediate, {10, 11, 23, 8});
  expect(TaOpcode::kSend, {10, 12, 22, 8});
  expect(TaOpcode::kSendImmediate, {10, 12, 22, 8});
  expect(TaOpcode::kRead, {10, 12, 28, 13});
  expect(TaOpcode::kAtomicFetchAdd, {10, 8, 29, 13});
  expect(TaOpcode::kAtomicLoad, {10, 8, 28, 13});
}

/// Not a judgement, for time is the machine's: says what it sees when asked.
TEST(UbNic, PairOfUseRunsAndSaysHowFast) {
  const std::uint64_t cycles = cycles_or(4000);
  for (const bool posts : {true, false}) {
    Full first;
    Findings found;
    NicPair pair(first, RandomStream(1, "speed"), found);
    pair.set_stalls(false);
    pair.reset();
    const std::uint64_t from = pair.now();
    const std::clock_t start = std::clock();
    while (pair.now() < from + cycles && found.agrees()) pair.cycle(posts);
    const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_EQ(found.disagreement, "");
    if (posts) {
      EXPECT_GT(pair.frames(), cycles / 100);
    }
    if (std::getenv("WHARF_RTL_COVERAGE") != nullptr) {
      std::cout << (posts ? "busy: " : "idle: ") << static_cast<double>(cycles) / took
                << " cycles of the pair for each second of processor time, " << pair.frames() << " frames\n";
    }
  }
}

}  // namespace
}  // namespace wharf::rtl
