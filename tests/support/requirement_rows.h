// SPDX-License-Identifier: Apache-2.0
// Requirement tables whose rows end in the test that shows them: each names a test that exists, or says why
// there is none.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>

namespace wharf::test {

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Expects that every row of `table` names a test of a "*_test.cc" of `folders`, or begins its last field
/// with "exception: ". Returns the number of rows.
inline int expect_rows_have_tests(const std::filesystem::path& table,
                                  std::initializer_list<const char*> folders) {
  std::string sources;
  for (const char* folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().string().ends_with("_test.cc")) sources += text_of(entry.path());
    }
  }
  std::istringstream rows(text_of(table));
  int rules = 0;
  for (std::string line; std::getline(rows, line);) {
    if (!line.starts_with("| ") || line.starts_with("| section")) continue;
    const std::size_t last = line.rfind(" | ");
    const std::string shown = line.substr(last + 3, line.size() - last - 5);
    ++rules;
    if (shown.starts_with("exception: ")) continue;
    const std::size_t dot = shown.find('.');
    EXPECT_NE(dot, std::string::npos) << line;
    if (dot == std::string::npos) continue;
    const std::string named = "(" + shown.substr(0, dot) + ", " + shown.substr(dot + 1) + ")";
    const bool exists = sources.find("TEST" + named) != std::string::npos ||
                        sources.find("TEST_F" + named) != std::string::npos ||
                        sources.find("TEST_P" + named) != std::string::npos;
    EXPECT_TRUE(exists) << named << " of: " << line;
  }
  return rules;
}

}  // namespace wharf::test
