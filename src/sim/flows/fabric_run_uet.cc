// SPDX-License-Identifier: Apache-2.0
// Flows over Ultra Ethernet engines.
#include "engine/uet/prefetch.h"
#include "engine/uet/uet_engine.h"
#include "sim/flows/fabric_engine_run.h"

namespace wharf::sim {
namespace {

struct UetProtocol {
  using Engine = uet::UetEngine;
  using Prefetch = uet::Prefetch;
  static constexpr wire::Protocol kProtocol = wire::Protocol::kUet;

  Result<Engine> make(const FabricRunConfig& config, NodeId host, wire::PayloadPool& payloads, Arena& arena) {
    if (shared == nullptr) {
      auto prepared = Engine::prepare(config.uet);
      if (!prepared) return prepared.error();
      shared = *std::move(prepared);
    }
    const std::uint64_t seed = config.uet.seed * kTopologyNodes + host;
    return Engine::create(shared, {host}, seed, payloads, arena);
  }

  static void count(const Engine& engine, FabricTotals& totals) {
    const uet::UetCounters& counters = engine.counters();
    totals.new_packets += counters.requests_sent;
    totals.retransmitted += counters.packets_retransmitted;
    totals.acknowledgements += counters.acknowledgements_sent;
    totals.negative_acknowledgements += counters.nacks_sent;
    totals.control_packets += counters.control_packets_sent;
    totals.credits += counters.credits_sent;
    totals.credit_requests += counters.credit_requests_sent;
    totals.timeouts += counters.timeouts;
  }

  static constexpr std::uint64_t kTopologyNodes = 1U << 20U;

  std::shared_ptr<const uet::UetConfig> shared;  ///< Of all engines of the run.
};

}  // namespace

Result<FabricReport> run_uet_flows(const Topology& topology, const workload::FlowList& flows,
                                   const FabricRunConfig& config, const FabricRunOptions& options) {
  return FabricEngineRun<UetProtocol>(topology, flows, config).run(options);
}

}  // namespace wharf::sim
