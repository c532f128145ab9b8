// SPDX-License-Identifier: Apache-2.0
// Folders in which files are looked for by name, the first that has one wins.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wharf {

class SearchFolders {
 public:
  SearchFolders() = default;
  explicit SearchFolders(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {}
  /// From folders with ':' between them, as in PATH.
  static SearchFolders listed(std::string_view list);
  /// The same list; a folder with ':' in its name cannot be in one.
  std::string list() const;

  const std::vector<std::filesystem::path>& folders() const { return folders_; }
  /// The file `name` of the first folder that has one.
  std::optional<std::filesystem::path> find(const std::string& name) const;
  /// The names without `extension` (".toml") of all files that have it: each once, in order.
  std::vector<std::string> stems(std::string_view extension) const;

 private:
  std::vector<std::filesystem::path> folders_;
};

}  // namespace wharf
