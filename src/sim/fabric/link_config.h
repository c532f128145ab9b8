// SPDX-License-Identifier: Apache-2.0
// What can be chosen about a link: its speed, its faults, and how packets pass it.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "sim/fabric/wire_mode.h"
#include "sim/kernel/charge_rule.h"
#include "sim/kernel/time_rule.h"

namespace wharf::sim {

/// Keys faults.*: what a direction of the link does to packets. Probabilities are per packet, from 0 to 1.
struct LinkFaults {
  double loss = 0;         ///< The packet vanishes.
  double corruption = 0;   ///< A bit is inverted; the frame check of the receiver drops the frame.
  double duplication = 0;  ///< The packet arrives twice.
  double reordering = 0;   ///< The packet is held back while later ones pass.
  TimePs reorder_delay = microseconds(2);  ///< Longest time held back (uniform from 1 ps).
  TimePs jitter{};  ///< Longest extra delay of every packet (uniform from 0), order kept.
  /// A bit is inverted behind the frame check, as by a bad switch memory: only what the packet carries itself
  /// (ICRC, header fields) can notice. Needs WireMode::kBytes.
  double corruption_past_check = 0;
};

/// Keys link.*: a full-duplex point-to-point link; both directions alike.
struct LinkConfig {
  TimePs delay = nanoseconds(100);                ///< Propagation, one way.
  BitsPerSecond rate = gigabits_per_second(400);  ///< 0 is unlimited.
  ChargeRule charged_bytes = ChargeRule::kPacket;
  std::uint32_t nominal_request_bytes = 64;  ///< kPayload: charge of a request without payload.
  std::uint32_t nominal_response_bytes = 8;  ///< kPayload: charge of a response without payload.
  StageRounding rounding = StageRounding::kNone;
  WireMode wire = WireMode::kStructs;
  wire::WireOptions wire_options;
  LinkFaults faults;
};

/// Refuses what cannot be built, naming the key.
Result<void> validate(const LinkConfig& config);

}  // namespace wharf::sim
