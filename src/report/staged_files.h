// SPDX-License-Identifier: Apache-2.0
// Files that join what a directory holds already: written beside it, moved in when all of them are whole.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace wharf::report {

/// Made before the work that fills it, so that a directory that cannot be written is known at once. Files are
/// written under path(), which may get folders; commit() moves each to its place, over an older one of that
/// name. Without commit() nothing is left but the directory itself.
class StagedFiles {
 public:
  /// Makes `directory` (and what leads to it) if need be. kEnvironment when that or a file in it is refused,
  /// kInput when it is a file.
  static Result<StagedFiles> create(const std::filesystem::path& directory);
  StagedFiles(StagedFiles&&) noexcept;
  StagedFiles& operator=(StagedFiles&&) = delete;
  ~StagedFiles();

  const std::filesystem::path& path() const { return staging_; }
  Result<void> commit();

 private:
  StagedFiles(std::filesystem::path directory, std::filesystem::path staging)
      : directory_(std::move(directory)), staging_(std::move(staging)) {}

  std::filesystem::path directory_;
  std::filesystem::path staging_;
};

}  // namespace wharf::report
