// SPDX-License-Identifier: Apache-2.0
// Key files: made for one user, and refused where others could have read them.
#include "live/secure/key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace wharf::live {
namespace {

class KeyFile : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "key";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), 0600);
  }
  std::string refusal() const {
    const auto key = read_key_file(path_);
    return key ? "" : key.error().message;
  }

  std::filesystem::path folder_ = testing::TempDir() + "wharf_key_" + std::to_string(::getpid());
  std::filesystem::path path_;
};

TEST_F(KeyFile, ComesBackAsItWasMadeAndIsItsUsersAlone) {
  const mode_t before = ::umask(0);
  ASSERT_TRUE(make_key_file(path_).ok());
  ::umask(before);
  struct stat found {};
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777U, 0600U);
  EXPECT_THAT(text(), testing::MatchesRegex("wharf-psk-1 [0-9a-f]+\n"));
  EXPECT_EQ(text().size(), 12U + 64U + 1U);
  const auto key = read_key_file(path_);
  ASSERT_TRUE(key.ok()) << key.error().message;
  EXPECT_FALSE(*key == Key());
  std::string digits;
  for (std::size_t at = 0; at < Key::kBytes; ++at) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto value = std::to_integer<unsigned>(key->data()[at]);
    digits += {kHex[value >> 4U], kHex[value & 15U]};
  }
  EXPECT_EQ(text().substr(12, 64), digits);
  const std::string first = text();
  std::filesystem::remove(path_);
  ASSERT_TRUE(make_key_file(path_).ok());
  EXPECT_NE(text(), first);
}

TEST_F(KeyFile, AFileThatIsThereStays) {
  write("precious");
  const auto made = make_key_file(path_);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(made.error().message,
              testing::HasSubstr("--make-psk " + path_.string() + ": cannot be made: File exists"));
  EXPECT_EQ(text(), "precious");
}

TEST_F(KeyFile, IsRefusedWhereOthersMayUseIt) {
  ASSERT_TRUE(make_key_file(path_).ok());
  for (const mode_t mode : {0604U, 0640U, 0620U, 0602U, 0610U, 0601U}) {
    ::chmod(path_.c_str(), mode);
    EXPECT_THAT(refusal(), testing::HasSubstr("others may use it, its mode is 0" +
                                              std::string{static_cast<char>('0' + (mode >> 6U)),
                                                          static_cast<char>('0' + ((mode >> 3U) & 7U)),
                                                          static_cast<char>('0' + (mode & 7U))} +
                                              ", expected 0600"));
  }
  ::chmod(path_.c_str(), 0400);
  EXPECT_EQ(refusal(), "");
  write("root:x:0:0");  // What is no key need not be hidden.
  ::chmod(path_.c_str(), 0644);
  EXPECT_THAT(refusal(), testing::HasSubstr("holds no key"));
  std::filesystem::remove(path_);
  ASSERT_TRUE(make_key_file(path_).ok());
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
    EXPECT_THAT(refusal(), testing::HasSubstr("belongs to user 12345"));
  }
}

TEST_F(KeyFile, WhatIsNoKeyIsRefused) {
  EXPECT_THAT(refusal(), testing::HasSubstr("cannot be read: No such file"));
  const std::string digits(64, 'a');
  write("wharf-psk-1 " + digits);  // An editor took the end of the line.
  EXPECT_EQ(refusal(), "");
  for (const std::string& text :
       {std::string(), digits, "wharf-psk-2 " + digits + "\n", "wharf-psk-1 " + digits + "a",
        "wharf-psk-1 " + digits + "\n\n", "wharf-psk-1 " + std::string(63, 'a') + "g\n",
        "wharf-psk-1 " + std::string(63, 'a') + "\n", std::string(4096, 'a')}) {
    write(text);
    EXPECT_THAT(refusal(), testing::HasSubstr("holds no key")) << text;
  }
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(refusal(), testing::HasSubstr("is no regular file"));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THAT(refusal(), testing::HasSubstr("is no regular file"));
}

}  // namespace
}  // namespace wharf::live
