// SPDX-License-Identifier: Apache-2.0
// Small litmus programs that are drawn from a seed, as text, so that one which shows something can be kept as
// a file.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "sim/litmus/design.h"

namespace wharf::sim {

/// What a program is about; the designs that it can be explored under follow from it.
enum class DrawnKind : std::uint8_t {
  kMemory,  ///< Host threads and devices on host memory.
  kMmio,    ///< A host thread and its device, which has registers and reads and writes host memory.
};

struct DrawnProgram {
  std::string text;
  LitmusDesign design = LitmusDesign::kBaseline;
};

/// The program of `seed`: always the same.
DrawnProgram draw_program(std::uint64_t seed, DrawnKind kind);

}  // namespace wharf::sim
