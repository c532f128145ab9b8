// SPDX-License-Identifier: Apache-2.0
// Manual pages, made from what --help is made of.
#pragma once

#include <string>
#include <string_view>

#include "cli/options.h"

namespace wharf::cli {

/// wharf.1: the commands, the exit codes, where data is looked for.
std::string manual_page_of_all(const Options& root);
/// wharf-COMMAND.1.
std::string manual_page(const Options& command, std::string_view examples);

}  // namespace wharf::cli
