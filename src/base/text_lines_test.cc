// SPDX-License-Identifier: Apache-2.0
#include "base/text_lines.h"

#include <gtest/gtest.h>

namespace wharf {
namespace {

TEST(TextLines, TokensKeepTheirColumns) {
  TextLines lines("ab  c \r\n\n \t\nlast", "f.cm");
  ASSERT_TRUE(lines.next());
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].text, "ab");
  EXPECT_EQ(lines[1].text, "");
  EXPECT_EQ(lines[2].text, "c");
  EXPECT_EQ(lines[2].column, 5U);
  EXPECT_FALSE(lines.blank());
  ASSERT_TRUE(lines.next());
  EXPECT_TRUE(lines.blank());
  EXPECT_EQ(lines.size(), 0U);
  ASSERT_TRUE(lines.next());
  EXPECT_TRUE(lines.blank());
  ASSERT_TRUE(lines.next());
  EXPECT_EQ(lines[0].text, "last");
  EXPECT_EQ(lines.number(), 4U);
  EXPECT_FALSE(lines.next());
}

TEST(TextLines, RefusalsNamePlaceFindAndRule) {
  TextLines lines("Nodez 12x", "a.cm");
  ASSERT_TRUE(lines.next());
  EXPECT_EQ(lines.refuse_token(lines[0], "a keyword", {"Nodes", "Triggers"}).message,
            "a.cm:1:1: found \"Nodez\", expected a keyword; did you mean Nodes?");
  EXPECT_EQ(lines.integer(lines[1], "a count", 1, 9).error().message,
            "a.cm:1:7: found \"12x\", expected a count, an integer from 1 to 9");
  EXPECT_EQ(lines.refuse_end("too short").message, "a.cm:1:10: too short");
}

TEST(TextLines, UnprintableTokensAreShown) {
  EXPECT_EQ(quoted_token("a\tb"), "\"a\\x09b\"");
  EXPECT_EQ(quoted_token(""), "nothing (two separators in a row)");
  EXPECT_EQ(quoted_token(std::string(50, 'x')).size(), 45U);
}

}  // namespace
}  // namespace wharf
