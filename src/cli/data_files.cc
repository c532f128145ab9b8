// SPDX-License-Identifier: Apache-2.0
#include "cli/data_files.h"

#include <cstdlib>

namespace wharf::cli {

std::optional<std::filesystem::path> find_data_directory(std::string_view name) {
  namespace fs = std::filesystem;
  std::error_code status;
  if (const char* root = std::getenv("WHARF_DATA"); root != nullptr && *root != '\0') {
    const fs::path path = fs::path(root) / name;
    if (fs::is_directory(path, status)) return path;
    return std::nullopt;
  }
  for (const fs::path& root : {fs::path("."), fs::path(WHARF_SOURCE_DIRECTORY)}) {
    const fs::path path = root / name;
    if (fs::is_directory(path, status)) return path;
  }
  return std::nullopt;
}

}  // namespace wharf::cli
