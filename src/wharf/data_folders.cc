// SPDX-License-Identifier: Apache-2.0
#include "wharf/data_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>

#include "wharf/own_file.h"

namespace wharf {
namespace {

namespace fs = std::filesystem;

/// In a source tree the litmus programs are the tests' own.
constexpr std::string_view kLitmus = "litmus";
constexpr std::string_view kLitmusInTree = "tests/litmus";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_whole(const fs::path& root) {
  constexpr std::array<std::string_view, 3> kFolders{"profiles", "scenarios", "studies"};
  std::error_code status;
  return std::all_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view folder) { return fs::is_directory(root / folder, status); });
}

/// As set_own_file() said; empty: the program that runs.
fs::path& own_file() {
  static fs::path file;
  return file;
}

/// The data of this code, wherever it has been moved to; empty when it has none. It lies in PREFIX/bin or in
/// PREFIX/lib/python3/dist-packages/wharf when it is installed, in build/release/bin and such where it is
/// built.
fs::path beside_program() {
  std::error_code status;
  const fs::path file = own_file().empty() ? fs::read_symlink("/proc/self/exe", status) : own_file();
  if (status) return {};
  constexpr int kLevels = 4;
  fs::path root = file.parent_path();
  for (int level = 0; level < kLevels && root.has_relative_path(); ++level) {
    root = root.parent_path();
    if (is_whole(root / "share/wharf")) return root / "share/wharf";
    if (is_whole(root)) return root;
  }
  return {};
}

fs::path users_folder() {
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty()) return fs::path(data) / "wharf";
  const std::string home = variable("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".local/share/wharf";
}

std::vector<fs::path> shared_folders() {
  std::string list = variable("XDG_DATA_DIRS");
  if (list.empty()) list = "/usr/local/share:/usr/share";
  std::vector<fs::path> folders;
  std::string_view rest = list;
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    if (colon != 0) folders.push_back(fs::path(rest.substr(0, colon)) / "wharf");
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return folders;
}

fs::path folder_in(const fs::path& root, std::string_view name) {
  std::error_code status;
  if (name == kLitmus && !fs::is_directory(root / name, status)) return root / kLitmusInTree;
  return root / name;
}

Error no_data(std::string_view name) {
  if (const std::string root = variable("WHARF_DATA"); !root.empty()) {
    return {ErrorKind::kEnvironment,
            fmt::format("WHARF_DATA is {}, which has no folder {}, expected the folder that holds profiles, "
                        "scenarios and studies",
                        root, name)};
  }
  return {ErrorKind::kEnvironment,
          fmt::format("the folder {} of the shipped data is neither in the working folder nor beside this "
                      "program, expected an installed wharf, its source tree, or WHARF_DATA to name the data",
                      name)};
}

}  // namespace

void set_own_file(const fs::path& file) { own_file() = file; }

std::vector<fs::path> data_roots() {
  if (const std::string root = variable("WHARF_DATA"); !root.empty()) return {root};
  std::vector<fs::path> candidates;
  if (is_whole(".")) candidates.emplace_back("");
  candidates.push_back(users_folder());
  candidates.push_back(beside_program());
  for (fs::path& folder : shared_folders()) candidates.push_back(std::move(folder));
  std::vector<fs::path> roots;
  std::error_code status;
  for (fs::path& candidate : candidates) {
    const bool working = candidate.empty() && roots.empty() && is_whole(".");
    if (!working && (candidate.empty() || !fs::is_directory(candidate, status))) continue;
    const auto same = [&](const fs::path& root) {
      return fs::equivalent(root.empty() ? fs::path(".") : root,
                            candidate.empty() ? fs::path(".") : candidate, status);
    };
    if (std::none_of(roots.begin(), roots.end(), same)) roots.push_back(std::move(candidate));
  }
  return roots;
}

Result<fs::path> data_directory(std::string_view name) {
  std::error_code status;
  const bool given = !variable("WHARF_DATA").empty();
  for (const fs::path& root : data_roots()) {
    const fs::path folder = folder_in(root, name);
    if ((given || is_whole(root.empty() ? fs::path(".") : root)) && fs::is_directory(folder, status))
      return folder;
  }
  return no_data(name);
}

Result<SearchFolders> data_folders(std::string_view name) {
  std::error_code status;
  std::vector<fs::path> folders;
  for (const fs::path& root : data_roots()) {
    if (fs::path folder = folder_in(root, name); fs::is_directory(folder, status))
      folders.push_back(std::move(folder));
  }
  if (folders.empty()) return no_data(name);
  return SearchFolders(std::move(folders));
}

std::string data_file(const std::string& path) {
  std::error_code status;
  if (path.empty() || fs::path(path).is_absolute() || fs::exists(path, status)) return path;
  for (const fs::path& root : data_roots()) {
    if (fs::is_regular_file(root / path, status)) return (root / path).string();
  }
  return path;
}

}  // namespace wharf
