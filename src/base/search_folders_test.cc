// SPDX-License-Identifier: Apache-2.0
// The first folder that has a name wins; a list names each once.
#include "base/search_folders.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf {
namespace {

namespace fs = std::filesystem;

class SearchFoldersTest : public ::testing::Test {
 protected:
  SearchFoldersTest() {
    std::string name = (fs::temp_directory_path() / "wharf-folders-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
    fs::create_directories(root_ / "own" / "deep.toml");  // A folder is no file.
    fs::create_directories(root_ / "shipped");
    for (const char* file :
         {"own/b.toml", "shipped/a.toml", "shipped/b.toml", "shipped/deep.toml", "own/c.txt"})
      std::ofstream(root_ / file) << "x";
  }
  ~SearchFoldersTest() override { fs::remove_all(root_); }

  fs::path root_;
};

TEST_F(SearchFoldersTest, TheFirstFolderThatHasANameWins) {
  const SearchFolders folders({root_ / "absent", root_ / "own", root_ / "shipped"});
  EXPECT_EQ(folders.find("b.toml"), root_ / "own/b.toml");
  EXPECT_EQ(folders.find("a.toml"), root_ / "shipped/a.toml");
  EXPECT_EQ(folders.find("deep.toml"), root_ / "shipped/deep.toml");
  EXPECT_EQ(folders.find("z.toml"), std::nullopt);
  EXPECT_EQ(SearchFolders().find("a.toml"), std::nullopt);
}

TEST_F(SearchFoldersTest, AListNamesEachOnce) {
  const SearchFolders folders({root_ / "own", root_ / "absent", root_ / "shipped"});
  EXPECT_THAT(folders.stems(".toml"), ::testing::ElementsAre("a", "b", "deep"));
}

TEST(SearchFolders, AreReadFromAList) {
  EXPECT_THAT(SearchFolders::listed("a:b/c::d").folders(), ::testing::ElementsAre("a", "b/c", "d"));
  EXPECT_EQ(SearchFolders::listed("a:b/c").list(), "a:b/c");
  EXPECT_TRUE(SearchFolders::listed("").folders().empty());
}

}  // namespace
}  // namespace wharf
