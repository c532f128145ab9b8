// SPDX-License-Identifier: Apache-2.0
// What can be chosen about a link: its speed, its faults, and how packets pass it.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "sim/fabric/link_faults.h"
#include "sim/fabric/wire_mode.h"
#include "sim/kernel/charge_rule.h"
#include "sim/kernel/time_rule.h"

namespace wharf::sim {

/// Keys link.*: a full-duplex point-to-point link; both directions alike.
struct LinkConfig {
  TimePs delay = nanoseconds(100);                ///< Propagation, one way.
  BitsPerSecond rate = gigabits_per_second(400);  ///< 0 is unlimited.
  ChargeRule charged_bytes = ChargeRule::kPacket;
  std::uint32_t nominal_request_bytes = 64;  ///< kPayload: charge of a request without payload.
  std::uint32_t nominal_response_bytes = 8;  ///< kPayload: charge of a response without payload.
  WireMode wire = WireMode::kStructs;
  wire::WireOptions wire_options;
  LinkFaults faults;  ///< Keys faults.*.
};

/// Refuses what cannot be built, naming the key.
Result<void> validate(const LinkConfig& config);

}  // namespace wharf::sim
