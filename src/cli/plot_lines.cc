// SPDX-License-Identifier: Apache-2.0
#include "cli/plot_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace wharf::cli {
namespace {

using Point = report::Series::Point;

struct Line {
  report::Series* series = nullptr;
  std::uint32_t key = 0;
  std::size_t more = 0;  ///< Other lines that lie on it.
};

double highest(const report::Series& line) {
  double most = 0;
  for (const Point& point : line.points) most = std::max(most, point.y);
  return most;
}

bool same(const Point& a, const Point& b) { return a.x == b.x && a.y == b.y; }

bool begins_with(const std::vector<Point>& line, const std::vector<Point>& start) {
  return start.size() <= line.size() && std::equal(start.begin(), start.end(), line.begin(), same);
}

/// Leaves one line of each group in which all lie on the longest.
void merge(std::vector<Line>& lines) {
  // In the order of their points a line stands right before those that go on from it.
  const auto before = [](const Point& a, const Point& b) { return std::tie(a.x, a.y) < std::tie(b.x, b.y); };
  std::stable_sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
    return std::lexicographical_compare(a.series->points.begin(), a.series->points.end(),
                                        b.series->points.begin(), b.series->points.end(), before);
  });
  std::vector<Line> kept;
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (!kept.empty() && begins_with(kept.back().series->points, lines[i].series->points)) {
      // Of lines that are the same, the first of the ports or flows gives the name.
      if (kept.back().series->points.size() == lines[i].series->points.size()) {
        kept.back().series = lines[i].series;
        kept.back().key = lines[i].key;
      }
      ++kept.back().more;
    } else {
      kept.push_back(lines[i]);
    }
  }
  lines = std::move(kept);
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.key < b.key; });
}

/// What the legend calls it.
std::string named(const Line& line) {
  return line.more == 0 ? line.series->name : fmt::format("{} and {} more", line.series->name, line.more);
}

}  // namespace

void append_lines(report::Plot& plot, PlotLines lines, std::string_view what) {
  std::size_t flat = 0;    // They would only cover the axis.
  std::size_t single = 0;  // One point is no line.
  std::vector<Line> drawn;
  for (auto& [key, line] : lines) {
    if (line.points.empty()) continue;
    if (line.points.size() == 1) {
      ++single;
    } else if (highest(line) == 0) {
      ++flat;
    } else {
      drawn.push_back({&line, key});
    }
  }
  merge(drawn);
  if (drawn.size() > kLinesDrawn) {
    plot.title += fmt::format(": the {} of {} {} that reach highest", kLinesDrawn, lines.size(), what);
    std::stable_sort(drawn.begin(), drawn.end(),
                     [](const Line& a, const Line& b) { return highest(*a.series) > highest(*b.series); });
    drawn.resize(kLinesDrawn);
  } else {
    if (drawn.size() == 1) plot.title += ": " + named(drawn.front());
    const std::size_t asked = lines.size();
    if (flat != 0) plot.title += fmt::format(" ({} of {} {} stay at 0)", flat, asked, what);
    if (single != 0) plot.title += fmt::format(" ({} of {} {} last for one look)", single, asked, what);
  }
  for (const Line& line : drawn) {
    line.series->name = named(line);
    plot.series.push_back(std::move(*line.series));
  }
}

std::vector<Point> staircase(const std::vector<Point>& points) {
  std::vector<Point> corners;
  double value = 0;
  for (const Point& point : points) {
    corners.push_back({point.x, value, ""});
    corners.push_back({point.x, point.y, ""});
    value = point.y;
  }
  return corners;
}

}  // namespace wharf::cli
