// SPDX-License-Identifier: Apache-2.0
// How findings are shown: text, CSV and scripts of plots, and the HTML page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "study/plot.h"
#include "study/render_text.h"
#include "study/study_report.h"

namespace wharf::study {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Study kStudy{"paper/table1", "A title", "A document, Table 1", nullptr};

StudyResult result_with(double value) {
  StudyResult result;
  result.columns = {
      {"stack", "stack", 0}, {"paper_ns", "published ns", 0}, {"mechanism_ns", "mechanism ns", 1}};
  result.rows = {Json{{"stack", "ub_ldst"}, {"paper_ns", 500}, {"mechanism_ns", value}},
                 Json{{"stack", "roce <dma>"}, {"paper_ns", nullptr}}};
  result.checks = {between("load", value, 380, 540)};
  result.sentences = {"The published number is a sum."};
  result.rules = {{"cache.miss_detection", "70ns", "none", "flat time"}};
  Plot plot;
  plot.name = "latency";
  plot.title = "It's latency";
  plot.x_title = "stack";
  plot.y_title = "ns";
  plot.kind = PlotKind::kBars;
  plot.series = {{"published", {{0, 500, "ub, one"}}}, {"mechanism", {{0, 430.5, "ub, one"}, {1, 9, "two"}}}};
  result.plots = {plot};
  return result;
}

TEST(RenderText, ShowsNumbersWithTheirDigitsAndGapsAsDashes) {
  const std::string text = render_text(kStudy, result_with(431.25));
  EXPECT_THAT(text, HasSubstr("paper/table1: A title\nA document, Table 1\n"));
  EXPECT_THAT(text, HasSubstr("431.2"));
  EXPECT_THAT(text, HasSubstr("roce <dma>             -             -"));
  EXPECT_THAT(text, HasSubstr("cache.miss_detection"));
  EXPECT_THAT(text, HasSubstr("pass mechanism: 1 of 1 checks hold"));
}

TEST(RenderText, EmptyColumnsAreLeftOutAndLongTextsAreBroken) {
  StudyResult result = result_with(431);
  result.columns.push_back({"note", "note", 0});
  EXPECT_THAT(render_text(kStudy, result), Not(HasSubstr("note")));
  for (Json& row : result.rows) row["note"] = std::string(40, 'x') + " " + std::string(40, 'y');
  const std::string text = render_text(kStudy, result);
  EXPECT_THAT(text, HasSubstr("note"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(RenderText, BriefIsTheTableAndWhatFails) {
  const std::string text = render_text(kStudy, result_with(431), Detail::kBrief);
  EXPECT_THAT(text, HasSubstr("The published number is a sum."));
  EXPECT_THAT(text, Not(HasSubstr("cache.miss_detection")));
  EXPECT_THAT(text, Not(HasSubstr("checks hold")));
  EXPECT_THAT(render_text(kStudy, result_with(600), Detail::kBrief), HasSubstr("found 600"));
}

TEST(RenderText, ABrokenPromiseIsSpelledOut) {
  const std::string text = render_text(kStudy, result_with(600));
  EXPECT_THAT(text, HasSubstr("FAIL mechanism: 0 of 1 checks hold"));
  EXPECT_THAT(text, HasSubstr("mechanism: load: found 600, expected 380 to 540"));
}

TEST(Plot, BarsAreOneRowPerLabelWithGaps) {
  const StudyResult result = result_with(1);
  EXPECT_EQ(plot_csv(result.plots[0]), "stack,published,mechanism\n\"ub, one\",500,430.5\ntwo,,9\n");
}

TEST(Plot, LinesAreOneRowPerPoint) {
  Plot plot;
  plot.series = {{"a", {{1, 2.5, ""}, {2, 3, ""}}}, {"b", {{1, 4, ""}}}};
  EXPECT_EQ(plot_csv(plot), "series,x,y\na,1,2.5\na,2,3\nb,1,4\n");
}

TEST(Plot, ScriptsDoubleQuotesAndNameTheirFiles) {
  const std::string script = gnuplot_script(result_with(1).plots[0], "stem");
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
  const auto directory = std::filesystem::path(testing::TempDir()) / "wharf study plots";
  std::filesystem::create_directories(directory);
  Plot plot = result_with(1).plots[0];
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
  const auto directory = std::filesystem::path(testing::TempDir()) / "wharf study lines";
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
  const auto written = write_plot(result_with(1).plots[0], "/nonexistent/place", "p");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().kind, ErrorKind::kEnvironment);
}

TEST(StudyReport, IsOnePageThatLoadsNothing) {
  ReportedStudy good{&kStudy, result_with(431), {"<svg id=\"drawn\"></svg>"}};
  ReportedStudy bad{&kStudy, result_with(600), {""}};
  const std::vector<ReportedStudy> studies{good, bad};
  const std::string page = report_page(studies, "wharf <test>");
  EXPECT_THAT(page, HasSubstr("<svg id=\"drawn\">"));
  EXPECT_THAT(page, HasSubstr("is not drawn"));
  EXPECT_THAT(page, HasSubstr("roce &lt;dma&gt;"));
  EXPECT_THAT(page, HasSubstr("wharf &lt;test&gt;"));
  EXPECT_THAT(page, HasSubstr("<span class=\"pass\">holds</span>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"fail\">fails</span>"));
  for (const char* loader : {"src=", "<link", "<script", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(loader)));
}

}  // namespace
}  // namespace wharf::study
