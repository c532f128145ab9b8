// SPDX-License-Identifier: Apache-2.0
// A smaller run that fails in the same way: fewer keys, smaller numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/chaos/drawn_run.h"

namespace wharf::sim {

/// The name of the first check that a run fails; empty when it fails none.
using FirstFailure = std::function<std::string(const DrawnRun& run)>;

struct Shrunk {
  DrawnRun run;
  std::uint32_t tries = 0;  ///< Runs that it took.
};

/// `run` fails `check`. Tries at most `most` smaller ones, and keeps each that fails the same check.
Shrunk shrink(DrawnRun run, const std::string& check, const FirstFailure& first_failure, std::uint32_t most);

}  // namespace wharf::sim
