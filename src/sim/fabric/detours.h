// SPDX-License-Identifier: Apache-2.0
// Ways that are not minimal, for fabrics of groups that are joined directly: where a packet may be sent
// first, in a group that is neither its source's nor its destination's. Built once; switches look up.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/fabric/routing.h"
#include "sim/fabric/topology.h"

namespace wharf::sim {

/// A group is a pod. A detour begins with a link that leads out of the source's group, and ends at the far
/// end of that link; from there the packet takes a minimal way.
class Detours {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;
  /// Leaves that compares() can tell apart: it takes a byte for each pair.
  static constexpr std::uint32_t kComparedMax = 8192;

  Detours() = default;
  /// `compare`: count the links of ways. `usable` as for RoutingTables.
  Detours(const Topology& topology, const RoutingTables& routes, bool compare,
          const std::vector<bool>& usable = {});

  /// The leaf at the end of one of the detours from `from` to `to` (leaf numbers), each as likely as its 32
  /// random bits; kNone where there is none: within a group, or with two groups.
  std::uint32_t pick(std::uint32_t from, std::uint32_t to, std::uint32_t bits) const {
    const std::uint32_t source = group_of_[from];
    const std::uint32_t target = group_of_[to];
    if (source == target) return kNone;
    const std::uint32_t* const row = &first_[std::size_t{source} * (groups_ + 1)];
    const std::uint32_t barred = row[target + 1] - row[target];
    const std::uint32_t count = row[groups_] - row[0] - barred;
    if (count == 0) return kNone;
    std::uint32_t at = row[0] + static_cast<std::uint32_t>(std::uint64_t{bits} * count >> 32U);
    if (at >= row[target]) at += barred;
    return ends_[at];
  }
  /// Links between two leaves on a cheapest way; only with `compare`.
  std::uint32_t links(std::uint32_t from, std::uint32_t to) const {
    return links_[std::size_t{from} * group_of_.size() + to];
  }
  /// Whether any packet can take one.
  bool any() const;
  std::uint32_t leaf_count() const { return static_cast<std::uint32_t>(group_of_.size()); }

 private:
  void count_links(const Topology& topology, const RoutingTables& routes, const std::vector<bool>& usable);

  std::uint32_t groups_ = 0;
  std::vector<std::uint32_t> group_of_;  ///< By leaf; groups are numbered in the order of their first leaf.
  std::vector<std::uint32_t> first_;  ///< Into ends_, by source group and far group, and one past the last.
  std::vector<std::uint32_t> ends_;   ///< Leaves.
  std::vector<std::uint8_t> links_;
};

}  // namespace wharf::sim
