// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/fabric_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/config/expectation.h"
#include "sim/fabric/retry_counters.h"
#include "sim/scenario/traffic_results.h"
#include "verbs/verb.h"

namespace wharf::sim {
namespace {

/// Nearest rank of a sorted, non-empty list.
template <typename T>
T percentile(const std::vector<T>& sorted, std::uint64_t percent) {
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

std::string_view name_of(FabricOutcome outcome) {
  switch (outcome) {
    case FabricOutcome::kFinished:
      return "finished";
    case FabricOutcome::kTimeReached:
      return "end_reached";
    case FabricOutcome::kStalled:
      return "stalled";
    case FabricOutcome::kInterrupted:
      return "interrupted";
  }
  WHARF_CHECK(false);
}

/// What a run that was cut has brought to its destinations.
void count_delivered(const FabricReport& report, FlowStatistics& statistics) {
  TimePs first = kNever;
  for (const FlowRecord& record : report.records) first = min(first, record.start);
  statistics.bytes = report.delivered_bytes;
  if (first < report.simulated) {
    statistics.goodput_gbps =
        static_cast<double>(statistics.bytes) * 8e3 / static_cast<double>((report.simulated - first).ps);
  }
}

}  // namespace

bool ended_well(const FlowRecord& record) {
  return record.end != kNever && record.status == verbs::CompletionStatus::kSuccess;
}

bool counts(const FlowRecord& record, TimePs warm_up) {
  return ended_well(record) && record.start >= warm_up;
}

FlowStatistics statistics_of(const workload::FlowList& list, const FabricReport& report,
                             const std::vector<TimePs>& ideal, TimePs warm_up) {
  FlowStatistics statistics;
  std::vector<TimePs> times;
  std::vector<double> slowdowns;
  TimePs first = kNever;
  TimePs last;
  double sum = 0;
  double slowdown_sum = 0;
  for (std::size_t i = 0; i < report.records.size(); ++i) {
    const FlowRecord& record = report.records[i];
    if (!counts(record, warm_up)) continue;
    times.push_back(record.end - record.start);
    slowdowns.push_back(static_cast<double>(times.back().ps) / static_cast<double>(ideal[i].ps));
    sum += as_nanoseconds(times.back());
    slowdown_sum += slowdowns.back();
    first = min(first, record.start);
    last = max(last, record.end);
    statistics.bytes += list.flows[i].bytes;
  }
  statistics.count = times.size();
  statistics.cut = report.outcome != FabricOutcome::kFinished && report.finished < list.flows.size();
  if (statistics.cut) count_delivered(report, statistics);
  if (times.empty()) return statistics;
  std::sort(times.begin(), times.end());
  std::sort(slowdowns.begin(), slowdowns.end());
  const auto count = static_cast<double>(times.size());
  statistics.fct_ns_min = as_nanoseconds(times.front());
  statistics.fct_ns_mean = sum / count;
  statistics.fct_ns_p50 = as_nanoseconds(percentile(times, 50));
  statistics.fct_ns_p95 = as_nanoseconds(percentile(times, 95));
  statistics.fct_ns_p99 = as_nanoseconds(percentile(times, 99));
  statistics.fct_ns_max = as_nanoseconds(times.back());
  statistics.slowdown_min = slowdowns.front();
  statistics.slowdown_mean = slowdown_sum / count;
  statistics.slowdown_p50 = percentile(slowdowns, 50);
  statistics.slowdown_p95 = percentile(slowdowns, 95);
  statistics.slowdown_p99 = percentile(slowdowns, 99);
  statistics.slowdown_max = slowdowns.back();
  statistics.last_end_ns = as_nanoseconds(last);
  if (last > first && !statistics.cut)
    statistics.goodput_gbps =
        static_cast<double>(statistics.bytes) * 8e3 / static_cast<double>((last - first).ps);
  return statistics;
}

nlohmann::ordered_json fabric_summary(const workload::FlowList& list, const Topology& topology,
                                      const FabricSettings& settings, const FabricDerived& derived,
                                      const FabricReport& report, const FlowStatistics& statistics) {
  nlohmann::ordered_json summary;
  if (!settings.title.empty()) summary["title"] = settings.title;
  summary["flows"] = list.flows.size();
  summary["hosts"] = topology.host_count();
  summary["switches"] = topology.switch_count();
  summary["protocol"] = wire::key_of(settings.protocol);
  summary["profile"] = settings.profile;
  summary["seed"] = settings.seed;
  summary["end"] = name_of(report.outcome);
  summary["finished"] = report.finished - report.failed;
  summary["failed"] = report.failed;
  summary["fct_ns"] = {{"min", statistics.fct_ns_min}, {"mean", statistics.fct_ns_mean},
                       {"p50", statistics.fct_ns_p50}, {"p95", statistics.fct_ns_p95},
                       {"p99", statistics.fct_ns_p99}, {"max", statistics.fct_ns_max}};
  summary["slowdown"] = {{"min", statistics.slowdown_min}, {"mean", statistics.slowdown_mean},
                         {"p50", statistics.slowdown_p50}, {"p95", statistics.slowdown_p95},
                         {"p99", statistics.slowdown_p99}, {"max", statistics.slowdown_max}};
  summary["last_end_ns"] = statistics.last_end_ns;
  summary["bytes"] = statistics.bytes;
  summary["goodput_gbps"] = statistics.goodput_gbps;
  summary["cut"] = statistics.cut;
  const FabricTotals& totals = report.totals;
  summary["packets"] = {{"new", totals.new_packets},
                        {"retransmitted", totals.retransmitted},
                        {"acknowledgements", totals.acknowledgements},
                        {"negative_acknowledgements", totals.negative_acknowledgements},
                        {"control", totals.control_packets},
                        {"credits", totals.credits},
                        {"credit_requests", totals.credit_requests},
                        {"timeouts", totals.timeouts}};
  summary["switches_did"] = {{"trimmed", totals.trimmed},
                             {"marked", totals.marked},
                             {"dropped", totals.dropped},
                             {"lost_on_links", totals.lost},
                             {"pause_frames", totals.pause_frames}};
  for (const RetryCounterName& each : kRetryCounters) {
    std::uint64_t sum = 0;
    for (const PortTotals& port : report.ports) sum += port.counters.*each.value;
    if (settings.links.retry) summary["link_retry"][std::string(each.name)] = sum;
  }
  summary["hosts_did"] = {{"refused", report.refused_by_hosts}};
  summary["derived"] = {{"base_rtt_ns", as_nanoseconds(derived.base_rtt)},
                        {"bdp_bytes", derived.bdp},
                        {"max_window_bytes", derived.max_window},
                        {"queue_bytes", derived.queue_bytes},
                        {"ecn_low_bytes", derived.ecn_low},
                        {"ecn_high_bytes", derived.ecn_high},
                        {"rto_ns", as_nanoseconds(derived.rto)}};
  summary["simulated_ns"] = as_nanoseconds(report.simulated);
  summary["packet_hops"] = report.hops;
  summary["fingerprint"] = fmt::format("{:#018x}", report.history);
  if (!report.waiting.empty()) summary["waiting"] = report.waiting;
  return summary;
}

std::vector<std::string> fabric_summary_paths(const FabricSettings& settings) {
  // A run that had nothing in it has them all but what its traffic is judged by.
  std::vector<std::string> paths = number_paths(fabric_summary({}, {}, settings, {}, {}, {}));
  for (std::string& path : traffic_result_paths(settings.traffic)) paths.push_back(std::move(path));
  return paths;
}

std::string flows_csv(const workload::FlowList& list, const FabricReport& report,
                      const std::vector<TimePs>& ideal) {
  std::string out =
      "flow,src,dst,bytes,op,start_ns,end_ns,fct_ns,ideal_ns,slowdown,status,retransmitted,trimmed\n";
  for (std::size_t i = 0; i < list.flows.size(); ++i) {
    const workload::Flow& flow = list.flows[i];
    const FlowRecord& record = report.records[i];
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},", flow.id, flow.source, flow.destination,
                   flow.bytes, verbs::name(flow.verb));
    if (record.start == kNever) {
      fmt::format_to(std::back_inserter(out), ",,,{:.3f},,not_started", as_nanoseconds(ideal[i]));
    } else if (record.end == kNever) {
      fmt::format_to(std::back_inserter(out), "{:.3f},,,{:.3f},,running", as_nanoseconds(record.start),
                     as_nanoseconds(ideal[i]));
    } else {
      const TimePs took = record.end - record.start;
      fmt::format_to(
          std::back_inserter(out), "{:.3f},{:.3f},{:.3f},{:.3f},{:.4f},{}", as_nanoseconds(record.start),
          as_nanoseconds(record.end), as_nanoseconds(took), as_nanoseconds(ideal[i]),
          static_cast<double>(took.ps) / static_cast<double>(ideal[i].ps), verbs::name(record.status));
    }
    fmt::format_to(std::back_inserter(out), ",{},{}\n", record.retransmissions(), record.trims());
  }
  return out;
}

std::vector<std::pair<TimePs, double>> fct_cdf(const FabricReport& report, TimePs warm_up) {
  std::vector<TimePs> times;
  for (const FlowRecord& record : report.records) {
    if (counts(record, warm_up)) times.push_back(record.end - record.start);
  }
  std::sort(times.begin(), times.end());
  constexpr std::size_t kPoints = 1000;
  const std::size_t step = std::max<std::size_t>(1, (times.size() + kPoints - 1) / kPoints);
  std::vector<std::pair<TimePs, double>> points;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if ((i + 1) % step != 0 && i + 1 != times.size()) continue;
    points.emplace_back(times[i], static_cast<double>(i + 1) / static_cast<double>(times.size()));
  }
  return points;
}

std::string fct_cdf_csv(const FabricReport& report, TimePs warm_up) {
  std::string out = "fct_ns,fraction\n";
  for (const auto& [time, share] : fct_cdf(report, warm_up))
    fmt::format_to(std::back_inserter(out), "{:.3f},{:.6f}\n", as_nanoseconds(time), share);
  return out;
}

}  // namespace wharf::sim
