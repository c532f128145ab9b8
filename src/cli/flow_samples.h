// SPDX-License-Identifier: Apache-2.0
// What runs of flows cost with a scenario's keys, told from short runs of other traffic that are made now.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "sim/scenario/run_request.h"

namespace wharf::cli {

inline constexpr std::uint32_t kSampleHosts = 16;

struct FlowSamples {
  double hop_ns = 0;          ///< Wall time of one packet-hop.
  double hops_per_hop = 1.0;  ///< All packet-hops over those of data.
  /// What the run will have in memory: this process with all that it has read, for each host what one held
  /// with its share of the network while it sent one flow and took another, and what further connections
  /// held.
  std::uint64_t memory_bytes = 0;
};

/// Hops of packets with data, if each is sent once.
std::uint64_t data_hops(const sim::Topology& topology, const workload::FlowList& list, std::uint64_t payload);

/// A tenth of a second of permutations and an all-to-all over small fat trees of usual links, with the other
/// keys of the scenario, whose flows are in `inputs`. Nothing where the first does not end: then there is
/// nothing to tell.
Result<std::optional<FlowSamples>> sample_flows(const sim::FabricSettings& given,
                                                const sim::FabricInputs& inputs);

}  // namespace wharf::cli
