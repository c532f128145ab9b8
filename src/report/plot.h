// SPDX-License-Identifier: Apache-2.0
// Plots as files: the numbers as CSV, and the drawing as a gnuplot script.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wharf::report {

/// One line or group of bars.
struct Series {
  struct Point {
    double x = 0;
    double y = 0;
    std::string label;  ///< Bars: the name of the place on the axis.
  };
  std::string name;
  std::vector<Point> points;
  /// What it is about, if others of the plot may be about the same: those have one colour.
  std::string subject{};
  /// Taken from a document: drawn hollow and dashed, so that it is told from what was simulated.
  bool published = false;
};

/// How values lie along an axis.
enum class AxisScale : unsigned char {
  kFitting,      ///< Lines: as kLogarithmic where all are positive and spread widely. Bars: as kLinear.
  kLinear,       ///< From 0, or from what is below it.
  kLogarithmic,  ///< What is not positive is not drawn.
};

enum class PlotKind : unsigned char {
  kLines,        ///< Points joined by lines.
  kBars,         ///< Bars side by side, one group per label.
  kStackedBars,  ///< One bar per label, the series on top of each other.
};

struct Plot {
  std::string name;  ///< File name stem, unique within what it belongs to.
  std::string title;
  std::string x_title;
  std::string y_title;
  PlotKind kind = PlotKind::kLines;
  AxisScale x_scale = AxisScale::kFitting;
  AxisScale y_scale = AxisScale::kFitting;
  std::vector<Series> series;
};

/// Lines: columns series,x,y. Bars: a column with the labels, then one per series.
std::string plot_csv(const Plot& plot);

/// A script that reads STEM.csv beside it and writes STEM.svg, or STEM.pdf where `pdf` is defined.
std::string gnuplot_script(const Plot& plot, std::string_view stem);

/// Writes STEM.csv and STEM.gnuplot into `directory`, which exists.
Result<void> write_plot(const Plot& plot, const std::filesystem::path& directory, std::string_view stem);

/// A text file, written whole or refused with kEnvironment.
Result<void> write_text_file(const std::filesystem::path& path, std::string_view text);

}  // namespace wharf::report
