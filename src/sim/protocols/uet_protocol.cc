// SPDX-License-Identifier: Apache-2.0
// Ultra Ethernet engines in the simulator: made for full hosts, thin hosts and runs of flows, and what they
// count.
#include "sim/protocols/uet_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "wire/uet_names.h"

namespace wharf::sim {
namespace {

/// Seeds of engines of one run are so far apart.
constexpr std::uint64_t kSeedsOfRun = 1U << 20U;

constexpr std::array<CounterName<uet::UetCounters>, 44> kCounters{{
    {"packets_sent", &uet::UetCounters::packets_sent},
    {"packets_received", &uet::UetCounters::packets_received},
    {"requests_sent", &uet::UetCounters::requests_sent},
    {"acknowledgements_sent", &uet::UetCounters::acknowledgements_sent},
    {"nacks_sent", &uet::UetCounters::nacks_sent},
    {"control_packets_sent", &uet::UetCounters::control_packets_sent},
    {"credits_sent", &uet::UetCounters::credits_sent},
    {"credit_requests_sent", &uet::UetCounters::credit_requests_sent},
    {"datagrams_sent", &uet::UetCounters::datagrams_sent},
    {"rudi_requests_sent", &uet::UetCounters::rudi_requests_sent},
    {"acknowledgements_received", &uet::UetCounters::acknowledgements_received},
    {"nacks_received", &uet::UetCounters::nacks_received},
    {"completions", &uet::UetCounters::completions},
    {"packets_retransmitted", &uet::UetCounters::packets_retransmitted},
    {"timeouts", &uet::UetCounters::timeouts},
    {"ack_requests_sent", &uet::UetCounters::ack_requests_sent},
    {"tail_probes_sent", &uet::UetCounters::tail_probes_sent},
    {"losses_inferred", &uet::UetCounters::losses_inferred},
    {"trimmed_received", &uet::UetCounters::trimmed_received},
    {"marked_received", &uet::UetCounters::marked_received},
    {"duplicates_dropped", &uet::UetCounters::duplicates_dropped},
    {"duplicates_answered", &uet::UetCounters::duplicates_answered},
    {"messages_retried", &uet::UetCounters::messages_retried},
    {"messages_deferred", &uet::UetCounters::messages_deferred},
    {"clear_commands_sent", &uet::UetCounters::clear_commands_sent},
    {"clear_requests_sent", &uet::UetCounters::clear_requests_sent},
    {"pdcs_opened", &uet::UetCounters::pdcs_opened},
    {"pdcs_accepted", &uet::UetCounters::pdcs_accepted},
    {"pdcs_closed", &uet::UetCounters::pdcs_closed},
    {"pdcs_failed", &uet::UetCounters::pdcs_failed},
    {"dropped_foreign", &uet::UetCounters::dropped_foreign},
    {"dropped_secured", &uet::UetCounters::dropped_secured},
    {"dropped_type", &uet::UetCounters::dropped_type},
    {"dropped_malformed", &uet::UetCounters::dropped_malformed},
    {"dropped_unknown_pdc", &uet::UetCounters::dropped_unknown_pdc},
    {"dropped_out_of_window", &uet::UetCounters::dropped_out_of_window},
    {"dropped_out_of_order", &uet::UetCounters::dropped_out_of_order},
    {"dropped_acknowledgement", &uet::UetCounters::dropped_acknowledgement},
    {"dropped_nack", &uet::UetCounters::dropped_nack},
    {"dropped_response", &uet::UetCounters::dropped_response},
    {"dropped_trimmed", &uet::UetCounters::dropped_trimmed},
    {"dropped_no_room", &uet::UetCounters::dropped_no_room},
    {"events_dropped", &uet::UetCounters::events_dropped},
    {"completions_dropped", &uet::UetCounters::completions_dropped},
}};

constexpr std::size_t kReturnCodes = std::tuple_size_v<decltype(uet::UetCounters::refused_return_code)>;
// None is forgotten.
static_assert(sizeof(uet::UetCounters) == (kCounters.size() + kReturnCodes) * sizeof(std::uint64_t));

/// Of the requests that were refused with it.
std::string return_code(std::size_t code) {
  const std::string_view text = wire::uet_return_code_name(static_cast<wire::UetReturnCode>(code));
  return text == "unknown" ? fmt::format("RC_{}", code) : std::string(text);
}

}  // namespace

Result<uet::UetEngine> UetProtocol::Engines::make(const Config& config, std::uint32_t host,
                                                  wire::PayloadPool& payloads, Arena& arena) {
  if (shared_ == nullptr) {
    auto prepared = Engine::prepare(config);
    if (!prepared) return prepared.error();
    shared_ = *std::move(prepared);
  }
  return Engine::create(shared_, {host}, config.seed * kSeedsOfRun + host, payloads, arena);
}

uet::UetConfig UetProtocol::placed(const Config& config, const EngineSite& site) {
  uet::UetConfig engine = thin(config, site.number, site.hosts, site.seed);
  engine.tracer = site.tracer;
  return engine;
}

uet::UetConfig UetProtocol::thin(const Config& config, std::uint32_t number, std::uint32_t hosts,
                                 std::uint64_t seed) {
  uet::UetConfig engine = config;
  engine.host = {number};
  engine.seed = seed * hosts + number;
  return engine;
}

TimePs UetProtocol::timeout(const Config& config, std::uint32_t expiries) {
  if (!config.rto_back_off) return config.rto_init;
  const std::int64_t doubled = config.rto_init.ps << std::min(expiries, 20U);
  return min(picoseconds(doubled), config.rto_cap);
}

void UetProtocol::count(const Engine& engine, FabricTotals& totals) {
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

std::vector<NamedCounter> UetProtocol::counters(const Counters& counters) {
  std::vector<NamedCounter> all = named<Counters>(counters, kCounters);
  for (std::size_t code = 0; code < kReturnCodes; ++code)
    all.push_back({"refused." + return_code(code), counters.refused_return_code[code]});
  return all;
}

}  // namespace wharf::sim
