// SPDX-License-Identifier: Apache-2.0
// Timing of a host's DRAM: a latency for each kind of access and one shared data rate. Contents live in
// HostMemory.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "base/units.h"
#include "sim/host/host_config.h"

namespace wharf::sim {

/// Next-free-time arithmetic over the data channels. Calls come with non-decreasing `at` per requester.
class Dram {
 public:
  Dram(const MemoryConfig& config, StageRounding rounding) : config_(config), rounding_(rounding) {}

  /// An access of a NIC to an open row that reaches the memory at `at`; returns when its data are there.
  TimePs row_hit(TimePs at, std::uint32_t bytes) { return serve(at, bytes, config_.row_hit); }
  /// An access to a closed row: records that a NIC fetches, lines that a core misses.
  TimePs closed_row(TimePs at, std::uint32_t bytes) { return serve(at, bytes, config_.load_latency); }

 private:
  TimePs serve(TimePs at, std::uint32_t bytes, TimePs latency) {
    const TimePs begin = max(at, free_);
    const TimePs transfer = transfer_time(Bytes{bytes}, config_.rate);
    free_ = begin + transfer;
    // The latency covers the first line; what is longer streams behind it.
    constexpr std::uint32_t kLine = 64;
    const TimePs rest = bytes > kLine ? transfer_time(Bytes{bytes - kLine}, config_.rate) : kTimeZero;
    return begin + stage_time(latency + rest, rounding_);
  }

  MemoryConfig config_;
  StageRounding rounding_;
  TimePs free_;
};

}  // namespace wharf::sim
