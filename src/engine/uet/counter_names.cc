// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/counter_names.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <tuple>

#include "wire/uet_names.h"

namespace wharf::uet {
namespace {

constexpr std::array<engine::CounterName<UetCounters>, 44> kCounters{{
    {"packets_sent", &UetCounters::packets_sent},
    {"packets_received", &UetCounters::packets_received},
    {"requests_sent", &UetCounters::requests_sent},
    {"acknowledgements_sent", &UetCounters::acknowledgements_sent},
    {"nacks_sent", &UetCounters::nacks_sent},
    {"control_packets_sent", &UetCounters::control_packets_sent},
    {"credits_sent", &UetCounters::credits_sent},
    {"credit_requests_sent", &UetCounters::credit_requests_sent},
    {"datagrams_sent", &UetCounters::datagrams_sent},
    {"rudi_requests_sent", &UetCounters::rudi_requests_sent},
    {"acknowledgements_received", &UetCounters::acknowledgements_received},
    {"nacks_received", &UetCounters::nacks_received},
    {"completions", &UetCounters::completions},
    {"packets_retransmitted", &UetCounters::packets_retransmitted},
    {"timeouts", &UetCounters::timeouts},
    {"ack_requests_sent", &UetCounters::ack_requests_sent},
    {"tail_probes_sent", &UetCounters::tail_probes_sent},
    {"losses_inferred", &UetCounters::losses_inferred},
    {"trimmed_received", &UetCounters::trimmed_received},
    {"marked_received", &UetCounters::marked_received},
    {"duplicates_dropped", &UetCounters::duplicates_dropped},
    {"duplicates_answered", &UetCounters::duplicates_answered},
    {"messages_retried", &UetCounters::messages_retried},
    {"messages_deferred", &UetCounters::messages_deferred},
    {"clear_commands_sent", &UetCounters::clear_commands_sent},
    {"clear_requests_sent", &UetCounters::clear_requests_sent},
    {"pdcs_opened", &UetCounters::pdcs_opened},
    {"pdcs_accepted", &UetCounters::pdcs_accepted},
    {"pdcs_closed", &UetCounters::pdcs_closed},
    {"pdcs_failed", &UetCounters::pdcs_failed},
    {"dropped_foreign", &UetCounters::dropped_foreign},
    {"dropped_secured", &UetCounters::dropped_secured},
    {"dropped_type", &UetCounters::dropped_type},
    {"dropped_malformed", &UetCounters::dropped_malformed},
    {"dropped_unknown_pdc", &UetCounters::dropped_unknown_pdc},
    {"dropped_out_of_window", &UetCounters::dropped_out_of_window},
    {"dropped_out_of_order", &UetCounters::dropped_out_of_order},
    {"dropped_acknowledgement", &UetCounters::dropped_acknowledgement},
    {"dropped_nack", &UetCounters::dropped_nack},
    {"dropped_response", &UetCounters::dropped_response},
    {"dropped_trimmed", &UetCounters::dropped_trimmed},
    {"dropped_no_room", &UetCounters::dropped_no_room},
    {"events_dropped", &UetCounters::events_dropped},
    {"completions_dropped", &UetCounters::completions_dropped},
}};

constexpr std::size_t kReturnCodes = std::tuple_size_v<decltype(UetCounters::refused_return_code)>;
// None is forgotten.
static_assert(sizeof(UetCounters) == (kCounters.size() + kReturnCodes) * sizeof(std::uint64_t));

/// Of the requests that were refused with it.
std::string return_code(std::size_t code) {
  const std::string_view text = wire::uet_return_code_name(static_cast<wire::UetReturnCode>(code));
  return text == "unknown" ? fmt::format("RC_{}", code) : std::string(text);
}

}  // namespace

std::vector<engine::NamedCounter> named(const UetCounters& counters) {
  std::vector<engine::NamedCounter> all = engine::named<UetCounters>(counters, kCounters);
  for (std::size_t code = 0; code < kReturnCodes; ++code)
    all.push_back({"refused." + return_code(code), counters.refused_return_code[code]});
  return all;
}

}  // namespace wharf::uet
