// SPDX-License-Identifier: Apache-2.0
// Unified Bus engines in the simulator: made for full hosts, thin hosts and runs of flows, and what they
// count.
#include "sim/protocols/ub_protocol.h"

namespace wharf::sim {
namespace {

constexpr std::array<CounterName<ub::UbCounters>, 49> kCounters{{
    {"packets_sent", &ub::UbCounters::packets_sent},
    {"packets_received", &ub::UbCounters::packets_received},
    {"data_packets_sent", &ub::UbCounters::data_packets_sent},
    {"acknowledgements_sent", &ub::UbCounters::acknowledgements_sent},
    {"selective_acknowledgements_sent", &ub::UbCounters::selective_acknowledgements_sent},
    {"negative_acknowledgements_sent", &ub::UbCounters::negative_acknowledgements_sent},
    {"datagrams_received", &ub::UbCounters::datagrams_received},
    {"turns_waited", &ub::UbCounters::turns_waited},
    {"completions", &ub::UbCounters::completions},
    {"packets_retransmitted", &ub::UbCounters::packets_retransmitted},
    {"timeouts", &ub::UbCounters::timeouts},
    {"channels_failed", &ub::UbCounters::channels_failed},
    {"duplicates", &ub::UbCounters::duplicates},
    {"receiver_not_ready_sent", &ub::UbCounters::receiver_not_ready_sent},
    {"receiver_not_ready_retries", &ub::UbCounters::receiver_not_ready_retries},
    {"page_fault_retries", &ub::UbCounters::page_fault_retries},
    {"answers_timed_out", &ub::UbCounters::answers_timed_out},
    {"context_fetches", &ub::UbCounters::context_fetches},
    {"context_evictions", &ub::UbCounters::context_evictions},
    {"sequences_filled", &ub::UbCounters::sequences_filled},
    {"contexts_lost", &ub::UbCounters::contexts_lost},
    {"events_dropped", &ub::UbCounters::events_dropped},
    {"refused_access", &ub::UbCounters::refused_access},
    {"refused_opcode", &ub::UbCounters::refused_opcode},
    {"refused_length", &ub::UbCounters::refused_length},
    {"refused_jetty", &ub::UbCounters::refused_jetty},
    {"refused_sequence", &ub::UbCounters::refused_sequence},
    {"load_store_issued", &ub::UbCounters::load_store_issued},
    {"load_store_reissued", &ub::UbCounters::load_store_reissued},
    {"load_store_expired", &ub::UbCounters::load_store_expired},
    {"load_store_probes", &ub::UbCounters::load_store_probes},
    {"load_store_late_answers", &ub::UbCounters::load_store_late_answers},
    {"load_store_replays", &ub::UbCounters::load_store_replays},
    {"dropped_foreign", &ub::UbCounters::dropped_foreign},
    {"dropped_trimmed", &ub::UbCounters::dropped_trimmed},
    {"dropped_transport", &ub::UbCounters::dropped_transport},
    {"dropped_encapsulation", &ub::UbCounters::dropped_encapsulation},
    {"dropped_unknown_channel", &ub::UbCounters::dropped_unknown_channel},
    {"dropped_tp_opcode", &ub::UbCounters::dropped_tp_opcode},
    {"dropped_out_of_order", &ub::UbCounters::dropped_out_of_order},
    {"dropped_beyond_window", &ub::UbCounters::dropped_beyond_window},
    {"dropped_no_room", &ub::UbCounters::dropped_no_room},
    {"dropped_no_shared_room", &ub::UbCounters::dropped_no_shared_room},
    {"dropped_malformed", &ub::UbCounters::dropped_malformed},
    {"dropped_acknowledgement", &ub::UbCounters::dropped_acknowledgement},
    {"dropped_stale_acknowledgement", &ub::UbCounters::dropped_stale_acknowledgement},
    {"dropped_response", &ub::UbCounters::dropped_response},
    {"completions_dropped", &ub::UbCounters::completions_dropped},
    {"receive_entries_dropped", &ub::UbCounters::receive_entries_dropped},
}};
// None is forgotten.
static_assert(sizeof(ub::UbCounters) == kCounters.size() * sizeof(std::uint64_t));

}  // namespace

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

std::vector<NamedCounter> UbProtocol::counters(const Counters& counters) {
  return named<Counters>(counters, kCounters);
}

}  // namespace wharf::sim
