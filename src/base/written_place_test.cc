// SPDX-License-Identifier: Apache-2.0
#include "base/written_place.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

namespace wharf {
namespace {

namespace fs = std::filesystem;

class WrittenPlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("wharf-place-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "far");
  }
  void TearDown() override { fs::remove_all(folder_); }
  Result<void> put(const fs::path& file, const std::string& text) const {
    const WrittenPlace place = written_place(file);
    const fs::path whole = place.beside(".whole-" + std::to_string(::getpid()));
    std::ofstream(whole) << text;
    const Result<void> done = put_in_place(whole, place);
    EXPECT_NE(fs::exists(whole), done.ok());
    fs::remove(whole);
    return done;
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  fs::path folder_;
};

TEST_F(WrittenPlaceTest, AFileIsReplaced) {
  ASSERT_TRUE(put(folder_ / "new", "one"));
  ASSERT_TRUE(put(folder_ / "new", "two"));
  EXPECT_EQ(text_of(folder_ / "new"), "two");
}

TEST_F(WrittenPlaceTest, ALinkStaysAndItsTargetIsReplaced) {
  std::ofstream(folder_ / "far/target") << "old";
  fs::create_symlink("far/target", folder_ / "near");
  fs::create_symlink(folder_ / "near", folder_ / "nearer");
  ASSERT_TRUE(put(folder_ / "nearer", "new"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "near"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "nearer"));
  EXPECT_EQ(text_of(folder_ / "far/target"), "new");
  fs::create_symlink("far/not yet", folder_ / "dangling");
  ASSERT_TRUE(put(folder_ / "dangling", "new"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "dangling"));
  EXPECT_EQ(text_of(folder_ / "far/not yet"), "new");
}

TEST_F(WrittenPlaceTest, APipeIsWrittenThrough) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("pipe", folder_ / "link");
  std::string got;
  std::thread reader([&] { got = text_of(pipe); });
  const std::string text(100'000, 'x');
  EXPECT_TRUE(put(folder_ / "link", text));
  reader.join();
  EXPECT_EQ(got, text);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(WrittenPlaceTest, WhatTheSystemRefusesIsSaid) {
  const auto put_far = put(folder_ / "far", "text");
  ASSERT_FALSE(put_far);
  EXPECT_EQ(put_far.error().kind, ErrorKind::kEnvironment);
  EXPECT_EQ(put_far.error().message, (folder_ / "far").string() + ": cannot be written: Is a directory");
}

}  // namespace
}  // namespace wharf
