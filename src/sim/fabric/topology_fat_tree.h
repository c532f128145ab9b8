// SPDX-License-Identifier: Apache-2.0
// Fat trees of two and three tiers, with oversubscription, bundles, and speeds and delays of each tier, and
// the K-ary trees among them. Apart from the file readers because scenarios and tests build them too.
#pragma once

#include <array>
#include <cstdint>

#include "base/result.h"
#include "base/time.h"
#include "sim/fabric/topology.h"

namespace wharf::sim {

/// Leaves, middle switches and, in three tiers, tops. Every leaf of a pod is joined to every middle switch of
/// that pod; the middle switch at position p of each pod to the tops p, p + middles, p + 2 middles, ...
/// Two tiers are one pod without tops.
struct FatTreeShape {
  std::uint32_t pods = 1;
  std::uint32_t leaves_per_pod = 1;
  std::uint32_t hosts_per_leaf = 1;
  std::uint32_t middles_per_pod = 1;
  std::uint32_t tops_per_middle = 0;  ///< 0: two tiers.
  /// Of tier 0 (hosts to leaves), tier 1 (leaves to middles) and tier 2 (middles to tops).
  std::array<LinkSpec, 3> link{};
  std::array<TimePs, 3> switch_latency{};
  /// Parallel links from a leaf to a middle switch, and from a middle switch to a top.
  std::uint32_t leaf_bundle = 1;
  std::uint32_t middle_bundle = 1;

  std::uint32_t hosts() const { return pods * leaves_per_pod * hosts_per_leaf; }
  std::uint32_t tiers() const { return tops_per_middle == 0 ? 2 : 3; }
  std::uint32_t tops() const { return tops_per_middle * middles_per_pod; }
};

/// Hosts at most, so that every number of a fabric fits.
inline constexpr std::uint32_t kTopologyHostsMax = 1U << 17U;
/// Directed links at most.
inline constexpr std::uint64_t kTopologyPortsMax = 1U << 23U;

/// Nodes in the order hosts, leaves, middles, tops, pod by pod. Refuses an empty count, more hosts or links
/// than the limits above, and several pods in two tiers.
Result<Topology> fat_tree_of(const FatTreeShape& shape);

/// The K-ary tree with exactly `hosts` hosts: K^3/4 in three tiers, K^2/2 in two; all links and switches
/// alike. Refuses other counts and names the nearest that exist.
Result<FatTreeShape> k_ary_shape(std::uint32_t tiers, std::uint32_t hosts, const LinkSpec& link,
                                 TimePs switch_latency);

/// The smallest number of hosts that is at least `least` and that k_ary_shape() takes.
std::uint32_t k_ary_hosts(std::uint32_t tiers, std::uint32_t least);

/// Whether hosts can send more than the links above the leaves, or above the middle switches, can carry: the
/// larger of the two ratios in thousandths; 1000: not oversubscribed.
std::uint32_t oversubscription_permille(const FatTreeShape& shape);

}  // namespace wharf::sim
