// SPDX-License-Identifier: Apache-2.0
// Compares include lines and link lines with the table of layers.
#include "house/include_layers.h"

#include <optional>
#include <regex>
#include <sstream>
#include <utility>

namespace wharf::house {
namespace {

constexpr std::string_view kSource = "src/";

/// "src/engine/ub/x.h" to "engine/ub"; nothing for a file outside src/. A file directly in src/ has folder
/// "".
std::optional<std::string> folder_of(const std::string& path) {
  if (!path.starts_with(kSource)) return std::nullopt;
  const std::size_t slash = path.rfind('/');
  return slash < kSource.size() ? std::string() : path.substr(kSource.size(), slash - kSource.size());
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string listed(const std::set<std::string>& folders) {
  std::string text;
  for (const std::string& folder : folders) text += (text.empty() ? "" : ", ") + folder;
  return text.empty() ? "nothing" : text;
}

/// What the build calls the library of each folder: the argument of its wharf_folder() call.
std::map<std::string, std::string> folder_of_library(const std::vector<SourceFile>& files) {
  static const std::regex kCall(R"(^\s*(?:wharf_folder\((\w+)|add_library\(wharf_(\w+)))");
  std::map<std::string, std::string> folders;
  for (const SourceFile& file : files) {
    const std::optional<std::string> folder = folder_of(file.path);
    if (!folder || !file.path.ends_with("/CMakeLists.txt")) continue;
    for (const std::string& line : file.lines) {
      std::smatch match;
      if (std::regex_search(line, match, kCall)) {
        folders["wharf_" + (match[1].matched ? match[1].str() : match[2].str())] = *folder;
      }
    }
  }
  return folders;
}

class Check {
 public:
  Check(const Layers& layers, const std::vector<SourceFile>& files)
      : layers_(layers), libraries_(folder_of_library(files)) {
    for (const SourceFile& file : files) paths_.insert(file.path);
  }

  std::vector<Finding> run(const std::vector<SourceFile>& files) {
    for (const SourceFile& file : files) {
      const std::optional<std::string> folder = folder_of(file.path);
      if (!folder) continue;
      if (!is_cpp(file.path) && !file.path.ends_with("/CMakeLists.txt")) continue;
      const auto arrows = layers_.allowed.find(layers_.line_of(*folder));
      if (arrows == layers_.allowed.end()) {
        findings_.push_back({file.path, 0, "folder src/" + *folder + " has no line in tools/layers.txt"});
        continue;
      }
      for (std::size_t i = 0; i < file.lines.size(); ++i) {
        if (is_cpp(file.path)) {
          check_include(file, i, *folder, arrows->second);
        } else {
          check_links(file, i, *folder, arrows->second);
        }
      }
    }
    for (const auto& [folder, arrows] : layers_.allowed) {
      for (const std::string& target : arrows) {
        if (used_.count({folder, target}) == 0)
          findings_.push_back(
              {"tools/layers.txt", 0, "no include needs the arrow " + folder + " -> " + target});
      }
    }
    return std::move(findings_);
  }

 private:
  void check_include(const SourceFile& file, std::size_t index, const std::string& folder,
                     const std::set<std::string>& allowed) {
    static const std::regex kInclude(R"re(^\s*#\s*include\s*"([^"]+)")re");
    std::smatch match;
    if (!std::regex_search(file.lines[index], match, kInclude)) return;
    const std::string target = match[1];
    const std::string target_folder = parent_of(target);
    // Unit tests and benchmarks may use the headers that tests share.
    if (target.starts_with("tests/support/") &&
        (file.path.ends_with("_test.cc") || file.path.ends_with("_bench.cc")))
      return;
    // Headers of a folder called include leave the tree together, without the folders above them.
    if (folder.ends_with("/include") && paths_.count(parent_of(file.path) + "/" + target) != 0) return;
    if (paths_.count(std::string(kSource) + target) == 0) {
      findings_.push_back(
          {file.path, index + 1,
           "\"" + target + "\" is no file below src/; includes are written from src/, packages in <>"});
    } else if (target_folder != folder && !is_allowed(allowed, target_folder)) {
      forbid(file, index, folder, target_folder, allowed);
    } else {
      used_.insert({layers_.line_of(folder), target_folder});
      used_.insert({layers_.line_of(folder), layers_.line_of(target_folder)});
    }
  }

  void check_links(const SourceFile& file, std::size_t index, const std::string& folder,
                   const std::set<std::string>& allowed) {
    static const std::regex kLibrary(R"(\bwharf_\w+)");
    const std::string line = file.lines[index].substr(0, file.lines[index].find('#'));
    for (std::sregex_iterator it(line.begin(), line.end(), kLibrary), end; it != end; ++it) {
      const auto library = libraries_.find(it->str());
      if (library == libraries_.end()) continue;  // A function, an option or a test program.
      if (library->second != folder && !is_allowed(allowed, library->second)) {
        forbid(file, index, folder, library->second, allowed);
      }
    }
  }

  bool is_allowed(const std::set<std::string>& allowed, const std::string& folder) const {
    return allowed.count(folder) != 0 || allowed.count(layers_.line_of(folder)) != 0;
  }

  void forbid(const SourceFile& file, std::size_t index, const std::string& from, const std::string& to,
              const std::set<std::string>& allowed) {
    findings_.push_back(
        {file.path, index + 1,
         "forbidden arrow " + from + " -> " + to + " (" + from + " may use " + listed(allowed) + ")"});
  }

  const Layers& layers_;
  std::map<std::string, std::string> libraries_;
  std::set<std::string> paths_;
  std::set<std::pair<std::string, std::string>> used_;  ///< Arrows that some include needs.
  std::vector<Finding> findings_;
};

}  // namespace

std::string Layers::line_of(const std::string& folder) const {
  if (allowed.count(folder) != 0) return folder;
  const std::string any = parent_of(folder) + "/*";
  return allowed.count(any) != 0 ? any : folder;
}

Layers read_layers(const SourceFile& table) {
  Layers layers;
  for (std::size_t i = 0; i < table.lines.size(); ++i) {
    const std::string line = table.lines[i].substr(0, table.lines[i].find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream words(line);
    std::string folder;
    std::string colon;
    words >> folder >> colon;
    if (colon != ":") {
      layers.findings.push_back(
          {table.path, i + 1, "expected \"folder : folder...\", found \"" + line + "\""});
      continue;
    }
    std::set<std::string> allowed;
    for (std::string lower; words >> lower;) {
      if (layers.allowed.count(layers.line_of(lower)) == 0) {
        std::string message = folder;
        message.append(" names ").append(lower).append(", which no earlier line has");
        layers.findings.push_back({table.path, i + 1, std::move(message)});
      }
      allowed.insert(lower);
    }
    if (!layers.allowed.emplace(folder, std::move(allowed)).second) {
      layers.findings.push_back({table.path, i + 1, folder + " has two lines"});
    }
  }
  return layers;
}

std::vector<Finding> check_layers(const Layers& layers, const std::vector<SourceFile>& files) {
  return Check(layers, files).run(files);
}

}  // namespace wharf::house
