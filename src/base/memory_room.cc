// SPDX-License-Identifier: Apache-2.0
#include "base/memory_room.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>

namespace wharf {
namespace {

namespace fs = std::filesystem;

/// The number at the beginning of a file; nothing for "max".
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  return in >> value ? std::optional(value) : std::nullopt;
}

/// The number behind `word` in a file of lines "word number ...".
std::optional<std::uint64_t> number_after(const fs::path& file, std::string_view word) {
  std::ifstream in(file);
  for (std::string first; in >> first;) {
    std::uint64_t value = 0;
    if (first == word) return in >> value ? std::optional(value) : std::nullopt;
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

void tighten(MemoryRoom& room, std::uint64_t limit, std::uint64_t used, std::string_view name) {
  const std::uint64_t left = limit > used ? limit - used : 0;
  if (left < room.bytes) room = {left, name};
}

/// Free memory, and the swap space into which others can go.
void tighten_by_machine(MemoryRoom& room, const fs::path& root) {
  const fs::path file = root / "proc/meminfo";
  const auto available = number_after(file, "MemAvailable:");
  if (!available) return;
  const std::uint64_t swap = number_after(file, "SwapFree:").value_or(0);
  tighten(room, (*available + swap) << 10U, 0, "this machine (MemAvailable)");
}

/// The files of a memory controller, in the two versions of control groups.
struct ControllerFiles {
  const char* limit;
  const char* used;
  const char* cached;  ///< In memory.stat: what is given back when memory is wanted.
};
constexpr ControllerFiles kVersion2{"memory.max", "memory.current", "inactive_file"};
constexpr ControllerFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};

/// The group at `path` below `mount` and all above it.
void tighten_by_groups(MemoryRoom& room, const fs::path& mount, fs::path path, const ControllerFiles& files) {
  for (;; path = path.parent_path()) {
    const fs::path group = mount / path.relative_path();
    if (const auto limit = number_in(group / files.limit)) {
      const std::uint64_t used = number_in(group / files.used).value_or(0);
      const std::uint64_t cached = number_after(group / "memory.stat", files.cached).value_or(0);
      tighten(room, *limit, used > cached ? used - cached : 0, "the memory limit of its control group");
    }
    if (!path.has_relative_path()) return;
  }
}

void tighten_by_control_groups(MemoryRoom& room, const fs::path& root) {
  // Lines "hierarchy:controllers:path"; version 2 is hierarchy 0 and names no controller.
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path path = line.substr(second + 1);
    if (controllers == ",,") tighten_by_groups(room, root / "sys/fs/cgroup", path, kVersion2);
    if (controllers.find(",memory,") != std::string::npos)
      tighten_by_groups(room, root / "sys/fs/cgroup/memory", path, kVersion1);
  }
}

void tighten_by_addresses(MemoryRoom& room, const fs::path& root) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const std::uint64_t pages = number_in(root / "proc/self/statm").value_or(0);
  tighten(room, limit.rlim_cur, pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
          "the limit of addresses (ulimit -v)");
}

}  // namespace

MemoryRoom memory_room(const fs::path& root) {
  MemoryRoom room;
  tighten_by_machine(room, root);
  tighten_by_control_groups(room, root);
  tighten_by_addresses(room, root);
  return room;
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  if (!(statm >> all >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void return_freed_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

}  // namespace wharf
