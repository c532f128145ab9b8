// SPDX-License-Identifier: Apache-2.0
#include "report/result_directory.h"

#include <gtest/gtest.h>

#include <fstream>

namespace wharf::report {
namespace {

namespace fs = std::filesystem;

class ResultDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = fs::temp_directory_path() / ("wharf-result-" + std::to_string(::getpid()));
    fs::remove_all(base_);
    fs::create_directories(base_);
  }
  void TearDown() override { fs::remove_all(base_); }
  fs::path base_;
};

TEST_F(ResultDirectoryTest, NothingAppearsBeforeCommitAndNothingStaysWithoutIt) {
  {
    auto result = ResultDirectory::create(base_ / "out", false);
    ASSERT_TRUE(result.ok());
    ASSERT_TRUE(result->write("summary.json", "{}").ok());
    EXPECT_FALSE(fs::exists(base_ / "out"));
  }
  EXPECT_TRUE(fs::is_empty(base_));
  auto result = ResultDirectory::create(base_ / "out", false);
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result->write("summary.json", "{}").ok());
  ASSERT_TRUE(result->commit().ok());
  EXPECT_TRUE(fs::exists(base_ / "out" / "summary.json"));
}

TEST_F(ResultDirectoryTest, RefusesToReplaceWhatIsNotAResult) {
  fs::create_directories(base_ / "mine");
  std::ofstream(base_ / "mine" / "thesis.tex") << "x";
  EXPECT_FALSE(ResultDirectory::create(base_ / "mine", true).ok());
  std::ofstream(base_ / "file") << "x";
  EXPECT_FALSE(ResultDirectory::create(base_ / "file", true).ok());
}

TEST_F(ResultDirectoryTest, ReplacesAnEarlierResultOnlyWhenAsked) {
  fs::create_directories(base_ / "old");
  std::ofstream(base_ / "old" / "manifest.json") << "{}";
  const auto refused = ResultDirectory::create(base_ / "old", false);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("--force"), std::string::npos);
  auto result = ResultDirectory::create(base_ / "old", true);
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result->commit().ok());
  EXPECT_FALSE(fs::exists(base_ / "old" / "manifest.json"));
}

TEST_F(ResultDirectoryTest, TwoRunsDoNotWriteToOneDirectory) {
  auto first = ResultDirectory::create(base_ / "out", false);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(first->write("manifest.json", "first").ok());
  const auto second = ResultDirectory::create(base_ / "out", true);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, ErrorKind::kInput);
  EXPECT_NE(second.error().message.find("is writing a result there"), std::string::npos)
      << second.error().message;
  // One whose name begins alike is another.
  EXPECT_TRUE(ResultDirectory::create(base_ / "out2", false).ok());
  ASSERT_TRUE(first->commit().ok());
  EXPECT_TRUE(fs::exists(base_ / "out" / "manifest.json"));
  EXPECT_TRUE(ResultDirectory::create(base_ / "out", true).ok());
}

TEST_F(ResultDirectoryTest, WhatAKilledRunLeftIsRemovedAndMentioned) {
  const fs::path left = base_ / ".out.partial-4194999";
  fs::create_directories(left);
  std::ofstream(left / "summary.json") << "half";
  const auto result = ResultDirectory::create(base_ / "out", false);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->removed(), std::vector<std::string>{left.string()});
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(ResultDirectoryTest, AResultThatCameMeanwhileIsNotDestroyed) {
  auto result = ResultDirectory::create(base_ / "out", false);
  ASSERT_TRUE(result.ok());
  fs::create_directories(base_ / "out");
  std::ofstream(base_ / "out" / "manifest.json") << "other";
  EXPECT_FALSE(result->commit().ok());
  EXPECT_TRUE(fs::exists(base_ / "out" / "manifest.json"));
}

}  // namespace
}  // namespace wharf::report
