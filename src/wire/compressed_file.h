// SPDX-License-Identifier: Apache-2.0
// Whole files as bytes: plain, gzip or xz, told apart by their first bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wharf::wire {

/// The most that a file may hold once decompressed; a larger one is refused rather than exhausting memory.
inline constexpr std::uint64_t kLargestFileBytes = std::uint64_t{4} << 30U;

/// The decompressed content of `path`. Errors name the file and, for damaged data, the offset in it.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path);

/// The same for bytes in memory; `name` stands for the file in errors. Plain bytes are copied.
Result<std::vector<std::byte>> decompress(std::span<const std::byte> bytes, std::string_view name,
                                          std::uint64_t bytes_max = kLargestFileBytes);

}  // namespace wharf::wire
