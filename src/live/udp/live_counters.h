// SPDX-License-Identifier: Apache-2.0
// What a live host counted beside its engine's own counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "live/secure/seal.h"
#include "wire/drop_reason.h"

namespace wharf::live {

struct LiveCounters {
  std::uint64_t datagrams_received = 0;
  std::uint64_t datagrams_sent = 0;
  std::uint64_t bytes_received = 0;  ///< Of these datagrams, without UDP and IP headers.
  std::uint64_t bytes_sent = 0;
  std::uint64_t unknown_sender = 0;  ///< Datagrams from an endpoint that no session has named.
  std::uint64_t undecodable = 0;     ///< Too short, too long, bad checksum, bad fields,
  /// each under its reason.
  std::array<std::uint64_t, wire::kDropReasonCount> undecodable_by{};
  /// What a sealed session did not take, each under its reason.
  std::array<std::uint64_t, kSealDropCount> seal_drops{};
  std::uint64_t injected_losses = 0;
  std::uint64_t injected_duplicates = 0;
  std::uint64_t completions = 0;
  std::uint64_t refused_accesses = 0;  ///< Answers that somebody had no right to what it asked for.

  void drop(wire::DropReason reason) {
    ++undecodable;
    ++undecodable_by[static_cast<std::size_t>(reason)];
  }
  void drop(SealDrop reason) { ++seal_drops[static_cast<std::size_t>(reason)]; }
  /// Datagrams that came for nothing.
  std::uint64_t dropped() const;
  LiveCounters& operator+=(const LiveCounters& other);
};

/// The share of one peer, as this side took what came: after injected faults.
struct PeerTraffic {
  std::uint64_t datagrams_received = 0;
  std::uint64_t datagrams_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t dropped = 0;          ///< Not decodable, or with a seal that is not right.
  std::uint64_t retransmissions = 0;  ///< Packets that went to it again.
  std::uint64_t duplicates = 0;       ///< Packets of it that had come before.
};

/// What could not be decoded, such as "3 datagrams dropped: 2 bad invariant CRC, 1 truncated"; empty for
/// nothing.
std::string describe_drops(const LiveCounters& counters);

}  // namespace wharf::live
