// SPDX-License-Identifier: Apache-2.0
#include "report/result_directory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <utility>

namespace wharf::report {
namespace {

namespace fs = std::filesystem;

Error not_writable(const fs::path& path, std::string_view why) {
  return Error{ErrorKind::kEnvironment, fmt::format("{} cannot be written: {}", path.string(), why)};
}

}  // namespace

Result<ResultDirectory> ResultDirectory::create(const fs::path& path, bool replace) {
  std::error_code status;
  if (fs::exists(path, status)) {
    if (!fs::is_directory(path, status)) {
      return input_error(
          fmt::format("--out {}: that is a file, expected a directory for the results", path.string()));
    }
    const bool empty = fs::is_empty(path, status);
    if (!empty && !fs::exists(path / "manifest.json", status)) {
      return input_error(fmt::format(
          "--out {}: the directory holds other files, expected a new or empty directory", path.string()));
    }
    if (!empty && !replace) {
      return input_error(
          fmt::format("--out {}: the directory holds a result already; --force replaces it", path.string()));
    }
  }
  fs::path parent = fs::absolute(path, status).lexically_normal();
  if (parent.filename().empty()) parent = parent.parent_path();
  const fs::path final_path = parent;
  parent = parent.parent_path();
  fs::create_directories(parent, status);
  if (status) return not_writable(parent, status.message());
  const fs::path staging = parent / fmt::format(".{}.partial-{}", final_path.filename().string(), ::getpid());
  fs::remove_all(staging, status);
  fs::create_directory(staging, status);
  if (status) return not_writable(final_path, status.message());
  return ResultDirectory(final_path, staging);
}

ResultDirectory::ResultDirectory(ResultDirectory&& other) noexcept
    : path_(std::move(other.path_)), staging_(std::exchange(other.staging_, {})) {}

ResultDirectory::~ResultDirectory() {
  std::error_code status;
  if (!staging_.empty()) fs::remove_all(staging_, status);
}

Result<void> ResultDirectory::write(std::string_view name, std::string_view content) const {
  std::ofstream out(file(name), std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) return not_writable(file(name), "the write failed");
  return {};
}

Result<void> ResultDirectory::commit() {
  std::error_code status;
  fs::remove_all(path_, status);
  fs::rename(staging_, path_, status);
  if (status) return not_writable(path_, status.message());
  staging_.clear();
  return {};
}

}  // namespace wharf::report
