// SPDX-License-Identifier: Apache-2.0
// Every rule in requirements.md names a test that exists, or says why there is none.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace wharf::test {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(RdmoConformance, EveryRuleHasItsTest) {
  std::string sources;
  for (const char* folder : {"src/engine/rdmo", "src/wire"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().string().ends_with("_test.cc")) sources += text_of(entry.path());
    }
  }
  std::istringstream table(text_of("tests/conformance/rdmo/requirements.md"));
  int rules = 0;
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with("| ") || line.starts_with("| section")) continue;
    const std::size_t last = line.rfind(" | ");
    const std::string shown = line.substr(last + 3, line.size() - last - 5);
    ++rules;
    if (shown.starts_with("exception: ")) continue;
    const std::size_t dot = shown.find('.');
    ASSERT_NE(dot, std::string::npos) << line;
    const std::string declaration = "(" + shown.substr(0, dot) + ", " + shown.substr(dot + 1);
    EXPECT_NE(sources.find(declaration), std::string::npos) << declaration << " of: " << line;
  }
  EXPECT_GE(rules, 40);
}

}  // namespace
}  // namespace wharf::test
