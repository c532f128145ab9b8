// SPDX-License-Identifier: Apache-2.0
#include "report/staged_files.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace wharf::report {
namespace {

namespace fs = std::filesystem;

class StagedFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("wharf-staged-" + std::to_string(::getpid()));
    fs::remove_all(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }
  static void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string get(const fs::path& path) {
    std::string text;
    std::getline(std::ifstream(path), text);
    return text;
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }
  fs::path directory_;
};

TEST_F(StagedFilesTest, FilesAppearTogetherBesideWhatIsThere) {
  fs::create_directories(directory_ / "plots");
  put(directory_ / "own.txt", "mine");
  put(directory_ / "plots/a.csv", "old");
  auto staged = StagedFiles::create(directory_);
  ASSERT_TRUE(staged.ok());
  fs::create_directories(staged->path() / "plots");
  put(staged->path() / "page.html", "page");
  put(staged->path() / "plots/a.csv", "new");
  EXPECT_FALSE(fs::exists(directory_ / "page.html"));
  EXPECT_EQ(get(directory_ / "plots/a.csv"), "old");
  ASSERT_TRUE(staged->commit().ok());
  EXPECT_EQ(get(directory_ / "page.html"), "page");
  EXPECT_EQ(get(directory_ / "plots/a.csv"), "new");
  EXPECT_EQ(get(directory_ / "own.txt"), "mine");
  EXPECT_EQ(entries(), 3U);
}

TEST_F(StagedFilesTest, WithoutCommitNothingIsLeft) {
  {
    auto staged = StagedFiles::create(directory_);
    ASSERT_TRUE(staged.ok());
    put(staged->path() / "half", "");
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(StagedFilesTest, WhatCannotBeWrittenIsKnownAtOnce) {
  const auto staged = StagedFiles::create("/proc/wharf");
  ASSERT_FALSE(staged.ok());
  EXPECT_EQ(staged.error().kind, ErrorKind::kEnvironment);
  put(directory_, "");
  EXPECT_EQ(StagedFiles::create(directory_).error().kind, ErrorKind::kInput);
}

}  // namespace
}  // namespace wharf::report
