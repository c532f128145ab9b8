// SPDX-License-Identifier: Apache-2.0
// How deep the queues of a program's connections are.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "workload/workload.h"

namespace wharf::sim {

/// Of a client that replays a trace: as many as any pager writes back at a time.
inline constexpr std::uint32_t kReplayQueueDepth = 4096;

/// Entries of each queue: receive entries that each worker may keep posted, with some room.
inline std::uint32_t queue_depth(const workload::WorkloadConfig& config) {
  constexpr std::uint32_t kEntriesPerWorker = 8;
  constexpr std::uint32_t kDeepestQueue = 65'536;
  std::uint32_t wanted = std::bit_ceil(kEntriesPerWorker * workload::loop_config(config).concurrency);
  // Receive entries of a client's messages twice over, and as many that answer or read.
  if (const auto* appends = std::get_if<workload::RdmoConfig>(&config))
    wanted = std::bit_ceil(4 * workload::rdmo_window(*appends));
  return std::clamp(wanted, 128U, kDeepestQueue);
}

}  // namespace wharf::sim
