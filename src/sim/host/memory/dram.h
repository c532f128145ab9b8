// SPDX-License-Identifier: Apache-2.0
// Timing of a host's DRAM: a latency for each kind of access and one shared data rate. Contents live in
// HostMemory.
#pragma once

#include <cstdint>

#include "base/line.h"
#include "base/time.h"
#include "base/units.h"
#include "sim/host/config/host_config.h"
#include "sim/kernel/booked_time.h"

namespace wharf::sim {

/// The data channels serve requests in the order in which they arrive, whatever the order of the calls.
class Dram {
 public:
  Dram(const MemoryConfig& config, StageRounding rounding)
      : config_(config), rounding_(rounding), line_time_(transfer_time(Bytes{kLineBytes}, config.rate)) {}

  /// An access of a NIC to an open row that reaches the memory at `at`; returns when its data are there.
  TimePs row_hit(TimePs at, std::uint32_t bytes) { return serve(at, bytes, config_.row_hit); }
  /// An access to a closed row: records that a NIC fetches, lines that a core misses.
  TimePs closed_row(TimePs at, std::uint32_t bytes) { return serve(at, bytes, config_.load_latency); }
  /// A dirty line that a core evicts, or a store past its caches: nobody waits for it, but its bytes take
  /// their time of the channels.
  void write(TimePs at, std::uint32_t bytes) { (void)channels_.take(at, occupancy(bytes)); }

 private:
  /// What `bytes` take of the channels.
  TimePs occupancy(std::uint32_t bytes) const {
    return bytes == kLineBytes ? line_time_ : transfer_time(Bytes{bytes}, config_.rate);
  }
  TimePs serve(TimePs at, std::uint32_t bytes, TimePs latency) {
    const TimePs begin = channels_.take(at, occupancy(bytes));
    // The latency covers the first line; what is longer streams behind it.
    const TimePs rest =
        bytes > kLineBytes ? transfer_time(Bytes{bytes - kLineBytes}, config_.rate) : kTimeZero;
    return begin + stage_time(latency + rest, rounding_);
  }

  MemoryConfig config_;
  StageRounding rounding_;
  TimePs line_time_;  ///< What a line occupies of the channels.
  BookedTime channels_;
};

}  // namespace wharf::sim
