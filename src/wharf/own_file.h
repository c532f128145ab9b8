// SPDX-License-Identifier: Apache-2.0
// For code that another program has loaded, such as the Python package: data_folders.h then starts from it.
#pragma once

#include <filesystem>

namespace wharf {

/// Says that this code is not the program that runs but lies in `file`: what belongs to it is share/wharf in
/// a folder above, or the source tree that it lies in. Once, before anything looks for data.
void set_own_file(const std::filesystem::path& file);

}  // namespace wharf
