// SPDX-License-Identifier: Apache-2.0
// Plots as files: the numbers as CSV, the drawing as a gnuplot script, and the picture as SVG where gnuplot
// is there.
#pragma once

#include <filesystem>
#include <optional>
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
  bool x_logarithmic = false;
  bool y_logarithmic = false;
  std::vector<Series> series;
};

/// Lines: columns series,x,y. Bars: a column with the labels, then one per series.
std::string plot_csv(const Plot& plot);

/// A script that reads STEM.csv beside it and writes STEM.svg.
std::string gnuplot_script(const Plot& plot, std::string_view stem);

/// Writes STEM.csv and STEM.gnuplot into `directory`, which exists.
Result<void> write_plot(const Plot& plot, const std::filesystem::path& directory, std::string_view stem);

/// Runs gnuplot on STEM.gnuplot in `directory` and returns the SVG element of STEM.svg; nothing when gnuplot
/// is missing or fails.
std::optional<std::string> draw_svg(const std::filesystem::path& directory, std::string_view stem);

/// Writes a plot into `directory` and draws it: its SVG element, or nothing when gnuplot is missing or fails.
std::string drawing_of(const Plot& plot, const std::filesystem::path& directory);

/// A text file, written whole or refused with kEnvironment.
Result<void> write_text_file(const std::filesystem::path& path, std::string_view text);

}  // namespace wharf::report
