// SPDX-License-Identifier: Apache-2.0
// Which line leaves a full set.
#include "sim/coherence/directory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace wharf::sim {
namespace {

const auto kAny = [](LineNumber) { return true; };

TEST(Directory, ALineIsListedAsTheMostRecentlyUsed) {
  Directory directory(2, 3);
  for (const LineNumber line : {LineNumber{2}, LineNumber{4}, LineNumber{6}}) {
    std::vector<std::byte> before;
    directory.append_state(before);
    const std::uint32_t place = directory.insert(line);
    ASSERT_NE(place, Directory::kNoPlace);
    EXPECT_EQ(directory.find(line), place);
    std::vector<std::byte> after;
    directory.append_state(after);
    EXPECT_NE(before, after) << line;
  }
  EXPECT_EQ(directory.insert(8), Directory::kNoPlace) << "the set is full";
  EXPECT_EQ(directory.line_at(directory.victim(8, kAny)), 2U);
  directory.touch(directory.find(2));
  EXPECT_EQ(directory.line_at(directory.victim(8, kAny)), 4U);
  directory.erase(directory.find(4));
  ASSERT_NE(directory.insert(8), Directory::kNoPlace);
  EXPECT_EQ(directory.line_at(directory.victim(10, kAny)), 6U) << "8 came last";
  EXPECT_EQ(directory.line_at(directory.victim(10, [](LineNumber line) { return line == 8; })), 8U);
}

}  // namespace
}  // namespace wharf::sim
