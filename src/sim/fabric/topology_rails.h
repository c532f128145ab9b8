// SPDX-License-Identifier: Apache-2.0
// The rail-optimised network of accelerator clusters: the n-th interface of every server of a segment hangs
// on the segment's n-th rail switch, and spines join all rail switches, so that traffic of one rail inside a
// segment crosses one switch.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/time.h"
#include "sim/fabric/topology.h"

namespace wharf::sim {

/// What a server is to the fabric.
enum class RailHosts : std::uint8_t {
  kOnePerRail,    ///< Every interface is a host: host number = server * rails + rail.
  kOnePerServer,  ///< A server is one host whose port n hangs on rail n.
};

struct RailShape {
  std::uint32_t segments = 1;
  std::uint32_t servers_per_segment = 1;
  std::uint32_t rails = 1;         ///< Interfaces of a server, and rail switches of a segment.
  std::uint32_t spines = 0;        ///< Each joined to every rail switch; 0: rails are islands of one segment.
  std::uint32_t spine_bundle = 1;  ///< Parallel links from a rail switch to a spine.
  RailHosts hosts = RailHosts::kOnePerRail;
  LinkSpec host_link{};
  LinkSpec spine_link{};
  TimePs rail_latency{};
  TimePs spine_latency{};
};

/// Nodes in the order hosts, rail switches by segment, spines. A host's pod is its segment. Refuses empty
/// counts and shapes in which hosts cannot reach one another.
Result<Topology> rail_network(const RailShape& shape);

}  // namespace wharf::sim
