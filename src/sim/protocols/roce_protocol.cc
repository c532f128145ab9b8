// SPDX-License-Identifier: Apache-2.0
// RoCEv2 engines in the simulator: made for full hosts, thin hosts and runs of flows, and what they count.
#include "sim/protocols/roce_protocol.h"

#include <algorithm>

#include "engine/roce/counter_names.h"

namespace wharf::sim {
Result<roce::RoceEngine> RoceProtocol::Engines::make(const Config& config, std::uint32_t host,
                                                     wire::PayloadPool& payloads, Arena& arena) {
  Config own = config;
  own.host = {host};
  return Engine::create(own, payloads, arena);
}

roce::RoceConfig RoceProtocol::placed(const Config& config, const EngineSite& site) {
  Config engine = config;
  engine.host = {site.number};
  engine.seed = site.seed;
  engine.tracer = site.tracer;
  if (engine.queue_cache_entries > 0 || engine.key_cache_entries > 0)
    engine.context_base = site.allocate(Bytes{roce::kContextRegionBytes});
  return engine;
}

roce::RoceConfig RoceProtocol::thin(const Config& config, std::uint32_t number, std::uint32_t,
                                    std::uint64_t seed) {
  Config engine = config;
  engine.host = {number};
  engine.seed = seed;
  engine.queue_cache_entries = 0;  // Its inside takes no time.
  engine.key_cache_entries = 0;
  return engine;
}

TimePs RoceProtocol::timeout(const Config& config, std::uint32_t expiries) {
  if (config.ack_timeout == 0) return kNever;
  return roce::ack_timeout_duration(config.ack_timeout) *
         (std::int64_t{1} << std::min<std::uint32_t>(expiries, config.backoff_limit));
}

void RoceProtocol::count(const Engine& engine, FabricTotals& totals) {
  const roce::Counters& counters = engine.counters();
  totals.new_packets += counters.packets_sent - counters.requests_resent - counters.acknowledgements_sent -
                        counters.naks_sent - counters.rnr_naks_sent - counters.congestion_notifications_sent;
  totals.retransmitted += counters.requests_resent;
  totals.acknowledgements += counters.acknowledgements_sent;
  totals.negative_acknowledgements += counters.naks_sent + counters.rnr_naks_sent;
  totals.control_packets += counters.congestion_notifications_sent;
  totals.timeouts += counters.timeouts;
}

std::vector<NamedCounter> RoceProtocol::counters(const Counters& counters) { return roce::named(counters); }

}  // namespace wharf::sim
