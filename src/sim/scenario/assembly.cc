// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/statistics.h"
#include "sim/fabric/port_names.h"
#include "sim/scenario/counter_report.h"

namespace wharf::sim {
namespace {

/// Simulated time between two looks at the interrupt flag and the progress bar.
constexpr TimePs kSlice = microseconds(100);

std::vector<VerbReport> verb_reports(const OperationLog& log) {
  std::array<std::vector<std::int64_t>, verbs::kVerbCount> latencies;
  for (const OperationEntry& entry : log.entries()) {
    if (entry.status == verbs::CompletionStatus::kSuccess) {
      latencies[static_cast<std::size_t>(entry.verb)].push_back(entry.latency.ps);
    }
  }
  std::vector<VerbReport> reports;
  for (int index = 0; index < verbs::kVerbCount; ++index) {
    const auto verb = static_cast<verbs::Verb>(index);
    const OperationTotals& totals = log.totals(verb);
    if (totals.count == 0) continue;
    const Histogram* all = log.dropped() == 0 ? nullptr : log.latencies(verb);
    const LatencySummary latency =
        all == nullptr ? exact_latency(latencies[static_cast<std::size_t>(index)]) : histogram_latency(*all);
    reports.push_back({verb, totals.count, totals.failed, totals.bytes, latency, totals.path});
  }
  return reports;
}

/// Null on a wire that nobody observes.
std::shared_ptr<const ObservedNetwork> observed_network(World& world) {
  if (world.topology().switch_count() == 0 && !world.observation().any()) return nullptr;
  return std::make_shared<ObservedNetwork>(ObservedNetwork{
      .topology = world.topology(),
      .names = PortNames(world.topology(), world.switch_names()),
      .asked = world.observation(),
      .pauses = world.pauses(),
      .simulated = world.now(),
      .ports = world.port_totals(),
      .seen = world.seen(),
  });
}

}  // namespace

TwoHostsConfig two_hosts_config(const ScenarioConfig& config, const RunOptions& options) {
  TwoHostsConfig out;
  out.stack = config.stack;
  out.attachment = config.attachment;
  out.submission = config.submission;
  out.host = config.host;
  out.link = config.link;
  out.link.wire = options.wire;
  out.engines = derive_engines(config, config.link);
  out.seed = config.seed;
  out.attribution = options.attribution;
  out.record_limit = config.record_limit;
  return out;
}

Result<void> apply_options(const RunOptions& options, WorldConfig& world) {
  world.link.wire = options.wire;
  world.attribution = options.attribution;
  if (options.sink != nullptr) world.threads = 1;  // One history, in the order of time.
  if (options.captures.empty()) return {};
  auto captures = resolve(options.captures, PortNames(world.topology, world.switch_names));
  if (!captures) return captures.error();
  world.captures = *std::move(captures);
  return {};
}

LatencySummary exact_latency(std::vector<std::int64_t>& picoseconds) {
  LatencySummary out;
  out.count = picoseconds.size();
  if (picoseconds.empty()) return out;
  std::sort(picoseconds.begin(), picoseconds.end());
  const std::span<const std::int64_t> sorted(picoseconds);
  const auto at = [&](double percent) {
    return static_cast<double>(exact_percentile(sorted, percent)) / 1e3;
  };
  out.mean_ns = mean(sorted) / 1e3;
  out.min_ns = static_cast<double>(sorted.front()) / 1e3;
  out.p50_ns = at(50);
  out.p99_ns = at(99);
  out.p999_ns = at(99.9);
  out.max_ns = static_cast<double>(sorted.back()) / 1e3;
  return out;
}

LatencySummary histogram_latency(const Histogram& histogram) {
  LatencySummary out;
  out.count = histogram.count();
  out.exact = false;
  if (out.count == 0) return out;
  const auto at = [&](double percent) {
    return static_cast<double>(histogram.value_at_percentile(percent)) / 1e3;
  };
  out.mean_ns = histogram.mean() / 1e3;
  out.min_ns = static_cast<double>(histogram.min()) / 1e3;
  out.p50_ns = at(50);
  out.p99_ns = at(99);
  out.p999_ns = at(99.9);
  out.max_ns = static_cast<double>(histogram.max()) / 1e3;
  return out;
}

void add_to_verdict(RunReport& report, std::string_view finding) {
  if (!report.verdict.empty()) report.verdict += "; ";
  report.verdict += finding;
}

RunOutcome run_to_the_end(World& world, TimePs limit, const RunOptions& options, const RunHooks& hooks,
                          std::vector<std::string>& waiting) {
  while (!world.programs_ended()) {
    const RunResult slice = world.run(min(limit, world.now() + kSlice));
    if (world.programs_ended()) break;
    if (hooks.at_rest) hooks.at_rest();
    if (slice.end == RunEnd::kDrained || world.now() >= limit) {
      if (slice.end != RunEnd::kDrained) {
        waiting.push_back(fmt::format("run.time_limit of {} was reached", format_time(limit)));
      }
      for (std::string& line : world.describe_waiting()) waiting.push_back(std::move(line));
      return RunOutcome::kStalled;
    }
    if (options.interrupt != nullptr && options.interrupt->load(std::memory_order_relaxed)) {
      return RunOutcome::kInterrupted;
    }
    if (options.progress != nullptr) {
      options.progress(options.progress_context, {hooks.fraction(), world.now(), world.events_executed()});
    }
  }
  return RunOutcome::kDone;
}

void fill_from(World& world, const ScenarioConfig& config, RunReport& report) {
  report.simulated = world.now();
  report.events = world.events_executed();
  report.fingerprint = world.fingerprint();
  report.verbs = verb_reports(world.log());
  report.waterfall = world.kept_spans();
  report.waterfall_operation = world.kept_entry();
  if (world.topology().switch_count() > 0 && !report.waterfall.empty()) {
    const PortNames names(world.topology(), world.switch_names());
    for (PortId port = 0; port < world.topology().ports().size(); ++port)
      report.places.push_back(names[port]);
  }
  report.counters = counter_report(world, config);
  report.network = observed_network(world);
}

}  // namespace wharf::sim
