// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/topology_dragonfly.h"

#include <fmt/format.h>

#include "sim/fabric/topology_fat_tree.h"

namespace wharf::sim {
namespace {

// The longest minimal way has a local, a global and another local link; the shortest over two global links
// has no local one. 1 + 3 + 1 is less than 3 + 3.
constexpr std::uint8_t kGlobalCost = 3;

}  // namespace

Result<Topology> dragonfly(const DragonflyShape& shape) {
  if (shape.hosts == 0 || shape.routers == 0 || shape.globals == 0)
    return input_error("a dragonfly has a count of 0, expected at least 1 of everything");
  using Wide = unsigned __int128;
  const Wide reach = Wide{shape.routers} * shape.globals;
  const Wide wanted = shape.groups != 0 ? Wide{shape.groups} : reach + 1;
  if (wanted > reach + 1) {
    return input_error(
        fmt::format("a dragonfly has {} groups, but {} routers with {} global links each reach {} others, "
                    "expected at most {} groups",
                    shape.groups, shape.routers, shape.globals, static_cast<std::uint64_t>(reach),
                    static_cast<std::uint64_t>(reach + 1)));
  }
  if (wanted < 2) return input_error("a dragonfly has 1 group, expected at least 2");
  const Wide routers = wanted * shape.routers;
  const Wide hosts = routers * shape.hosts;
  const Wide links = hosts + routers * (shape.routers - 1) / 2 + routers * shape.globals / 2;
  if (hosts > kTopologyHostsMax || links * 2 > kTopologyPortsMax) {
    return input_error(fmt::format("a dragonfly is too large, expected at most {} hosts and {} links",
                                   kTopologyHostsMax, kTopologyPortsMax / 2));
  }

  const auto groups = static_cast<std::uint32_t>(wanted);
  const auto router_count = static_cast<std::uint32_t>(routers);
  Topology topology;
  for (std::uint32_t router = 0; router < router_count; ++router) {
    for (std::uint32_t i = 0; i < shape.hosts; ++i) topology.add_host(router / shape.routers);
  }
  const NodeId first = topology.host_count();
  for (std::uint32_t router = 0; router < router_count; ++router)
    topology.add_switch(0, shape.router_latency, router / shape.routers);
  for (NodeId host = 0; host < first; ++host)
    topology.connect(host, first + host / shape.hosts, shape.host_link);
  for (std::uint32_t a = 0; a < router_count; ++a) {
    for (std::uint32_t b = a + 1; b / shape.routers == a / shape.routers && b < router_count; ++b)
      topology.connect(first + a, first + b, shape.local_link);
  }
  LinkSpec global = shape.global_link;
  global.cost = kGlobalCost;
  const std::uint32_t others = groups - 1;
  const auto per_pair = static_cast<std::uint32_t>(reach / others);
  const auto router_of = [&](std::uint32_t group, std::uint32_t link) {
    return first + group * shape.routers + link / shape.globals;
  };
  for (std::uint32_t group = 0; group < groups; ++group) {
    for (std::uint32_t link = 0; link < per_pair * others; ++link) {
      // At the far end the same link of the pair counts from there: offsets of both ends add up to g.
      const std::uint32_t offset = link % others + 1;
      const std::uint32_t far = (group + offset) % groups;
      if (far < group) continue;
      const std::uint32_t back = link / others * others + (groups - offset - 1);
      topology.connect(router_of(group, link), router_of(far, back), global);
    }
  }
  WHARF_TRY(topology.validate());
  return topology;
}

}  // namespace wharf::sim
