// SPDX-License-Identifier: Apache-2.0
// What this build is: version, commit and compiler, filled in by the build.
#pragma once

#include <string_view>

namespace wharf::cli {

/// "0.1.0"
std::string_view version();
/// The commit that was built, or "unknown" outside a repository.
std::string_view commit();
/// "wharf 0.1.0 (commit, compiler)"
std::string_view version_text();

}  // namespace wharf::cli
