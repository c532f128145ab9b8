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

void UetProtocol::raise_timeout(Config& config, TimePs least) {
  config.rto_init = max(config.rto_init, least);
  config.rto_cap = max(config.rto_cap, config.rto_init);
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

void UetProtocol::renew(Config& config, std::uint32_t life, std::uint64_t seed) {
  config.seed = seed + life;
  config.start_psn.reset();
  // Other processes: what is still under way names the old ones.
  config.endpoint.pid_on_fep = static_cast<std::uint16_t>((config.endpoint.pid_on_fep + life) & 0xfffU);
}

void UetProtocol::limit_retries(Config& config, std::uint32_t attempts) {
  config.max_rto_retries = std::min(attempts, 14U);
  config.max_nack_retries = 30;
  // A target that has given its initiator up cannot tell it so: docs/protocol/uet.md.
  config.large_send = uet::LargeSend::kEager;
}

TimePs UetProtocol::given_up_within(const Config& config) {
  TimePs sum = config.tail_loss_time * std::int64_t{config.max_tail_loss_probes};
  for (std::uint32_t n = 0; n <= config.max_rto_retries; ++n) sum += timeout(config, n);
  // The silence is looked at when something expires, and begins to count when data is asked for that is owed.
  const TimePs longest = timeout(config, config.max_rto_retries);
  return sum + longest + max(config.idle_timeout, longest) + config.close_request_time;
}

bool UetProtocol::lie(wire::Packet& packet, Lie lie, RandomStream& random) {
  wire::UetPacket& uet = packet.uet;
  const wire::UetPdsType type = uet.prologue.type;
  const bool ack = wire::is_uet_ack(type);
  const bool nack = wire::is_uet_nack(type);
  const bool control = type == wire::UetPdsType::kControl;
  const bool data = wire::is_uet_pdc_request(type);
  const bool asks = data && wire::is_uet_request_form(uet.prologue.next);
  const bool answers = (data || ack) && wire::is_uet_response_form(uet.prologue.next);
  const auto any = [&](std::uint64_t value, unsigned bits) {
    return static_cast<std::uint32_t>(lied(value, bits, random));
  };
  const auto any16 = [&](std::uint16_t value) { return static_cast<std::uint16_t>(any(value, 16)); };
  switch (lie) {
    case Lie::kAcknowledgement:
      if (nack) {
        uet.nack.psn = any(uet.nack.psn, 32);
        if (random.below(2) == 0) uet.nack.code = static_cast<wire::UetNackCode>(1 + random.below(0x20));
        return true;
      }
      if (!ack) return false;
      if (random.below(2) == 0) uet.ack.cumulative_psn = any(uet.ack.cumulative_psn, 32);
      if (random.below(2) == 0)
        uet.ack.ack_psn_offset =
            static_cast<std::int16_t>(any16(static_cast<std::uint16_t>(uet.ack.ack_psn_offset)));
      if (type != wire::UetPdsType::kAck) uet.ack_congestion.sack_bitmap = random.next_u64();
      return true;
    case Lie::kNumber:
      if (data) uet.request.psn = any(uet.request.psn, 32);
      if (data && random.below(2) == 0)
        uet.request.clear_psn_offset = static_cast<std::int16_t>(random.below(65536));
      if (control) uet.control.psn = any(uet.control.psn, 32);
      return data || control;
    case Lie::kConnection: {
      const bool own = random.below(2) == 0;
      if (data)
        (own ? uet.request.source_pdcid : uet.request.destination_pdcid) = any16(uet.request.source_pdcid);
      if (ack) (own ? uet.ack.source_pdcid : uet.ack.destination_pdcid) = any16(uet.ack.destination_pdcid);
      if (nack) uet.nack.destination_pdcid = any16(uet.nack.destination_pdcid);
      if (control) uet.control.destination_pdcid = any16(uet.control.destination_pdcid);
      if (data && random.below(4) == 0) uet.prologue.flags ^= wire::kUetSyn;
      return data || ack || nack || control;
    }
    case Lie::kToken:
      if (!asks) return false;
      if (random.below(4) == 0)
        uet.ses.ri_generation = static_cast<std::uint8_t>(random.below(256));
      else
        uet.ses.memory_key = lied(uet.ses.memory_key, 64, random);
      return true;
    case Lie::kAddress:
      if (!asks) return false;
      if (random.below(4) == 0)
        uet.ses.message_offset = any(uet.ses.message_offset, 32);
      else
        uet.ses.buffer_offset = lied(uet.ses.buffer_offset, 64, random);
      return true;
    case Lie::kAnswer:
      if (!answers) return false;
      if (random.below(2) == 0) uet.response.message_id = any16(uet.response.message_id);
      if (random.below(2) == 0)
        uet.response.read_request_message_id = any16(uet.response.read_request_message_id);
      if (random.below(3) == 0)
        uet.response.original_request_psn = any(uet.response.original_request_psn, 32);
      if (random.below(3) == 0) uet.response.message_offset = any(uet.response.message_offset, 32);
      if (random.below(3) == 0) uet.response.modified_length = any(uet.response.modified_length, 32);
      if (random.below(4) == 0) uet.response.return_code = static_cast<wire::UetReturnCode>(random.below(64));
      return true;
    case Lie::kLength:
      if (asks) uet.ses.request_length = any(uet.ses.request_length, 32);
      if (answers) uet.response.payload_length = any16(uet.response.payload_length);
      return asks || answers;
    case Lie::kKind:
      if (control) {
        uet.prologue.control = static_cast<wire::UetControlType>(random.below(10));
      } else if (asks && random.below(2) == 0) {
        uet.ses.flags ^= static_cast<std::uint8_t>(1U << random.below(6));
      } else if (asks && uet_extension(uet.ses.opcode) == wire::UetExtension::kNone) {
        constexpr wire::UetOpcode kPlain[]{wire::UetOpcode::kWrite, wire::UetOpcode::kRead,
                                           wire::UetOpcode::kSend, wire::UetOpcode::kTaggedSend,
                                           wire::UetOpcode::kMessageError};
        uet.ses.opcode = kPlain[random.below(5)];
      } else {
        uet.prologue.flags ^= static_cast<std::uint8_t>(1U << random.below(6));
      }
      return true;
  }
  return false;
}

}  // namespace wharf::sim
