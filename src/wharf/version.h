// SPDX-License-Identifier: Apache-2.0
// What this build is: version, commit and compiler, filled in by the build. Public: installed as
// wharf/version.h.
#pragma once

#include <string_view>

namespace wharf {

/// "0.1.0"
std::string_view version();
/// The commit that was built, or "unknown" outside a repository.
std::string_view commit();
/// "wharf 0.1.0 (commit, compiler)"
std::string_view version_text();

}  // namespace wharf
