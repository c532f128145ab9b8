// SPDX-License-Identifier: Apache-2.0
// Unified Bus engines in the simulator: made for full hosts, thin hosts and runs of flows, and what they
// count.
#include "sim/protocols/ub_protocol.h"

#include "engine/ub/counter_names.h"

namespace wharf::sim {
Result<ub::UbEngine> UbProtocol::Engines::make(const Config& config, std::uint32_t host,
                                               wire::PayloadPool& payloads, Arena& arena) {
  Config own = config;
  own.host = {host};
  return Engine::create(own, payloads, arena);
}

ub::UbConfig UbProtocol::placed(const Config& config, const EngineSite& site) {
  Config engine = config;
  engine.host = {site.number};
  engine.tracer = site.tracer;
  if (engine.context_cache_entries > 0)
    engine.context_region = site.allocate(Bytes{ub::context_region_bytes(engine)});
  return engine;
}

ub::UbConfig UbProtocol::thin(const Config& config, std::uint32_t number, std::uint32_t, std::uint64_t) {
  Config engine = config;
  engine.host = {number};
  engine.context_cache_entries = 0;  // Its inside takes no time.
  return engine;
}

TimePs UbProtocol::timeout(const Config& config, std::uint32_t expiries) {
  return config.retransmission.timeout(expiries);
}

void UbProtocol::count(const Engine& engine, FabricTotals& totals) {
  const ub::UbCounters& counters = engine.counters();
  totals.new_packets += counters.data_packets_sent;
  totals.retransmitted += counters.packets_retransmitted;
  totals.acknowledgements += counters.acknowledgements_sent + counters.selective_acknowledgements_sent;
  totals.negative_acknowledgements += counters.negative_acknowledgements_sent;
  totals.control_packets += engine.congestion_counters().notifications_sent;
  totals.timeouts += counters.timeouts;
}

std::vector<NamedCounter> UbProtocol::counters(const Counters& counters) { return ub::named(counters); }

}  // namespace wharf::sim
