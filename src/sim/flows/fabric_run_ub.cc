// SPDX-License-Identifier: Apache-2.0
// Flows over Unified Bus engines.
#include "engine/ub/ub_engine.h"
#include "sim/flows/fabric_engine_run.h"

namespace wharf::sim {
namespace {

struct UbProtocol {
  using Engine = ub::UbEngine;
  using Prefetch = NoPrefetch;
  static constexpr wire::Protocol kProtocol = wire::Protocol::kUb;

  static Result<Engine> make(const FabricRunConfig& config, NodeId host, wire::PayloadPool& payloads,
                             Arena& arena) {
    ub::UbConfig own = config.ub;
    own.host = {host};
    return Engine::create(own, payloads, arena);
  }

  static void count(const Engine& engine, FabricTotals& totals) {
    const ub::UbCounters& counters = engine.counters();
    totals.new_packets += counters.data_packets_sent;
    totals.retransmitted += counters.packets_retransmitted;
    totals.acknowledgements += counters.acknowledgements_sent + counters.selective_acknowledgements_sent;
    totals.negative_acknowledgements += counters.negative_acknowledgements_sent;
    totals.control_packets += engine.congestion_counters().notifications_sent;
    totals.timeouts += counters.timeouts;
  }
};

}  // namespace

Result<FabricReport> run_ub_flows(const Topology& topology, const workload::FlowList& flows,
                                  const FabricRunConfig& config, const FabricRunOptions& options) {
  return FabricEngineRun<UbProtocol>(topology, flows, config).run(options);
}

}  // namespace wharf::sim
