// SPDX-License-Identifier: Apache-2.0
// CSV, scripts and drawings of plots.
#include "report/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace wharf::report {
namespace {

using testing::HasSubstr;

Plot bars() {
  Plot plot;
  plot.name = "latency";
  plot.title = "It's latency";
  plot.x_title = "stack";
  plot.y_title = "ns";
  plot.kind = PlotKind::kBars;
  plot.series = {{"published", {{0, 500, "ub, one"}}}, {"mechanism", {{0, 430.5, "ub, one"}, {1, 9, "two"}}}};
  return plot;
}

TEST(Plot, BarsAreOneRowPerLabelWithGaps) {
  EXPECT_EQ(plot_csv(bars()), "stack,published,mechanism\n\"ub, one\",500,430.5\ntwo,,9\n");
}

TEST(Plot, LinesAreOneRowPerPoint) {
  Plot plot;
  plot.series = {{"a", {{1, 2.5, ""}, {2, 3, ""}}}, {"b", {{1, 4, ""}}}};
  EXPECT_EQ(plot_csv(plot), "series,x,y\na,1,2.5\na,2,3\nb,1,4\n");
}

TEST(Plot, ScriptsDoubleQuotesAndNameTheirFiles) {
  const std::string script = gnuplot_script(bars(), "stem");
  EXPECT_THAT(script, HasSubstr("set title 'It''s latency'"));
  EXPECT_THAT(script, HasSubstr("set output 'stem.svg'"));
  EXPECT_THAT(script, HasSubstr("'stem.csv' using 2:xtic(1)"));
}

TEST(Plot, LongLinesHaveNoPoints) {
  Plot plot;
  plot.series = {{"short", {{1, 2, ""}}}, {"long", {}}};
  for (int i = 0; i < 51; ++i) plot.series[1].points.push_back({static_cast<double>(i), 1, ""});
  const std::string script = gnuplot_script(plot, "stem");
  EXPECT_THAT(script, HasSubstr("every ::0::0 using 2:3 with linespoints lt 1"));
  EXPECT_THAT(script, HasSubstr("every ::1::51 using 2:3 with lines lw 1 lt 2"));
  EXPECT_THAT(script, HasSubstr("set autoscale xfix"));
}

TEST(Plot, GnuplotDrawsLinesBarsAndStacks) {
  const auto directory = std::filesystem::path(testing::TempDir()) / "wharf plots";
  std::filesystem::create_directories(directory);
  Plot plot = bars();
  for (const PlotKind kind : {PlotKind::kBars, PlotKind::kStackedBars, PlotKind::kLines}) {
    plot.kind = kind;
    plot.series = {{"a", {{1, 2.5, "one"}, {10, 3, "two"}}}, {"b", {{1, 4, "one"}}}};
    ASSERT_TRUE(write_plot(plot, directory, "p").ok());
    const auto svg = draw_svg(directory, "p");
    if (!svg) GTEST_SKIP() << "gnuplot is missing";
    EXPECT_THAT(*svg, testing::StartsWith("<svg"));
    EXPECT_THAT(*svg, HasSubstr("latency"));
  }
  std::filesystem::remove_all(directory);
}

/// The `d` of every path of an SVG in the colour of line type `lt` that has more than the two points of a
/// key.
std::size_t curves_of(const std::string& svg, const std::string& colour) {
  std::size_t curves = 0;
  const std::string begin = "<path stroke='" + colour + "'";
  for (std::size_t at = svg.find(begin); at != std::string::npos; at = svg.find(begin, at + 1)) {
    // The key draws one stroke of its own in the same path: "M.. L.. M.. L.. L..".
    const std::string path = svg.substr(at, svg.find("/>", at) - at);
    curves += static_cast<std::size_t>(std::count(path.begin(), path.end(), 'M')) - 1;
  }
  return curves;
}

TEST(Plot, SeriesWithCommasAndQuotesInTheirNamesAreOneLineEach) {
  const auto directory = std::filesystem::path(testing::TempDir()) / "wharf plot lines";
  std::filesystem::create_directories(directory);
  Plot plot;
  plot.name = "state";
  plot.series = {{"UB", {{1, 1, ""}, {2, 2, ""}, {3, 3, ""}}},
                 {"UB, full records", {{1, 2, ""}, {2, 4, ""}, {3, 6, ""}}},
                 {"never measured", {}},
                 {"RoCE's, \"shared\"", {{1, 5, ""}, {3, 9, ""}}}};
  ASSERT_TRUE(write_plot(plot, directory, "p").ok());
  const auto svg = draw_svg(directory, "p");
  std::filesystem::remove_all(directory);
  if (!svg) GTEST_SKIP() << "gnuplot is missing";
  EXPECT_EQ(curves_of(*svg, "rgb(  0, 114, 178)"), 1U) << *svg;
  EXPECT_EQ(curves_of(*svg, "rgb(213,  94,   0)"), 1U);
  EXPECT_EQ(curves_of(*svg, "rgb(  0, 158, 115)"), 0U);
  EXPECT_EQ(curves_of(*svg, "rgb(204, 121, 167)"), 1U);
  EXPECT_THAT(*svg, HasSubstr("UB, full records"));
}

TEST(Plot, ADirectoryThatCannotBeWrittenIsTheEnvironment) {
  const auto written = write_plot(bars(), "/nonexistent/place", "p");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().kind, ErrorKind::kEnvironment);
}

}  // namespace
}  // namespace wharf::report
