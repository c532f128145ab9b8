// SPDX-License-Identifier: Apache-2.0
// A number and what it counts, for sentences.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace wharf::report {

/// "1 switch", "20 switches".
inline std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

}  // namespace wharf::report
