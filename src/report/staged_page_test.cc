// SPDX-License-Identifier: Apache-2.0
#include "report/staged_page.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

namespace wharf::report {
namespace {

namespace fs = std::filesystem;

class StagedPageTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("wharf-page-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  fs::path folder_;
};

TEST_F(StagedPageTest, AppearsWholeAndReplacesAnOlderOne) {
  std::ofstream(folder_ / "page.html") << "old";
  auto page = StagedPage::create("--html", folder_ / "page.html");
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(fs::is_directory(page->workshop()));
  std::ofstream(page->workshop() / "plot.csv") << "1,2";
  EXPECT_EQ(text_of(folder_ / "page.html"), "old");
  ASSERT_TRUE(page->commit("new").ok());
  EXPECT_EQ(text_of(folder_ / "page.html"), "new");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(StagedPageTest, MakesFoldersAndKeepsThem) {
  auto page = StagedPage::create("--html", folder_ / "a/b/page.html");
  ASSERT_TRUE(page.ok());
  ASSERT_TRUE(page->commit("text").ok());
  EXPECT_EQ(text_of(folder_ / "a/b/page.html"), "text");
}

TEST_F(StagedPageTest, WithoutCommitNothingIsLeft) {
  {
    auto page = StagedPage::create("--html", folder_ / "a/b/page.html");
    ASSERT_TRUE(page.ok());
    const StagedPage moved = std::move(*page);
    EXPECT_TRUE(fs::exists(moved.workshop()));
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(StagedPageTest, RefusesAFolder) {
  for (const fs::path& file : {folder_, folder_ / ""}) {
    const auto page = StagedPage::create("--html", file);
    ASSERT_FALSE(page.ok());
    EXPECT_EQ(page.error().kind, ErrorKind::kInput);
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(StagedPageTest, APipeBehindALinkIsWrittenThroughAndBothStay) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("pipe", folder_ / "link");
  auto page = StagedPage::create("--html", folder_ / "link");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(entries(), 2U) << "a folder beside a device may be no place for a page's parts";
  std::string got;
  std::thread reader([&] { got = text_of(pipe); });
  EXPECT_TRUE(page->commit("text").ok());
  reader.join();
  EXPECT_EQ(got, "text");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
}

TEST_F(StagedPageTest, SaysInOneSentenceWhatCannotBeWrittenAndLeavesNothing) {
  std::ofstream(folder_ / "file") << "mine";
  for (const fs::path& file : {fs::path("/proc/wharf/page.html"), folder_ / "file/page.html"}) {
    const auto page = StagedPage::create("--html", file);
    ASSERT_FALSE(page.ok());
    EXPECT_EQ(page.error().kind, ErrorKind::kEnvironment);
    EXPECT_EQ(page.error().message.find("--html " + file.string() + ": cannot be written: "), 0U)
        << page.error().message;
  }
  // The outer folder can be made, the inner one cannot.
  const std::string too_long(300, 'x');
  EXPECT_FALSE(StagedPage::create("--html", folder_ / "new" / too_long / "page.html").ok());
  EXPECT_EQ(entries(), 1U);
}

}  // namespace
}  // namespace wharf::report
