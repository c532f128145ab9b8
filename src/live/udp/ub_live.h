// SPDX-License-Identifier: Apache-2.0
// Unified Bus over UDP (UBoE, profile P1), live.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/ub/ub_engine.h"
#include "live/udp/live_engine.h"
#include "wire/drop_reason.h"
#include "wire/udp.h"

namespace wharf::live {

template <>
struct LiveProtocol<ub::UbEngine> {
  static constexpr std::array<std::string_view, 1> kCongestion{"none"};
  static constexpr std::array<DeliveryChoice, 5> kDelivery{{
      {.name = "roi", .service = engine::ServiceMode::kOrderedByInitiator},
      {.name = "rot", .service = engine::ServiceMode::kOrderedByTarget},
      {.name = "rol", .service = engine::ServiceMode::kOrderedByTransport},
      {.name = "uno", .service = engine::ServiceMode::kUnordered, .reliable = false},
      {.name = "ctp",
       .service = engine::ServiceMode::kOrderedByInitiator,
       .transport = engine::TransportMode::kCompact},
  }};
  static constexpr ProtocolDescription kDescription{.protocol = wire::Protocol::kUb,
                                                    .name = "ub",
                                                    .port = wire::kUboePort,
                                                    .socket = {.trains = true},
                                                    .mtu_per_peer = true,
                                                    .congestion = kCongestion,
                                                    .delivery = kDelivery};

  static Result<std::unique_ptr<ub::UbEngine>> make(const EngineSettings& settings, EngineMemory& memory);
  static Result<wire::HostAddress> exporter(std::span<const std::byte> blob);
  /// The secret is the jetty's token.
  static Result<engine::QueueId> create_queue(ub::UbEngine& engine, TimePs now, engine::QueueConfig config,
                                              const SessionSecrets& secrets);
  /// The secret is the TokenValue.
  static Result<verbs::SegmentToken> expose(ub::UbEngine& engine, TimePs now, verbs::SegmentConfig config,
                                            const SessionSecrets& secrets);
  static std::size_t encode(const wire::Packet& packet, const UdpEndpoint& from, const UdpEndpoint& to,
                            std::span<std::byte> room);
  /// The data of a packet that the frame need not hold, because it can be sent from where it lies
  /// (DatagramPort::queue_data); empty: encode() writes it. encode_head() writes what stands before it.
  static std::span<const std::byte> data_apart(const wire::Packet& packet);
  static std::size_t encode_head(const wire::Packet& packet, std::span<std::byte> room);
  static wire::DropReason decode(std::span<const std::byte> bytes, const Arrival& arrival,
                                 wire::Packet& packet);
  static void confine(wire::Packet& packet, const SessionNames& names);
  static bool refuses_access(const wire::Packet& packet);
  static std::vector<engine::NamedCounter> counters(const ub::UbEngine& engine);
  static Repetitions repetitions(const ub::UbEngine& engine) {
    return {engine.counters().packets_retransmitted, engine.counters().duplicates};
  }
  static std::uint8_t service(const wire::Packet&) { return 0; }
};

}  // namespace wharf::live
