// SPDX-License-Identifier: Apache-2.0
// Pictures in docs/pictures are what the commands of docs/gallery.md draw, byte for byte. After a change that
// is meant, WHARF_ACCEPT=1 draws all of them again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "run_program.h"

namespace wharf::cli_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPage = "docs/gallery.md";
constexpr const char* kPictures = "docs/pictures";
constexpr std::uintmax_t kMostBytes = 60000;  ///< Of a picture: everybody who clones the tree takes it along.

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The commands of the page, those of its "sh" blocks.
std::vector<std::string> commands() {
  std::istringstream page(content_of(kPage));
  std::vector<std::string> found;
  bool open = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      open = line == "```sh";
    } else if (open) {
      found.push_back(line);
    }
  }
  return found;
}

/// The file names of the pictures that the page shows.
std::set<std::string> shown() {
  static const std::regex kPicture(R"re(<img src="pictures/([^"]+)" alt="[^"]+">)re");
  const std::string page = content_of(kPage);
  std::set<std::string> names;
  for (std::sregex_iterator at(page.begin(), page.end(), kPicture), end; at != end; ++at)
    names.insert((*at)[1]);
  return names;
}

/// The line in which gnuplot names itself: another gnuplot draws the same otherwise.
std::string maker_of(const std::string& svg) {
  const std::size_t at = svg.find("Produced by GNUPLOT");
  return at == std::string::npos ? "" : svg.substr(at, svg.find('\n', at) - at);
}

TEST(CliGallery, ShowsEveryPictureAndNoneIsLarge) {
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(kPictures)) {
    files.insert(entry.path().filename().string());
    EXPECT_LE(entry.file_size(), kMostBytes) << entry.path();
  }
  EXPECT_EQ(shown(), files);
  EXPECT_GE(files.size(), 5U);
}

TEST(CliGallery, CommandsDrawThePictures) {
  if (run({"bash", "-c", "command -v gnuplot"}).exit_code != 0) GTEST_SKIP() << "gnuplot is missing";
  const ScratchDirectory scratch;
  fs::create_directories(scratch / kPictures);
  fs::create_directories(scratch / "bin");
  fs::create_symlink(WHARF_PROGRAM, scratch / "bin/wharf");
  for (const std::string& command : commands()) {
    const Outcome outcome =
        run({"bash", "-c",
             "export PATH='" + (scratch / "bin") + "':$PATH; cd '" + (scratch / "") + "' && " + command});
    ASSERT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.err;
  }
  const char* accept = std::getenv("WHARF_ACCEPT");
  const bool accepted = accept != nullptr && std::string(accept) == "1";
  for (const std::string& name : shown()) {
    const fs::path kept = fs::path(kPictures) / name;
    const std::string drawn = content_of(scratch / kept.string());
    ASSERT_FALSE(drawn.empty()) << name << ": no command of " << kPage << " draws it";
    if (accepted) {
      fs::copy_file(scratch / kept.string(), kept, fs::copy_options::overwrite_existing);
    } else if (maker_of(drawn) == maker_of(content_of(kept))) {
      EXPECT_TRUE(drawn == content_of(kept))
          << kept << " differs: if the change is meant, run with WHARF_ACCEPT=1";
    }
  }
}

}  // namespace
}  // namespace wharf::cli_test
