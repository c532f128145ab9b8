// SPDX-License-Identifier: Apache-2.0
// Hashes of what a run reads, to recognise the same input again.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace wharf::sim {

/// Hash of a file's bytes, as 0x and sixteen digits; empty when the file cannot be read.
std::string file_hash(const std::filesystem::path& path);

/// The same of bytes that have been read already, as from a pipe.
std::string text_hash(std::string_view bytes);

}  // namespace wharf::sim
