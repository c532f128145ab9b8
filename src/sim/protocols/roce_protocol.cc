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

void RoceProtocol::raise_timeout(Config& config, TimePs least) {
  constexpr std::uint8_t kLongest = 31;
  if (config.ack_timeout == 0) return;
  while (config.ack_timeout < kLongest && roce::ack_timeout_duration(config.ack_timeout) < least)
    ++config.ack_timeout;
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

void RoceProtocol::renew(Config& config, std::uint32_t life, std::uint64_t seed) {
  config.seed = seed + life;
  config.starting_psn.reset();
}

void RoceProtocol::limit_retries(Config& config, std::uint32_t attempts) {
  config.unlimited_retries = false;
  config.retry_count = static_cast<std::uint8_t>(std::min(attempts, 7U));
}

TimePs RoceProtocol::given_up_within(const Config& config) {
  TimePs sum;
  for (std::uint32_t n = 0; n <= config.retry_count; ++n) sum += timeout(config, n);
  return sum;
}

bool RoceProtocol::lie(wire::Packet& packet, Lie lie, RandomStream& random) {
  using wire::RoceOpcode;
  wire::RocePacket& roce = packet.roce;
  const RoceOpcode opcode = roce.bth.opcode;
  const bool atomic = opcode == RoceOpcode::kRcCompareSwap || opcode == RoceOpcode::kRcFetchAdd;
  const bool reth = opcode == RoceOpcode::kRcWriteFirst || opcode == RoceOpcode::kRcWriteOnly ||
                    opcode == RoceOpcode::kRcWriteOnlyImmediate || opcode == RoceOpcode::kRcReadRequest;
  const bool read = opcode >= RoceOpcode::kRcReadResponseFirst && opcode <= RoceOpcode::kRcReadResponseOnly;
  const bool answer =
      read || opcode == RoceOpcode::kRcAcknowledge || opcode == RoceOpcode::kRcAtomicAcknowledge;
  const auto any = [&](std::uint64_t value, unsigned bits) {
    return static_cast<std::uint32_t>(lied(value, bits, random));
  };
  switch (lie) {
    case Lie::kAcknowledgement:
      if (opcode != RoceOpcode::kRcAcknowledge && opcode != RoceOpcode::kRcAtomicAcknowledge) return false;
      if (random.below(2) == 0) roce.bth.psn = any(roce.bth.psn, 24);
      if (random.below(2) == 0) roce.ack.aeth.syndrome = static_cast<std::uint8_t>(random.below(128));
      roce.ack.aeth.msn = any(roce.ack.aeth.msn, 24);
      return true;
    case Lie::kNumber:
      roce.bth.psn = any(roce.bth.psn, 24);
      return true;
    case Lie::kConnection:
      roce.bth.destination_queue_pair = random.below(2) == 0 ? static_cast<std::uint32_t>(random.below(40))
                                                             : any(roce.bth.destination_queue_pair, 24);
      return true;
    case Lie::kToken:
      if (atomic) roce.atomic.remote_key = any(roce.atomic.remote_key, 32);
      if (reth) roce.reth.remote_key = any(roce.reth.remote_key, 32);
      return atomic || reth;
    case Lie::kAddress:
      if (atomic) roce.atomic.address = lied(roce.atomic.address, 64, random);
      if (reth) roce.reth.address = lied(roce.reth.address, 64, random);
      return atomic || reth;
    case Lie::kAnswer:
      if (!answer) return false;
      roce.bth.psn = any(roce.bth.psn, 24);
      return true;
    case Lie::kLength:
      if (!reth) return false;
      roce.reth.length = any(roce.reth.length, 32);
      return true;
    case Lie::kKind:
      if (answer && opcode != RoceOpcode::kRcReadResponseMiddle) {
        roce.bth.opcode = static_cast<RoceOpcode>(0x0d + random.below(6));
      } else if (opcode <= RoceOpcode::kRcSendOnly) {
        roce.bth.opcode = static_cast<RoceOpcode>(random.below(5));
      } else if (opcode == RoceOpcode::kRcWriteMiddle || opcode == RoceOpcode::kRcWriteLast) {
        roce.bth.opcode = random.below(2) == 0 ? RoceOpcode::kRcWriteLast : RoceOpcode::kRcSendLast;
      } else if (reth) {
        roce.bth.opcode = random.below(2) == 0 ? RoceOpcode::kRcReadRequest : RoceOpcode::kRcWriteFirst;
      } else if (atomic) {
        roce.bth.opcode =
            opcode == RoceOpcode::kRcFetchAdd ? RoceOpcode::kRcCompareSwap : RoceOpcode::kRcFetchAdd;
      } else {
        roce.bth.version = 1;
      }
      return true;
  }
  return false;
}

}  // namespace wharf::sim
