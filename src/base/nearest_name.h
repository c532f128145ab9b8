// SPDX-License-Identifier: Apache-2.0
// The valid name closest to a mistyped one, for refusals that say what the user probably meant.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace wharf {

/// The name with the smallest edit distance to `wrong` (insertions, deletions, replacements and swaps of
/// neighbours count one each; letter case counts nothing), or nothing when even the best differs in more than
/// a third of its characters (one difference is always allowed for names of two characters or more). The
/// earlier name wins a tie. When none is near: the only name that begins with `wrong`, if that has three
/// characters or more. The result refers to the characters of `names`.
std::optional<std::string_view> nearest_name(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace wharf
