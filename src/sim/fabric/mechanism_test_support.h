// SPDX-License-Identifier: Apache-2.0
// What the tests of single mechanisms have in common: links of 100 Gb/s (80 ps a byte) and 1 us.
#pragma once

#include "sim/fabric/script_host_test_support.h"

namespace wharf::sim::mechanism_test {

inline constexpr LinkSpec kLink{gigabits_per_second(100), microseconds(1)};
inline constexpr std::int64_t kPacketPs = 1000 * 80;
inline constexpr std::int64_t kDelayPs = 1'000'000;

/// One queue per port.
inline FabricConfig plain() {
  FabricConfig config;
  config.profiles = {PortProfile::single_queue()};
  return config;
}

}  // namespace wharf::sim::mechanism_test
