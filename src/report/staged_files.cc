// SPDX-License-Identifier: Apache-2.0
#include "report/staged_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>
#include <vector>

namespace wharf::report {
namespace {

namespace fs = std::filesystem;

Error not_writable(const fs::path& path, const std::error_code& why) {
  return Error{ErrorKind::kEnvironment,
               fmt::format("{} cannot be written: {}", path.string(), why.message())};
}

}  // namespace

Result<StagedFiles> StagedFiles::create(const fs::path& directory) {
  std::error_code status;
  if (fs::exists(directory, status) && !fs::is_directory(directory, status)) {
    return input_error(
        fmt::format("--out {}: that is a file, expected a directory for the results", directory.string()));
  }
  fs::create_directories(directory, status);
  if (status) return not_writable(directory, status);
  const fs::path staging = directory / fmt::format(".partial-{}", ::getpid());
  fs::remove_all(staging, status);
  fs::create_directory(staging, status);
  if (status) return not_writable(directory, status);
  return StagedFiles(directory, staging);
}

StagedFiles::StagedFiles(StagedFiles&& other) noexcept
    : directory_(std::move(other.directory_)), staging_(std::exchange(other.staging_, {})) {}

StagedFiles::~StagedFiles() {
  std::error_code status;
  if (!staging_.empty()) fs::remove_all(staging_, status);
}

Result<void> StagedFiles::commit() {
  std::error_code status;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(staging_)) {
    if (!entry.is_directory()) files.push_back(entry.path().lexically_relative(staging_));
  }
  for (const fs::path& file : files) {
    const fs::path place = directory_ / file;
    fs::create_directories(place.parent_path(), status);
    if (!status) fs::rename(staging_ / file, place, status);
    if (status) return not_writable(place, status);
  }
  fs::remove_all(staging_, status);
  staging_.clear();
  return {};
}

}  // namespace wharf::report
