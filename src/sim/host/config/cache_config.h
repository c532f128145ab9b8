// SPDX-License-Identifier: Apache-2.0
// Parameters of caches: the shape of one, and the hierarchy of a core.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/time.h"

namespace wharf::sim {

/// How many lines a cache has and how they are grouped. ways == lines is a fully associative cache.
struct CacheShape {
  std::uint32_t lines = 0;
  std::uint32_t ways = 0;
};

/// Most lines in one cache: 2^24 (1 GiB).
inline constexpr std::uint32_t kMaxCacheLines = 1U << 24U;

/// Refuses shapes that cannot be built: lines from 1 to kMaxCacheLines, a multiple of ways, sets a power of
/// two. `key` names the cache in the message, as in "cache.l1".
Result<void> validate_cache_shape(const CacheShape& shape, const char* key);

/// What a store does. In scenarios: "write_back", "write_through", "uncached".
enum class WritePolicy : std::uint8_t {
  kWriteBack,  ///< Allocates on a store miss, keeps the line dirty, writes it to memory when it is evicted.
  kWriteThrough,  ///< Updates a cached line and sends every store to memory; a store miss allocates nothing.
  kUncached,      ///< Every load and store goes to memory; nothing is cached.
};

/// One level. lines == 0 leaves it out (not allowed for L1).
struct CacheLevelConfig {
  CacheShape shape;
  TimePs latency;  ///< Load to use when this level answers, the checks of the levels above included.
};

/// Keys cache.l1, cache.l2, cache.llc, cache.write_policy and cache.miss_detection of a profile.
struct CacheHierarchyConfig {
  CacheLevelConfig l1{{512, 8}, nanoseconds(1)};
  CacheLevelConfig l2{{8192, 16}, nanoseconds(4)};
  CacheLevelConfig llc{{0, 0}, nanoseconds(12)};
  WritePolicy write_policy = WritePolicy::kWriteBack;
  /// Time until a miss is known and may leave for memory. Absent: the latency of the last level present,
  /// whose tags are checked last. The serial accounting of OpenURMA 5.2 charges a flat 70 ns.
  std::optional<TimePs> miss_detection;
};

/// Refuses shapes and latencies that make no sense, naming the key.
Result<void> validate(const CacheHierarchyConfig& config);

}  // namespace wharf::sim
