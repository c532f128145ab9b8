// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/counter_names.h"

#include <array>

namespace wharf::ub {
namespace {

constexpr std::array<engine::CounterName<UbCounters>, 52> kCounters{{
    {"packets_sent", &UbCounters::packets_sent},
    {"packets_received", &UbCounters::packets_received},
    {"data_packets_sent", &UbCounters::data_packets_sent},
    {"acknowledgements_sent", &UbCounters::acknowledgements_sent},
    {"selective_acknowledgements_sent", &UbCounters::selective_acknowledgements_sent},
    {"negative_acknowledgements_sent", &UbCounters::negative_acknowledgements_sent},
    {"datagrams_received", &UbCounters::datagrams_received},
    {"compact_requests_received", &UbCounters::compact_requests_received},
    {"turns_waited", &UbCounters::turns_waited},
    {"completions", &UbCounters::completions},
    {"packets_retransmitted", &UbCounters::packets_retransmitted},
    {"timeouts", &UbCounters::timeouts},
    {"channels_failed", &UbCounters::channels_failed},
    {"duplicates", &UbCounters::duplicates},
    {"receiver_not_ready_sent", &UbCounters::receiver_not_ready_sent},
    {"receiver_not_ready_retries", &UbCounters::receiver_not_ready_retries},
    {"page_fault_retries", &UbCounters::page_fault_retries},
    {"answers_timed_out", &UbCounters::answers_timed_out},
    {"sequence_gaps", &UbCounters::sequence_gaps},
    {"context_fetches", &UbCounters::context_fetches},
    {"context_evictions", &UbCounters::context_evictions},
    {"sequences_filled", &UbCounters::sequences_filled},
    {"contexts_lost", &UbCounters::contexts_lost},
    {"events_dropped", &UbCounters::events_dropped},
    {"refused_access", &UbCounters::refused_access},
    {"refused_opcode", &UbCounters::refused_opcode},
    {"refused_length", &UbCounters::refused_length},
    {"refused_jetty", &UbCounters::refused_jetty},
    {"refused_sequence", &UbCounters::refused_sequence},
    {"load_store_issued", &UbCounters::load_store_issued},
    {"load_store_reissued", &UbCounters::load_store_reissued},
    {"load_store_expired", &UbCounters::load_store_expired},
    {"load_store_probes", &UbCounters::load_store_probes},
    {"load_store_late_answers", &UbCounters::load_store_late_answers},
    {"load_store_replays", &UbCounters::load_store_replays},
    {"dropped_foreign", &UbCounters::dropped_foreign},
    {"dropped_trimmed", &UbCounters::dropped_trimmed},
    {"dropped_transport", &UbCounters::dropped_transport},
    {"dropped_encapsulation", &UbCounters::dropped_encapsulation},
    {"dropped_unknown_channel", &UbCounters::dropped_unknown_channel},
    {"dropped_tp_opcode", &UbCounters::dropped_tp_opcode},
    {"dropped_out_of_order", &UbCounters::dropped_out_of_order},
    {"dropped_beyond_window", &UbCounters::dropped_beyond_window},
    {"dropped_sequence", &UbCounters::dropped_sequence},
    {"dropped_no_room", &UbCounters::dropped_no_room},
    {"dropped_no_shared_room", &UbCounters::dropped_no_shared_room},
    {"dropped_malformed", &UbCounters::dropped_malformed},
    {"dropped_acknowledgement", &UbCounters::dropped_acknowledgement},
    {"dropped_stale_acknowledgement", &UbCounters::dropped_stale_acknowledgement},
    {"dropped_response", &UbCounters::dropped_response},
    {"completions_dropped", &UbCounters::completions_dropped},
    {"receive_entries_dropped", &UbCounters::receive_entries_dropped},
}};
// None is forgotten.
static_assert(sizeof(UbCounters) == kCounters.size() * sizeof(std::uint64_t));

}  // namespace

std::vector<engine::NamedCounter> named(const UbCounters& counters) {
  return engine::named<UbCounters>(counters, kCounters);
}

}  // namespace wharf::ub
