// SPDX-License-Identifier: Apache-2.0
#include "report/plot_look.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace wharf::report {
namespace {

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5;
}

/// `values` in ascending order, each once.
Axis axis_of(const std::set<double>& values, AxisScale scale, bool fits) {
  Axis axis;
  if (values.empty()) return axis;
  const bool wide = *values.begin() > 0 && *values.rbegin() > kWideRange * *values.begin();
  axis.logarithmic = scale == AxisScale::kLogarithmic || (scale == AxisScale::kFitting && fits && wide);
  const auto first = axis.logarithmic ? values.upper_bound(0) : values.begin();
  axis.any = first != values.end();
  if (!axis.any) return axis;
  axis.least = *first;
  axis.most = *values.rbegin();
  const auto powers = std::count_if(first, values.end(), is_power_of_two);
  // 48 beside 32 and 64 changes nothing.
  axis.powers = axis.logarithmic && powers > 1 && 2 * powers > std::distance(first, values.end());
  return axis;
}

}  // namespace

Axis x_axis(const Plot& plot) {
  std::set<double> values;
  if (plot.kind == PlotKind::kLines) {
    for (const Series& series : plot.series) {
      for (const Series::Point& point : series.points) {
        if (std::isfinite(point.x)) values.insert(point.x);
      }
    }
  }
  return axis_of(values, plot.x_scale, true);
}

Axis y_axis(const Plot& plot) {
  std::set<double> values;
  for (const Series& series : plot.series) {
    for (const Series::Point& point : series.points) {
      if (std::isfinite(point.y)) values.insert(point.y);
    }
  }
  return axis_of(values, plot.y_scale, plot.kind == PlotKind::kLines);
}

std::vector<double> logarithmic_marks(const Axis& axis) {
  constexpr std::size_t kMost = 11;
  constexpr double kSlack = 1.0001;  // A mark at the very end counts, whatever it was rounded to.
  std::vector<double> marks;
  const auto add = [&](double value) {
    if (value * kSlack >= axis.least && value <= axis.most * kSlack) marks.push_back(value);
  };
  if (axis.powers) {
    const int first = std::ilogb(axis.least), last = std::ilogb(axis.most);
    const int step = 1 + (last - first) / static_cast<int>(kMost);
    for (int power = first; power <= last; power += step) add(std::ldexp(1.0, power));
    return marks;
  }
  const double decades = std::log10(axis.most / axis.least);
  const int first = static_cast<int>(std::floor(std::log10(axis.least)));
  const int last = static_cast<int>(std::ceil(std::log10(axis.most)));
  const int step = 1 + (last - first) / static_cast<int>(kMost);
  for (int power = first; power <= last; power += step) {
    const double decade = std::pow(10.0, power);
    add(decade);
    if (decades < 3.5) {
      add(2 * decade);
      add(5 * decade);
    }
  }
  return marks;
}

std::vector<std::size_t> colours_of(const Plot& plot) {
  std::vector<std::size_t> colours;
  std::size_t next = 0;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const std::string& subject = plot.series[i].subject;
    const auto before = plot.series.begin() + static_cast<std::ptrdiff_t>(i);
    const auto same =
        subject.empty() ? before : std::find_if(plot.series.begin(), before, [&](const Series& each) {
          return each.subject == subject;
        });
    colours.push_back(same == before ? next++ % kColours.size()
                                     : colours[static_cast<std::size_t>(same - plot.series.begin())]);
  }
  return colours;
}

}  // namespace wharf::report
