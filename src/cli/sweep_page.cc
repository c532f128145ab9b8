// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/units.h"

namespace wharf::cli {
namespace {

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

/// How the values of a key are numbers, and in which unit.
struct Scale {
  std::string_view unit;
  std::function<std::optional<double>(std::string_view)> read;
};

/// The first way in which all `values` are numbers.
std::optional<Scale> scale_of(const std::vector<std::string_view>& values) {
  const std::vector<Scale> scales{
      {"", number_of},
      {"ns",
       [](std::string_view text) -> std::optional<double> {
         const auto time = parse_time(text);
         return time ? std::optional(as_nanoseconds(*time)) : std::nullopt;
       }},
      {"bytes",
       [](std::string_view text) -> std::optional<double> {
         const auto size = parse_bytes(text);
         return size ? std::optional(static_cast<double>(size->count)) : std::nullopt;
       }},
      {"Gb/s", [](std::string_view text) -> std::optional<double> {
         const auto rate = parse_rate(text);
         return rate ? std::optional(static_cast<double>(rate->value) / 1e9) : std::nullopt;
       }}};
  for (const Scale& scale : scales) {
    if (std::all_of(values.begin(), values.end(),
                    [&scale](std::string_view value) { return scale.read(value).has_value(); }))
      return scale;
  }
  return {};
}

/// The line that a run belongs to: the values of all keys but the first.
std::string line_of(const std::vector<std::string>& keys, const SweptRow& row) {
  std::vector<std::string> parts;
  for (std::size_t key = 1; key < keys.size(); ++key)
    parts.push_back(fmt::format("{} {}", keys[key], row.values[key]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

report::Series& line_named(report::Plot& plot, std::string name) {
  const auto found = std::find_if(plot.series.begin(), plot.series.end(),
                                  [&name](const report::Series& each) { return each.name == name; });
  if (found != plot.series.end()) return *found;
  return plot.series.emplace_back(report::Series{std::move(name), {}});
}

}  // namespace

std::vector<report::Plot> sweep_plots(const std::vector<std::string>& keys,
                                      const std::vector<std::string>& titles,
                                      const std::vector<SweptRow>& rows) {
  std::vector<report::Plot> plots;
  if (rows.size() < 2) return plots;
  std::vector<std::string_view> values;
  for (const SweptRow& row : rows) values.emplace_back(row.values.front());
  const auto scale = scale_of(values);
  for (std::size_t at = 0; at < titles.size(); ++at) {
    const bool differs = std::any_of(rows.begin(), rows.end(), [&](const SweptRow& row) {
      return row.cells[at] != rows.front().cells[at];
    });
    if (!differs) continue;
    report::Plot plot;
    plot.name = fmt::format("sweep_{}", at);
    plot.title = fmt::format("{} by {}", titles[at], keys.front());
    plot.x_title =
        scale && !scale->unit.empty() ? fmt::format("{}, {}", keys.front(), scale->unit) : keys.front();
    plot.y_title = titles[at];
    plot.kind = scale ? report::PlotKind::kLines : report::PlotKind::kBars;
    for (const SweptRow& row : rows) {
      const auto y = number_of(row.cells[at]);
      if (!y) continue;
      const double x = scale ? *scale->read(row.values.front()) : 0;
      line_named(plot, line_of(keys, row)).points.push_back({x, *y, row.values.front()});
    }
    for (report::Series& line : plot.series) {
      if (scale)
        std::stable_sort(line.points.begin(), line.points.end(),
                         [](const auto& a, const auto& b) { return a.x < b.x; });
    }
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace wharf::cli
