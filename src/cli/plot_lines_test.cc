// SPDX-License-Identifier: Apache-2.0
// Which of many lines a picture shows, and under which names.
#include "cli/plot_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace wharf::cli {
namespace {

using Point = report::Series::Point;

report::Series line(std::string name, const std::vector<double>& heights) {
  report::Series series{std::move(name), {}};
  for (std::size_t i = 0; i < heights.size(); ++i)
    series.points.push_back({static_cast<double>(i), heights[i], ""});
  return series;
}

std::vector<std::string> names(const report::Plot& plot) {
  std::vector<std::string> all;
  for (const report::Series& series : plot.series) all.push_back(series.name);
  return all;
}

TEST(PlotLines, ThoseThatShowNothingAreLeftOut) {
  report::Plot plot;
  plot.title = "Queues";
  append_lines(plot, {{1, line("a", {0, 0})}, {2, line("b", {5})}, {3, line("c", {1, 2})}}, "ports");
  EXPECT_EQ(names(plot), std::vector<std::string>{"c"});
  EXPECT_EQ(plot.title, "Queues: c (1 of 3 ports stay at 0) (1 of 3 ports last for one look)");
}

TEST(PlotLines, ThoseThatCoverOneAnotherAreOneWithTheNameOfTheLongest) {
  report::Plot plot;
  append_lines(plot,
               {{1, line("a", {7, 7})},
                {2, line("b", {7, 7, 7})},
                {3, line("c", {7, 8, 9})},
                {4, line("d", {7, 7, 7})},
                {5, line("e", {7, 9})}},
               "flows");
  EXPECT_EQ(names(plot), (std::vector<std::string>{"b and 2 more", "c", "e"}));
  EXPECT_EQ(plot.series[0].points.size(), 3U);
}

TEST(PlotLines, OfTooManyThoseRemainThatReachHighest) {
  report::Plot plot;
  plot.title = "Queues";
  PlotLines lines;
  for (std::uint32_t i = 0; i < 20; ++i) lines[i] = line(std::to_string(i), {0, 1.0 + (i * 7) % 20});
  append_lines(plot, lines, "ports");
  EXPECT_EQ(plot.title, "Queues: the 8 of 20 ports that reach highest");
  ASSERT_EQ(plot.series.size(), kLinesDrawn);
  EXPECT_EQ(plot.series[0].points[1].y, 20);
  EXPECT_EQ(plot.series[7].points[1].y, 13);
}

TEST(PlotLines, AStaircaseKeepsItsValueUntilTheNextPoint) {
  const std::vector<Point> corners = staircase({{2, 0.5, ""}, {3, 1, ""}});
  std::vector<std::pair<double, double>> found;
  for (const Point& corner : corners) found.emplace_back(corner.x, corner.y);
  EXPECT_EQ(found, (std::vector<std::pair<double, double>>{{2, 0}, {2, 0.5}, {3, 0.5}, {3, 1}}));
}

}  // namespace
}  // namespace wharf::cli
