// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/counter_names.h"

#include <array>

namespace wharf::roce {
namespace {

constexpr std::array<engine::CounterName<Counters>, 38> kCounters{{
    {"packets_sent", &Counters::packets_sent},
    {"packets_received", &Counters::packets_received},
    {"requests_resent", &Counters::requests_resent},
    {"acknowledgements_sent", &Counters::acknowledgements_sent},
    {"acknowledgements_merged", &Counters::acknowledgements_merged},
    {"naks_sent", &Counters::naks_sent},
    {"rnr_naks_sent", &Counters::rnr_naks_sent},
    {"timeouts", &Counters::timeouts},
    {"sequence_naks_received", &Counters::sequence_naks_received},
    {"implied_naks", &Counters::implied_naks},
    {"rnr_naks_received", &Counters::rnr_naks_received},
    {"retries_exhausted", &Counters::retries_exhausted},
    {"duplicate_requests", &Counters::duplicate_requests},
    {"congestion_notifications", &Counters::congestion_notifications},
    {"congestion_notifications_sent", &Counters::congestion_notifications_sent},
    {"dropped_foreign", &Counters::dropped_foreign},
    {"dropped_unknown_opcode", &Counters::dropped_unknown_opcode},
    {"dropped_version", &Counters::dropped_version},
    {"dropped_unknown_queue", &Counters::dropped_unknown_queue},
    {"dropped_not_ready", &Counters::dropped_not_ready},
    {"dropped_wrong_source", &Counters::dropped_wrong_source},
    {"dropped_partition", &Counters::dropped_partition},
    {"dropped_out_of_order", &Counters::dropped_out_of_order},
    {"dropped_stale_response", &Counters::dropped_stale_response},
    {"dropped_duplicate", &Counters::dropped_duplicate},
    {"dropped_no_resources", &Counters::dropped_no_resources},
    {"dropped_oversized", &Counters::dropped_oversized},
    {"context_misses", &Counters::context_misses},
    {"context_evictions", &Counters::context_evictions},
    {"contexts_lost", &Counters::contexts_lost},
    {"events_dropped", &Counters::events_dropped},
    {"completions_dropped", &Counters::completions_dropped},
    {"receive_entries_dropped", &Counters::receive_entries_dropped},
    {"dropped_service", &Counters::dropped_service},
    {"dropped_queue_key", &Counters::dropped_queue_key},
    {"dropped_without_receive", &Counters::dropped_without_receive},
    {"dropped_refused", &Counters::dropped_refused},
    {"messages_cut", &Counters::messages_cut},
}};
// None is forgotten.
static_assert(sizeof(Counters) == kCounters.size() * sizeof(std::uint64_t));

}  // namespace

std::vector<engine::NamedCounter> named(const Counters& counters) {
  return engine::named<Counters>(counters, kCounters);
}

}  // namespace wharf::roce
