// SPDX-License-Identifier: Apache-2.0
// How long a jetty waits for its peers, and they for it, where a program says so for each queue. [URMA API,
// rnr_retry and err_timeout of a JFS, min_rnr_timer of a JFR]
#pragma once

#include <cstdint>

#include "engine/ub/config.h"

namespace wharf::ub {

/// Made from UbConfig's values of the same names, which say what they mean.
struct JettyPatience {
  std::uint8_t rnr_retry = kRnrRetryForever;
  std::uint8_t err_timeout = 17;
  std::uint8_t min_rnr_timer = 12;
};

}  // namespace wharf::ub
