// SPDX-License-Identifier: Apache-2.0
#include "workload/loop.h"

#include <fmt/format.h>

namespace wharf::workload {

Error refuse(std::string_view key, std::uint64_t found, std::string_view expected) {
  return input_error(fmt::format("{} is {}, expected {}", key, found, expected));
}

}  // namespace wharf::workload
