// SPDX-License-Identifier: Apache-2.0
// Programs that run at several hosts at once: which of them this one is.
#pragma once

#include <cstdint>

namespace wharf::workload {

/// One of `count` instances of a program that share one target memory (or talk to each other).
struct Party {
  std::uint32_t index = 0;  ///< 0 .. count - 1.
  std::uint32_t count = 1;
};

}  // namespace wharf::workload
