// SPDX-License-Identifier: Apache-2.0
// One file that appears whole: written beside its place, moved there at the end.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/written_place.h"

namespace wharf::report {

/// Made before the work that fills it, so that a folder that cannot be written is known at once. Without
/// commit() nothing is left, not even a folder that was made for it.
class StagedPage {
 public:
  /// kInput when `file` is a folder; kEnvironment, in one sentence, when nothing can be written there.
  /// Folders that lead to it are made. `option` is how the sentence calls it: "--html".
  static Result<StagedPage> create(std::string_view option, const std::filesystem::path& file);
  StagedPage(StagedPage&&) noexcept;
  StagedPage& operator=(StagedPage&&) = delete;
  ~StagedPage();

  const std::filesystem::path& file() const { return file_; }
  /// A folder for what the page is made of; gone at the end.
  const std::filesystem::path& workshop() const { return staging_; }
  /// Puts the file into its place, over an older one; a link stays, and a device or pipe is written to.
  Result<void> commit(std::string_view text);

 private:
  explicit StagedPage(std::filesystem::path file) : file_(std::move(file)), place_(written_place(file_)) {}
  Result<void> prepare(std::string_view option);
  void clean() noexcept;

  std::filesystem::path file_;
  WrittenPlace place_;
  std::filesystem::path staging_;            ///< Empty once committed.
  std::vector<std::filesystem::path> made_;  ///< Folders that were not there, the outermost first.
};

}  // namespace wharf::report
