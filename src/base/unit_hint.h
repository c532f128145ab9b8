// SPDX-License-Identifier: Apache-2.0
// What a mistyped quantity probably meant, for refusals.
#pragma once

#include <string>
#include <string_view>

namespace wharf {

/// For "512kb" `; did you mean "512KB"?`: the same number with the unit whose name is nearest. Empty when
/// there is no number, no unit or no near one.
std::string time_hint(std::string_view text);
std::string bytes_hint(std::string_view text);
std::string rate_hint(std::string_view text);

}  // namespace wharf
