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
  const std::uint32_t wanted = std::bit_ceil(kEntriesPerWorker * workload::loop_config(config).concurrency);
  return std::clamp(wanted, 128U, kDeepestQueue);
}

}  // namespace wharf::sim
