// SPDX-License-Identifier: Apache-2.0
// Files that a scenario or an option names: where they lie, and what may be read.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/config/config_document.h"

namespace wharf::sim {

/// What stands for standard input where a file is expected.
inline constexpr std::string_view kStandardInput = "-";

/// What messages call a file.
std::string shown(const std::string& file);

/// Whether there is such a file, folder, pipe or device.
bool file_exists(const std::string& file);

/// Refuses a device such as /dev/zero, which may have no end; standard input may be a terminal.
Result<void> refuse_device(const std::filesystem::path& path);

/// The text of a file, a pipe or standard input; plain, gzip or xz.
Result<std::string> read_text(const std::string& file);

/// Takes `file`, the value of `key`, for one beside `scenario` if the scenario gives it and there is one.
void find_beside(const ConfigDocument& document, std::string_view key, const std::filesystem::path& scenario,
                 std::string& file);

}  // namespace wharf::sim
