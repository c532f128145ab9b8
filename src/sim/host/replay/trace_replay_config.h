// SPDX-License-Identifier: Apache-2.0
// What a trace replay is told and what it gives back, and the memory that it talks to.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "base/histogram.h"
#include "base/line.h"
#include "base/result.h"
#include "base/time.h"
#include "sim/host/memory/cache_hierarchy.h"
#include "sim/host/replay/paging.h"
#include "sim/host/replay/trace_reader.h"

namespace wharf::sim {

/// What may go on while a miss is under way. A trace does not say which access needs which, so this is a
/// choice. In scenarios: "none", "stores", "all".
enum class MissOverlap : std::uint8_t {
  kNone,    ///< Loads and stores alike block the core until the line is there.
  kStores,  ///< Loads block; stores retire into a store buffer and cost the core no time. The default: an
            ///< in-order core.
  kAll,  ///< Loads do not block either, until the instruction window behind the oldest missing load is full:
         ///< no load depends on another within the window, so this is the most that an out-of-order core can
         ///< gain.
};

/// Keys replay.* of a profile, except where they stand elsewhere.
struct TraceReplayConfig {
  CacheHierarchyConfig cache;
  TimePs local_memory = nanoseconds(70);     ///< Load to use of local DRAM, after the miss is known.
  std::uint64_t core_hertz = 2'600'000'000;  ///< At least 1 MHz.
  std::uint32_t cycles_per_1000_instructions =
      1000;  ///< Without the time that memory takes, which is added. Up to 10^6.
  MissOverlap overlap = MissOverlap::kStores;
  std::uint32_t miss_slots = 16;            ///< Lines under way at a time, local ones included: 1 to 64.
  std::uint32_t write_slots = 16;           ///< Lines or stores being written at a time: 3 to 64.
  std::uint32_t window_instructions = 224;  ///< For kAll. At least 1.
  std::uint64_t warm_up_accesses = 0;       ///< Replayed but not counted.
  std::optional<PagingConfig> paging;       ///< Set: far memory is paged. Absent: reached line by line.
};

/// Refuses what cannot work, naming the key. The cache is checked by TraceReplay::create().
Result<void> validate_trace_replay(const TraceReplayConfig& config);

/// The accesses that a warm-up of `fraction` (0 to 1) of a trace takes. kInput for a text trace, whose length
/// is not known before it has been read.
Result<std::uint64_t> warm_up_of(const TraceReader& reader, double fraction);

/// Memory of the other machine, by lines. Each call starts one access of at most kLineBytes within a
/// line at the instant `at`, which is not before the present of the simulation but may lie after it; it
/// returns at once and never calls back from inside. The answers are TraceReplay::load_done() and
/// store_done() with the same id, in any order.
template <typename Memory>
concept RemoteLineMemory = requires(Memory& memory, TimePs at, std::uint64_t address, std::uint32_t size,
                                    std::uint32_t id) {
  { memory.start_load(at, address, size, id) } -> std::same_as<void>;
  { memory.start_store(at, address, size, id) } -> std::same_as<void>;
};

/// What a replay found, after the warm-up.
struct ReplayResult {
  TraceCounts counts;
  CacheCounters cache;               ///< Line lookups: an access that spans two lines makes two.
  std::uint64_t split_accesses = 0;  ///< Accesses that span two lines.
  std::uint64_t local_misses = 0;    ///< Lines (uncached: accesses) that came from local memory.
  std::uint64_t remote_loads = 0;    ///< Lines or uncached loads fetched from the other machine.
  std::uint64_t remote_stores = 0;   ///< Dirty lines, write-through and uncached stores sent there.
  PagingCounters paging;
  TimePs time;            ///< From the end of the warm-up until the last access and what it started are done.
  TimePs all_local_time;  ///< The same with every miss answered by local memory: the same hits and misses.
  Histogram miss_latency;  ///< Picoseconds from access to data of each miss that went to the other machine.

  /// time / all_local_time; 1 for an empty trace.
  double slow_down() const {
    return all_local_time.ps == 0 ? 1.0
                                  : static_cast<double>(time.ps) / static_cast<double>(all_local_time.ps);
  }
};

}  // namespace wharf::sim
