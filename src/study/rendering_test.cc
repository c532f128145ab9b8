// SPDX-License-Identifier: Apache-2.0
// How findings are shown: text and the HTML page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

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

TEST(StudyReport, IsOnePageThatLoadsNothing) {
  ReportedStudy good{&kStudy, result_with(431), {"<svg id=\"drawn\"></svg>"}};
  ReportedStudy bad{&kStudy, result_with(600), {""}};
  const std::vector<ReportedStudy> studies{good, bad};
  const std::string page = report_page(studies, "wharf <test>");
  EXPECT_THAT(page, HasSubstr("<svg id=\"plot1-drawn\">"));
  EXPECT_THAT(page, HasSubstr("is not drawn"));
  EXPECT_THAT(page, HasSubstr("roce &lt;dma&gt;"));
  EXPECT_THAT(page, HasSubstr("wharf &lt;test&gt;"));
  EXPECT_THAT(page, HasSubstr("<span class=\"pass\">holds</span>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"fail\">fails</span>"));
  EXPECT_THAT(page, HasSubstr("wharf study run paper/table1"));
  for (const char* loader : {"src=", "<link", "@import", "url(http"})
    EXPECT_THAT(page, Not(HasSubstr(loader)));
}

}  // namespace
}  // namespace wharf::study
