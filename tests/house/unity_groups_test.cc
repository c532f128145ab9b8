// SPDX-License-Identifier: Apache-2.0
// Which sources cmake/unity_groups.awk lets share a compilation: a wrong answer breaks the build.
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace wharf::house {
namespace {

/// The groups of these fixtures, at most `size` in each: lines of "group file", as the script prints them.
std::string groups(int size, const std::string& names) {
  const std::string command =
      "cd tests/house/fixtures/unity && awk -v root=. -v size=" + std::to_string(size) +
      " -f ../../../../cmake/unity_groups.awk " + names;
  std::string text;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "awk cannot be started";
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  return ::pclose(pipe) == 0 ? text : "awk failed";
}

TEST(UnityGroups, NamesOfTwoUnnamedNamespacesStayApart) {
  EXPECT_EQ(groups(8, "first.cc same_name.cc"), "0 first.cc\n1 same_name.cc\n");
}

TEST(UnityGroups, EnumeratorsAreNames) {
  EXPECT_EQ(groups(8, "first.cc enumerators.cc"), "0 first.cc\n1 enumerators.cc\n");
  EXPECT_EQ(groups(8, "first.cc enumerators_in_a_line.cc"), "0 first.cc\n1 enumerators_in_a_line.cc\n");
}

TEST(UnityGroups, ANameThatOthersSeeStaysApartFromAnUnnamedOne) {
  EXPECT_EQ(groups(8, "first.cc hides_a_function.cc"), "0 first.cc\n1 hides_a_function.cc\n");
}

TEST(UnityGroups, OverloadsAndMembersGoTogether) {
  EXPECT_EQ(groups(8, "first.cc overload.cc"), "0 first.cc\n0 overload.cc\n");
}

TEST(UnityGroups, AGroupHasItsLimit) {
  EXPECT_EQ(groups(1, "first.cc overload.cc"), "0 first.cc\n1 overload.cc\n");
}

TEST(UnityGroups, ASourceThatDefinesMacrosIsInNone) {
  EXPECT_EQ(groups(8, "macro.cc first.cc"), "0 first.cc\n");
}

}  // namespace
}  // namespace wharf::house
