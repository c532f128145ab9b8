// SPDX-License-Identifier: Apache-2.0
#include "report/result_directory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <mutex>
#include <utility>
#include <vector>

namespace wharf::report {
namespace {

namespace fs = std::filesystem;

Error not_writable(const fs::path& path, std::string_view why) {
  return Error{ErrorKind::kEnvironment, fmt::format("{} cannot be written: {}", path.string(), why)};
}

/// Staging folders of this process, for remove_unfinished_results().
class Unfinished {
 public:
  static Unfinished& all() {
    static Unfinished only;
    return only;
  }
  void add(const fs::path& staging) {
    const std::lock_guard lock(mutex_);
    folders_.push_back(staging);
  }
  void forget(const fs::path& staging) {
    const std::lock_guard lock(mutex_);
    std::erase(folders_, staging);
  }
  void remove() noexcept {
    // Whoever holds the lock may have ended with it.
    if (!mutex_.try_lock()) return;
    std::error_code status;
    for (const fs::path& folder : folders_) fs::remove_all(folder, status);
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  std::vector<fs::path> folders_;
};

}  // namespace

void remove_unfinished_results() noexcept { Unfinished::all().remove(); }

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
  Unfinished::all().add(staging);
  return ResultDirectory(final_path, staging);
}

ResultDirectory::ResultDirectory(ResultDirectory&& other) noexcept
    : path_(std::move(other.path_)), staging_(std::exchange(other.staging_, {})) {}

ResultDirectory::~ResultDirectory() {
  if (staging_.empty()) return;
  std::error_code status;
  fs::remove_all(staging_, status);
  Unfinished::all().forget(staging_);
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
  Unfinished::all().forget(staging_);
  staging_.clear();
  return {};
}

}  // namespace wharf::report
