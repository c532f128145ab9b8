// SPDX-License-Identifier: Apache-2.0
// CSV, scripts and drawings of plots.
#include "report/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "report/plot_drawing.h"
#include "report/plot_look.h"

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

TEST(Plot, PublishedAndSimulatedShareAColourAndAreToldApart) {
  Plot plot;
  plot.series = {{"published a", {{1, 2, ""}}, "a", true},
                 {"mechanism a", {{1, 3, ""}}, "a"},
                 {"published b", {{1, 4, ""}}, "b", true},
                 {"mechanism b", {{1, 5, ""}}, "b"},
                 {"alone", {{1, 6, ""}}}};
  EXPECT_THAT(colours_of(plot), testing::ElementsAre(0U, 0U, 1U, 1U, 2U));
  const std::string script = gnuplot_script(plot, "stem");
  EXPECT_THAT(script, HasSubstr("with linespoints lt 1 dt 2 pt 6 title 'published a'"));
  EXPECT_THAT(script, HasSubstr("with linespoints lt 1 title 'mechanism a'"));
  EXPECT_THAT(script, HasSubstr("with linespoints lt 2 dt 2 pt 4 title 'published b'"));
  EXPECT_THAT(script, HasSubstr("with linespoints lt 2 title 'mechanism b'"));
  EXPECT_THAT(script, HasSubstr("with linespoints lt 3 title 'alone'"));
}

TEST(Plot, PublishedBarsAreHollow) {
  Plot plot = bars();
  plot.series[0].subject = plot.series[1].subject = "latency";
  plot.series[0].published = true;
  const std::string script = gnuplot_script(plot, "stem");
  EXPECT_THAT(script, HasSubstr("lt 1 fs empty border lt 1 title 'published'"));
  EXPECT_THAT(script, HasSubstr("lt 1 title 'mechanism'"));
}

/// One line through these points.
Plot line(std::vector<Series::Point> points) {
  Plot plot;
  plot.series = {{"line", std::move(points)}};
  return plot;
}

TEST(Plot, AxesAreLogarithmicWhereValuesSpreadWidely) {
  const Plot wide = line({{1, 5, ""}, {21, 90, ""}});
  EXPECT_TRUE(x_axis(wide).logarithmic);
  EXPECT_FALSE(y_axis(wide).logarithmic) << "a factor of 18";
  EXPECT_FALSE(x_axis(line({{1, 5, ""}, {20, 90, ""}})).logarithmic);
  EXPECT_FALSE(x_axis(line({{0, 5, ""}, {21, 90, ""}})).logarithmic) << "0 has no place there";
  EXPECT_FALSE(x_axis(line({{-1, 5, ""}, {21, 90, ""}})).logarithmic);
  Plot asked = wide;
  asked.x_scale = AxisScale::kLinear;
  asked.y_scale = AxisScale::kLogarithmic;
  EXPECT_FALSE(x_axis(asked).logarithmic);
  EXPECT_TRUE(y_axis(asked).logarithmic);
  Plot standing = bars();  // 9 to 500.
  EXPECT_FALSE(y_axis(standing).logarithmic) << "bars stand on 0";
}

TEST(Plot, LogarithmicAxesFitTheirValues) {
  const std::string by_two =
      gnuplot_script(line({{2, 300, ""}, {16, 400, ""}, {48, 450, ""}, {64, 500, ""}}), "s");
  EXPECT_THAT(by_two,
              HasSubstr("set logscale x 2\nset xrange [1.78571:71.68]\nset xtics (2, 4, 8, 16, 32, 64)\n"));
  EXPECT_THAT(by_two, HasSubstr("set yrange [0:*]"));
  const std::string by_ten = gnuplot_script(line({{3, 1, ""}, {70, 2, ""}}), "s");
  EXPECT_THAT(by_ten, HasSubstr("set logscale x\nset xrange [2.67857:78.4]\nset xtics (5, 10, 20, 50)\n"));
  const std::string far = gnuplot_script(line({{1e-6, 1, ""}, {1, 2, ""}}), "s");
  EXPECT_THAT(far, HasSubstr("set xtics (1e-06, 1e-05, 0.0001, 0.001, 0.01, 0.1, 1)\n"));
}

TEST(Plot, WhatIsBelowZeroIsDrawn) {
  EXPECT_THAT(gnuplot_script(line({{1, -5, ""}, {2, 5, ""}}), "s"), testing::Not(HasSubstr("yrange")));
}

TEST(Plot, PdfsOfEqualPlotsAreEqual) {
  if (!expect_pdf("--pdf")) GTEST_SKIP() << "gnuplot is missing";
  const auto directory = std::filesystem::path(testing::TempDir()) / "wharf's pdf";
  std::filesystem::create_directories(directory);
  ASSERT_TRUE(write_plot(bars(), directory, "p").ok());
  const auto drawn = draw_pdf(directory, "p");
  ASSERT_TRUE(drawn.ok()) << drawn.error().message;
  std::ifstream file(directory / "p.pdf", std::ios::binary);
  const std::string pdf{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_THAT(pdf, testing::StartsWith("%PDF-"));
  EXPECT_THAT(pdf, HasSubstr("/CreationDate (D:19700101000000"));
  EXPECT_FALSE(std::filesystem::exists(directory / "p.svg"));
  EXPECT_FALSE(draw_pdf(directory, "missing").ok());
  std::filesystem::remove_all(directory);
}

/// PATH of an empty folder for as long as this lives: gnuplot is not there.
class NoPrograms {
 public:
  NoPrograms() { setenv("PATH", "/nonexistent", 1); }
  NoPrograms(const NoPrograms&) = delete;
  NoPrograms& operator=(const NoPrograms&) = delete;
  ~NoPrograms() { setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_ = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
};

TEST(Plot, PdfIsRefusedWithoutGnuplot) {
  const NoPrograms none;
  const auto refused = expect_pdf("--pdf");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(refused.error().message, testing::StartsWith("--pdf: gnuplot is missing"));
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
