// SPDX-License-Identifier: Apache-2.0
// Where the shipped data lies: profiles, scenarios, reference values, traces.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace wharf::cli {

/// The directory `name` ("profiles", "scenarios", ...) of the shipped data: under $WHARF_DATA if that is set,
/// else under the current directory, else in the source tree that this program was built from.
std::optional<std::filesystem::path> find_data_directory(std::string_view name);

}  // namespace wharf::cli
