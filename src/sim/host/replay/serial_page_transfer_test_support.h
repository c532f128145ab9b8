// SPDX-License-Identifier: Apache-2.0
// What one page transfer costs when every stage of an RDMA READ posted by doorbell waits for the one before:
// the serial accounting of OpenURMA 8.2. A reference for tests of the paging rules, without packets.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace wharf::sim {

/// Stage costs, OpenURMA 5.2; the defaults are those of its RoCE path.
struct SerialPageTransferConfig {
  TimePs library_post = nanoseconds(50);
  TimePs work_request_build = nanoseconds(30);
  TimePs doorbell = nanoseconds(150);
  TimePs work_request_fetch = nanoseconds(500);
  TimePs target_pcie_read = nanoseconds(500);
  TimePs target_memory = nanoseconds(30);
  TimePs response_write = nanoseconds(250);
  TimePs completion_write = nanoseconds(250);
  TimePs completion_poll = nanoseconds(70);
  TimePs library_poll = nanoseconds(30);
  TimePs link_delay = nanoseconds(100);
  std::int64_t link_gigabits_per_second = 400;
  TimePs nic_cycle = picoseconds(3106);
  std::int64_t nic_cycles = 9;
  std::int64_t nic_bytes_per_cycle = 32;
  std::int64_t request_bytes = 64;  ///< Nominal size of the read request.
  /// Whether the request is charged for the target's receive pipeline; the paper leaves it out.
  bool request_receive_stage = false;
};

/// Time of one transfer of `bytes`, each pipeline visit and each wire rounded down to whole nanoseconds as
/// the paper does: nic(c,S) = floor((c + ceil(S/32) - 1) * 3.106), wire(S) = floor(L + S*8/400).
class SerialPageTransfer {
 public:
  explicit SerialPageTransfer(const SerialPageTransferConfig& config) : config_(config) {}

  TimePs duration(std::int64_t bytes) const {
    const TimePs request_nic = nic(config_.request_bytes);
    const TimePs submit =
        config_.library_post + config_.work_request_build + config_.doorbell + config_.work_request_fetch;
    const TimePs request =
        request_nic + wire(config_.request_bytes) + (config_.request_receive_stage ? request_nic : kTimeZero);
    const TimePs response = nic(bytes) + wire(bytes) + nic(bytes);
    const TimePs completion =
        config_.response_write + config_.completion_write + config_.completion_poll + config_.library_poll;
    return submit + request + config_.target_pcie_read + config_.target_memory + response + completion;
  }

 private:
  static TimePs whole_nanoseconds(TimePs time) { return nanoseconds(time / nanoseconds(1)); }

  TimePs nic(std::int64_t bytes) const {
    const std::int64_t flits = (bytes + config_.nic_bytes_per_cycle - 1) / config_.nic_bytes_per_cycle;
    return whole_nanoseconds(config_.nic_cycle * (config_.nic_cycles + (flits > 1 ? flits - 1 : 0)));
  }
  TimePs wire(std::int64_t bytes) const {
    return whole_nanoseconds(config_.link_delay +
                             picoseconds(bytes * 8'000 / config_.link_gigabits_per_second));
  }

  SerialPageTransferConfig config_;
};

}  // namespace wharf::sim
