// SPDX-License-Identifier: Apache-2.0
// Every program of tests/litmus behaves as it says; the files of tests/data/litmus-bad are refused with a
// place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sim/litmus/parser.h"
#include "sim/litmus/verdict.h"

namespace wharf::sim {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<fs::path> files_of(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".litmus") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(LitmusSuite, BehavesAsStated) {
  std::uint64_t states = 0;
  for (const fs::path& path : files_of("tests/litmus")) {
    const auto program = parse_litmus(path.string(), read(path));
    ASSERT_TRUE(program.ok()) << program.error().message;
    for (const LitmusDesign design : program->designs()) {
      const LitmusDesignReport report = judge_litmus(*program, design, {});
      states += report.found.states;
      EXPECT_TRUE(report.found.is_complete);
      for (const LitmusRow& row : report.rows) {
        EXPECT_FALSE(row.fails) << path << " under " << name(design) << ": " << row.verdict << "\n"
                                << testing::PrintToString(row.witness);
      }
      for (const std::string& failure : report.failures) {
        ADD_FAILURE() << path << " under " << name(design) << ": " << failure << "\n"
                      << testing::PrintToString(report.failure_trace);
      }
    }
  }
  EXPECT_GT(states, 10'000U);
}

// Each file begins with a comment that says, after "refusal: ", what the message contains.
TEST(LitmusSuite, RefusesBadFilesWithTheirPlace) {
  const auto files = files_of("tests/data/litmus-bad");
  EXPECT_GE(files.size(), 15U);
  for (const fs::path& path : files) {
    const std::string text = read(path);
    const std::string key = "# refusal: ";
    const std::size_t at = text.find(key);
    ASSERT_NE(at, std::string::npos) << path;
    const std::string expected = text.substr(at + key.size(), text.find('\n', at) - at - key.size());
    const auto program = parse_litmus(path.string(), text);
    ASSERT_FALSE(program.ok()) << path;
    EXPECT_EQ(program.error().message, path.string() + ":" + expected);
    EXPECT_EQ(program.error().kind, ErrorKind::kInput);
  }
}

}  // namespace
}  // namespace wharf::sim
