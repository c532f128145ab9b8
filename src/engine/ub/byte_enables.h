// SPDX-License-Identifier: Apache-2.0
// Writes with byte enables: what of their data is to be written. Apart because requests over a TP channel and
// stores that bypass it have them alike. [UB-Base 2.0.1 7.3; the mask is this project's choice: one bit per
// byte, the lowest first, in front of the data]
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/packet.h"
#include "wire/payload.h"
#include "wire/ub_opcode.h"

namespace wharf::ub {

constexpr bool has_byte_enables(wire::TaOpcode opcode) {
  return (wire::ta_layout(opcode) & wire::kTaByteEnable) != 0;
}

/// Calls run(offset, data) for each run of enabled bytes among the `length` that follow the mask in `masked`,
/// which has room for both.
template <typename Run>
void each_enabled_run(const wire::Payload& masked, std::uint32_t length, Run&& run) {
  const std::uint32_t mask_bytes = wire::byte_enable_bytes(length);
  const auto enabled = [&](std::uint32_t at) {
    return (std::to_integer<unsigned>(wire::payload_byte(masked, at / 8)) >> (at % 8) & 1U) != 0;
  };
  std::uint32_t at = 0;
  while (at < length) {
    if (!enabled(at)) {
      ++at;
      continue;
    }
    std::uint32_t end = at;
    while (end < length && enabled(end)) ++end;
    run(at, wire::slice(masked, mask_bytes + at, end - at));
    at = end;
  }
}

/// How many of them there are.
inline std::uint32_t enabled_runs(const wire::Payload& masked, std::uint32_t length) {
  std::uint32_t count = 0;
  each_enabled_run(masked, length, [&count](std::uint32_t, const wire::Payload&) { ++count; });
  return count;
}

/// Choice: as many as a line of 64 bytes can have, twice. Each is a write of its own, so that a packet never
/// makes more of them; a request over a channel that would is refused for its length.
inline constexpr std::uint32_t kEnabledRunsMax = 64;

}  // namespace wharf::ub
