// SPDX-License-Identifier: Apache-2.0
// What can be chosen about switches, queues and links of a fabric, beside its topology.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "sim/fabric/packet_head.h"
#include "sim/fabric/topology.h"

namespace wharf::sim {

/// Queues of an output port.
inline constexpr std::uint32_t kPortQueues = 4;
inline constexpr std::uint32_t kUnlimitedBytes = std::numeric_limits<std::uint32_t>::max();

/// What becomes of a packet that finds its queue full.
enum class OverflowRule : std::uint8_t {
  kDrop,         ///< The arriving packet is dropped.
  kTrimArrival,  ///< The arriving packet loses its payload.
  /// With probability one half the newest queued packet loses its payload and the arrival takes its place;
  /// otherwise the arrival does (the composite queue of htsim).
  kTrimNewestOrArrival,
};

/// One queue of an output port. Occupancies count a packet until its last byte has been sent.
struct PortQueueConfig {
  std::uint32_t capacity_bytes = kUnlimitedBytes;
  /// ECN, when a packet leaves the queue, by the occupancy including that packet: never at or below mark_min,
  /// always above mark_max, linearly more probable between. Equal values are a single threshold.
  std::uint32_t mark_min_bytes = kUnlimitedBytes;
  std::uint32_t mark_max_bytes = kUnlimitedBytes;
  OverflowRule overflow = OverflowRule::kDrop;
  std::uint8_t priority = 0;  ///< Queues of a lower number are served first.
  std::uint32_t weight = 1;   ///< Share of the bytes among queues of the same priority; 1 to 1000.
};

/// How an output port treats packets.
struct PortProfile {
  std::array<PortQueueConfig, kPortQueues> queues{};
  /// Queue of each traffic class, and of packets that were trimmed.
  std::array<std::uint8_t, kFabricClasses> queue_of_class{};
  std::uint8_t trimmed_queue = 0;
  std::uint16_t trimmed_bytes = 64;  ///< What a link is busy for when it sends a trimmed packet.

  /// Everything in one unlimited queue.
  static PortProfile single_queue();
  /// Traffic class 0 to 3 first, then data: the two queues of htsim's composite queue, without ECN. `data`
  /// bounds the low queue, twice as much the high one.
  static PortProfile composite(std::uint32_t data_bytes, std::uint32_t mark_min, std::uint32_t mark_max);
};

enum class LoadBalancing : std::uint8_t {
  kEcmpHash,    ///< Hash of flow, entropy and the switch's salt.
  kSpray,       ///< A random port for each packet.
  kRoundRobin,  ///< The next port for each packet.
  kAdaptive,    ///< The port with the fewest bytes queued; among equals the one that the hash prefers.
};

struct FabricConfig {
  std::vector<PortProfile> profiles;       ///< At least one.
  std::vector<std::uint8_t> port_profile;  ///< By PortId; empty: profile 0 for all. Hosts' ports ignore it.
  LoadBalancing load_balancing = LoadBalancing::kEcmpHash;
  std::uint64_t seed = 1;
};

Result<void> validate(const FabricConfig& config, const Topology& topology);

}  // namespace wharf::sim
