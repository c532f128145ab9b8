// SPDX-License-Identifier: Apache-2.0
#include "cli/fabric_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cli/network_plots.h"
#include "cli/plot_lines.h"
#include "sim/scenario/fabric_summary.h"

namespace wharf::cli {
namespace {

/// The share of the flows that had finished after so long.
report::Plot completion_times(const sim::FabricReport& report, TimePs warm_up) {
  report::Plot plot;
  plot.name = "plot_completion";
  plot.title = "Flow completion times";
  plot.x_title = "completion time, us";
  plot.y_title = "share of the flows";
  plot.y_scale = report::AxisScale::kLinear;
  std::vector<report::Series::Point> points;
  for (const auto& [time, share] : sim::fct_cdf(report, warm_up))
    points.push_back({in_microseconds(time), share, ""});
  if (points.empty()) return plot;
  plot.series.push_back({"flows", staircase(points)});
  return plot;
}

/// Goodput, windows, rates and round trips of the chosen flows, each while its flow lasts.
std::vector<report::Plot> flow_pictures(const sim::FabricReport& report, const sim::ObservedRun& observed,
                                        const workload::FlowList& list, TimePs period) {
  PlotLines goodputs, windows, rates, trips;
  struct Seen {
    std::size_t looks = 0;
    sim::FlowSample drawn;  ///< The latest in the line of its goodput.
    bool ended = false;
  };
  std::map<std::uint32_t, Seen> flows;
  for (const sim::FlowSample& sample : observed.flows) ++flows[sample.flow].looks;
  std::size_t most = 0;
  for (auto& [flow, seen] : flows) {
    most = std::max(most, seen.looks);
    seen.looks = 0;
  }
  const RateSteps steps = rate_steps("goodput", most, period);
  for (const sim::FlowSample& sample : observed.flows) {
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
                                       const sim::ObservedNetwork& network, TimePs warm_up) {
  std::vector<report::Plot> all;
  all.push_back(completion_times(report, warm_up));
  for (report::Plot& plot : network_plots(network)) all.push_back(std::move(plot));
  for (report::Plot& plot : flow_pictures(report, network.seen, list, network.asked.period))
    all.push_back(std::move(plot));
  std::erase_if(all, [](const report::Plot& plot) { return plot.series.empty(); });
  return all;
}

}  // namespace wharf::cli
