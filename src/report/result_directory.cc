// SPDX-License-Identifier: Apache-2.0
#include "report/result_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
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

/// A descriptor of `folder` with its lock, or -1 if somebody else has it.
int lock_of(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  if (descriptor >= 0) ::close(descriptor);
  return -1;
}

/// What staging folders of `path` are called, without the number of their process.
std::string staging_prefix(const fs::path& path) {
  return fmt::format(".{}.partial-", path.filename().string());
}

/// Removes what killed runs left for `path`, and says what in `removed`; refuses it if a run is at work.
/// `own` is left alone.
Result<void> settle_others(const fs::path& path, const fs::path& own, std::vector<std::string>& removed) {
  std::error_code status;
  const std::string prefix = staging_prefix(path);
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), status)) {
    if (entry.path() != own && entry.path().filename().string().starts_with(prefix))
      others.push_back(entry.path());
  }
  for (const fs::path& other : others) {
    const int lock = lock_of(other);
    if (lock < 0 && fs::exists(other, status)) {
      return input_error(
          fmt::format("--out {}: process {} is writing a result there, expected another directory",
                      path.string(), other.filename().string().substr(prefix.size())));
    }
    if (lock < 0) continue;  // It has just ended.
    fs::remove_all(other, status);
    ::close(lock);
    removed.push_back(other.string());
  }
  return {};
}

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
  const fs::path staging = parent / fmt::format("{}{}", staging_prefix(final_path), ::getpid());
  std::vector<std::string> removed;
  WHARF_TRY(settle_others(final_path, {}, removed));
  fs::create_directory(staging, status);
  if (status) return not_writable(final_path, status.message());
  const int lock = lock_of(staging);
  if (lock < 0) return not_writable(final_path, "its folder cannot be locked");
  Unfinished::all().add(staging);
  ResultDirectory made(final_path, staging, replace, lock, std::move(removed));
  // Somebody may have begun at the same time.
  WHARF_TRY(settle_others(final_path, staging, made.removed_));
  return made;
}

void ResultDirectory::unlock() {
  if (lock_ >= 0) ::close(lock_);
  lock_ = -1;
}

ResultDirectory::ResultDirectory(ResultDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      staging_(std::exchange(other.staging_, {})),
      replaces_(other.replaces_),
      lock_(std::exchange(other.lock_, -1)),
      removed_(std::move(other.removed_)) {}

ResultDirectory::~ResultDirectory() {
  if (staging_.empty()) return;
  std::error_code status;
  fs::remove_all(staging_, status);
  unlock();
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
  if (!replaces_ && fs::exists(path_, status) && !fs::is_empty(path_, status))
    return not_writable(path_, "another run has put its result there meanwhile");
  fs::remove_all(path_, status);
  fs::rename(staging_, path_, status);
  if (status) return not_writable(path_, status.message());
  unlock();
  Unfinished::all().forget(staging_);
  staging_.clear();
  return {};
}

}  // namespace wharf::report
