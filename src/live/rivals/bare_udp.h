// SPDX-License-Identifier: Apache-2.0
// The least that a round trip over UDP takes on this machine: one datagram there, one back, and nothing that
// would notice a loss. What a transport adds is measured against it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/histogram.h"
#include "base/result.h"

namespace wharf::live {

/// Bytes that one datagram can carry over IPv4.
inline constexpr std::uint32_t kBareUdpMost = 65'507;

struct BareUdpRun {
  std::uint32_t there = 64;  ///< Bytes of the datagram that asks, 1 to kBareUdpMost.
  std::uint32_t back = 64;   ///< Of the one that answers.
  std::uint64_t trips = 10'000;
  std::uint64_t warm_up = 100;  ///< Trips before those.
  bool spins = false;  ///< Both ends ask their sockets without pause; else they sleep until one comes.
};

/// The round trips, in picoseconds, between two threads over the loopback interface; those until `stop` is
/// set. A datagram that is lost goes again and its trip is not counted. Errors: kEnvironment without sockets,
/// kStalled when many in a row are lost.
Result<Histogram> bare_udp_trips(const BareUdpRun& run, const std::atomic<bool>& stop);

}  // namespace wharf::live
