// SPDX-License-Identifier: Apache-2.0
#include "house/protocol_names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace wharf::house {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

/// Whether `word` stands in `text` with what `fits(before, after)` accepts around it; 0 is an end.
template <typename Fits>
bool has_word(std::string_view text, std::string_view word, Fits fits) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const char before = at == 0 ? '\0' : text[at - 1];
    const char after = at + word.size() == text.size() ? '\0' : text[at + word.size()];
    if (fits(before, after)) return true;
  }
  return false;
}

bool is_counted(std::string_view path, const ProtocolSpelling& protocol) {
  constexpr std::array<std::string_view, 5> kCounted{"src/", "bench/", "tools/", "cmake/", "CMakeLists.txt"};
  if (std::none_of(kCounted.begin(), kCounted.end(), [&](auto each) { return path.starts_with(each); }))
    return false;
  const std::string engine = "src/engine/" + std::string(protocol.key) + "/";
  if (path.starts_with(engine) || path.starts_with("src/wire/")) return false;
  // The C interface of one protocol is that protocol's own.
  if (protocol.key == "ub" && path.starts_with("src/live/urma/")) return false;
  // So is what speaks with programs of Linux that know that protocol alone.
  if (protocol.key == "roce" && (path.starts_with("src/live/perftest/") || path == "tools/soft_roce_machine"))
    return false;
  // The map of folders names them all.
  if (path == "tools/layers.txt") return false;
  return !path.ends_with("_test.cc") && !path.ends_with("_test_support.h") && !path.ends_with(".md");
}

/// Whether a line is documentation: an example of a help text, or the source of a rule (UB-Base is a
/// document, ns-3-UB a program).
bool is_documentation(const SourceFile& file, std::string_view line) {
  if (line.find("[UB-Base") != std::string_view::npos || line.find("(UB-Base") != std::string_view::npos ||
      line.find("ns-3-UB") != std::string_view::npos)
    return true;
  return file.path.ends_with("_command.cc") && (line.find("\"  wharf ") != std::string_view::npos ||
                                                line.find("\"      --") != std::string_view::npos);
}

}  // namespace

bool names_protocol(std::string_view text, const ProtocolSpelling& protocol) {
  const auto whole = [](char before, char after) { return !is_letter(before) && !is_letter(after); };
  return has_word(text, protocol.key, whole) || has_word(text, protocol.upper, whole) ||
         has_word(text, protocol.camel, [](char, char after) { return !is_lower(after); });
}

std::vector<std::string> files_that_name(const ProtocolSpelling& protocol,
                                         const std::vector<SourceFile>& files) {
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    if (!is_counted(file.path, protocol)) continue;
    if (names_protocol(file.path, protocol) ||
        std::any_of(file.lines.begin(), file.lines.end(), [&](const std::string& line) {
          return !is_documentation(file, line) && names_protocol(line, protocol);
        }))
      found.push_back(file.path);
  }
  return found;
}

bool is_study(std::string_view path) { return path.starts_with("src/study/"); }

}  // namespace wharf::house
