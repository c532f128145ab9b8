// SPDX-License-Identifier: Apache-2.0
// Every shell script of the tree parses: a script that runs once a month should not first fail then.
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "house/source_tree.h"

namespace wharf::house {
namespace {

/// What `bash -n` says against a script; empty when it parses.
std::string complaint_about(const std::string& path) {
  std::string text;
  std::FILE* pipe = ::popen(("bash -n '" + path + "' 2>&1").c_str(), "r");
  if (pipe == nullptr) return "bash cannot be started";
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  const bool refused = ::pclose(pipe) != 0;
  return refused && text.empty() ? "bash -n refuses it without a word" : text;
}

TEST(ShellScripts, Parse) {
  std::size_t scripts = 0;
  for (const SourceFile& file : read_tree(".")) {
    if (!is_shell(file)) continue;
    ++scripts;
    EXPECT_EQ(complaint_about(file.path), "");
  }
  EXPECT_GE(scripts, 2U) << "dev and .ci/run are shell scripts: the search for scripts is broken";
}

TEST(ShellScripts, ABrokenScriptIsCaught) {
  EXPECT_THAT(complaint_about("tests/house/fixtures/broken_script.sh"), ::testing::HasSubstr("syntax error"));
}

}  // namespace
}  // namespace wharf::house
