// SPDX-License-Identifier: Apache-2.0
// Congestion controllers of Unified Bus with so little room that packets wait for it.
#pragma once

#include <cstdint>

#include "engine/ub/config.h"

namespace wharf {

/// `which`: 0 C-AQM, 1 DCQCN, 2 LDCP, 3 Swift; others leave `config` alone.
inline void control_congestion(std::uint32_t which, ub::UbConfig& config) {
  if (which == 0) config.congestion = congestion::CaqmConfig{.initial_packets = 1};
  if (which == 1) {
    config.congestion = congestion::DcqcnConfig{.link = gigabits_per_second(1)};
    config.min_time_between_cnps = microseconds(1);
  }
  if (which == 2) config.congestion = congestion::LdcpConfig{.initial_window = 256, .window_limit = 1024};
  if (which == 3) config.congestion = congestion::SwiftConfig{.window_min = 20'000, .initial_window = 20'000};
}

}  // namespace wharf
