// SPDX-License-Identifier: Apache-2.0
// How a plot's axes and series look, the same in a picture and on a page.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/plot.h"

namespace wharf::report {

/// Okabe and Ito's palette, black and grey last: told apart by colour-blind readers too.
inline constexpr std::array<std::string_view, 8> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                          "#56b4e9", "#e69f00", "#000000", "#999999"};

/// Values that differ by more than this factor are drawn on a logarithmic axis, if all are positive.
inline constexpr double kWideRange = 20;

/// One axis of a plot of lines.
struct Axis {
  bool logarithmic = false;
  bool any = false;     ///< Whether there are values, as the following need.
  double least = 0;     ///< Of the values; positive ones alone on a logarithmic axis.
  double most = 0;      ///< The same.
  bool powers = false;  ///< Logarithmic, and most values are powers of two.
};

Axis x_axis(const Plot& plot);
/// Of bars, too, which stand on 0 unless the plot asks for something else.
Axis y_axis(const Plot& plot);

/// Where a logarithmic axis has its marks: inside its values, as many as can be read; fewer than two where
/// they do not spread.
std::vector<double> logarithmic_marks(const Axis& axis);

/// The place in kColours of each series: series about one subject share theirs.
std::vector<std::size_t> colours_of(const Plot& plot);

}  // namespace wharf::report
