// SPDX-License-Identifier: Apache-2.0
// What a run will cost, before it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace wharf::sim {

struct CostEstimate {
  std::uint64_t operations = 0;  ///< 0: not known beforehand.
  std::uint64_t events = 0;
  std::uint64_t memory_bytes = 0;
  double seconds = 0;  ///< On one core of the machine whose cost was handed in.
};

/// What a sample run took on the machine that is to run the scenario. The caller has the clock.
struct SampleCost {
  double event_ns = 0;              ///< Wall time of one event.
  double events_per_operation = 0;  ///< Of an operation of one packet each way.
};

/// The overrides of an empty scenario whose run is such a sample: `operations` fetches of 64 bytes over
/// `stack`, four at a time.
std::vector<std::string> sample_overrides(Stack stack, std::uint64_t operations);

/// Counts what the scenario asks for and multiplies with what the sample took. Loss, contention and large
/// caches make a run slower; within a factor of two for loss-free runs.
CostEstimate estimate_cost(const Scenario& scenario, const SampleCost& sample);

}  // namespace wharf::sim
