// SPDX-License-Identifier: Apache-2.0
// The directory of one result. Files appear in it all at once: they are written beside it and moved into
// place by commit(), so that an aborted command leaves nothing half-written.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wharf::report {

/// A result under construction.
class ResultDirectory {
 public:
  /// Prepares to fill `path`. An existing directory is only replaced if it is empty or `replace` is given and
  /// it holds a manifest.json of an earlier result; everything else is refused.
  static Result<ResultDirectory> create(const std::filesystem::path& path, bool replace);

  ResultDirectory(ResultDirectory&& other) noexcept;
  ResultDirectory& operator=(ResultDirectory&&) = delete;
  /// Removes what was not committed.
  ~ResultDirectory();

  /// Where to write file `name` until commit().
  std::filesystem::path file(std::string_view name) const { return staging_ / name; }
  /// Writes a whole file.
  Result<void> write(std::string_view name, std::string_view content) const;
  /// Moves everything into place.
  Result<void> commit();

  const std::filesystem::path& path() const { return path_; }

 private:
  ResultDirectory(std::filesystem::path path, std::filesystem::path staging)
      : path_(std::move(path)), staging_(std::move(staging)) {}

  std::filesystem::path path_;
  std::filesystem::path staging_;
};

/// Removes what no destructor will remove: for a program that ends at once. Results that are under
/// construction are lost; nothing of them is in their directories yet.
void remove_unfinished_results() noexcept;

}  // namespace wharf::report
