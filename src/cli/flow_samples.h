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
  /// What a host and its share of the network hold while it sends one flow and takes another, and what one
  /// more connection holds at both ends together. Bytes.
  std::uint64_t host_bytes = 0;
  std::uint64_t connection_bytes = 0;
};

/// Hops of packets with data, if each is sent once.
std::uint64_t data_hops(const sim::Topology& topology, const workload::FlowList& list, std::uint64_t payload);

/// A tenth of a second of permutations and an all-to-all over small fat trees of usual links, with the other
/// keys of the scenario, whose flows are in `inputs`. Nothing where they do not end: then there is nothing to
/// tell.
Result<std::optional<FlowSamples>> sample_flows(const sim::FabricSettings& given,
                                                const sim::FabricInputs& inputs);

/// What a run of these flows will have in memory, by `samples`; all that was read for it is in memory now.
std::uint64_t memory_of(const FlowSamples& samples, const sim::FabricInputs& inputs);

}  // namespace wharf::cli
