// SPDX-License-Identifier: Apache-2.0
// The RoCE NIC in hardware and the C++ engine, each at one end of a wire that loses, doubles, spoils and
// swaps frames: either asks, either answers, all verbs of the hardware, byte for byte and exactly once.
#include <cstdint>

#include <gtest/gtest.h>

#include "Vwharf_roce_nic.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/roce_nic/roce_engine_nic.h"
#include "rtl/roce_nic/roce_pair.h"

namespace wharf::rtl {
namespace {

const auto kRun = []<typename Model>(Clocked<Model>& dut, RandomStream random, std::uint64_t cycles,
                                     Findings& found) {
  RocePair<Model, RoceEngineNic>(dut, random, found).run(cycles);
};

TEST(RoceNicAndEngine, AgreeByteForByteOverALossyWire) { expect_agreement<Vwharf_roce_nic>(kRun, 200000); }

}  // namespace
}  // namespace wharf::rtl
