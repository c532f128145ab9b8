// SPDX-License-Identifier: Apache-2.0
// The dragonfly (Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA
// 2008): routers in groups that are completely joined inside, and each pair of groups joined by a link or
// several, so that a packet crosses one long link at most on its minimal way.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/time.h"
#include "sim/fabric/topology.h"

namespace wharf::sim {

struct DragonflyShape {
  std::uint32_t hosts = 1;    ///< Of a router: p of the paper.
  std::uint32_t routers = 1;  ///< Of a group: a.
  std::uint32_t globals = 1;  ///< Links of a router to other groups: h.
  std::uint32_t groups = 0;   ///< g; 0: as many as the links reach, a * h + 1.
  LinkSpec host_link{};
  LinkSpec local_link{};
  LinkSpec global_link{};
  TimePs router_latency{};
};

/// Nodes in the order hosts, routers, both by group; the pod of a node is its group, and every router is of
/// tier 0. Choice: link k of group i, counted over its routers in order, leads to group i + 1 + k mod (g -
/// 1), modulo g. With fewer groups than a * h + 1 all pairs have the same number of links, and links that
/// cannot be shared out evenly stay away. A way over one global link is always cheaper than one over two.
/// Refuses counts of 0, groups that not every other group has a link to, and what is too large.
Result<Topology> dragonfly(const DragonflyShape& shape);

}  // namespace wharf::sim
