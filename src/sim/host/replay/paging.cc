// SPDX-License-Identifier: Apache-2.0
#include "sim/host/replay/paging.h"

#include <fmt/format.h>

namespace wharf::sim {

Result<void> validate_paging(const PagingConfig& config) {
  if (config.window_pages < 1 || config.window_pages > 64) {
    return input_error(fmt::format("paging.window_pages is {}, expected 1 to 64", config.window_pages));
  }
  if (config.resident_pages < 2 * config.window_pages || config.resident_pages > (1U << 26U)) {
    return input_error(
        fmt::format("paging.resident_pages is {}, expected {} (twice paging.window_pages) to {}",
                    config.resident_pages, 2 * config.window_pages, 1U << 26U));
  }
  if (config.outstanding_writes < 1 || config.outstanding_writes > 4096) {
    return input_error(
        fmt::format("paging.outstanding_writes is {}, expected 1 to 4096", config.outstanding_writes));
  }
  if (config.fault_cost < kTimeZero) {
    return input_error(fmt::format("paging.fault_cost is {} ps, expected 0 or more", config.fault_cost.ps));
  }
  return {};
}

}  // namespace wharf::sim
