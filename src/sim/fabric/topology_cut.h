// SPDX-License-Identifier: Apache-2.0
// How much one half of the hosts can send to the other, whatever the graph. Tiers answer that for trees;
// graphs whose switches are linked within a tier need the maximum flow.
#pragma once

#include <cstdint>

#include "sim/fabric/topology.h"

namespace wharf::sim {

/// Whether some link joins two switches of one tier.
bool has_links_within_tiers(const Topology& topology);

/// Gb/s that the first half of the hosts (by number; the larger half goes last) can send to the others at
/// once, over any paths: the maximum flow. Hosts do not forward. Takes time of the order of nodes times links
/// for each path that it adds, so it is for graphs of hundreds of nodes.
std::uint64_t gbps_between_halves(const Topology& topology);

}  // namespace wharf::sim
