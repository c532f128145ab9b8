// SPDX-License-Identifier: Apache-2.0
// Holds a test program to a list of requirements: every rule names a test, and those that this program has
// must have run.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace wharf::test {

/// Checks, when all tests have ended, the rows of a table "| section | rule | Suite.Name, exception: why or
/// open: what |". A test of this program must have run, unskipped, and passed; one of another program must be
/// declared in `folders`: a report in that program sees that it did. Tables whose first column is "section"
/// and which have other columns are not looked at. With a filter on the command line it says nothing: part of
/// a run shows part of the rules.
class RequirementReport : public ::testing::Environment {
 public:
  RequirementReport(std::string list, std::vector<std::string> folders)
      : list_(std::move(list)), folders_(std::move(folders)) {}

  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    std::set<std::string> ran;
    std::set<std::string> known;
    const ::testing::UnitTest& program = *::testing::UnitTest::GetInstance();
    for (int at = 0; at < program.total_test_suite_count(); ++at) {
      const ::testing::TestSuite& suite = *program.GetTestSuite(at);
      for (int each = 0; each < suite.total_test_count(); ++each) {
        const ::testing::TestInfo& test = *suite.GetTestInfo(each);
        const std::string name = std::string(suite.name()) + "." + test.name();
        known.insert(name);
        if (test.should_run() && test.result()->Passed()) ran.insert(name);
      }
    }
    std::string sources;
    for (const std::string& folder : folders_) {
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().string().ends_with("_test.cc")) sources += text_of(entry.path());
      }
    }
    std::istringstream table(text_of(list_));
    int rules = 0;
    int exceptions = 0;
    int shown_here = 0;
    int open = 0;
    bool rows = false;
    for (std::string line; std::getline(table, line);) {
      if (line.starts_with("| section")) rows = line.starts_with("| section | rule |");
      if (!rows || !line.starts_with("| ") || line.starts_with("| section")) continue;
      const std::size_t last = line.rfind(" | ");
      const std::string shown = line.substr(last + 3, line.size() - last - 5);
      ++rules;
      if (shown.starts_with("exception: ")) {
        ++exceptions;
      } else if (shown.starts_with("open: ")) {
        ++open;
      } else if (known.contains(shown)) {
        ++shown_here;
        EXPECT_TRUE(ran.contains(shown)) << list_ << ": the test failed, was skipped or disabled: " << line;
      } else {
        const std::size_t dot = shown.find('.');
        ASSERT_NE(dot, std::string::npos) << line;
        const std::string declared = "(" + shown.substr(0, dot) + ", " + shown.substr(dot + 1) + ")";
        EXPECT_NE(sources.find(declared), std::string::npos) << list_ << ": no such test: " << line;
      }
    }
    EXPECT_GT(shown_here, 0) << list_;
    std::printf("%s: %d rules; %d shown here, %d elsewhere, %d exceptions, %d open\n", list_.c_str(), rules,
                shown_here, rules - shown_here - exceptions - open, exceptions, open);
  }

 private:
  static std::string text_of(const std::filesystem::path& path) {
    std::ifstream in(path);
    EXPECT_TRUE(in.good()) << path;
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  std::string list_;
  std::vector<std::string> folders_;
};

}  // namespace wharf::test
