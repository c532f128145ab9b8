// SPDX-License-Identifier: Apache-2.0
#include "sim/host/config/cache_config.h"

#include <fmt/format.h>

#include <bit>

namespace wharf::sim {

Result<void> validate_cache_shape(const CacheShape& shape, const char* key) {
  if (shape.lines == 0 || shape.lines > kMaxCacheLines) {
    return input_error(fmt::format("{}.lines is {}, expected 1 to {}", key, shape.lines, kMaxCacheLines));
  }
  if (shape.ways == 0 || shape.ways > shape.lines || shape.lines % shape.ways != 0) {
    return input_error(
        fmt::format("{}.ways is {}, expected a divisor of {}.lines = {}", key, shape.ways, key, shape.lines));
  }
  const std::uint32_t sets = shape.lines / shape.ways;
  if (!std::has_single_bit(sets)) {
    return input_error(fmt::format("{}.lines / {}.ways is {} sets, expected a power of two such as {}", key,
                                   key, sets, std::bit_floor(sets)));
  }
  if (shape.ways > 32 && sets != 1) {
    return input_error(fmt::format("{}.ways is {}, expected at most 32 or all {} lines (fully associative)",
                                   key, shape.ways, shape.lines));
  }
  return {};
}

namespace {

Result<void> validate_level(const CacheLevelConfig& level, const char* key) {
  WHARF_TRY(validate_cache_shape(level.shape, key));
  if (level.latency < kTimeZero) {
    return input_error(fmt::format("{}.latency is {} ps, expected 0 or more", key, level.latency.ps));
  }
  return {};
}

}  // namespace

Result<void> validate(const CacheHierarchyConfig& config) {
  WHARF_TRY(validate_level(config.l1, "cache.l1"));
  if (config.l2.shape.lines != 0) WHARF_TRY(validate_level(config.l2, "cache.l2"));
  if (config.llc.shape.lines != 0) WHARF_TRY(validate_level(config.llc, "cache.llc"));
  if (config.miss_detection && *config.miss_detection < kTimeZero) {
    return input_error(
        fmt::format("cache.miss_detection is {} ps, expected 0 or more", config.miss_detection->ps));
  }
  return {};
}

}  // namespace wharf::sim
