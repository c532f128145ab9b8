// SPDX-License-Identifier: Apache-2.0
// The files of a checked-out tree as lines of text, without what the build makes: the input of every house
// check.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wharf::house {

/// One text file, split into lines (without their line ends).
struct SourceFile {
  std::string path;  ///< Relative to the root, with forward slashes.
  std::vector<std::string> lines;
};

/// Every text file below `root`, sorted by path. Left out: version control, build and result folders, the
/// fixtures of the house tests, and binary data (captures, traces, fuzz corpora, compressed files), known by
/// folder or ending.
std::vector<SourceFile> read_tree(const std::filesystem::path& root);

/// True for C++ sources and headers.
bool is_cpp(std::string_view path);
/// True for C++ headers.
bool is_header(std::string_view path);
/// True for a file that starts with a shell's "#!" line or ends in ".sh".
bool is_shell(const SourceFile& file);

/// The lines of a C++ file with comments, string and character literals blanked out, so that a rule about
/// code does not see prose. Lines keep their number. Raw strings are blanked too.
std::vector<std::string> code_only(const std::vector<std::string>& lines);

}  // namespace wharf::house
