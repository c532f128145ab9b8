// SPDX-License-Identifier: Apache-2.0
// What generated traffic is judged by: completion time and bandwidth of a collective, slowdowns by size of
// flow. Apart from the summary of fabric runs because most of them have neither.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/traffic.h"
#include "sim/flows/fabric_run.h"

namespace wharf::sim {

struct CollectiveResult {
  std::uint32_t ranks = 0;
  TimePs completion{};  ///< From the first start to the last end.
  double algorithm_bandwidth_gbps = 0;
  double bus_bandwidth_gbps = 0;
};

/// Nothing for other traffic, and unless every flow has ended well.
std::optional<CollectiveResult> collective_result(const TrafficSettings& traffic, std::uint32_t hosts,
                                                  const FabricReport& report);

/// Slowdowns of the flows of one decade of sizes that ended well.
struct SizeClass {
  std::uint64_t bytes_above = 0;
  std::uint64_t bytes_up_to = 0;  ///< 0: any size.
  std::uint64_t flows = 0;
  double mean = 0, p50 = 0, p95 = 0, p99 = 0, max = 0;
};

/// Of all classes with flows, in their order, without those that start during the warm-up. `ideal` as
/// ideal_times() gives it.
std::vector<SizeClass> slowdown_by_size(const workload::FlowList& list, const FabricReport& report,
                                        const std::vector<TimePs>& ideal, TimePs warm_up = kTimeZero);

/// Flows that start during the warm-up.
std::uint64_t left_out(const TrafficSettings& traffic, const workload::FlowList& list);

/// Adds "collective", "ranks", "arrivals" and, where flows fall into several classes or arrived at random,
/// "slowdown_by_size".
void add_traffic_results(nlohmann::ordered_json& summary, const TrafficSettings& traffic,
                         const Topology& topology, const workload::FlowList& list, const FabricReport& report,
                         const std::vector<TimePs>& ideal);

/// The path of every number that add_traffic_results() can add; lists have none.
std::vector<std::string> traffic_result_paths(const TrafficSettings& traffic);

}  // namespace wharf::sim
