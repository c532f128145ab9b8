// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/topology_fat_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace wharf::sim {
namespace {

/// Hosts of the K-ary tree.
std::uint64_t hosts_of(std::uint32_t tiers, std::uint64_t k) {
  return tiers == 3 ? k * k * k / 4 : k * k / 2;
}

void connect_bundle(Topology& topology, NodeId a, NodeId b, const LinkSpec& spec, std::uint32_t bundle) {
  for (std::uint32_t i = 0; i < bundle; ++i) topology.connect(a, b, spec);
}

}  // namespace

Result<Topology> fat_tree_of(const FatTreeShape& shape) {
  for (const std::uint32_t count : {shape.pods, shape.leaves_per_pod, shape.hosts_per_leaf,
                                    shape.middles_per_pod, shape.leaf_bundle, shape.middle_bundle}) {
    if (count == 0) return input_error("a fat tree has a count of 0, expected at least 1 of everything");
  }
  if (shape.tops_per_middle == 0 && shape.pods != 1) {
    return input_error(fmt::format(
        "a fat tree of two tiers has {} pods, expected 1 (pods are joined by a third tier)", shape.pods));
  }
  using Wide = unsigned __int128;
  const Wide leaves = Wide{shape.pods} * shape.leaves_per_pod;
  const Wide hosts = leaves * shape.hosts_per_leaf;
  const Wide links = hosts + leaves * shape.middles_per_pod * shape.leaf_bundle +
                     Wide{shape.pods} * shape.middles_per_pod * shape.tops_per_middle * shape.middle_bundle;
  if (hosts > kTopologyHostsMax || links * 2 > kTopologyPortsMax) {
    return input_error(fmt::format("a fat tree has {} hosts or more than {} links, expected at most {} hosts",
                                   hosts > kTopologyHostsMax ? "too many" : "few", kTopologyPortsMax / 2,
                                   kTopologyHostsMax));
  }

  Topology topology;
  const std::uint32_t hosts_per_pod = shape.leaves_per_pod * shape.hosts_per_leaf;
  for (std::uint32_t host = 0; host < shape.hosts(); ++host) topology.add_host(host / hosts_per_pod);
  const NodeId first_leaf = topology.host_count();
  const std::uint32_t leaf_count = shape.pods * shape.leaves_per_pod;
  for (std::uint32_t i = 0; i < leaf_count; ++i)
    topology.add_switch(0, shape.switch_latency[0], i / shape.leaves_per_pod);
  const NodeId first_middle = first_leaf + leaf_count;
  const std::uint32_t middle_count = shape.pods * shape.middles_per_pod;
  for (std::uint32_t i = 0; i < middle_count; ++i)
    topology.add_switch(1, shape.switch_latency[1], i / shape.middles_per_pod);
  const NodeId first_top = first_middle + middle_count;
  for (std::uint32_t i = 0; i < shape.tops(); ++i)
    topology.add_switch(2, shape.switch_latency[2], shape.pods);

  for (NodeId host = 0; host < shape.hosts(); ++host)
    topology.connect(host, first_leaf + host / shape.hosts_per_leaf, shape.link[0]);
  for (std::uint32_t leaf = 0; leaf < leaf_count; ++leaf) {
    const NodeId middles = first_middle + leaf / shape.leaves_per_pod * shape.middles_per_pod;
    for (std::uint32_t i = 0; i < shape.middles_per_pod; ++i)
      connect_bundle(topology, first_leaf + leaf, middles + i, shape.link[1], shape.leaf_bundle);
  }
  for (std::uint32_t middle = 0; middle < middle_count; ++middle) {
    const NodeId top = first_top + middle % shape.middles_per_pod;
    for (std::uint32_t i = 0; i < shape.tops_per_middle; ++i) {
      connect_bundle(topology, first_middle + middle, top + i * shape.middles_per_pod, shape.link[2],
                     shape.middle_bundle);
    }
  }
  WHARF_TRY(topology.validate());
  return topology;
}

Result<FatTreeShape> k_ary_shape(std::uint32_t tiers, std::uint32_t hosts, const LinkSpec& link,
                                 TimePs switch_latency) {
  if (tiers != 2 && tiers != 3) return input_error(fmt::format("found {} tiers, expected 2 or 3", tiers));
  std::uint64_t k = 2;
  while (hosts_of(tiers, k) < hosts) k += 2;
  if (hosts_of(tiers, k) != hosts) {
    const std::string below = k > 2 ? fmt::format("{} or ", hosts_of(tiers, k - 2)) : "";
    return input_error(fmt::format(
        "found {} hosts, expected {} for a generated fat tree of {} tiers, as {}{} is; a topology file can "
        "have any number",
        hosts, tiers == 3 ? "K^3/4 with K even" : "K^2/2 with K even", tiers, below, hosts_of(tiers, k)));
  }
  const auto half = static_cast<std::uint32_t>(k / 2);
  FatTreeShape shape;
  shape.link.fill(link);
  shape.switch_latency.fill(switch_latency);
  shape.hosts_per_leaf = half;
  shape.middles_per_pod = half;
  shape.pods = tiers == 3 ? 2 * half : 1;
  shape.leaves_per_pod = tiers == 3 ? half : 2 * half;
  shape.tops_per_middle = tiers == 3 ? half : 0;
  return shape;
}

std::uint32_t k_ary_hosts(std::uint32_t tiers, std::uint32_t least) {
  WHARF_CHECK(tiers == 2 || tiers == 3);
  std::uint64_t k = 2;
  while (hosts_of(tiers, k) < least) k += 2;
  return static_cast<std::uint32_t>(hosts_of(tiers, k));
}

std::uint32_t oversubscription_permille(const FatTreeShape& shape) {
  const auto ratio = [](std::uint64_t below, std::uint64_t above) {
    return static_cast<std::uint32_t>((below * 1000 + above - 1) / above);
  };
  // Megabits keep the products within 64 bits.
  const auto rate = [&](std::uint32_t tier) {
    return std::max<std::uint64_t>(shape.link[tier].rate.value / 1'000'000, 1);
  };
  const std::uint64_t leaf_up = std::uint64_t{shape.middles_per_pod} * shape.leaf_bundle * rate(1);
  std::uint32_t worst = ratio(shape.hosts_per_leaf * rate(0), leaf_up);
  if (shape.tops_per_middle != 0) {
    const std::uint64_t down = std::uint64_t{shape.leaves_per_pod} * shape.leaf_bundle * rate(1);
    worst =
        std::max(worst, ratio(down, std::uint64_t{shape.tops_per_middle} * shape.middle_bundle * rate(2)));
  }
  return std::max(worst, 1000U);
}

}  // namespace wharf::sim
