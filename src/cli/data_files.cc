// SPDX-License-Identifier: Apache-2.0
#include "cli/data_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/fingerprint.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;

bool is_data_root(const fs::path& root) {
  constexpr std::array<std::string_view, 3> kFolders{"profiles", "scenarios", "studies"};
  std::error_code status;
  return std::all_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view folder) { return fs::is_directory(root / folder, status); });
}

}  // namespace

Result<fs::path> data_directory(std::string_view name) {
  std::error_code status;
  if (const char* root = std::getenv("WHARF_DATA"); root != nullptr && *root != '\0') {
    const fs::path path = fs::path(root) / name;
    if (fs::is_directory(path, status)) return path;
    return Error{
        ErrorKind::kEnvironment,
        fmt::format("WHARF_DATA is {}, which has no folder {}, expected the folder that holds profiles, "
                    "scenarios and studies",
                    root, name)};
  }
  for (const fs::path& root : {fs::path("."), fs::path(WHARF_SOURCE_DIRECTORY)}) {
    const fs::path path = root / name;
    if (is_data_root(root) && fs::is_directory(path, status)) return path;
  }
  return Error{
      ErrorKind::kEnvironment,
      fmt::format("the folder {} of the shipped data is not found, expected this program to run in the "
                  "project's folder or WHARF_DATA to name it",
                  name)};
}

}  // namespace wharf::cli
