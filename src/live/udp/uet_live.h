// SPDX-License-Identifier: Apache-2.0
// Ultra Ethernet over UDP, live. [UE 1.0 3.5.10: encapsulation and CRC]
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/uet/uet_engine.h"
#include "live/udp/live_engine.h"
#include "wire/drop_reason.h"
#include "wire/udp.h"

namespace wharf::live {

template <>
struct LiveProtocol<uet::UetEngine> {
  static constexpr std::array<std::string_view, 2> kCongestion{"nscc", "none"};
  static constexpr std::array<DeliveryChoice, 2> kDelivery{{
      {"rud", verbs::Delivery::kUnordered},
      {"rod", verbs::Delivery::kOrdered},
  }};
  /// The CRC covers the UDP header, whose checksum is 0 on the wire; NSCC wants to see marks.
  static constexpr ProtocolDescription kDescription{
      .protocol = wire::Protocol::kUet,
      .name = "uet",
      .port = wire::kUetPort,
      .socket = {.udp_checksum = false, .service_field = true},
      .mtu_per_peer = false,
      .congestion = kCongestion,
      .delivery = kDelivery,
      .tagged = true,
      .serve_example = "--protocol uet --capture server.pcapng",
      .perf_example = "127.0.0.1 --protocol uet --delivery rod --verb send --tag 7"};

  static Result<std::unique_ptr<uet::UetEngine>> make(const EngineSettings& settings, EngineMemory& memory);
  static Result<wire::HostAddress> exporter(std::span<const std::byte> blob);
  /// The endpoint's address is the secret: JobID, PIDonFEP and resource index, 48 bits. A request that does
  /// not name all three is refused. [UE 1.0 3.4: addressing]
  static Result<engine::QueueId> create_queue(uet::UetEngine& engine, TimePs now, engine::QueueConfig config,
                                              const SessionSecrets& secrets);
  /// The region belongs to the session's job, and its key is a secret of 48 bits. [UE 1.0 3.4, table 2-13]
  static Result<verbs::SegmentToken> expose(uet::UetEngine& engine, TimePs now, verbs::SegmentConfig config,
                                            const SessionSecrets& secrets);
  static std::size_t encode(const wire::Packet& packet, const UdpEndpoint& from, const UdpEndpoint& to,
                            std::span<std::byte> room);
  static wire::DropReason decode(std::span<const std::byte> bytes, const Arrival& arrival,
                                 wire::Packet& packet);
  static void confine(wire::Packet& packet, const SessionNames& names);
  static bool refuses_access(const wire::Packet& packet);
  static std::vector<engine::NamedCounter> counters(const uet::UetEngine& engine);
  static Repetitions repetitions(const uet::UetEngine& engine) {
    return {engine.counters().packets_retransmitted,
            engine.counters().duplicates_dropped + engine.counters().duplicates_answered};
  }
  static std::uint8_t service(const wire::Packet& packet);
};

}  // namespace wharf::live
