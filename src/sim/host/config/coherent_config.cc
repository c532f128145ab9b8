// SPDX-License-Identifier: Apache-2.0
#include "sim/host/config/coherent_config.h"

#include <bit>
#include <initializer_list>

#include <fmt/format.h>

#include "base/units.h"

namespace wharf::sim {

namespace {

struct PowerKey {
  const char* key;
  std::uint32_t value;
  std::uint32_t least;
  std::uint32_t most;
};

Result<void> require_powers(std::initializer_list<PowerKey> keys) {
  for (const PowerKey& key : keys) {
    if (std::has_single_bit(key.value) && key.value >= key.least && key.value <= key.most) continue;
    return input_error(fmt::format("{} is {}, expected a power of two from {} to {}", key.key, key.value,
                                   key.least, key.most));
  }
  return {};
}

struct TimeKey {
  const char* key;
  TimePs value;
  TimePs least;
};

Result<void> require_times(std::initializer_list<TimeKey> keys) {
  for (const TimeKey& key : keys) {
    if (key.value >= key.least && key.value <= milliseconds(1)) continue;
    return input_error(
        fmt::format("{} is {}, expected {} to 1ms", key.key, format_time(key.value), format_time(key.least)));
  }
  return {};
}

Result<void> require_entries(const char* key, std::uint32_t value) {
  constexpr std::uint32_t kMost = 4096;
  if (value >= 1 && value <= kMost) return {};
  return input_error(fmt::format("{} is {}, expected 1 to {}", key, value, kMost));
}

}  // namespace

Result<void> validate(const CoherentConfig& config) {
  const DdrConfig& ddr = config.ddr;
  const CoherenceConfig& coherence = config.coherence;
  WHARF_TRY(
      require_powers({{"ddr.channels", ddr.channels, 1, 64},
                      {"ddr.ranks", ddr.ranks, 1, 8},
                      {"ddr.banks", ddr.banks, 1, 64},
                      {"ddr.row_bytes", ddr.row_bytes, 64, 65536},
                      {"ddr.interleave_bytes", ddr.interleave_bytes, 64, ddr.row_bytes},
                      {"coherence.width_bytes", coherence.width_bytes, 1, 64},
                      {"core_cache.width_bytes", config.core_cache.width_bytes, 1, 64},
                      {"core_cache.level1_sets", config.core_cache.cache.lines.level1_sets, 1, 1U << 20U},
                      {"core_cache.level2_sets", config.core_cache.cache.lines.level2_sets, 1, 1U << 20U},
                      {"coherence.directory_sets", coherence.directory_sets, 1, 1U << 20U},
                      {"io_link.width_bytes", config.io_link.width_bytes, 1, 1024}}));
  const TimePs zero = kTimeZero;
  const TimePs one = picoseconds(1);
  WHARF_TRY(require_times({{"ddr.rcd", ddr.rcd, zero},
                           {"ddr.cl", ddr.cl, zero},
                           {"ddr.rp", ddr.rp, zero},
                           {"ddr.ras", ddr.ras, zero},
                           {"ddr.burst", ddr.burst, zero},
                           {"ddr.rrd", ddr.rrd, zero},
                           {"ddr.faw", ddr.faw, zero},
                           {"ddr.rtp", ddr.rtp, zero},
                           {"ddr.wr", ddr.wr, zero},
                           {"ddr.wtr", ddr.wtr, zero},
                           {"ddr.rtw", ddr.rtw, zero},
                           {"ddr.rfc", ddr.rfc, zero},
                           {"ddr.refi", ddr.refi, zero},
                           {"ddr.front_end", ddr.front_end, zero},
                           {"ddr.back_end", ddr.back_end, zero},
                           {"coherence.cycle", coherence.cycle, one},
                           {"coherence.last_level", coherence.last_level, zero},
                           {"core_cache.cycle", config.core_cache.cycle, one},
                           {"io_link.cycle", config.io_link.cycle, one},
                           {"io_link.up", config.io_link.up, zero},
                           {"io_link.down", config.io_link.down, zero},
                           {"root_complex.passing_delay", config.root_complex.passing_delay, zero},
                           {"root_complex.lookup", config.root_complex.lookup, zero},
                           {"root_complex.answer", config.root_complex.answer, zero},
                           {"root_complex.spacing", config.root_complex.spacing, zero}}));
  if (!(coherence.ddio_hit_ratio >= 0 && coherence.ddio_hit_ratio <= 1))
    return input_error(
        fmt::format("coherence.ddio_hit_ratio is {}, expected 0 to 1", coherence.ddio_hit_ratio));
  if (!(config.root_complex.passing_share >= 0 && config.root_complex.passing_share <= 1))
    return input_error(
        fmt::format("root_complex.passing_share is {}, expected 0 to 1", config.root_complex.passing_share));
  if (ddr.refi != kTimeZero && ddr.refi <= ddr.rfc)
    return input_error(fmt::format("ddr.refi is {}, expected more than ddr.rfc ({}), or 0ps for never",
                                   format_time(ddr.refi), format_time(ddr.rfc)));
  WHARF_TRY(require_entries("ddr.read_entries", ddr.read_entries));
  WHARF_TRY(require_entries("ddr.write_entries", ddr.write_entries));
  if (ddr.write_high_percent < 1 || ddr.write_high_percent > 100)
    return input_error(
        fmt::format("ddr.write_high_percent is {}, expected 1 to 100", ddr.write_high_percent));
  if (ddr.write_low_percent >= ddr.write_high_percent)
    return input_error(
        fmt::format("ddr.write_low_percent is {}, expected less than ddr.write_high_percent ({})",
                    ddr.write_low_percent, ddr.write_high_percent));
  return {};
}

}  // namespace wharf::sim
