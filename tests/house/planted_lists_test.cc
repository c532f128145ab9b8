// SPDX-License-Identifier: Apache-2.0
// tests/planted/faults.txt names test programs; each must be one that the build makes, or the run of a slice
// of its folder ends before it begins.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace wharf::house {
namespace {

TEST(PlantedLists, EveryTestProgramIsBuilt) {
  const auto build = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path();
  std::ifstream rules(build / "build.ninja");
  if (!rules) GTEST_SKIP() << "this build is not one of Ninja's";
  std::stringstream known;
  known << rules.rdbuf();
  const std::string text = known.str();
  std::ifstream list("tests/planted/faults.txt");
  int folders = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.rfind("[src/", 0) != 0) continue;
    ++folders;
    std::istringstream words(line.substr(line.find(']') + 1));
    for (std::string program; words >> program;)
      EXPECT_NE(text.find("build bin/" + program + ":"), std::string::npos) << line;
  }
  EXPECT_GE(folders, 10);
}

}  // namespace
}  // namespace wharf::house
