// SPDX-License-Identifier: Apache-2.0
// What a sender's congestion control looks like from outside at one instant: one shape for every protocol,
// for traces and series.
#pragma once

#include <cstdint>
#include <limits>

#include "base/time.h"
#include "base/units.h"

namespace wharf::congestion {

/// Toward one peer. Of several channels to it: windows, rates and packets in flight are sums, round trips the
/// latest.
struct SenderTrace {
  static constexpr std::uint64_t kNoWindow = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t window = kNoWindow;  ///< Bytes; kNoWindow: nothing limits what is in flight.
  BitsPerSecond rate{};              ///< Zero: nothing is paced.
  std::uint32_t in_flight = 0;       ///< Packets.
  TimePs round_trip = kNever;        ///< The latest sample; kNever: none yet.
  TimePs base_round_trip = kNever;   ///< The unloaded one, as the controller believes; kNever: it has none.
};

}  // namespace wharf::congestion
