// SPDX-License-Identifier: Apache-2.0
// What ranks that compute and send are judged by: when each has finished, and how long it computed.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/flows/fabric_run.h"
#include "workload/rank_program.h"

namespace wharf::sim {

struct TimeSpread {
  TimePs min{}, mean{}, p50{}, p95{}, p99{}, max{};
};

struct RankStatistics {
  std::uint32_t finished = 0;
  TimeSpread finish;                   ///< Of those that have finished.
  TimeSpread computed;                 ///< Of the same.
  std::vector<std::uint32_t> slowest;  ///< Those that finished last, last first; at most kSlowestShown.
};
inline constexpr std::size_t kSlowestShown = 8;

RankStatistics statistics_of(const std::vector<RankRecord>& ranks);

/// The section "ranks" of summaries. The list has a program.
nlohmann::ordered_json rank_summary(const workload::RankProgram& program,
                                    const std::vector<RankRecord>& ranks);
/// The path of every number that rank_summary() can have, without what it says of each rank.
std::vector<std::string> rank_summary_paths();

/// ranks.csv, one row per rank; empty fields where a rank has not finished.
std::string ranks_csv(const workload::FlowList& list, const std::vector<RankRecord>& ranks);

}  // namespace wharf::sim
