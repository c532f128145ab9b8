// SPDX-License-Identifier: Apache-2.0
#include "sim/host/replay/trace_replay_config.h"

#include <fmt/format.h>

namespace wharf::sim {

namespace {

/// 2^16 ps, less one: see TraceReplay::kFractionBits.
constexpr std::uint64_t kMaxInstructionPs = 65'535;

Result<void> in_range(const char* key, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) return {};
  return input_error(fmt::format("{} is {}, expected {} to {}", key, value, least, most));
}

}  // namespace

Result<void> validate_trace_replay(const TraceReplayConfig& config) {
  WHARF_TRY(in_range("replay.core_hertz", config.core_hertz, 1'000'000, 100'000'000'000));
  WHARF_TRY(
      in_range("replay.cycles_per_1000_instructions", config.cycles_per_1000_instructions, 0, 1'000'000));
  const std::uint64_t instruction_ps =
      std::uint64_t{config.cycles_per_1000_instructions} * 1'000'000'000 / config.core_hertz;
  if (instruction_ps > kMaxInstructionPs) {
    return input_error(fmt::format(
        "replay.cycles_per_1000_instructions and replay.core_hertz make an instruction take {} ps, "
        "expected at most {} ps",
        instruction_ps, kMaxInstructionPs));
  }
  WHARF_TRY(in_range("replay.miss_slots", config.miss_slots, 1, 64));
  WHARF_TRY(in_range("replay.write_slots", config.write_slots, 3, 64));
  WHARF_TRY(in_range("replay.window_instructions", config.window_instructions, 1, 1'000'000));
  if (config.local_memory < kTimeZero) {
    return input_error(
        fmt::format("replay.local_memory is {} ps, expected 0 or more", config.local_memory.ps));
  }
  if (config.paging) WHARF_TRY(validate_paging(*config.paging));
  return {};
}

Result<std::uint64_t> warm_up_of(const TraceReader& reader, double fraction) {
  if (!(fraction >= 0 && fraction <= 1)) {
    return input_error(fmt::format("replay.warm_up is {}, expected a share from 0 to 1", fraction));
  }
  if (reader.binary() == nullptr) {
    return input_error(
        fmt::format("replay.warm_up is the share {} of a trace in text form, expected a number of accesses "
                    "or a trace that "
                    "\"wharf import\" wrote, whose length is known",
                    fraction));
  }
  const double accesses = static_cast<double>(reader.binary()->counts().accesses());
  return static_cast<std::uint64_t>(accesses * fraction);
}

}  // namespace wharf::sim
