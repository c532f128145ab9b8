// SPDX-License-Identifier: Apache-2.0
#include "base/written_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace wharf {
namespace {

namespace fs = std::filesystem;

/// As many as the kernel follows.
constexpr int kLinksMost = 40;

Error refused(const fs::path& file, int reason) {
  return {ErrorKind::kEnvironment,
          fmt::format("{}: cannot be written: {}", file.string(), std::strerror(reason))};
}

/// 0, or the reason that the bytes of `from` did not all reach `to`.
int copy(int from, int to) {
  std::array<char, 65536> bytes;
  for (;;) {
    const ssize_t got = ::read(from, bytes.data(), bytes.size());
    if (got < 0) return errno;
    if (got == 0) return 0;
    for (ssize_t sent = 0; sent < got;) {
      const ssize_t count = ::write(to, bytes.data() + sent, static_cast<std::size_t>(got - sent));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno;
      sent += count;
    }
  }
}

}  // namespace

fs::path WrittenPlace::beside(std::string_view ending) const {
  std::error_code status;
  fs::path name = through ? fs::temp_directory_path(status) / "wharf" : file;
  name += ending;
  return name;
}

WrittenPlace written_place(const fs::path& file) {
  std::error_code status;
  const fs::file_status found = fs::status(file, status);
  // Not by its links: those of /dev/stdout end in a name that no file has.
  if (fs::exists(found) && !fs::is_regular_file(found) && !fs::is_directory(found)) return {file, true};
  WrittenPlace place{file, false};
  for (int links = 0; links < kLinksMost && fs::is_symlink(fs::symlink_status(place.file, status)); ++links) {
    const fs::path target = fs::read_symlink(place.file, status);
    if (status) break;
    place.file = place.file.parent_path() / target;
  }
  return place;
}

Result<void> put_in_place(const fs::path& whole, const WrittenPlace& place) {
  if (!place.through) {
    std::error_code status;
    fs::rename(whole, place.file, status);
    return status ? Result<void>(refused(place.file, status.value())) : Result<void>();
  }
  const int from = ::open(whole.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return refused(place.file, errno);
  const int to = ::open(place.file.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  int reason = to < 0 ? errno : copy(from, to);
  if (to >= 0 && ::close(to) != 0 && reason == 0) reason = errno;
  ::close(from);
  if (reason != 0) return refused(place.file, reason);
  std::remove(whole.c_str());
  return {};
}

}  // namespace wharf
