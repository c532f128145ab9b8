// SPDX-License-Identifier: Apache-2.0
// Lines of one picture that a reader can tell apart: of the many that were measured, those worth drawing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "report/plot.h"

namespace wharf::cli {

/// More lines than a palette has colours cannot be told apart.
inline constexpr std::size_t kLinesDrawn = 8;

/// Lines by port or flow.
using PlotLines = std::map<std::uint32_t, report::Series>;

/// Appends to `plot` the lines that show something: neither all zeros nor a single point. A line that lies on
/// another as far as it goes is counted in that one's name ("flow 7 and 2 more"); of more than kLinesDrawn
/// those that reach highest remain. The title says what is left out, in terms of `what` ("flows"), and which
/// line it is when there is but one.
void append_lines(report::Plot& plot, PlotLines lines, std::string_view what);

/// A function that keeps its value between two points, as the line that shows it: it rises from 0 at the
/// first point and has a corner before and at each other. `points` in ascending order of x.
std::vector<report::Series::Point> staircase(const std::vector<report::Series::Point>& points);

}  // namespace wharf::cli
