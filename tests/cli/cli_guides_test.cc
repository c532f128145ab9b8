// SPDX-License-Identifier: Apache-2.0
// Documents show what their commands print: every block of the language "console" in README.md and docs/ is
// run as a reader would run it, one page after another, each in a folder of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "run_program.h"

namespace wharf::cli_test {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  std::istringstream stream(text);
  Lines lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Lines lines_in(const fs::path& path) {
  std::ifstream stream(path);
  return lines_of({std::istreambuf_iterator<char>(stream), {}});
}

/// A block: commands stand behind "$ ", each with what it prints beneath it. A line that ends in "..." holds
/// for every line that begins so, "..." alone for any number of lines.
struct Block {
  std::size_t first = 0;  ///< The line behind the fence.
  std::size_t end = 0;    ///< The closing fence.
};

std::vector<Block> blocks_of(const Lines& page) {
  std::vector<Block> blocks;
  bool console = false;
  bool open = false;
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (!page[i].starts_with("```")) continue;
    if (open && console) blocks.back().end = i;
    open = !open;
    console = open && page[i] == "```console";
    if (console) blocks.push_back({i + 1, i + 1});
  }
  return blocks;
}

/// A page with the folder in which its commands run.
class Session {
 public:
  Session() {
    const fs::path here = fs::current_path();
    for (const char* data : {"tests", "studies", "scenarios"})
      fs::create_directory_symlink(here / data, scratch_ / data);
    fs::create_directories(scratch_ / "bin");
    fs::create_symlink(WHARF_PROGRAM, scratch_ / "bin/wharf");
  }

  /// What a command prints, without what differs from run to run.
  Lines printed(const std::string& command) const {
    static const std::regex kTimes("( packet-hops), [^\\n]*\\nfingerprint [^\\n]*");
    const std::string line = "export PATH='" + (scratch_ / "bin") + "':$PATH; cd '" + (scratch_ / "") +
                             "' && { " + command + "; } 2>&1";
    const Outcome outcome = run({"bash", "-c", line});
    return lines_of(std::regex_replace(outcome.out, kTimes, "$1, ..."));
  }

 private:
  ScratchDirectory scratch_;
};

bool holds(const std::string& shown, const std::string& printed) {
  if (!shown.ends_with("...")) return shown == printed;
  return printed.starts_with(shown.substr(0, shown.size() - 3));
}

/// Whether the lines of the page stand for those that were printed.
bool stand_for(Lines::const_iterator shown, Lines::const_iterator shown_end, Lines::const_iterator printed,
               Lines::const_iterator printed_end) {
  if (shown == shown_end) return printed == printed_end;
  if (*shown == "...") {
    for (auto at = printed;; ++at) {
      if (stand_for(shown + 1, shown_end, at, printed_end)) return true;
      if (at == printed_end) return false;
    }
  }
  return printed != printed_end && holds(*shown, *printed) &&
         stand_for(shown + 1, shown_end, printed + 1, printed_end);
}

/// The page as it should be: blocks that stand for what was printed stay as they are.
Lines made_of(const Lines& page) {
  const Session session;
  Lines made;
  std::size_t at = 0;
  for (const Block& block : blocks_of(page)) {
    made.insert(made.end(), page.begin() + static_cast<std::ptrdiff_t>(at),
                page.begin() + static_cast<std::ptrdiff_t>(block.first));
    for (std::size_t i = block.first; i < block.end;) {
      const std::string& command = page[i];
      EXPECT_TRUE(command.starts_with("$ ")) << command;
      const auto shown = page.begin() + static_cast<std::ptrdiff_t>(++i);
      while (i < block.end && !page[i].starts_with("$ ")) ++i;
      const auto shown_end = page.begin() + static_cast<std::ptrdiff_t>(i);
      const Lines printed = session.printed(command.substr(2));
      made.push_back(command);
      if (stand_for(shown, shown_end, printed.begin(), printed.end())) {
        made.insert(made.end(), shown, shown_end);
      } else {
        made.insert(made.end(), printed.begin(), printed.end());
      }
    }
    at = block.end;
  }
  made.insert(made.end(), page.begin() + static_cast<std::ptrdiff_t>(at), page.end());
  return made;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(CliGuides, DocumentsShowWhatTheirCommandsPrint) {
  std::vector<fs::path> pages{"README.md"};
  for (const auto& entry : fs::recursive_directory_iterator("docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  std::sort(pages.begin(), pages.end());
  const char* accept = std::getenv("WHARF_ACCEPT");
  std::size_t with_commands = 0;
  for (const fs::path& path : pages) {
    const Lines page = lines_in(path);
    if (blocks_of(page).empty()) continue;
    ++with_commands;
    const Lines made = made_of(page);
    if (accept != nullptr && std::string(accept) == "1") {
      std::ofstream(path, std::ios::binary) << text_of(made);
    } else {
      EXPECT_EQ(text_of(made), text_of(page))
          << path << " differs: if the change is meant, run with WHARF_ACCEPT=1";
    }
  }
  EXPECT_GE(with_commands, 8U);
}

TEST(CliGuides, ABlockMayLeaveLinesOut) {
  const auto same = [](const Lines& shown, const Lines& printed) {
    return stand_for(shown.begin(), shown.end(), printed.begin(), printed.end());
  };
  EXPECT_TRUE(same({"a", "...", "d"}, {"a", "b", "c", "d"}));
  EXPECT_TRUE(same({"..."}, {}));
  EXPECT_TRUE(same({"took ..."}, {"took 5 us"}));
  EXPECT_FALSE(same({"a", "...", "d"}, {"a", "b", "c"}));
  EXPECT_FALSE(same({"a"}, {"a", "b"}));
  EXPECT_FALSE(same({"took ..."}, {"it took 5 us"}));
}

}  // namespace
}  // namespace wharf::cli_test
