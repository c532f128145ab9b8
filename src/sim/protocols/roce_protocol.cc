// SPDX-License-Identifier: Apache-2.0
// RoCEv2 engines in the simulator: made for full hosts, thin hosts and runs of flows, and what they count.
#include "sim/protocols/roce_protocol.h"

#include <algorithm>

namespace wharf::sim {
namespace {

constexpr std::array<CounterName<roce::Counters>, 33> kCounters{{
    {"packets_sent", &roce::Counters::packets_sent},
    {"packets_received", &roce::Counters::packets_received},
    {"requests_resent", &roce::Counters::requests_resent},
    {"acknowledgements_sent", &roce::Counters::acknowledgements_sent},
    {"acknowledgements_merged", &roce::Counters::acknowledgements_merged},
    {"naks_sent", &roce::Counters::naks_sent},
    {"rnr_naks_sent", &roce::Counters::rnr_naks_sent},
    {"timeouts", &roce::Counters::timeouts},
    {"sequence_naks_received", &roce::Counters::sequence_naks_received},
    {"implied_naks", &roce::Counters::implied_naks},
    {"rnr_naks_received", &roce::Counters::rnr_naks_received},
    {"retries_exhausted", &roce::Counters::retries_exhausted},
    {"duplicate_requests", &roce::Counters::duplicate_requests},
    {"congestion_notifications", &roce::Counters::congestion_notifications},
    {"congestion_notifications_sent", &roce::Counters::congestion_notifications_sent},
    {"dropped_foreign", &roce::Counters::dropped_foreign},
    {"dropped_unknown_opcode", &roce::Counters::dropped_unknown_opcode},
    {"dropped_version", &roce::Counters::dropped_version},
    {"dropped_unknown_queue", &roce::Counters::dropped_unknown_queue},
    {"dropped_not_ready", &roce::Counters::dropped_not_ready},
    {"dropped_wrong_source", &roce::Counters::dropped_wrong_source},
    {"dropped_partition", &roce::Counters::dropped_partition},
    {"dropped_out_of_order", &roce::Counters::dropped_out_of_order},
    {"dropped_stale_response", &roce::Counters::dropped_stale_response},
    {"dropped_duplicate", &roce::Counters::dropped_duplicate},
    {"dropped_no_resources", &roce::Counters::dropped_no_resources},
    {"dropped_oversized", &roce::Counters::dropped_oversized},
    {"context_misses", &roce::Counters::context_misses},
    {"context_evictions", &roce::Counters::context_evictions},
    {"contexts_lost", &roce::Counters::contexts_lost},
    {"events_dropped", &roce::Counters::events_dropped},
    {"completions_dropped", &roce::Counters::completions_dropped},
    {"receive_entries_dropped", &roce::Counters::receive_entries_dropped},
}};
// None is forgotten.
static_assert(sizeof(roce::Counters) == kCounters.size() * sizeof(std::uint64_t));

/// Addresses that evicted context records may take: room for about a hundred thousand queue pairs.
constexpr std::uint64_t kContextBytes = std::uint64_t{64} << 20U;

}  // namespace

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
    engine.context_base = site.allocate(Bytes{kContextBytes});
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

std::vector<NamedCounter> RoceProtocol::counters(const Counters& counters) {
  return named<Counters>(counters, kCounters);
}

}  // namespace wharf::sim
