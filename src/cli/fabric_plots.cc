// SPDX-License-Identifier: Apache-2.0
#include "cli/fabric_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/plot_lines.h"
#include "sim/scenario/fabric_summary.h"

namespace wharf::cli {
namespace {

double in_microseconds(TimePs time) { return as_nanoseconds(time) / 1e3; }

double gbps(std::uint64_t bytes, TimePs time) {
  return static_cast<double>(bytes) * 8e3 / static_cast<double>(time.ps);
}

report::Plot over_time(std::string name, std::string title, std::string y_title) {
  report::Plot plot;
  plot.name = std::move(name);
  plot.title = std::move(title);
  plot.x_title = "simulated time, us";
  plot.y_title = std::move(y_title);
  return plot;
}

/// Points of a rate over time: a look takes in a few packets at most, so that the rate since the look before
/// jumps by whole packets. Of more looks several are taken together.
constexpr std::size_t kRatePoints = 100;

/// Completion times that differ by more than this factor are drawn on a logarithmic axis.
constexpr double kWideRange = 20;

/// Intervals over which the held queues are averaged.
constexpr std::size_t kPauseIntervals = 100;

/// The share of the flows that had finished after so long.
report::Plot completion_times(const sim::FabricReport& report) {
  report::Plot plot;
  plot.name = "plot_completion";
  plot.title = "Flow completion times";
  plot.x_title = "completion time, us";
  plot.y_title = "share of the flows";
  std::vector<report::Series::Point> points;
  for (const auto& [time, share] : sim::fct_cdf(report)) points.push_back({in_microseconds(time), share, ""});
  if (points.empty()) return plot;
  plot.x_logarithmic = points.front().x > 0 && points.back().x > kWideRange * points.front().x;
  plot.series.push_back({"flows", staircase(points)});
  return plot;
}

/// Which looks a rate is drawn at: each `step`-th of those so far.
struct RateSteps {
  std::size_t step = 1;
  std::string title;  ///< Of the axis.
};

RateSteps rate_steps(std::string_view quantity, std::size_t looks, TimePs period) {
  const std::size_t step = std::max<std::size_t>(1, (looks + kRatePoints - 1) / kRatePoints);
  std::string title = fmt::format("{}, Gb/s", quantity);
  if (step > 1)
    title += fmt::format(" (means of {})", format_time(TimePs{period.ps * static_cast<std::int64_t>(step)}));
  return {step, title};
}

report::Plot total_goodput(const sim::ObservedRun& seen, TimePs period) {
  const RateSteps steps = rate_steps("goodput", seen.deliveries.size(), period);
  report::Plot plot = over_time("plot_goodput", "Goodput of all flows", steps.title);
  report::Series total{"all flows", {}};
  sim::DeliverySample before{};
  for (std::size_t i = 0; i < seen.deliveries.size(); ++i) {
    const sim::DeliverySample& sample = seen.deliveries[i];
    if ((i + 1) % steps.step != 0 && i + 1 != seen.deliveries.size()) continue;
    total.points.push_back(
        {in_microseconds(sample.at), gbps(sample.bytes - before.bytes, sample.at - before.at), ""});
    before = sample;
  }
  if (total.points.size() > 1) plot.series.push_back(std::move(total));
  return plot;
}

report::Plot port_queues(const sim::ObservedRun& seen, const sim::PortNames& names) {
  report::Plot plot = over_time("plot_queues", "Queues of ports", "queued, KB");
  PlotLines lines;
  for (const sim::OccupancySample& sample : seen.ports) {
    report::Series& line = lines[sample.port];
    line.name = names[sample.port];
    line.points.push_back({in_microseconds(sample.at), static_cast<double>(sample.queued_bytes) / 1e3, ""});
  }
  append_lines(plot, std::move(lines), "ports");
  return plot;
}

/// How many queues were held at a time, on average of each interval.
report::Plot held_queues(const sim::ObservedRun& seen, TimePs end) {
  report::Plot plot = over_time("plot_pauses", "Queues that pause frames hold", "");
  if (seen.pauses.empty() || end <= kTimeZero) return plot;
  const double width = in_microseconds(end) / kPauseIntervals;
  plot.y_title = fmt::format("queues held (means of {:.3g} us)", width);
  std::vector<double> held(kPauseIntervals, 0);
  const auto add = [&](TimePs from, TimePs to) {
    const double begin = in_microseconds(from) / width;
    const double finish = in_microseconds(to) / width;
    for (auto at = static_cast<std::size_t>(begin); at < kPauseIntervals && static_cast<double>(at) < finish;
         ++at) {
      const auto low = static_cast<double>(at);
      held[at] += std::min(finish, low + 1) - std::max(begin, low);
    }
  };
  std::map<std::pair<sim::PortId, std::uint8_t>, TimePs> since;
  for (const sim::PauseRecord& record : seen.pauses) {
    const auto queue = std::pair{record.port, record.queue};
    if (record.paused) {
      since.try_emplace(queue, record.at);
    } else if (const auto begun = since.find(queue); begun != since.end()) {
      add(begun->second, record.at);
      since.erase(begun);
    }
  }
  for (const auto& [queue, begun] : since) add(begun, end);
  report::Series line{"all ports", {}};
  for (std::size_t i = 0; i < held.size(); ++i)
    line.points.push_back({(static_cast<double>(i) + 0.5) * width, held[i], ""});
  plot.series.push_back(std::move(line));
  return plot;
}

/// Goodput, windows, rates and round trips of the chosen flows, each while its flow lasts.
std::vector<report::Plot> flow_pictures(const sim::FabricReport& report, const workload::FlowList& list,
                                        TimePs period) {
  PlotLines goodputs, windows, rates, trips;
  struct Seen {
    std::size_t looks = 0;
    sim::FlowSample drawn;  ///< The latest in the line of its goodput.
    bool ended = false;
  };
  std::map<std::uint32_t, Seen> flows;
  for (const sim::FlowSample& sample : report.seen.flows) ++flows[sample.flow].looks;
  std::size_t most = 0;
  for (auto& [flow, seen] : flows) {
    most = std::max(most, seen.looks);
    seen.looks = 0;
  }
  const RateSteps steps = rate_steps("goodput", most, period);
  for (const sim::FlowSample& sample : report.seen.flows) {
    Seen& seen = flows[sample.flow];
    const sim::FlowRecord& record = report.records[sample.flow];
    if (seen.ended) continue;
    seen.ended = sample.at >= record.end;
    ++seen.looks;
    const double at = in_microseconds(sample.at);
    for (PlotLines* lines : {&goodputs, &windows, &rates, &trips})
      (*lines)[sample.flow].name = fmt::format("flow {}", list.flows[sample.flow].id);
    if (seen.looks % steps.step == 0 || seen.ended) {
      const sim::FlowSample& before = seen.drawn;
      goodputs[sample.flow].points.push_back(
          {at, gbps(sample.delivered_bytes - before.delivered_bytes, sample.at - before.at), ""});
      seen.drawn = sample;
    }
    if (seen.ended) continue;  // What its sender holds later is no longer about it.
    if (sample.trace.window != sim::kNoWindow)
      windows[sample.flow].points.push_back({at, static_cast<double>(sample.trace.window) / 1e3, ""});
    if (sample.trace.rate.value != 0)
      rates[sample.flow].points.push_back({at, static_cast<double>(sample.trace.rate.value) / 1e9, ""});
    if (sample.trace.round_trip != kNever)
      trips[sample.flow].points.push_back({at, in_microseconds(sample.trace.round_trip), ""});
  }
  std::vector<report::Plot> plots;
  const auto add = [&plots](report::Plot plot, PlotLines lines) {
    append_lines(plot, std::move(lines), "flows");
    plots.push_back(std::move(plot));
  };
  add(over_time("plot_flow_goodput", "Goodput of flows", steps.title), std::move(goodputs));
  add(over_time("plot_windows", "Windows of senders", "window, KB"), std::move(windows));
  add(over_time("plot_rates", "Rates of senders", "rate, Gb/s"), std::move(rates));
  add(over_time("plot_round_trips", "Round trips", "round trip, us"), std::move(trips));
  return plots;
}

}  // namespace

std::vector<report::Plot> fabric_plots(const sim::FabricReport& report, const workload::FlowList& list,
                                       const sim::PortNames& names, TimePs period) {
  std::vector<report::Plot> all;
  all.push_back(completion_times(report));
  all.push_back(total_goodput(report.seen, period));
  all.push_back(port_queues(report.seen, names));
  all.push_back(held_queues(report.seen, report.simulated));
  for (report::Plot& plot : flow_pictures(report, list, period)) all.push_back(std::move(plot));
  std::erase_if(all, [](const report::Plot& plot) { return plot.series.empty(); });
  return all;
}

}  // namespace wharf::cli
