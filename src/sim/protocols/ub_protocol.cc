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

hardware::HardwareConfig UbProtocol::placed_hardware(TimePs cycle, const EngineSite& site) {
  return {.host = {site.number},
          .cycle = cycle,
          .tracer = site.tracer,
          .memory = site.allocate(Hardware::memory_needed())};
}

TimePs UbProtocol::timeout(const Config& config, std::uint32_t expiries) {
  return config.retransmission.timeout(expiries);
}

void UbProtocol::raise_timeout(Config& config, TimePs least) {
  config.retransmission.base = max(config.retransmission.base, least);
  config.retransmission.cap = max(config.retransmission.cap, config.retransmission.base);
  // Loads and stores have a timer of their own, and a number is used again when no answer can come any more.
  config.load_store_reissue.base = max(config.load_store_reissue.base, least);
  config.load_store_reissue.cap = max(config.load_store_reissue.cap, config.load_store_reissue.base);
  config.load_store_quarantine = max(config.load_store_quarantine, least);
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

void UbProtocol::renew(Config& config, std::uint32_t life, std::uint64_t seed) {
  config.first_incarnation += life;
  RandomStream random(seed, "ub.renew");
  config.first_psn = random.next_u32() & wire::kPsnMask;
}

void UbProtocol::limit_retries(Config& config, std::uint32_t attempts) {
  config.retransmission.attempts_max = attempts;
  config.err_timeout = 10;  // 4.2 ms.
}

TimePs UbProtocol::given_up_within(const Config& config) {
  TimePs tries{};
  for (std::uint32_t n = 0; n <= config.retransmission.attempts_max; ++n)
    tries += config.retransmission.timeout(n);
  // Under ROL a host that has acknowledged and not executed is given all tries once more: it may have died
  // right after it acknowledged.
  if (config.service == engine::ServiceMode::kOrderedByTransport) tries = tries * std::int64_t{2};
  return ub::error_timeout(config.err_timeout) + config.acknowledge_delay + tries;
}

bool UbProtocol::lie(wire::Packet& packet, Lie lie, RandomStream& random) {
  wire::UbPacket& ub = packet.ub;
  if (ub.transport != wire::UbTransport::kRtp) return false;
  wire::Rtph& rtph = ub.rtph;
  const bool data = rtph.opcode == wire::TpOpcode::kReliable;
  const bool request = data && ub.transaction == wire::UbTransaction::kRequest;
  const bool response = data && ub.transaction == wire::UbTransaction::kResponse;
  const bool address = request && (wire::ta_layout(ub.request.opcode) & wire::kTaAddress) != 0;
  const auto any = [&](std::uint64_t value, unsigned bits) {
    return static_cast<std::uint32_t>(lied(value, bits, random));
  };
  switch (lie) {
    case Lie::kAcknowledgement:
      if (data || rtph.opcode == wire::TpOpcode::kCnp) return false;
      rtph.psn = any(rtph.psn, 24);
      if (random.below(4) == 0) rtph.status = static_cast<wire::UbResponseStatus>(random.below(8));
      if (has_saetph(packet.ub) && random.below(2) == 0)
        for (std::uint8_t& each : ub.ack.sack_bitmap) each = static_cast<std::uint8_t>(random.below(256));
      return true;
    case Lie::kNumber:
      rtph.psn = any(rtph.psn, 24);
      if (random.below(4) == 0) rtph.tpmsn = any(rtph.tpmsn, 24);
      return true;
    case Lie::kConnection:
      (random.below(2) == 0 ? rtph.destination_tpn : rtph.source_tpn) =
          random.below(2) == 0 ? static_cast<std::uint32_t>(random.below(40)) : any(rtph.destination_tpn, 24);
      return true;
    case Lie::kToken:
      if (!address) return false;
      if (ub.request.token_value_present && random.below(2) == 0)
        ub.extension.token_value = random.next_u32();
      else
        ub.extension.maetah.token_id = any(ub.extension.maetah.token_id, 20);
      return true;
    case Lie::kAddress:
      if (!address) return false;
      ub.extension.maetah.address = lied(ub.extension.maetah.address, 64, random);
      return true;
    case Lie::kAnswer:
      if (!response) return false;
      if (random.below(2) == 0) ub.response.tassn = static_cast<std::uint16_t>(any(ub.response.tassn, 16));
      if (random.below(3) == 0) ub.response.requester_id = any(ub.response.requester_id, 20);
      if (random.below(3) == 0) ub.response.status = static_cast<wire::UbResponseStatus>(random.below(8));
      return true;
    case Lie::kLength:
      if (!address) return false;
      ub.extension.maetah.length = any(ub.extension.maetah.length, 32);
      return true;
    case Lie::kKind:
      if (response) {
        ub.response.opcode = static_cast<wire::TaOpcode>(0x11 + random.below(3));
      } else if (request && ub.request.opcode <= wire::TaOpcode::kAtomicFetchXor) {
        // Of another kind with the same headers, or of none.
        const bool write = ub.request.opcode == wire::TaOpcode::kWrite;
        if (!write && ub.request.opcode != wire::TaOpcode::kRead) return false;
        ub.request.opcode = write ? wire::TaOpcode::kRead : wire::TaOpcode::kWrite;
      } else {
        rtph.last = !rtph.last;
      }
      return true;
  }
  return false;
}

}  // namespace wharf::sim
