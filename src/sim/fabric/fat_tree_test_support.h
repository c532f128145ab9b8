// SPDX-License-Identifier: Apache-2.0
// The K-ary three-tier fat tree, for tests and benchmarks of the fabric itself.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "sim/fabric/topology.h"

namespace wharf::sim {

/// K pods of K/2 leaves and K/2 aggregation switches, (K/2)^2 cores, K^3/4 hosts; K even.
inline Topology fat_tree(std::uint32_t k, const LinkSpec& spec, TimePs switch_latency) {
  Topology topology;
  const std::uint32_t half = k / 2;
  for (std::uint32_t host = 0; host < k * half * half; ++host) topology.add_host(host / (half * half));
  const NodeId leaves = topology.host_count();
  for (std::uint32_t i = 0; i < k * half; ++i) topology.add_switch(0, switch_latency, i / half);
  const NodeId middle = leaves + k * half;
  for (std::uint32_t i = 0; i < k * half; ++i) topology.add_switch(1, switch_latency, i / half);
  const NodeId cores = middle + k * half;
  for (std::uint32_t i = 0; i < half * half; ++i) topology.add_switch(2, switch_latency, k);
  for (NodeId host = 0; host < topology.host_count(); ++host)
    topology.connect(host, leaves + host / half, spec);
  for (std::uint32_t i = 0; i < k * half; ++i) {
    for (std::uint32_t j = 0; j < half; ++j) topology.connect(leaves + i, middle + i / half * half + j, spec);
  }
  for (std::uint32_t i = 0; i < k * half; ++i) {
    for (std::uint32_t j = 0; j < half; ++j) topology.connect(middle + i, cores + i % half + half * j, spec);
  }
  return topology;
}

/// A permutation in which no host sends to itself: a random cycle through all hosts.
inline std::vector<std::uint32_t> cyclic_permutation(std::uint32_t hosts, std::uint64_t seed) {
  RandomStream random(seed, "permutation");
  std::vector<std::uint32_t> order(hosts);
  for (std::uint32_t i = 0; i < hosts; ++i) order[i] = i;
  for (std::uint32_t i = hosts - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  std::vector<std::uint32_t> to(hosts);
  for (std::uint32_t i = 0; i < hosts; ++i) to[order[i]] = order[(i + 1) % hosts];
  return to;
}

}  // namespace wharf::sim
