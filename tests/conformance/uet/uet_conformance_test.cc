// SPDX-License-Identifier: Apache-2.0
// The list of rules and the tests agree: every rule in requirements.md names a test that exists, or says why
// there is none; every test that is named after a section shows a rule; and the numbers are counted.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/generated_block.h"

namespace wharf::test {
namespace {

constexpr const char* kList = "tests/conformance/uet/requirements.md";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Rule {
  std::string line;
  std::string section;  ///< Without the version that some rows name.
  std::string rule;
  std::string shown;
  bool excepted() const { return shown.starts_with("exception: "); }
  bool open() const { return shown.starts_with("open: "); }
};

std::vector<Rule> read_rules() {
  static const std::regex kRow(R"(\| (\S+)[^|]* \| (.+) \| (.+) \|)");
  std::vector<Rule> rules;
  std::istringstream list(text_of(kList));
  bool table = false;
  for (std::string line; std::getline(list, line);) {
    if (line.starts_with("| section | rule ")) table = true;
    if (!table || !line.starts_with("| ") || line.starts_with("| section")) continue;
    std::smatch parts;
    EXPECT_TRUE(std::regex_match(line, parts, kRow)) << line;
    if (parts.size() == 4) rules.push_back({line, parts[1].str(), parts[2].str(), parts[3].str()});
  }
  return rules;
}

/// "Suite.Name" of every test of the folders that show rules.
std::set<std::string> declared_tests() {
  static const std::regex kTest(R"((?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\((\w+), (\w+)[,)])");
  std::set<std::string> tests;
  for (const char* folder : {"src/engine/uet", "src/engine/congestion", "src/wire", "tests/chaos"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (!entry.path().string().ends_with("_test.cc")) continue;
      const std::string text = text_of(entry.path());
      for (std::sregex_iterator it(text.begin(), text.end(), kTest), end; it != end; ++it) {
        tests.insert((*it)[1].str() + "." + (*it)[2].str());
      }
    }
  }
  return tests;
}

/// "3.5.12" as numbers, so that sections sort.
std::vector<int> numbers(const std::string& section) {
  std::vector<int> parts;
  std::istringstream text(section);
  for (std::string part; std::getline(text, part, '.');) parts.push_back(std::stoi(part));
  return parts;
}

TEST(UetConformance, EveryRuleHasItsTest) {
  const std::set<std::string> tests = declared_tests();
  const std::vector<Rule> rules = read_rules();
  std::set<std::string> said;
  for (const Rule& rule : rules) {
    EXPECT_TRUE(said.insert(rule.section + " " + rule.rule).second) << "twice: " << rule.line;
    if (rule.excepted() || rule.open()) continue;
    EXPECT_TRUE(tests.contains(rule.shown)) << "no such test: " << rule.line;
  }
  EXPECT_GE(rules.size(), 180U);
}

TEST(UetConformance, EveryTestNamedAfterASectionShowsARule) {
  std::set<std::string> shown;
  for (const Rule& rule : read_rules()) shown.insert(rule.shown);
  for (const std::string& test : declared_tests()) {
    if (test.find("Uet_") == std::string::npos) continue;
    EXPECT_TRUE(shown.contains(test)) << test << " is in no row of " << kList;
  }
}

TEST(UetConformance, SectionsStandInOrder) {
  std::vector<int> last;
  for (const Rule& rule : read_rules()) {
    const std::vector<int> section = numbers(rule.section);
    EXPECT_LE(last, section) << rule.line;
    last = section;
  }
}

TEST(UetConformance, TheNumbersAreCounted) {
  struct Count {
    int met = 0;
    int excepted = 0;
    int open = 0;
  };
  std::map<std::vector<int>, std::pair<std::string, Count>> sections;
  Count all;
  for (const Rule& rule : read_rules()) {
    auto& [name, count] = sections[numbers(rule.section)];
    name = rule.section;
    ++(rule.excepted() ? count.excepted : rule.open() ? count.open : count.met);
    ++(rule.excepted() ? all.excepted : rule.open() ? all.open : all.met);
  }
  std::string text = "| section | met | excepted | open |\n|---|---|---|---|\n";
  for (const auto& [key, section] : sections) {
    const Count& count = section.second;
    text += fmt::format("| {} | {} | {} | {} |\n", section.first, count.met, count.excepted, count.open);
  }
  text += fmt::format("| all | {} | {} | {} |\n", all.met, all.excepted, all.open);
  expect_generated_block(kList, "summary", text);
}

}  // namespace
}  // namespace wharf::test
