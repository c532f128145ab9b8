// SPDX-License-Identifier: Apache-2.0
#include "base/search_folders.h"

#include <algorithm>
#include <system_error>

namespace wharf {

namespace fs = std::filesystem;

SearchFolders SearchFolders::listed(std::string_view list) {
  std::vector<fs::path> folders;
  while (!list.empty()) {
    const auto colon = list.find(':');
    if (colon != 0) folders.emplace_back(list.substr(0, colon));
    list = colon == std::string_view::npos ? std::string_view() : list.substr(colon + 1);
  }
  return SearchFolders(std::move(folders));
}

std::string SearchFolders::list() const {
  std::string text;
  for (const fs::path& folder : folders_) text += (text.empty() ? "" : ":") + folder.string();
  return text;
}

std::optional<fs::path> SearchFolders::find(const std::string& name) const {
  std::error_code status;
  for (const fs::path& folder : folders_) {
    const fs::path path = folder / name;
    if (fs::exists(path, status) && !fs::is_directory(path, status)) return path;
  }
  return std::nullopt;
}

std::vector<std::string> SearchFolders::stems(std::string_view extension) const {
  std::vector<std::string> names;
  std::error_code status;
  for (const fs::path& folder : folders_) {
    for (const auto& entry : fs::directory_iterator(folder, status)) {
      if (entry.path().extension() == extension) names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace wharf
