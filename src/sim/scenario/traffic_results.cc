// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/traffic_results.h"

#include <algorithm>
#include <array>

#include "base/statistics.h"
#include "sim/scenario/fabric_summary.h"
#include "sim/scenario/rank_results.h"

namespace wharf::sim {
namespace {

constexpr std::array<std::uint64_t, 4> kEdges{10'000, 100'000, 1'000'000, 10'000'000};

double gigabits_per_second_of(std::uint64_t bytes, TimePs time) {
  return static_cast<double>(bytes) * 8e3 / static_cast<double>(time.ps);
}

std::uint32_t rank_count(const TrafficSettings& traffic, std::uint32_t hosts) {
  if (traffic.ranks != 0) return traffic.ranks;
  return traffic.placement.hosts.empty() ? hosts : static_cast<std::uint32_t>(traffic.placement.hosts.size());
}

nlohmann::ordered_json json_of(const SizeClass& each) {
  nlohmann::ordered_json json;
  json["bytes_above"] = each.bytes_above;
  if (each.bytes_up_to != 0) json["bytes_up_to"] = each.bytes_up_to;
  json["flows"] = each.flows;
  json["mean"] = each.mean;
  json["p50"] = each.p50;
  json["p95"] = each.p95;
  json["p99"] = each.p99;
  json["max"] = each.max;
  return json;
}

}  // namespace

std::optional<CollectiveResult> collective_result(const TrafficSettings& traffic, std::uint32_t hosts,
                                                  const FabricReport& report) {
  if (!traffic.collective || report.records.empty()) return std::nullopt;
  TimePs first = kNever;
  TimePs last{};
  for (const FlowRecord& record : report.records) {
    if (!ended_well(record)) return std::nullopt;
    first = min(first, record.start);
    last = max(last, record.end);
  }
  CollectiveResult result{.ranks = rank_count(traffic, hosts), .completion = last - first};
  const auto volume = workload::volume_of(*traffic.collective, traffic.size, result.ranks);
  result.algorithm_bandwidth_gbps = gigabits_per_second_of(volume.buffer_bytes, result.completion);
  result.bus_bandwidth_gbps = gigabits_per_second_of(volume.link_bytes, result.completion);
  return result;
}

std::vector<SizeClass> slowdown_by_size(const workload::FlowList& list, const FabricReport& report,
                                        const std::vector<TimePs>& ideal, TimePs warm_up) {
  std::array<std::vector<double>, kEdges.size() + 1> slowdowns;
  for (std::size_t i = 0; i < report.records.size(); ++i) {
    const FlowRecord& record = report.records[i];
    if (!counts(record, warm_up)) continue;
    const auto edge = std::lower_bound(kEdges.begin(), kEdges.end(), list.flows[i].bytes);
    slowdowns[static_cast<std::size_t>(edge - kEdges.begin())].push_back(
        static_cast<double>((record.end - record.start).ps) / static_cast<double>(ideal[i].ps));
  }
  std::vector<SizeClass> classes;
  for (std::size_t i = 0; i < slowdowns.size(); ++i) {
    if (slowdowns[i].empty()) continue;
    std::sort(slowdowns[i].begin(), slowdowns[i].end());
    const std::span<const double> sorted(slowdowns[i]);
    classes.push_back({.bytes_above = i == 0 ? 0 : kEdges[i - 1],
                       .bytes_up_to = i == kEdges.size() ? 0 : kEdges[i],
                       .flows = sorted.size(),
                       .mean = mean(sorted),
                       .p50 = exact_percentile(sorted, 50),
                       .p95 = exact_percentile(sorted, 95),
                       .p99 = exact_percentile(sorted, 99),
                       .max = sorted.back()});
  }
  return classes;
}

std::uint64_t left_out(const TrafficSettings& traffic, const workload::FlowList& list) {
  return static_cast<std::uint64_t>(std::count_if(
      list.flows.begin(), list.flows.end(), [&](const auto& flow) { return flow.start < traffic.warm_up; }));
}

void add_traffic_results(nlohmann::ordered_json& summary, const TrafficSettings& traffic,
                         const Topology& topology, const workload::FlowList& list, const FabricReport& report,
                         const std::vector<TimePs>& ideal) {
  const std::uint32_t ranks = rank_count(traffic, topology.host_count());
  if (traffic.collective) {
    auto& json = summary["collective"];
    json = {{"name", workload::name(*traffic.collective)}, {"ranks", ranks}, {"size_bytes", traffic.size}};
    if (const auto result = collective_result(traffic, topology.host_count(), report)) {
      json["completion_ns"] = as_nanoseconds(result->completion);
      json["algorithm_bandwidth_gbps"] = result->algorithm_bandwidth_gbps;
      json["bus_bandwidth_gbps"] = result->bus_bandwidth_gbps;
    }
  }
  if (!list.ranks.empty()) summary["ranks"] = rank_summary(list.ranks, report.ranks);
  if (!traffic.arrivals.empty()) {
    std::uint64_t bytes = 0;
    for (const workload::Flow& flow : list.flows) bytes += flow.bytes;
    summary["arrivals"] = {{"sizes", traffic.arrivals},
                           {"pattern", name(traffic.pattern)},
                           {"load", traffic.load},
                           {"ranks", ranks},
                           {"bytes", bytes}};
    if (!list.flows.empty() && list.flows.back().start > kTimeZero)
      summary["arrivals"]["offered_gbps"] = gigabits_per_second_of(bytes, list.flows.back().start);
    if (traffic.warm_up > kTimeZero) summary["arrivals"]["left_out"] = left_out(traffic, list);
  }
  const std::vector<SizeClass> classes = slowdown_by_size(list, report, ideal, traffic.warm_up);
  if (classes.size() < 2 && traffic.arrivals.empty()) return;
  auto& json = summary["slowdown_by_size"] = nlohmann::ordered_json::array();
  for (const SizeClass& each : classes) json.push_back(json_of(each));
}

std::vector<std::string> traffic_result_paths(const TrafficSettings& traffic) {
  if (traffic.collective) {
    return {"collective.ranks", "collective.size_bytes", "collective.completion_ns",
            "collective.algorithm_bandwidth_gbps", "collective.bus_bandwidth_gbps"};
  }
  if (!traffic.arrivals.empty()) {
    std::vector<std::string> paths{"arrivals.load", "arrivals.ranks", "arrivals.bytes",
                                   "arrivals.offered_gbps"};
    if (traffic.warm_up > kTimeZero) paths.emplace_back("arrivals.left_out");
    return paths;
  }
  if (!traffic.goal.empty()) return rank_summary_paths();
  return {};
}

}  // namespace wharf::sim
