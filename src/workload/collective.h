// SPDX-License-Identifier: Apache-2.0
// Collective operations by name as lists of flows with dependencies: who sends what to whom once it has what
// it needs. A rank passes on what others send it as soon as all of it has arrived. A rank that sends to one
// after another goes on when the flow before has been acknowledged. So no rank waits for what happens at
// another. Reductions and copies at the hosts take no time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/flow_list.h"

namespace wharf::workload {

/// S is the size, N the number of ranks.
enum class Collective : std::uint8_t {
  kRingAllReduce,  ///< 2 (N - 1) steps around the ring, in each of them every rank sends a part of S / N.
  kTreeAllReduce,  ///< Up a binary tree, then down, S on each edge.
  kStarAllReduce,  ///< S from everybody to rank 0, then from rank 0 to everybody.
  kAllGather,      ///< N - 1 steps around the ring; every rank contributes S.
  kAllToAll,       ///< S from each rank to each other: r to r + 1, then r + 2, ..., `window` at a time.
  kBroadcast,      ///< S from rank 0 along a binomial tree; a rank sends to one other at a time.
  kIncast,         ///< S from everybody to rank 0 at once.
  kOutcast,        ///< S from rank 0 to everybody at once.
  kPermutation,    ///< S from every rank to one other, along a random cycle.
};

/// "ring_all_reduce", ..., in enumerator order.
std::span<const std::string_view> collective_names();
std::string_view name(Collective kind);
/// One line for lists of what there is.
std::string_view describe(Collective kind);

struct CollectiveConfig {
  Collective kind = Collective::kRingAllReduce;
  std::uint64_t bytes = std::uint64_t{1} << 20U;  ///< S.
  std::vector<std::uint32_t> ranks{};             ///< The host of each; at least two, all different.
  std::uint64_t seed = 1;                         ///< kPermutation.
  std::uint32_t window = 1;                       ///< kAllToAll: destinations that a rank has under way.
};

/// Its flows. Refuses too few ranks, sizes that give an empty or too long flow, and more than kFlowsMax
/// flows.
Result<FlowList> collective_flows(const CollectiveConfig& config);

/// What the bandwidths of a collective divide by its time, as collective benchmarks define them
/// [NVIDIA nccl-tests, doc/PERFORMANCE.md].
struct CollectiveVolume {
  /// The largest buffer of a rank, for the algorithm bandwidth: S where everybody ends with one result, N S
  /// for all-gather and all-to-all; (N - 1) S at the root of incast and outcast.
  std::uint64_t buffer_bytes = 0;
  /// What the busiest link of a host must carry in one direction under the best algorithm, for the bus
  /// bandwidth, which compares with the speed of that link: 2 (N - 1) / N of S for an all-reduce of any kind.
  std::uint64_t link_bytes = 0;
};

CollectiveVolume volume_of(Collective kind, std::uint64_t bytes, std::uint32_t ranks);

}  // namespace wharf::workload
