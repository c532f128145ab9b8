// SPDX-License-Identifier: Apache-2.0
#include "sim/config/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "base/nearest_name.h"
#include "base/search_folders.h"

namespace wharf::sim {
namespace {

namespace fs = std::filesystem;

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".toml");
}

Error unknown_profile(const SearchFolders& folders, const ProfileRequest& request) {
  const std::vector<std::string> names = folders.stems(".toml");
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto nearest = nearest_name(request.name, views);
  return input_error(fmt::format("{}: unknown profile \"{}\", expected one of {}, or the path of a file{}",
                                 request.origin, request.name, fmt::join(names, ", "),
                                 nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : ""));
}

Result<fs::path> file_of(const SearchFolders& folders, const ProfileRequest& request) {
  if (!is_path(request.name)) {
    const auto found = folders.find(request.name + ".toml");
    return found ? Result<fs::path>(*found) : Result<fs::path>(unknown_profile(folders, request));
  }
  std::error_code status;
  for (const fs::path& path : {request.beside / request.name, fs::path(request.name)}) {
    if (fs::is_directory(path, status))
      return input_error(
          fmt::format("{}: profile \"{}\" is a folder, expected a TOML file", request.origin, request.name));
    if (fs::exists(path, status)) return path;
  }
  return input_error(
      fmt::format("{}: there is no profile \"{}\", expected the path of a TOML file, or a name; "
                  "`wharf list profiles` shows the names",
                  request.origin, request.name));
}

Result<void> add(ConfigDocument& document, std::vector<fs::path>& files, const SearchFolders& folders,
                 const ProfileRequest& request, const std::string& prefix, int depth) {
  constexpr int kDeepest = 8;
  const auto path = file_of(folders, request);
  if (!path) return path.error();
  if (depth == kDeepest) {
    return input_error(
        fmt::format("{}: profile \"{}\" extends itself, expected an end after at most {} steps",
                    request.origin, request.name, kDeepest));
  }
  files.push_back(*path);
  ConfigDocument own;
  WHARF_TRY(own.add_file(*path, prefix, kProfileLayer));
  if (own.values().empty())
    return input_error(fmt::format("{}: profile \"{}\" is empty, expected a TOML file with keys of a profile",
                                   request.origin, request.name));
  if (const ConfigValue* extends = own.find(prefix + "extends")) {
    WHARF_TRY(add(document, files, folders, {extends->text, extends->origin, path->parent_path()}, prefix,
                  depth + 1));
  }
  for (const auto& [key, value] : own.values()) {
    if (key != prefix + "extends") document.merge(key, value);
  }
  return {};
}

}  // namespace

Result<void> add_profile(ConfigDocument& document, std::vector<fs::path>& files, const fs::path& folders,
                         const ProfileRequest& request, const std::string& prefix) {
  return add(document, files, SearchFolders::listed(folders.string()), request, prefix, 0);
}

fs::path profile_beside(const ConfigValue* given) {
  if (given == nullptr || given->layer != kScenarioLayer) return {};
  return fs::path(given->origin.substr(0, given->origin.rfind(':'))).parent_path();  // "FILE:LINE"
}

}  // namespace wharf::sim
