// SPDX-License-Identifier: Apache-2.0
#include "live/udp/turns.h"

#include <gtest/gtest.h>

#include <string>

namespace wharf::live {
namespace {

/// Letters in a line: capitals ask. Tells whose turn it is.
std::string turn(std::string& line, std::size_t most) {
  return line.substr(take_turns(line, most, [](char each) { return each >= 'A' && each <= 'Z'; }));
}

// As many as were said, no fewer and no more.
TEST(Turns, AsManyAsWereSaid) {
  for (std::size_t most = 0; most <= 7; ++most) {
    std::string line = "ABCDEF";
    EXPECT_EQ(turn(line, most), std::string("ABCDEF").substr(0, most)) << most;
    EXPECT_EQ(line.size(), 6U);
  }
}

TEST(Turns, WhoHadOneIsBehindTheOthers) {
  std::string line = "ABCDE";
  EXPECT_EQ(turn(line, 2), "AB");
  EXPECT_EQ(line, "CDEAB");
  EXPECT_EQ(turn(line, 2), "CD");
  EXPECT_EQ(turn(line, 2), "EA");
  EXPECT_EQ(line, "BCDEA");
}

// Whoever asks all the time waits for those who ask at times, once each.
TEST(Turns, NobodyHasTwoInALook) {
  std::string line = "AbCd";
  EXPECT_EQ(turn(line, 9), "AC");
  EXPECT_EQ(line, "bdAC");
}

TEST(Turns, WhoDoesNotAskCountsForNothing) {
  std::string line = "abAcB";
  EXPECT_EQ(turn(line, 2), "AB");
  EXPECT_EQ(line, "abcAB");
  line = "abc";
  EXPECT_EQ(turn(line, 2), "");
  EXPECT_EQ(line, "abc");
  line = "";
  EXPECT_EQ(turn(line, 2), "");
}

}  // namespace
}  // namespace wharf::live
