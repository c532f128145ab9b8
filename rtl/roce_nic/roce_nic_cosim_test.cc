// SPDX-License-Identifier: Apache-2.0
// Two RoCE NICs back to back: exactly once and byte for byte over a wire that loses frames; how long the way
// to the wire is, stage by stage.
#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "Vwharf_roce_nic.h"
#include "Vwharf_roce_nic_full.h"
#include "Vwharf_roce_nic_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/roce_nic/roce_pair.h"

namespace wharf::rtl {
namespace {

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  RocePair(dut, random, found).run(cycles);
};

TEST(RoceNic, TwoAgreeByteForByteOverALossyWire) { expect_agreement<Vwharf_roce_nic>(kRun, 300000); }

TEST(RoceNic, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_roce_nic_planted>(kRun, "rtl/roce_nic/faults.txt", 300000);
}

using Full = Clocked<Vwharf_roce_nic_full>;

/// Rings the doorbell of `pair` for a Write of 8 inline bytes, and says after how many cycles each stage
/// shows it.
std::array<std::uint32_t, 4> cold_path(Full& nic, std::uint32_t pair) {
  RoceRequest request;
  request.is_inline = true;
  request.length = 8;
  request.remote_address = NicMemory::kBase;
  nic->doorbell_valid_i = 1;
  request.ring(*nic, pair);
  std::array<std::uint32_t, 4> stages{};
  for (std::uint32_t cycle = 0; cycle < 64; ++cycle) {
    nic.settle();
    for (std::uint32_t stage = 0; stage < 4; ++stage) {
      if (stages[stage] == 0 && (nic->stages_o >> stage) % 2 == 1) stages[stage] = cycle;
    }
    nic.tick();
    nic->doorbell_valid_i = 0;
  }
  return stages;
}

TEST(RoceNic, ColdPathTakesAsManyCyclesAsItsDescriptionSays) {
  // From the cycle in which the doorbell is taken to the one in which each stage shows the request: request,
  // job, frame, wire. No cycle of these depends on the queue pair or on the time.
  constexpr std::array<std::uint32_t, 4> kStages{2, 3, 4, 8};
  Full nic;
  nic->post_valid_i = nic->doorbell_valid_i = nic->rx_valid_i = nic->answer_valid_i = nic->consumed_i = 0;
  nic->segment_valid_i = nic->open_valid_i = 0;
  nic->memory_ready_i = nic->tx_ready_i = 1;
  set_roce_route(*nic, 0);
  nic.reset();
  for (std::uint32_t pair = 0; pair < 1024; ++pair) open_pair(nic, pair, 1024 + pair, 0, 0);
  for (const std::uint32_t pair : {0U, 1U, 7U, 511U, 1023U}) EXPECT_EQ(cold_path(nic, pair), kStages) << pair;
  EXPECT_LE(kStages.back(), 8U);
}

}  // namespace
}  // namespace wharf::rtl
