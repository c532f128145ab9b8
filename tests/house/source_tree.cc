// SPDX-License-Identifier: Apache-2.0
// Walks the tree once and cuts its text files into lines.
#include "house/source_tree.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

namespace wharf::house {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kSkippedFolders = {
    ".git", "build", "out", ".cache", "fuzz/corpus", "tests/house/fixtures", ".vscode"};

constexpr std::array<std::string_view, 20> kBinaryEndings = {
    ".pcap", ".pcapng", ".xz", ".gz",  ".zst", ".bin",    ".png",     ".jpg",   ".pdf",        ".wtrace",
    ".bz2",  ".svg",    ".db", ".csv", ".hex", ".sqlite", ".pftrace", ".trace", ".lackey.txt", ".gch"};

bool is_binary(std::string_view path) {
  return std::any_of(kBinaryEndings.begin(), kBinaryEndings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

std::vector<std::string> read_lines(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Where a scan over C++ text stands between two characters.
enum class Inside { kCode, kBlockComment, kRawString };

}  // namespace

std::vector<SourceFile> read_tree(const fs::path& root) {
  std::vector<SourceFile> files;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
    const std::string path = fs::relative(it->path(), root).generic_string();
    if (it->is_directory()) {
      if (std::find(kSkippedFolders.begin(), kSkippedFolders.end(), path) != kSkippedFolders.end()) {
        it.disable_recursion_pending();
      }
      continue;
    }
    // A worktree has a file named .git where a clone has a folder.
    if (!it->is_regular_file() || path == ".git" || path == "compile_commands.json" || is_binary(path))
      continue;
    files.push_back({path, read_lines(it->path())});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

bool is_cpp(std::string_view path) { return path.ends_with(".cc") || path.ends_with(".h"); }

bool is_header(std::string_view path) { return path.ends_with(".h"); }

bool is_shell(const SourceFile& file) {
  if (file.path.ends_with(".sh")) return true;
  return !file.lines.empty() && file.lines[0].starts_with("#!") &&
         (file.lines[0].ends_with("bash") || file.lines[0].ends_with("/sh"));
}

std::vector<std::string> code_only(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  result.reserve(lines.size());
  Inside inside = Inside::kCode;
  std::string raw_end;
  for (const std::string& line : lines) {
    std::string code(line.size(), ' ');
    std::size_t i = 0;
    while (i < line.size()) {
      if (inside != Inside::kCode) {
        const std::string end = inside == Inside::kBlockComment ? "*/" : raw_end;
        const std::size_t found = line.find(end, i);
        if (found == std::string::npos) break;
        i = found + end.size();
        inside = Inside::kCode;
      } else if (line.compare(i, 2, "//") == 0) {
        break;
      } else if (line.compare(i, 2, "/*") == 0) {
        inside = Inside::kBlockComment;
        i += 2;
      } else if (line.compare(i, 2, "R\"") == 0) {
        const std::size_t open = line.find('(', i);
        if (open == std::string::npos) break;
        raw_end = ")" + line.substr(i + 2, open - i - 2) + "\"";
        inside = Inside::kRawString;
        i = open + 1;
      } else if (line[i] == '"' || (line[i] == '\'' &&
                                    (i == 0 || std::isalnum(static_cast<unsigned char>(line[i - 1])) == 0))) {
        const char quote = line[i];
        code[i] = quote;
        for (++i; i < line.size() && line[i] != quote; ++i) {
          if (line[i] == '\\') ++i;
        }
        if (i < line.size()) code[i] = quote;
        ++i;
      } else {
        code[i] = line[i];
        ++i;
      }
    }
    result.push_back(std::move(code));
  }
  return result;
}

}  // namespace wharf::house
