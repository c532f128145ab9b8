// SPDX-License-Identifier: Apache-2.0
// Open-loop traffic: flows that arrive as Poisson processes at a given load, whatever becomes of those
// before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "workload/flow_list.h"
#include "workload/size_distribution.h"

namespace wharf::workload {

enum class ArrivalPattern : std::uint8_t {
  kUniform,      ///< Every rank sends, each flow to any other rank.
  kPermutation,  ///< Every rank sends to one other, along a random cycle.
  kIncast,       ///< Every rank but 0 sends to rank 0; together they make up the load of its link.
};

struct ArrivalConfig {
  std::string name;  ///< Of the list, in messages.
  ArrivalPattern pattern = ArrivalPattern::kUniform;
  std::vector<std::uint32_t> ranks{};  ///< The host of each; at least two, all different.
  BitsPerSecond link{};                ///< Of a host; positive.
  /// Millionths of `link`, positive: what senders (incast: the receiver) are busy with on the average. Bytes
  /// of flows alone count, not those of headers.
  std::uint32_t load_ppm = 500'000;
  std::uint64_t flows = 0;  ///< Ends after so many; 0: no such end.
  TimePs duration{};        ///< No arrivals from this instant on; zero: no such end. At least one end is set.
  std::uint64_t seed = 1;
};

/// Flows in the order of their arrival. Each sender draws from a stream of its own, by its host, so that
/// ranks that come or go leave its arrivals and sizes alone. Refuses too few ranks, more than kFlowsMax
/// flows, and arrivals that go on for more than a day.
Result<FlowList> arriving_flows(const ArrivalConfig& config, const SizeDistribution& sizes);

}  // namespace wharf::workload
