// SPDX-License-Identifier: Apache-2.0
// The keys of trace replay: which trace, which of its memory is remote, and how far memory is reached.
#pragma once

#include <cstdint>
#include <string>

#include "sim/config/binder.h"
#include "sim/host/replay/memory_placement.h"
#include "sim/host/replay/paging.h"
#include "sim/host/replay/trace_replay.h"

namespace wharf::sim {

/// How a replay reaches the remote part of its memory.
enum class FarMemory : std::uint8_t {
  kLines,  ///< A cache miss goes to the other machine, line by line.
  kPaged,  ///< Pages are swapped in by the kernel.
};

/// What a replay needs beside the host's own configuration.
struct ReplayConfig {
  std::string
      trace;  ///< File name; relative names are looked up beside the scenario, then in the current directory.
  MemoryPlacementConfig placement;
  TraceReplayConfig core;
  double warm_up_fraction = 0;
  std::uint64_t most_records = ~std::uint64_t{0};  ///< Of the trace that are read; no key: for samples of it.
  FarMemory far_memory = FarMemory::kLines;
  PagingConfig paging{.fault_cost = microseconds(3)};
};

/// Binds what belongs to one run: trace, placement, warm-up.
void bind_replay_run(Binder& binder, ReplayConfig& replay, bool active);
/// Binds what belongs to the machine: "replay" (the core) and "paging".
void bind_replay_model(Binder& binder, ReplayConfig& replay, bool active);

}  // namespace wharf::sim
