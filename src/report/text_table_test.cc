// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace wharf::report {
namespace {

TEST(TextTable, AlignsColumnsAndTrimsLineEnds) {
  TextTable table({{"stack"}, {"ns", Align::kRight}});
  table.add_row({"ub_ldst", "500"});
  table.add_rule();
  table.add_row({"roce_dma", "2186"});
  table.add_row({"µs"});
  EXPECT_EQ(table.text(),
            "stack       ns\n"
            "--------------\n"
            "ub_ldst    500\n"
            "--------------\n"
            "roce_dma  2186\n"
            "µs\n");
}

TEST(TextTable, ATableThatIsTooWideBreaksItsTitlesFirst) {
  TextTable table({{"stack"}, {"published ns", Align::kRight}, {"note"}});
  table.add_row({"ub_ldst", "500", "one two three four"});
  EXPECT_EQ(table.text(40),
            "         published\n"
            "stack           ns  note\n"
            "--------------------------------------\n"
            "ub_ldst        500  one two three four\n");
}

TEST(TextTable, ThenTheCellsOfTheWidestColumnOfText) {
  TextTable table({{"stack"}, {"published ns", Align::kRight}, {"note"}});
  table.add_row({"ub_ldst", "500", "one two three four"});
  table.add_row({"roce_bf", "1686", ""});
  EXPECT_EQ(table.text(34),
            "        published\n"
            "stack          ns note\n"
            "----------------------------------\n"
            "ub_ldst       500 one two three\n"
            "                  four\n"
            "roce_bf      1686\n");
}

TEST(TextTable, NumbersAreNeverBroken) {
  TextTable table({{"a", Align::kRight}, {"b", Align::kRight}});
  table.add_row({"123456789", "123456789"});
  EXPECT_EQ(table.text(10),
            "        a         b\n"
            "-------------------\n"
            "123456789 123456789\n");
}

TEST(TextTable, MarksTitlesAndVerdictsWithoutMovingAnything) {
  TextTable table({{"what"}, {"holds", Align::kLeft, true}, {"yes", Align::kRight}});
  table.add_row({"no", "yes", "1"});
  table.add_row({"b", "NO", "yes"});
  table.add_row({"c", "not judged"});
  const auto paint = [](Tone tone, std::string_view text) {
    return std::string(tone == Tone::kHeading ? "#"
                       : tone == Tone::kGood  ? "+"
                                              : "-") +
           std::string(text) + "|";
  };
  EXPECT_EQ(table.text(kTerminalColumns, paint),
            "#what  holds       yes|\n"
            "---------------------\n"
            "no    +yes|           1\n"
            "b     -NO|          yes\n"
            "c     not judged\n");
  EXPECT_EQ(table.text(),
            "what  holds       yes\n"
            "---------------------\n"
            "no    yes           1\n"
            "b     NO          yes\n"
            "c     not judged\n");
}

TEST(Paint, KnowsVerdictsByTheirFirstWord) {
  for (const char* good : {"yes", "ok: seen", "pass", "holds"}) EXPECT_EQ(tone_of(good), Tone::kGood) << good;
  for (const char* bad : {"no", "NO", "FAILS: forbidden, but seen", "FAIL"})
    EXPECT_EQ(tone_of(bad), Tone::kBad) << bad;
  for (const char* other : {"", "not judged", "nothing", "0", "okay"})
    EXPECT_EQ(tone_of(other), std::nullopt) << other;
}

}  // namespace
}  // namespace wharf::report
