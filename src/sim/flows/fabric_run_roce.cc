// SPDX-License-Identifier: Apache-2.0
// Flows over RoCEv2 engines.
#include "engine/roce/roce_engine.h"
#include "sim/flows/fabric_engine_run.h"

namespace wharf::sim {
namespace {

struct RoceProtocol {
  using Engine = roce::RoceEngine;
  using Prefetch = NoPrefetch;
  static constexpr wire::Protocol kProtocol = wire::Protocol::kRoce;

  static Result<Engine> make(const FabricRunConfig& config, NodeId host, wire::PayloadPool& payloads,
                             Arena& arena) {
    roce::RoceConfig own = config.roce;
    own.host = {host};
    own.seed = config.roce.seed;
    return Engine::create(own, payloads, arena);
  }

  static void count(const Engine& engine, FabricTotals& totals) {
    const roce::Counters& counters = engine.counters();
    totals.new_packets += counters.packets_sent - counters.requests_resent - counters.acknowledgements_sent -
                          counters.naks_sent - counters.rnr_naks_sent -
                          counters.congestion_notifications_sent;
    totals.retransmitted += counters.requests_resent;
    totals.acknowledgements += counters.acknowledgements_sent;
    totals.negative_acknowledgements += counters.naks_sent + counters.rnr_naks_sent;
    totals.control_packets += counters.congestion_notifications_sent;
    totals.timeouts += counters.timeouts;
  }
};

}  // namespace

Result<FabricReport> run_roce_flows(const Topology& topology, const workload::FlowList& flows,
                                    const FabricRunConfig& config, const FabricRunOptions& options) {
  return FabricEngineRun<RoceProtocol>(topology, flows, config).run(options);
}

}  // namespace wharf::sim
