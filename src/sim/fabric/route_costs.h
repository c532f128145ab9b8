// SPDX-License-Identifier: Apache-2.0
// How far every node is from one of them, by the costs of links: what routes and surveys of paths follow.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/fabric/topology.h"

namespace wharf::sim {

inline constexpr std::uint16_t kUnreachable = 0xffff;

/// The smallest sum of costs from each node to `to`, by NodeId. Hosts are ends only: they do not forward.
/// `usable` (by PortId; empty: all): links that the way may use.
std::vector<std::uint16_t> costs_to(const Topology& topology, NodeId to,
                                    const std::vector<bool>& usable = {});

}  // namespace wharf::sim
