// SPDX-License-Identifier: Apache-2.0
// What engines take is found by making a few; constants are what a run held beside that, by the resident size
// of `wharf run` with 16 to 8,192 hosts.
#include "sim/scenario/fabric_memory.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "sim/flows/engine_memory.h"

namespace wharf::sim {
namespace {

/// The program itself with its libraries, and a scenario's documents.
constexpr std::uint64_t kProgramBytes = 14U << 20U;
/// A host beside its engine: who feeds it, and its place in the fabric.
constexpr std::uint64_t kHostBytes = 4U << 10U;
/// Of a port: its queues, counters and routes.
constexpr std::uint64_t kPortBytes = 512;
/// A flow: what is known of it, its record and its place in the results.
constexpr std::uint64_t kFlowBytes = 512;

}  // namespace

std::uint64_t connections_of(const workload::FlowList& list) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> connections;
  for (const workload::Flow& flow : list.flows)
    connections.emplace(flow.source, flow.destination, flow.connection);
  return connections.size();
}

std::uint64_t estimate_memory(const Topology& topology, const workload::FlowList& flows,
                              const FabricRunConfig& config) {
  const std::uint64_t connections = connections_of(flows);
  const std::uint64_t hosts = topology.host_count();
  const bool own_queue = rules_of(config.protocol).flows.queue_per_connection;
  const std::uint64_t queues = std::max<std::uint64_t>(1, own_queue ? connections : hosts);
  const auto each = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>((flows.flows.size() + queues - 1) / queues, 1, 1024));
  std::uint64_t bytes = kProgramBytes + hosts * kHostBytes + topology.ports().size() * kPortBytes +
                        flows.flows.size() * kFlowBytes + flows.ranks.memory_bytes();
  // What no engine takes is refused where engines are made.
  if (const auto engines = engine_memory(config, each))
    bytes += hosts * engines->host + connections * engines->connection;
  return bytes;
}

}  // namespace wharf::sim
