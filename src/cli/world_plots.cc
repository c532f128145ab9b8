// SPDX-License-Identifier: Apache-2.0
#include "cli/world_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/histogram.h"
#include "base/statistics.h"
#include "cli/network_plots.h"

namespace wharf::cli {
namespace {

using Point = report::Series::Point;

/// Intervals over which operations are counted: as many as have this many of them, within limits.
constexpr std::size_t kOperationsOfInterval = 20;
constexpr std::size_t kIntervalsLeast = 4;
constexpr std::size_t kIntervalsMost = 100;
/// Each has two lines in a picture, and a palette has eight colours.
constexpr std::size_t kVerbsDrawn = 4;

double microseconds_of(std::int64_t picoseconds) { return static_cast<double>(picoseconds) / 1e6; }

/// The share of the operations that had ended after so long.
std::vector<Point> distribution(const Histogram& latencies) {
  std::vector<Point> points;
  const auto add = [&](double percent) {
    const double at = microseconds_of(latencies.value_at_percentile(percent));
    // Of points above each other the lowest and the highest say all.
    if (points.size() > 1 && points.back().x == at && points[points.size() - 2].x == at) points.pop_back();
    points.push_back({at, percent / 100, ""});
  };
  for (int percent = 0; percent < 99; ++percent) add(percent);
  for (int tenth = 990; tenth <= 1000; ++tenth) add(tenth / 10.0);
  return points;
}

report::Plot latency_plot(std::string name, std::string title) {
  report::Plot plot;
  plot.name = std::move(name);
  plot.title = std::move(title);
  plot.x_title = "latency, us";
  plot.y_title = "share of the operations";
  plot.y_scale = report::AxisScale::kLinear;
  return plot;
}

void add_distribution(report::Plot& plot, std::string name, const Histogram& latencies) {
  if (latencies.count() == 0) return;
  plot.series.push_back({std::move(name), distribution(latencies)});
}

/// One line needs no legend: the title names it.
void finish(report::Plot& plot) {
  if (plot.series.size() == 1) plot.title += ": " + plot.series.front().name;
}

report::Plot program_latencies(const sim::Scenario& scenario, const sim::RunReport& report) {
  report::Plot plot = latency_plot("plot_latency", "Latency of the programs' operations");
  add_distribution(plot, std::string(workload::name(workload::kind_of(scenario.config.workload))),
                   report.program_latencies);
  for (const sim::ProgramReport& program : report.programs)
    add_distribution(plot, fmt::format("{} ({})", program.name, workload::name(program.kind)),
                     program.latencies);
  finish(plot);
  return plot;
}

report::Plot verb_latencies(const sim::RunReport& report) {
  report::Plot plot = latency_plot("plot_verbs", "Latency by verb");
  for (const sim::VerbReport& verb : report.verbs) {
    if (const Histogram* latencies = report.log.latencies(verb.verb))
      add_distribution(plot, std::string(verbs::name(verb.verb)), *latencies);
  }
  finish(plot);
  return plot;
}

/// The records of one verb, in intervals of the run.
struct VerbInTime {
  std::string name;
  std::vector<std::vector<std::int64_t>> latencies;  ///< In picoseconds, by interval.
  std::vector<std::uint64_t> bytes;
};

/// Records that ended well, cut into intervals of equal length.
struct Intervals {
  TimePs begin = kNever;
  double width_us = 0;
  std::vector<VerbInTime> verbs;
  std::string of;  ///< What the records cover, where that is not all.

  /// The middle of interval `number`.
  double at(std::size_t number) const {
    return in_microseconds(begin) + (static_cast<double>(number) + 0.5) * width_us;
  }
  bool empty() const { return verbs.empty(); }
};

/// The verbs with most operations, as many as can be drawn.
std::vector<verbs::Verb> drawn_verbs(const sim::RunReport& report) {
  std::vector<const sim::VerbReport*> all;
  for (const sim::VerbReport& verb : report.verbs) all.push_back(&verb);
  std::stable_sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->count > b->count; });
  all.resize(std::min(all.size(), kVerbsDrawn));
  std::vector<verbs::Verb> verbs;
  for (const sim::VerbReport* verb : all) verbs.push_back(verb->verb);
  return verbs;
}

Intervals intervals_of(const sim::RunReport& report) {
  Intervals intervals;
  const std::vector<sim::OperationEntry>& entries = report.log.entries();
  TimePs end;
  std::size_t count = 0;
  for (const sim::OperationEntry& entry : entries) {
    if (entry.status != verbs::CompletionStatus::kSuccess) continue;
    intervals.begin = min(intervals.begin, entry.begin);
    end = max(end, entry.begin + entry.latency);
    ++count;
  }
  if (count < 2 || end <= intervals.begin) return intervals;
  const std::size_t number = std::clamp(count / kOperationsOfInterval, kIntervalsLeast, kIntervalsMost);
  const TimePs length = end - intervals.begin;
  intervals.width_us = in_microseconds(length) / static_cast<double>(number);
  if (report.log.dropped() != 0)
    intervals.of =
        fmt::format(" (the first {} of {})", entries.size(), entries.size() + report.log.dropped());
  for (const verbs::Verb verb : drawn_verbs(report)) {
    VerbInTime& of = intervals.verbs.emplace_back();
    of.name = verbs::name(verb);
    of.latencies.resize(number);
    of.bytes.resize(number);
    for (const sim::OperationEntry& entry : entries) {
      if (entry.verb != verb || entry.status != verbs::CompletionStatus::kSuccess) continue;
      const double place = static_cast<double>((entry.begin + entry.latency - intervals.begin).ps) /
                           static_cast<double>(length.ps) * static_cast<double>(number);
      const std::size_t at = std::min(static_cast<std::size_t>(place), number - 1);
      of.latencies[at].push_back(entry.latency.ps);
      of.bytes[at] += entry.bytes;
    }
  }
  return intervals;
}

report::Plot operation_rates(const Intervals& intervals) {
  report::Plot plot =
      over_time("plot_operations", "Operations over time" + intervals.of,
                fmt::format("million operations per second (means of {:.3g} us)", intervals.width_us));
  for (const VerbInTime& verb : intervals.verbs) {
    report::Series line{verb.name, {}};
    for (std::size_t i = 0; i < verb.latencies.size(); ++i)
      line.points.push_back(
          {intervals.at(i), static_cast<double>(verb.latencies[i].size()) / intervals.width_us, ""});
    plot.series.push_back(std::move(line));
  }
  if (plot.series.size() == 1) plot.title += ": " + plot.series.front().name;
  return plot;
}

report::Plot goodput(const Intervals& intervals) {
  report::Plot plot = over_time("plot_bytes", "Data moved over time" + intervals.of,
                                fmt::format("Gb/s (means of {:.3g} us)", intervals.width_us));
  for (const VerbInTime& verb : intervals.verbs) {
    report::Series line{verb.name, {}};
    for (std::size_t i = 0; i < verb.bytes.size(); ++i)
      line.points.push_back(
          {intervals.at(i), static_cast<double>(verb.bytes[i]) * 8 / 1e3 / intervals.width_us, ""});
    plot.series.push_back(std::move(line));
  }
  if (plot.series.size() == 1) plot.title += ": " + plot.series.front().name;
  return plot;
}

report::Plot latencies_in_time(Intervals intervals) {
  report::Plot plot =
      over_time("plot_latency_over_time", "Latency over time" + intervals.of,
                fmt::format("latency, us (of those that ended within {:.3g} us)", intervals.width_us));
  for (VerbInTime& verb : intervals.verbs) {
    report::Series median{verb.name + ", median", {}}, slow{verb.name + ", 99th percentile", {}};
    for (std::size_t i = 0; i < verb.latencies.size(); ++i) {
      std::vector<std::int64_t>& latencies = verb.latencies[i];
      if (latencies.empty()) continue;
      std::sort(latencies.begin(), latencies.end());
      const std::span<const std::int64_t> sorted(latencies);
      const double middle = microseconds_of(exact_percentile(sorted, 50));
      const double high = microseconds_of(exact_percentile(sorted, 99));
      median.points.push_back({intervals.at(i), middle, ""});
      slow.points.push_back({intervals.at(i), high, ""});
    }
    if (median.points.size() < 2) continue;
    plot.series.push_back(std::move(median));
    plot.series.push_back(std::move(slow));
  }
  return plot;
}

}  // namespace

std::vector<report::Plot> world_plots(const sim::Scenario& scenario, const sim::RunReport& report) {
  std::vector<report::Plot> all;
  all.push_back(program_latencies(scenario, report));
  all.push_back(verb_latencies(report));
  if (const Intervals intervals = intervals_of(report); !intervals.empty()) {
    all.push_back(operation_rates(intervals));
    all.push_back(goodput(intervals));
    all.push_back(latencies_in_time(intervals));
  }
  if (report.network) {
    for (report::Plot& plot : network_plots(*report.network)) all.push_back(std::move(plot));
  }
  std::erase_if(all, [](const report::Plot& plot) { return plot.series.empty(); });
  return all;
}

}  // namespace wharf::cli
