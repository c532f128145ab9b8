// SPDX-License-Identifier: Apache-2.0
// How long a sender waits after "receiver not ready": the timer codes of InfiniBand, which the Unified Bus
// follows too.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace wharf::reliability {

/// The wait that timer code 0..31 stands for; code 0 is the longest. [IBTA vol 1 9.7.5.2.8, RNR NAK timer
/// field]
constexpr TimePs receiver_not_ready_delay(std::uint8_t code) {
  constexpr std::array<std::int32_t, 32> kTenMicroseconds{
      65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
      256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return microseconds(10) * kTenMicroseconds[code & 31U];
}

}  // namespace wharf::reliability
