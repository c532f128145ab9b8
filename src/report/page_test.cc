// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

namespace wharf::report {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "</script><script>alert('x')</script>\"&";

Plot lines(const std::string& name) {
  Plot plot;
  plot.name = "plot";
  plot.title = name;
  plot.x_title = "us";
  plot.y_title = "Gb/s";
  plot.series = {{name, {{1, 2.5, ""}, {2, std::numeric_limits<double>::quiet_NaN(), ""}}}};
  return plot;
}

/// The numbers that the page holds for its script.
nlohmann::json data_in(const std::string& page) {
  const std::string begin = "<script type=\"application/json\">";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from), nullptr, false);
}

TEST(HtmlText, ReplacesWhatHtmlReserves) {
  EXPECT_EQ(html_text("a < b & \"c\" > 'd'"), "a &lt; b &amp; &quot;c&quot; &gt; &#39;d&#39;");
}

TEST(Page, ShowsWhatItWasGivenInOrder) {
  Page page("A title");
  page.verdict(false, "fails", "found 3, expected 2");
  page.facts({{"seed", "7"}, {"nothing", ""}});
  page.section("Results", "results", "code");
  TextTable table({{"what"}, {"ns", Align::kRight}, {"holds"}});
  table.add_row({"read", "12.5", "yes"});
  table.add_rule();
  table.add_row({"write", "13.5", "NO"});
  page.table(table, 2);
  page.lines("wharf run x\n");
  page.bars({{"wire", "bits on their way", "5 ns", {{2, 7, true}}}}, 10, "ns");
  const std::string html = page.html("wharf 1.0");
  EXPECT_THAT(html, HasSubstr("<h1>A title</h1>"));
  EXPECT_THAT(html, HasSubstr("<span class=\"fail\">fails</span> found 3, expected 2"));
  EXPECT_THAT(html, HasSubstr("<dt>seed</dt><dd>7</dd>"));
  EXPECT_THAT(html, Not(HasSubstr("nothing")));
  EXPECT_THAT(html, HasSubstr("<h2 id=\"results\">Results <code>code</code></h2>"));
  EXPECT_THAT(html, HasSubstr("<td>read</td><td class=\"number\">12.5</td><td class=\"pass\">yes</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"fail\">NO</td>"));
  EXPECT_THAT(html, HasSubstr("<pre>wharf run x\n</pre>"));
  EXPECT_THAT(html, HasSubstr("left:20.000%;width:50.000%"));
  EXPECT_THAT(html, HasSubstr("wire: 2.0 to 7.0 ns"));
  EXPECT_THAT(html, HasSubstr("<footer>wharf 1.0</footer>"));
}

TEST(Page, PartsAreTablesAndSentencesWithoutDistances) {
  Page page("parts");
  TextTable table({{"a"}});
  table.add_row({"cell"});
  page.parts({table, std::string("\n"), std::string("Two lines\n  of one sentence.\n")});
  const std::string html = page.html("");
  EXPECT_THAT(html, HasSubstr("<td>cell</td>"));
  EXPECT_THAT(html, HasSubstr("<p>Two lines\n  of one sentence.\n</p>"));
  EXPECT_THAT(html, Not(HasSubstr("<p>\n</p>")));
}

// Whatever a title, a file or a program is called, it stays text.
TEST(Page, EscapesEverythingThatItWasGiven) {
  Page page(kHostile);
  page.section(kHostile, kHostile, kHostile);
  page.subsection(kHostile);
  page.sentence(kHostile);
  page.remark(kHostile);
  page.verdict(true, kHostile, kHostile);
  page.facts({{kHostile, kHostile}});
  TextTable table({{kHostile}});
  table.add_row({kHostile});
  page.table(table, 0);
  page.table(table);
  page.parts({table, std::string(kHostile)});
  page.lines(kHostile);
  page.begin_details(kHostile);
  page.end_details();
  page.links({{kHostile, kHostile}});
  page.bars({{kHostile, kHostile, kHostile, {{0, 1, true}}}}, 1, kHostile);
  page.plot(lines(kHostile), "");
  const std::string html = page.html(kHostile);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("</script><script>")));
  EXPECT_EQ(data_in(html)["series"][0]["name"], kHostile);
}

TEST(Page, APlotIsItsDrawingAndItsNumbers) {
  Page page("plots");
  page.plot(lines("queue"), "<svg id=\"drawn\"></svg>");
  const std::string html = page.html("");
  EXPECT_THAT(html, HasSubstr("<svg id=\"plot1-drawn\"></svg>"));
  EXPECT_THAT(html, Not(HasSubstr("gnuplot is missing")));
  EXPECT_EQ(data_in(html)["kind"], "lines");
  EXPECT_EQ(data_in(html)["series"][0]["points"], (nlohmann::json{{1.0, 2.5}, {2.0, nullptr}}));
  page.plot(Plot{}, "");  // Of nothing: not there.
  EXPECT_EQ(page.html(""), html);
}

// Of every drawing of gnuplot the ids are the same.
TEST(Page, IdsOfItsDrawingsAreUnique) {
  const std::string drawing =
      "<svg><g id=\"gnuplot_canvas\"><circle id='gpDot'/><clipPath id='c'/><text>see #c</text>"
      "<use xlink:href='#gpDot'/><path clip-path=\"url(#c)\"/></g></svg>";
  Page page("plots");
  page.section("Results", "gnuplot_canvas");
  page.plot(lines("one"), drawing);
  page.plot(lines("two"), drawing);
  const std::string html = page.html("");
  std::set<std::string> ids;
  const std::regex id(" id=[\"']([^\"']*)[\"'][ />]");
  for (std::sregex_iterator at(html.begin(), html.end(), id); at != std::sregex_iterator(); ++at)
    EXPECT_TRUE(ids.insert((*at)[1]).second) << (*at)[1];
  EXPECT_EQ(ids.size(), 7U);
  EXPECT_THAT(html, HasSubstr("<use xlink:href='#plot2-gpDot'/><path clip-path=\"url(#plot2-c)\"/>"));
  EXPECT_EQ(with_ids_of("<text>an id='x' and url(#x)</text>", "own-"), "<text>an id='x' and url(#x)</text>");
}

TEST(Page, SaysWhenGnuplotIsMissing) {
  Page page("plots");
  Plot bars = lines("queue");
  bars.kind = PlotKind::kBars;
  bars.series[0].points = {{0, 1, "one"}, {1, 2, "two"}};
  page.plot(bars, "");
  EXPECT_THAT(page.html(""), HasSubstr("gnuplot is missing"));
  EXPECT_EQ(data_in(page.html(""))["series"][0]["points"][1], (nlohmann::json{"two", 2.0}));
}

TEST(Page, NamesThatAreNoTextBecomeText) {
  Page page("plots");
  page.plot(lines("\xff broken"), "");
  EXPECT_FALSE(data_in(page.html("")).is_discarded());
}

TEST(Page, LoadsNothing) {
  Page page("plots");
  page.plot(lines("queue"), "");
  const std::string html = page.html("");
  for (const char* loader :
       {"src=", "href=\"http", "<link", "@import", "url(http", "fetch(", "XMLHttpRequest", "import("})
    EXPECT_THAT(html, Not(HasSubstr(loader))) << loader;
  EXPECT_THAT(html, HasSubstr("Content-Security-Policy\" content=\"default-src 'none';"));
}

}  // namespace
}  // namespace wharf::report
