// SPDX-License-Identifier: Apache-2.0
// The unit beside verbs::atomic_value, for every atomic.
#include <array>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "Vwharf_atomic_unit.h"
#include "Vwharf_atomic_unit_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "verbs/atomic_value.h"
#include "verbs/verb.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {
namespace {

using verbs::Verb;

constexpr auto kFirst = static_cast<std::uint32_t>(wire::TaOpcode::kAtomicCompareSwap);
constexpr std::uint32_t kCount = 9;

Verb verb_of(std::uint32_t opcode) {
  return static_cast<Verb>(static_cast<std::uint32_t>(Verb::kCompareSwap) + opcode - kFirst);
}

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  for (std::uint32_t i = 0; i < kCount; ++i) coverage.require(std::string(verbs::name(verb_of(kFirst + i))));
  for (const char* name : {"matches", "does not match", "wraps", "pause"}) coverage.require(name);
  const auto number = [&] {
    constexpr std::array<std::uint64_t, 4> kEdges{0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63U};
    return random.below(3) == 0 ? kEdges[random.below(4)] : random.next_u64();
  };
  bool shows = false;
  bool writes = false;
  std::uint64_t value = 0;
  while (dut.cycles() < cycles && found.agrees()) {
    const auto opcode = kFirst + static_cast<std::uint32_t>(random.below(kCount));
    const Verb verb = verb_of(opcode);
    const std::uint64_t old = number();
    const std::uint64_t operand = number();
    // Often equal; or but for one bit.
    const std::uint64_t compare = random.below(2) == 0   ? old
                                  : random.below(2) == 0 ? old ^ std::uint64_t{1} << random.below(64)
                                                         : number();
    const bool valid = random.below(4) != 0;
    dut->valid_i = valid;
    dut->operation_i = static_cast<std::uint8_t>(opcode);
    dut->old_i = old;
    dut->operand_i = operand;
    dut->compare_i = compare;
    dut.settle();
    if (shows && (dut->writes_o != 0) != writes) found.differ(dut.cycles(), "whether memory takes a value");
    if (shows && writes && dut->value_o != value) found.differ(dut.cycles(), "the value that memory takes");
    coverage.hit_if(!valid, "pause");
    if (valid) {
      shows = true;
      writes = verb != Verb::kAtomicLoad && (verb != Verb::kCompareSwap || old == compare);
      value = verbs::atomic_value(verb, old, operand, compare);
      coverage.hit(std::string(verbs::name(verb)));
      coverage.hit_if(verb == Verb::kCompareSwap && writes, "matches");
      coverage.hit_if(verb == Verb::kCompareSwap && !writes, "does not match");
      coverage.hit_if(verb == Verb::kFetchAdd && value < old, "wraps");
    }
    dut.tick();
  }
};

TEST(AtomicUnit, AgreesWithAtomicValue) { expect_agreement<Vwharf_atomic_unit>(kRun, 100000); }

TEST(AtomicUnit, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_atomic_unit_planted>(kRun, "rtl/atomic_unit/faults.txt", 20000);
}

}  // namespace
}  // namespace wharf::rtl
