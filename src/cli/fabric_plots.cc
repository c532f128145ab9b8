// SPDX-License-Identifier: Apache-2.0
#include "cli/fabric_plots.h"
#include "sim/scenario/fabric_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace wharf::cli {
namespace {

double in_microseconds(TimePs time) { return as_nanoseconds(time) / 1e3; }

double gbps(std::uint64_t bytes, TimePs time) {
  return static_cast<double>(bytes) * 8e3 / static_cast<double>(time.ps);
}

study::Plot over_time(std::string name, std::string title, std::string y_title) {
  study::Plot plot;
  plot.name = std::move(name);
  plot.title = std::move(title);
  plot.x_title = "simulated time, us";
  plot.y_title = std::move(y_title);
  return plot;
}

/// More lines than a palette has colours cannot be told apart.
constexpr std::size_t kLinesDrawn = 8;

double highest(const study::Series& line) {
  double most = 0;
  for (const study::Series::Point& point : line.points) most = std::max(most, point.y);
  return most;
}

/// Appends the lines that have points; of many, those that reach highest, and the title says so.
void append(study::Plot& plot, std::map<std::uint32_t, study::Series>& lines, std::string_view what) {
  std::vector<study::Series*> drawn;
  for (auto& [key, line] : lines) {
    if (!line.points.empty()) drawn.push_back(&line);
  }
  if (drawn.size() > kLinesDrawn) {
    plot.title += fmt::format(": the {} of {} {} that reach highest", kLinesDrawn, drawn.size(), what);
    std::stable_sort(drawn.begin(), drawn.end(), [](const study::Series* a, const study::Series* b) {
      return highest(*a) > highest(*b);
    });
    drawn.resize(kLinesDrawn);
  }
  for (study::Series* line : drawn) plot.series.push_back(std::move(*line));
}

/// The share of the flows that had finished after so long.
study::Plot completion_times(const sim::FabricReport& report) {
  study::Plot plot;
  plot.name = "plot_completion";
  plot.title = "Flow completion times";
  plot.x_title = "completion time, us";
  plot.y_title = "share of the flows";
  study::Series line{"flows", {}};
  for (const auto& [time, share] : sim::fct_cdf(report))
    line.points.push_back({in_microseconds(time), share, ""});
  if (!line.points.empty()) plot.series.push_back(std::move(line));
  return plot;
}

}  // namespace

std::vector<study::Plot> fabric_plots(const sim::FabricReport& report, const workload::FlowList& list,
                                      const sim::PortNames& names) {
  const sim::ObservedRun& seen = report.seen;
  study::Plot completion = completion_times(report);
  study::Plot goodput = over_time("plot_goodput", "Goodput of all flows", "Gb/s");
  study::Plot flow_goodput = over_time("plot_flow_goodput", "Goodput of flows", "Gb/s");
  study::Plot queues = over_time("plot_queues", "Bytes queued", "bytes");
  study::Plot windows = over_time("plot_windows", "Windows", "bytes");
  study::Plot rates = over_time("plot_rates", "Rates of senders", "Gb/s");
  study::Plot round_trips = over_time("plot_round_trips", "Round trips", "us");

  study::Series total{"all flows", {}};
  sim::DeliverySample before{};
  for (const sim::DeliverySample& sample : seen.deliveries) {
    total.points.push_back(
        {in_microseconds(sample.at), gbps(sample.bytes - before.bytes, sample.at - before.at), ""});
    before = sample;
  }
  if (!total.points.empty()) goodput.series.push_back(std::move(total));

  std::map<std::uint32_t, study::Series> queue_lines;
  for (const sim::OccupancySample& sample : seen.ports) {
    study::Series& line = queue_lines[sample.port];
    line.name = names[sample.port];
    line.points.push_back({in_microseconds(sample.at), static_cast<double>(sample.queued_bytes), ""});
  }
  append(queues, queue_lines, "ports");

  std::map<std::uint32_t, study::Series> goodputs, window_lines, rate_lines, trip_lines;
  std::map<std::uint32_t, sim::FlowSample> last;
  for (const sim::FlowSample& sample : seen.flows) {
    const double at = in_microseconds(sample.at);
    for (auto* lines : {&goodputs, &window_lines, &rate_lines, &trip_lines})
      (*lines)[sample.flow].name = fmt::format("flow {}", list.flows[sample.flow].id);
    sim::FlowSample& previous = last[sample.flow];
    goodputs[sample.flow].points.push_back(
        {at, gbps(sample.delivered_bytes - previous.delivered_bytes, sample.at - previous.at), ""});
    previous = sample;
    if (sample.trace.window != sim::kNoWindow)
      window_lines[sample.flow].points.push_back({at, static_cast<double>(sample.trace.window), ""});
    if (sample.trace.rate.value != 0)
      rate_lines[sample.flow].points.push_back({at, static_cast<double>(sample.trace.rate.value) / 1e9, ""});
    if (sample.trace.round_trip != kNever)
      trip_lines[sample.flow].points.push_back({at, in_microseconds(sample.trace.round_trip), ""});
  }
  append(flow_goodput, goodputs, "flows");
  append(windows, window_lines, "flows");
  append(rates, rate_lines, "flows");
  append(round_trips, trip_lines, "flows");

  std::vector<study::Plot> plots;
  for (study::Plot* plot : {&completion, &goodput, &flow_goodput, &queues, &windows, &rates, &round_trips}) {
    if (!plot->series.empty()) plots.push_back(std::move(*plot));
  }
  return plots;
}

}  // namespace wharf::cli
