// SPDX-License-Identifier: Apache-2.0
// What runs of gets find: how many were snapshots, and what they took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload/item_gets.h"

namespace wharf::sim {

struct GetOutcome {
  std::uint64_t gets = 0;
  std::uint64_t overlaps = 0;  ///< Gets during which a put to the item was under way.
  std::uint64_t retries = 0;
  std::uint64_t torn = 0;
  std::uint64_t stale = 0;
  std::uint64_t given_up = 0;
  std::uint64_t puts = 0;
  std::uint64_t squashes = 0;
  double latency_ps = 0;             ///< Of all gets together.
  std::vector<std::string> blocked;  ///< A run that did not end: who waits for what.

  GetOutcome& operator+=(const GetOutcome& other);
  /// What one party has found.
  GetOutcome& operator+=(const workload::ItemGetsResult& party);
};

}  // namespace wharf::sim
