// SPDX-License-Identifier: Apache-2.0
// The NIC in hardware and the C++ engine, each at one end of a wire that loses, doubles, spoils and swaps
// frames: either asks, either answers, all verbs of the hardware, byte for byte and exactly once.
#include <cstdint>

#include <gtest/gtest.h>

#include "Vwharf_ub_nic.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/ub_nic/engine_nic.h"
#include "rtl/ub_nic/nic_pair.h"

namespace wharf::rtl {
namespace {

const auto kRun = []<typename Model>(Clocked<Model>& dut, RandomStream random, std::uint64_t cycles,
                                     Findings& found) {
  NicPair<Model, EngineNic>(dut, random, found).run(cycles);
};

TEST(UbNicAndEngine, AgreeByteForByteOverALossyWire) { expect_agreement<Vwharf_ub_nic>(kRun, 200000); }

}  // namespace
}  // namespace wharf::rtl
