// SPDX-License-Identifier: Apache-2.0
// How a topology is divided among threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "sim/fabric/topology.h"

namespace wharf::sim {

/// The partition of each node: leaves in order of their numbers are cut into `count` runs whose hosts have
/// about equally much to do (`work` by host; empty: all the same), hosts go with their first leaf, every
/// other switch to where most of its neighbours are (among equals to the least loaded). Fewer partitions
/// result when there are fewer leaves.
std::vector<std::uint8_t> divide(const Topology& topology, std::uint32_t count,
                                 std::span<const std::uint32_t> work = {});

/// The length of the windows in which partitions run on their own: the shortest time from a port's decision
/// to the arrival at the far end, over all links that some division could cut (all but those of hosts with
/// one link). It depends on the topology alone, and so do the instants at which a run may end. kNever when no
/// link can be cut.
TimePs window_length(const Topology& topology);

/// How long windows are where no link can be cut.
inline constexpr TimePs kUndividedWindow = microseconds(1);

/// How much later all hosts hear what one tells them beside the network: the length of a window, so that no
/// partition has passed that instant yet.
TimePs notice_delay(const Topology& topology);

}  // namespace wharf::sim
