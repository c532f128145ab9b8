// SPDX-License-Identifier: Apache-2.0
// Profiles: named parameters that scenarios and fabric runs build on, each a file, each may extend another.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/config/config_document.h"

namespace wharf::sim {

/// Which profile, and who asks for it.
struct ProfileRequest {
  std::string name;              ///< A name, or a path: it has a '/' or ends in ".toml".
  std::string origin;            ///< For refusals: "x.toml:3".
  std::filesystem::path beside;  ///< The folder that a relative path begins in, before the working folder.
};

/// Loads the profile and what it extends, the ancestors first; `files` gets all of them. A name is looked for
/// as NAME.toml in `folders`, one folder or several with ':' between. Keys get `prefix` ("model." or "").
Result<void> add_profile(ConfigDocument& document, std::vector<std::filesystem::path>& files,
                         const std::filesystem::path& folders, const ProfileRequest& request,
                         const std::string& prefix);

/// The folder that a relative path begins in if `given` names it: that of the scenario, when a scenario does.
std::filesystem::path profile_beside(const ConfigValue* given);

}  // namespace wharf::sim
