// SPDX-License-Identifier: Apache-2.0
// The directory of one result. Files appear in it all at once: they are written beside it and moved into
// place by commit(), so that an aborted command leaves nothing half-written.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wharf::report {

/// A result under construction. Its files lie in a folder beside the directory, which the process has locked:
/// another run with the same directory sees that and is refused, and what a run left that was killed is not
/// locked and goes away with the next one.
class ResultDirectory {
 public:
  /// Prepares to fill `path`. An existing directory is only replaced if it is empty or `replace` is given and
  /// it holds a manifest.json of an earlier result; everything else is refused, and a directory that another
  /// run is about to fill.
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
  /// Folders of runs with this directory that were killed, and that are removed now.
  const std::vector<std::string>& removed() const { return removed_; }

 private:
  ResultDirectory(std::filesystem::path path, std::filesystem::path staging, bool replaces, int lock,
                  std::vector<std::string> removed)
      : path_(std::move(path)),
        staging_(std::move(staging)),
        replaces_(replaces),
        lock_(lock),
        removed_(std::move(removed)) {}
  void unlock();

  std::filesystem::path path_;
  std::filesystem::path staging_;
  bool replaces_ = false;
  int lock_ = -1;  ///< The descriptor of `staging_` that holds its lock.
  std::vector<std::string> removed_;
};

/// Removes what no destructor will remove: for a program that ends at once. Results that are under
/// construction are lost; nothing of them is in their directories yet.
void remove_unfinished_results() noexcept;

}  // namespace wharf::report
