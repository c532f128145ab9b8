// SPDX-License-Identifier: Apache-2.0
// The valid name closest to a mistyped one, for refusals that say what the user probably meant.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace wharf {

/// The name with the smallest edit distance to `wrong` (insertions, deletions, replacements, swaps; letter
/// case counts nothing) that differs in at most a third of its characters, or in one; the earlier of equals.
/// Else the only name that begins with `wrong`, if that has three characters or more; else nothing. It
/// refers to the characters of `names`.
std::optional<std::string_view> nearest_name(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace wharf
