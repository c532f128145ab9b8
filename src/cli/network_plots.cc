// SPDX-License-Identifier: Apache-2.0
#include "cli/network_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "cli/plot_lines.h"

namespace wharf::cli {
namespace {

/// Points of a rate over time: a look takes in a few packets at most, so that the rate since the look before
/// jumps by whole packets. Of more looks several are taken together.
constexpr std::size_t kRatePoints = 100;

/// Intervals over which the held queues are averaged.
constexpr std::size_t kPauseIntervals = 100;

}  // namespace

double in_microseconds(TimePs time) { return as_nanoseconds(time) / 1e3; }

double gbps(std::uint64_t bytes, TimePs time) {
  return static_cast<double>(bytes) * 8e3 / static_cast<double>(time.ps);
}

report::Plot over_time(std::string name, std::string title, std::string y_title) {
  report::Plot plot;
  plot.name = std::move(name);
  plot.title = std::move(title);
  plot.x_title = "simulated time, us";
  plot.x_scale = report::AxisScale::kLinear;
  plot.y_title = std::move(y_title);
  return plot;
}

RateSteps rate_steps(std::string_view quantity, std::size_t looks, TimePs period) {
  const std::size_t step = std::max<std::size_t>(1, (looks + kRatePoints - 1) / kRatePoints);
  std::string title = fmt::format("{}, Gb/s", quantity);
  if (step > 1)
    title += fmt::format(" (means of {})", format_time(TimePs{period.ps * static_cast<std::int64_t>(step)}));
  return {step, title};
}

namespace {

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
  if (total.points.size() > 1 && before.bytes != 0) plot.series.push_back(std::move(total));
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

/// Bits that the ports sent, headers and gaps included.
report::Plot port_loads(const sim::ObservedRun& seen, const sim::PortNames& names, TimePs period) {
  std::map<sim::PortId, std::size_t> looks;
  for (const sim::OccupancySample& sample : seen.ports) ++looks[sample.port];
  const RateSteps steps = rate_steps("load", looks.empty() ? 0 : looks.begin()->second, period);
  report::Plot plot = over_time("plot_loads", "Loads of ports", steps.title);
  PlotLines lines;
  std::map<sim::PortId, sim::OccupancySample> drawn;
  std::map<sim::PortId, std::size_t> seen_so_far;
  for (const sim::OccupancySample& sample : seen.ports) {
    const std::size_t look = ++seen_so_far[sample.port];
    if (look % steps.step != 0 && look != looks[sample.port]) continue;
    sim::OccupancySample& before = drawn[sample.port];
    report::Series& line = lines[sample.port];
    line.name = names[sample.port];
    line.points.push_back(
        {in_microseconds(sample.at), gbps(sample.sent_bytes - before.sent_bytes, sample.at - before.at), ""});
    before = sample;
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

}  // namespace

std::vector<report::Plot> network_plots(const sim::ObservedNetwork& network) {
  std::vector<report::Plot> all;
  all.push_back(total_goodput(network.seen, network.asked.period));
  all.push_back(port_queues(network.seen, network.names));
  all.push_back(port_loads(network.seen, network.names, network.asked.period));
  all.push_back(held_queues(network.seen, network.simulated));
  return all;
}

}  // namespace wharf::cli
