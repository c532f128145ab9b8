// SPDX-License-Identifier: Apache-2.0
// Ultra Ethernet engines in the simulator: made for full hosts, thin hosts and runs of flows, and what they
// count.
#include "sim/protocols/uet_protocol.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "engine/uet/counter_names.h"

namespace wharf::sim {
namespace {

/// Seeds of engines of one run are so far apart.
constexpr std::uint64_t kSeedsOfRun = 1U << 20U;

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

bool UetProtocol::keeps_port(const Config& config, bool sends) {
  return config.path_choice == congestion::PathChoice::kFlow ||
         config.one_sided_delivery == verbs::Delivery::kOrdered ||
         (sends && config.two_sided_delivery == verbs::Delivery::kOrdered);
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

std::vector<NamedCounter> UetProtocol::counters(const Counters& counters) { return uet::named(counters); }

}  // namespace wharf::sim
