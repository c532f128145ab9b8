// SPDX-License-Identifier: Apache-2.0
// What a run will cost, before it runs.
#pragma once

#include <cstdint>

#include "sim/scenario/scenario.h"

namespace wharf::sim {

struct CostEstimate {
  std::uint64_t operations = 0;  ///< 0: not known beforehand.
  std::uint64_t events = 0;
  std::uint64_t memory_bytes = 0;
  double seconds = 0;  ///< On one core of a 2.6 GHz server.
};

/// Counts what the scenario asks for and multiplies with what one operation, packet and event usually take.
/// Within a factor of two for loss-free runs.
CostEstimate estimate_cost(const Scenario& scenario);

}  // namespace wharf::sim
