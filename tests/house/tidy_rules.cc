// SPDX-License-Identifier: Apache-2.0
// One function per rule; each looks at one file. Words that a rule forbids are written in two halves here, so
// that this file keeps the rules too.
#include "house/tidy_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace wharf::house {
namespace {

constexpr std::string_view kSpdx = "SPDX-License-Identifier: Apache-2.0";
constexpr std::string_view kLongFiles = "tests/house/long_files.txt";
constexpr std::size_t kCppColumnsMax = 110;
constexpr std::size_t kScriptColumnsMax = 120;
constexpr std::size_t kSourceLinesMax = 600;
constexpr std::size_t kTestLinesMax = 900;

using Findings = std::vector<Finding>;

bool is_test(std::string_view path) { return path.ends_with("_test.cc") || path.starts_with("tests/"); }

bool is_cmake(std::string_view path) { return path.ends_with("CMakeLists.txt") || path.ends_with(".cmake"); }

bool is_program_text(const SourceFile& file) {
  return is_cpp(file.path) || is_cmake(file.path) || is_shell(file);
}

template <std::size_t N>
bool starts_with_any(std::string_view path, const std::array<std::string_view, N>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return path.starts_with(prefix); });
}

std::size_t columns(std::string_view line) {
  // UTF-8 continuation bytes take no column.
  return static_cast<std::size_t>(std::count_if(
      line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// The header that speaks for a source: x.h for x.cc and for x_test.cc.
std::string header_of(const std::string& path) {
  for (const std::string_view ending : {"_test.cc", ".cc"}) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size()) + ".h";
  }
  return path;
}

void check_opening(const SourceFile& file, const std::set<std::string>& paths, Findings& findings) {
  const auto line = [&](std::size_t index) {
    return index < file.lines.size() ? file.lines[index] : std::string();
  };
  if (is_cpp(file.path)) {
    const bool header_speaks = !is_header(file.path) && paths.count(header_of(file.path)) != 0;
    if (line(0) != "// " + std::string(kSpdx)) {
      findings.push_back({file.path, 1, "expected \"// " + std::string(kSpdx) + "\" as the first line"});
    } else if (!line(1).starts_with("//") && !header_speaks) {
      findings.push_back(
          {file.path, 2, "expected a comment that says what this file holds and why it is apart"});
    }
    if (is_header(file.path) &&
        std::find(file.lines.begin(), file.lines.end(), "#pragma once") == file.lines.end()) {
      findings.push_back({file.path, 0, "header without \"#pragma once\""});
    }
  } else if (is_shell(file) || (is_cmake(file.path) && !file.path.starts_with("src/"))) {
    const std::size_t first = line(0).starts_with("#!") ? 1 : 0;
    if (line(first) != "# " + std::string(kSpdx)) {
      findings.push_back({file.path, first + 1, "expected \"# " + std::string(kSpdx) + "\""});
    }
  } else if (file.path.ends_with(".toml") && !line(0).starts_with("#")) {
    findings.push_back({file.path, 1, "expected a comment that says what this file describes"});
  }
}

/// A pattern that the code of some folders must not contain.
struct CodeRule {
  std::regex pattern;
  std::string message;
  bool (*applies)(std::string_view path);
};

const std::vector<CodeRule>& code_rules() {
  static const std::vector<CodeRule> kRules = [] {
    const auto sans_io = [](std::string_view path) {
      constexpr std::array<std::string_view, 6> kFolders = {"src/engine/", "src/wire/",     "src/verbs/",
                                                            "src/sim/",    "src/workload/", "src/trace/"};
      return starts_with_any(path, kFolders);
    };
    const auto hot = [](std::string_view path) {
      constexpr std::array<std::string_view, 6> kFolders = {
          "src/engine/", "src/wire/", "src/verbs/", "src/sim/kernel/", "src/sim/fabric/", "src/sim/host/"};
      return starts_with_any(path, kFolders) && !is_test(path);
    };
    const auto silent = [](std::string_view path) {
      constexpr std::array<std::string_view, 7> kFolders = {
          "src/base/", "src/engine/", "src/wire/", "src/verbs/", "src/sim/", "src/workload/", "src/trace/"};
      return starts_with_any(path, kFolders) && path != "src/base/check.cc" && !is_test(path);
    };
    const auto header = [](std::string_view path) { return is_header(path); };
    return std::vector<CodeRule>{
        {std::regex(R"(\busing\s+namespace\b)"), "\"using namespace\" in a header", header},
        {std::regex(R"(\bstd::function\b|#\s*include\s*<functional>)"),
         "std::function (it may take memory) where packets and events pass: use a template or a variant",
         hot},
        {std::regex(R"(\b(s?rand|[dlm]rand48)\s*\(|\bstd::random_device\b)"),
         "unseeded randomness: draw from a stream that was handed in", sans_io},
        {std::regex(
             R"(\b(time|clock)\s*\(\s*(0|NULL|nullptr|&\w+|)\s*\)|\b(gettimeofday|clock_gettime)\s*\()"),
         "a clock: time comes in as an argument", sans_io},
        {std::regex(R"(\b(system_clock|steady_clock|high_resolution_clock)\b)"),
         "a clock: time comes in as an argument", sans_io},
        {std::regex(
             R"(#\s*include\s*<iostream>|\bstd::(cout|cerr|clog)\b|\bstd::f?printf\b|\bf?printf\s*\()"),
         "printing: report through results, counters or the trace", silent},
    };
  }();
  return kRules;
}

void check_code(const SourceFile& file, Findings& findings) {
  if (!is_cpp(file.path)) return;
  const std::vector<std::string> code = code_only(file.lines);
  for (std::size_t i = 0; i < code.size(); ++i) {
    for (const CodeRule& rule : code_rules()) {
      if (rule.applies(file.path) && std::regex_search(code[i], rule.pattern)) {
        findings.push_back({file.path, i + 1, rule.message});
      }
    }
  }
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// True when `word` occurs in `line` with no word character directly before it nor (`closed`) directly after
/// it.
bool has_word(std::string_view line, std::string_view word, bool closed) {
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const bool starts = at == 0 || !is_word(line[at - 1]);
    const std::size_t end = at + word.size();
    if (starts && (!closed || end >= line.size() || !is_word(line[end]))) return true;
  }
  return false;
}

void check_words(const SourceFile& file, Findings& findings) {
  static const std::vector<std::string> kUnfinished = {std::string("TO") + "DO", std::string("FIX") + "ME",
                                                       std::string("XX") + "X", std::string("HA") + "CK"};
  static const std::vector<std::string> kElsewhere = {
      std::string("fac") + "ts/", std::string("../sha") + "red", std::string("/wo") + "rk/"};
  const bool may_drive_terminals =
      !file.path.starts_with("src/") || is_test(file.path) || file.path == "src/cli/terminal.cc";
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    for (const std::string_view escape : {"\\033[", "\\x1b[", "\\e["}) {
      if (!may_drive_terminals && file.lines[i].find(escape) != std::string::npos)
        findings.push_back({file.path, i + 1, "an escape sequence: src/cli/terminal.cc has them all"});
    }
    for (const std::string& word : kUnfinished) {
      if (has_word(file.lines[i], word, true)) {
        findings.push_back({file.path, i + 1, word + ": finish it, or say in docs/decisions why it is left"});
      }
    }
    for (const std::string& path : kElsewhere) {
      if (has_word(file.lines[i], path, false)) {
        findings.push_back({file.path, i + 1, "\"" + path + "\" is no place that a reader of this tree has"});
      }
    }
  }
}

void check_lines(const SourceFile& file, Findings& findings) {
  const std::size_t columns_max = is_cpp(file.path) ? kCppColumnsMax : kScriptColumnsMax;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    if (line.find('\t') != std::string::npos) findings.push_back({file.path, i + 1, "tab"});
    if (line.find('\r') != std::string::npos) findings.push_back({file.path, i + 1, "carriage return"});
    if (line.ends_with(' ')) findings.push_back({file.path, i + 1, "trailing white space"});
    if (is_program_text(file) && columns(line) > columns_max && line.find("http") == std::string::npos) {
      findings.push_back(
          {file.path, i + 1,
           std::to_string(columns(line)) + " columns, at most " + std::to_string(columns_max)});
    }
  }
}

void check_name(const SourceFile& file, Findings& findings) {
  static const std::regex kEmptyName(
      R"((^|[/_])(utils?|common|helpers?|misc|stuff|mgr|manager|new|old|v2)(_test)?(\.|/))");
  std::smatch match;
  if (std::regex_search(file.path, match, kEmptyName)) {
    findings.push_back(
        {file.path, 0, "\"" + match[2].str() + "\" says nothing about what is inside: name the idea"});
  }
}

void check_ascii(const SourceFile& file, Findings& findings) {
  constexpr std::array<std::string_view, 3> kFolders = {"profiles/", "scenarios/", "studies/"};
  if (!starts_with_any(file.path, kFolders)) return;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    if (std::any_of(file.lines[i].begin(), file.lines[i].end(), [](char c) { return c < ' ' || c > '~'; })) {
      findings.push_back({file.path, i + 1, "a byte that is no printable ASCII"});
    }
  }
}

/// The table of files that may be long: "path : lines : reason", the lines being their own limit.
struct LongFile {
  std::size_t lines_max = 0;
  std::size_t at = 0;  ///< Line in the table.
};

std::map<std::string, LongFile> read_long_files(const std::vector<SourceFile>& files, Findings& findings) {
  static const std::regex kEntry(R"(^(\S+) : (\d+) : \S.*$)");
  std::map<std::string, LongFile> table;
  for (const SourceFile& file : files) {
    if (file.path != kLongFiles) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      if (line.empty() || line[0] == '#') continue;
      std::smatch match;
      if (std::regex_match(line, match, kEntry)) {
        table[match[1]] = {std::stoul(match[2]), i + 1};
      } else {
        findings.push_back({file.path, i + 1, "expected \"path : lines : reason\", found \"" + line + "\""});
      }
    }
  }
  return table;
}

void check_lengths(const std::vector<SourceFile>& files, Findings& findings) {
  const std::map<std::string, LongFile> exceptions = read_long_files(files, findings);
  std::set<std::string> used;
  for (const SourceFile& file : files) {
    if (!is_program_text(file)) continue;
    const std::size_t usual = is_test(file.path) ? kTestLinesMax : kSourceLinesMax;
    if (file.lines.size() <= usual) continue;
    const auto exception = exceptions.find(file.path);
    const std::size_t limit = exception == exceptions.end() ? usual : exception->second.lines_max;
    if (exception != exceptions.end()) used.insert(file.path);
    if (file.lines.size() > limit) {
      findings.push_back({file.path, 0,
                          std::to_string(file.lines.size()) + " lines, at most " + std::to_string(limit) +
                              ": split it by idea, or give the reason in " + std::string(kLongFiles)});
    }
  }
  for (const auto& [path, exception] : exceptions) {
    if (used.count(path) == 0) {
      findings.push_back(
          {std::string(kLongFiles), exception.at, path + " is not long (any more): drop this line"});
    }
  }
}

}  // namespace

std::vector<Finding> check_tidy(const std::vector<SourceFile>& files) {
  Findings findings;
  std::set<std::string> paths;
  for (const SourceFile& file : files) paths.insert(file.path);
  for (const SourceFile& file : files) {
    check_opening(file, paths, findings);
    check_code(file, findings);
    check_words(file, findings);
    check_lines(file, findings);
    check_name(file, findings);
    check_ascii(file, findings);
  }
  check_lengths(files, findings);
  return findings;
}

std::vector<Finding> check_architecture_tour(const std::vector<SourceFile>& files) {
  constexpr std::string_view kTour = "docs/architecture.md";
  std::string tour;
  std::set<std::string> folders;
  for (const SourceFile& file : files) {
    if (file.path == kTour) {
      for (const std::string& line : file.lines) tour += line + "\n";
    }
    if (file.path.starts_with("src/")) folders.insert(file.path.substr(4, file.path.rfind('/') - 4));
  }
  Findings findings;
  for (const std::string& folder : folders) {
    if (!has_word(tour, "src/" + folder, true) && tour.find("`" + folder + "`") == std::string::npos &&
        tour.find("`" + folder + "/`") == std::string::npos) {
      findings.push_back({std::string(kTour), 0, "does not mention src/" + folder});
    }
  }
  return findings;
}

}  // namespace wharf::house
