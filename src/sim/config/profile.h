// SPDX-License-Identifier: Apache-2.0
// Profiles: named parameters that scenarios and fabric runs build on, each a file, each may extend another.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/config/config_document.h"

namespace wharf::sim {

/// Loads NAME.toml of `directory` and what it extends, the ancestors first; `files` gets all of them. Keys
/// get `prefix` ("model." or ""). `origin` says in refusals who asked; `depth` is 0.
Result<void> add_profile(ConfigDocument& document, std::vector<std::filesystem::path>& files,
                         const std::filesystem::path& directory, const std::string& name,
                         const std::string& origin, const std::string& prefix, int depth);

}  // namespace wharf::sim
