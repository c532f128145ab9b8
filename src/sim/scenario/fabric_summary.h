// SPDX-License-Identifier: Apache-2.0
// What a fabric run tells: flow completion times and slowdowns, counts, and the files' texts.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/flows/fabric_run.h"
#include "sim/scenario/fabric_settings.h"

namespace wharf::sim {

/// Of flows that have ended well, those that started during the warm-up (traffic.warm_up) apart; of a run
/// that was cut also what arrived of others. Percentiles are values that occurred (nearest rank).
struct FlowStatistics {
  std::uint64_t count = 0;
  double fct_ns_min = 0, fct_ns_mean = 0, fct_ns_p50 = 0, fct_ns_p95 = 0, fct_ns_p99 = 0, fct_ns_max = 0;
  double slowdown_min = 0, slowdown_mean = 0, slowdown_p50 = 0, slowdown_p95 = 0, slowdown_p99 = 0,
         slowdown_max = 0;
  double last_end_ns = 0;
  std::uint64_t bytes = 0;
  double goodput_gbps = 0;  ///< Their bytes over the time from the first start to the last end.
  /// The run ended before all flows did: `bytes` is what had arrived until then, and the goodput is that over
  /// the time from the first start to the end of the run.
  bool cut = false;
};

FlowStatistics statistics_of(const workload::FlowList& list, const FabricReport& report,
                             const std::vector<TimePs>& ideal, TimePs warm_up = kTimeZero);

bool ended_well(const FlowRecord& record);
/// Ended well, and did not start during the warm-up.
bool counts(const FlowRecord& record, TimePs warm_up);

/// summary.json: a function of inputs, settings and seed.
nlohmann::ordered_json fabric_summary(const workload::FlowList& list, const Topology& topology,
                                      const FabricSettings& settings, const FabricDerived& derived,
                                      const FabricReport& report, const FlowStatistics& statistics);

/// The path of every number that the summary of such a run can hold, with what its traffic adds.
std::vector<std::string> fabric_summary_paths(const FabricSettings& settings);

/// flows.csv, one row per flow in the order of the list; empty fields where a flow did not come to it.
std::string flows_csv(const workload::FlowList& list, const FabricReport& report,
                      const std::vector<TimePs>& ideal);
/// Share of the flows that had finished after so long, at most 1000 points.
std::vector<std::pair<TimePs, double>> fct_cdf(const FabricReport& report, TimePs warm_up = kTimeZero);
/// fct_cdf.csv: share of the flows that had finished after so long, at most 1000 points.
std::string fct_cdf_csv(const FabricReport& report, TimePs warm_up = kTimeZero);

}  // namespace wharf::sim
