// SPDX-License-Identifier: Apache-2.0
// Where the shipped data lies: profiles, scenarios, reference values, traces, litmus programs.
//
// With WHARF_DATA in the environment: in that folder, and nowhere else. Without it, in this order:
//   1. the working folder, if it holds profiles, scenarios and studies (one of these names alone is somebody
//      else's folder),
//   2. $XDG_DATA_HOME/wharf, by default ~/.local/share/wharf: what a user adds or replaces,
//   3. what belongs to this program: ../share/wharf beside its folder, or the source tree it lies in,
//   4. wharf in each folder of XDG_DATA_DIRS, by default /usr/local/share and /usr/share.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/search_folders.h"

namespace wharf {

/// The folders of the rule above that exist, first first.
std::vector<std::filesystem::path> data_roots();

/// The folder `name` of the first place that has all data: for what is only right as a whole, such as the
/// reference values of studies. kEnvironment when there is none, naming what was looked at.
Result<std::filesystem::path> data_directory(std::string_view name);

/// Every folder `name` ("profiles", "scenarios", "traces", "litmus"), first first. kEnvironment when there is
/// none.
Result<SearchFolders> data_folders(std::string_view name);

/// The file that a path means: the path itself if there is such a file or it is absolute, else the same path
/// in the first data folder that has it ("studies/ultra_ethernet/one.cm"), else the path.
std::string data_file(const std::string& path);

}  // namespace wharf
