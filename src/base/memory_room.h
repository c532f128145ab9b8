// SPDX-License-Identifier: Apache-2.0
// How much more memory this process can have, as far as the system tells.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string_view>

namespace wharf {

struct MemoryRoom {
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();  ///< All ones: nothing is known.
  std::string_view limit = "nothing";                               ///< What leaves so much, for messages.
};

/// The least of what the machine has free, what the control groups of this process allow, and what its limit
/// of addresses (`ulimit -v`) leaves. Files are read below `root`; what is not there limits nothing.
MemoryRoom memory_room(const std::filesystem::path& root = "/");

/// What this process has in memory now, the pages of its files included; 0: the system does not tell.
std::uint64_t resident_bytes();
/// Gives memory that was freed back to the system, where the allocator can.
void return_freed_memory();

}  // namespace wharf
