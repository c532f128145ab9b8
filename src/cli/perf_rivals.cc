// SPDX-License-Identifier: Apache-2.0
#include "cli/perf_rivals.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/units.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

namespace wharf::cli {

Option PerfRivals::declare(Options& app) {
  option_ =
      app.add_option("--against", list_,
                     "Measure other programs beside it, both ends on this machine: udp (bare datagrams), "
                     "ucx, libfabric, or several with commas; ucx:tcp, ucx:shm, libfabric:udp, :tcp, :shm "
                     "choose what they run over")
          .type_name("LIST");
  return option_;
}

Result<void> PerfRivals::open(const live::Place& server, const live::RivalRun& run,
                              std::uint32_t concurrency) {
  const auto refused = [](const Error& error) { return Error{error.kind, "--against: " + error.message}; };
  if (!server.shared() && server.endpoint.address >> 24U != 127)
    return input_error(fmt::format(
        "--against: found the server {}, expected one of this machine, 127.0.0.1 or shm:NAME: both ends "
        "of the others run here",
        live::format_place(server)));
  if (concurrency != 1)
    return input_error(
        fmt::format("--against: found --concurrency {}, expected 1: latencies are compared", concurrency));
  std::string_view rest = list_;
  for (;;) {
    const std::string_view text = rest.substr(0, rest.find(','));
    const auto rival = live::parse_rival(text, server.shared());
    if (!rival) return refused(rival.error());
    if (const auto usable = live::check(*rival, run); !usable) return refused(usable.error());
    if (std::find(rivals_.begin(), rivals_.end(), *rival) == rivals_.end()) rivals_.push_back(*rival);
    if (text.size() == rest.size()) return {};
    rest.remove_prefix(text.size() + 1);
  }
}

bool PerfRivals::measure(const Console& console, const live::RivalRun& run, std::int64_t own_latency_ps) {
  for (std::size_t i = 0; i < rivals_.size(); ++i) {
    if (!live::check(rivals_[i], run)) continue;  // A size that it does not have.
    const auto failed_before = [i](const Failure& failure) { return failure.rival == i; };
    if (std::any_of(failures_.begin(), failures_.end(), failed_before)) continue;
    Progress progress(console, fmt::format("{} {}", live::name(rivals_[i]), format_bytes(Bytes{run.bytes})));
    const auto figure = live::measure(rivals_[i], run, interrupt_requested());
    if (interrupt_requested()) return false;
    if (!figure) {
      // What the others did is told all the same.
      failures_.push_back({i, run.bytes, {figure.error().kind, "--against: " + figure.error().message}});
      continue;
    }
    rows_.push_back({i, run.bytes, *figure,
                     static_cast<double>(figure->latency_ps) /
                         static_cast<double>(std::max<std::int64_t>(own_latency_ps, 1))});
  }
  return true;
}

Result<void> PerfRivals::result(const Console& console) const {
  for (std::size_t i = 1; i < failures_.size(); ++i) console.error(failures_[i].error.message);
  if (failures_.empty()) return {};
  return failures_.front().error;
}

report::TextTable PerfRivals::table() const {
  using report::Align;
  report::TextTable table({{"beside it"},
                           {"does"},
                           {"bytes", Align::kRight},
                           {"us", Align::kRight},
                           {"of its times"},
                           {"times the median above", Align::kRight}});
  for (const Row& row : rows_)
    table.add_row({live::name(rivals_[row.rival]), std::string(row.figure.what), std::to_string(row.bytes),
                   fmt::format("{:.2f}", static_cast<double>(row.figure.latency_ps) / 1e6),
                   std::string(row.figure.statistic), fmt::format("{:.2f}", row.ratio)});
  return table;
}

nlohmann::ordered_json PerfRivals::json(std::uint32_t bytes) const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows_) {
    if (row.bytes != bytes) continue;
    list.push_back({{"program", live::name(rivals_[row.rival])},
                    {"does", row.figure.what},
                    {"statistic", row.figure.statistic},
                    {"latency_ns", static_cast<double>(row.figure.latency_ps) / 1e3},
                    {"times_ours", row.ratio}});
  }
  for (const Failure& failure : failures_) {
    if (failure.bytes == bytes)
      list.push_back({{"program", live::name(rivals_[failure.rival])}, {"error", failure.error.message}});
  }
  return list;
}

void PerfRivals::add_series(report::Plot& latency) const {
  for (std::size_t i = 0; i < rivals_.size(); ++i) {
    latency.series.push_back({live::name(rivals_[i]), {}});
    for (const Row& row : rows_) {
      if (row.rival == i)
        latency.series.back().points.push_back(
            {static_cast<double>(row.bytes), static_cast<double>(row.figure.latency_ps) / 1e6, ""});
    }
  }
}

}  // namespace wharf::cli
