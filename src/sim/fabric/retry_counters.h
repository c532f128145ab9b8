// SPDX-License-Identifier: Apache-2.0
// Names of what link-level retry counts at a port, for reports.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/fabric/port.h"

namespace wharf::sim {

struct RetryCounterName {
  std::string_view name;
  std::uint64_t PortCounters::*value;
};
inline constexpr std::array<RetryCounterName, 6> kRetryCounters{{
    {"frames_replayed", &PortCounters::retried},
    {"frames_discarded", &PortCounters::retry_discarded},
    {"acks", &PortCounters::retry_acks},
    {"nacks", &PortCounters::retry_nacks},
    {"timeouts", &PortCounters::retry_timeouts},
    {"flushes", &PortCounters::retry_flushes},
}};

}  // namespace wharf::sim
