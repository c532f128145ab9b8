// SPDX-License-Identifier: Apache-2.0
// Where the shipped data lies: profiles, scenarios, reference values, traces.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wharf::cli {

/// The folder `name` ("profiles", "scenarios", ...) of the shipped data: under $WHARF_DATA if that is set,
/// else under the current directory if that is the project's own (it has profiles, scenarios and studies; a
/// folder of one of these names alone is somebody else's), else in the source tree that this program was
/// built from. kEnvironment when it is not there, naming the folder that was looked at.
Result<std::filesystem::path> data_directory(std::string_view name);

}  // namespace wharf::cli
