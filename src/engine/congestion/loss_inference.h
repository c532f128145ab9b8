// SPDX-License-Identifier: Apache-2.0
// When a source infers, from what it hears of other packets, that some are lost, long before their time-outs:
// where switches drop instead of trimming. Apart from the controllers, which only learn what was lost.
// An option of the UEC's simulator (SLEEK) beside [UE 1.0 3.6.12, OnInferredLoss].
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace wharf::congestion {

/// Packets received above the cumulative acknowledgement from which on the ones below count as lost: one and
/// a half windows, but no more than the largest window and no fewer than five packets. Reordering by many
/// paths stays below it. `packet_bytes` is positive.
constexpr std::uint32_t inferred_loss_threshold(std::uint64_t window, std::uint64_t max_window,
                                                std::uint32_t packet_bytes) {
  const std::uint64_t bytes =
      std::max(std::min(window + window / 2, max_window), std::uint64_t{5} * packet_bytes);
  return static_cast<std::uint32_t>(bytes / packet_bytes);
}

/// Silence after which a source asks what has arrived: soon when it has nothing more to send, since no later
/// packet draws an acknowledgement that would tell.
constexpr TimePs probe_silence(TimePs base_rtt, TimePs target_delay, bool more_to_send) {
  return more_to_send ? base_rtt * 3 : base_rtt + target_delay;
}

/// Between probes without an answer.
constexpr TimePs probe_repetition(TimePs base_rtt) { return base_rtt * 5; }

}  // namespace wharf::congestion
