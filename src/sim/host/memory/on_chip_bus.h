// SPDX-License-Identifier: Apache-2.0
// Timing of the on-chip bus between a core, memory and an on-bus NIC: a crossing latency and a data rate per
// direction, first in, first out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "base/units.h"
#include "sim/host/config/host_config.h"
#include "sim/kernel/booked_time.h"

namespace wharf::sim {

/// Which of the bus's independent directions a transaction uses.
enum class BusLane : std::uint8_t {
  kSubmit,     ///< Core to NIC: work-queue entries.
  kLoadStore,  ///< Core to NIC: loads and stores.
  kMemory,     ///< NIC to and from memory.
  kComplete,   ///< NIC to core: completion records, returned data.
};
inline constexpr std::size_t kBusLanes = 4;

/// Each lane serves its transactions in the order in which they are ready, whatever the order of the calls.
class OnChipBus {
 public:
  OnChipBus(const OnChipBusConfig& config, StageRounding rounding) : config_(config), rounding_(rounding) {}

  /// A transaction that moves `bytes` and is ready at `at`; returns when it has crossed.
  TimePs cross(BusLane lane, TimePs at, std::uint32_t bytes) {
    const TimePs transfer = transfer_time(Bytes{bytes}, config_.rate);
    const TimePs begin = lanes_[static_cast<std::size_t>(lane)].take(at, transfer);
    return begin + stage_time(config_.crossing + transfer, rounding_);
  }

 private:
  OnChipBusConfig config_;
  StageRounding rounding_;
  std::array<BookedTime, kBusLanes> lanes_;
};

}  // namespace wharf::sim
