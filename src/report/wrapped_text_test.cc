// SPDX-License-Identifier: Apache-2.0
#include "report/wrapped_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::report {
namespace {

using ::testing::ElementsAre;

TEST(WrappedText, LinesAreFullAndNoLonger) {
  EXPECT_THAT(wrap("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("one two three", 6), ElementsAre("one", "two", "three"));
  EXPECT_THAT(wrap("  one  two ", 80), ElementsAre("one two"));
}

TEST(WrappedText, AWordThatIsTooLongStandsAlone) {
  EXPECT_THAT(wrap("a longer-word b", 4), ElementsAre("a", "longer-word", "b"));
}

TEST(WrappedText, NothingIsOneEmptyLine) { EXPECT_THAT(wrap("", 10), ElementsAre("")); }

TEST(WrappedText, CharactersCountNotBytes) {
  EXPECT_EQ(columns_of("µs ░"), 4U);
  EXPECT_THAT(wrap("░░ ░░", 5), ElementsAre("░░ ░░"));
}

TEST(WrappedText, SentencesFitATerminal) {
  const std::string word(30, 'a');
  EXPECT_EQ(in_lines(word), word + "\n");
  EXPECT_EQ(in_lines(word + " " + word + " " + word + " b"), word + " " + word + "\n  " + word + " b\n");
}

}  // namespace
}  // namespace wharf::report
