// SPDX-License-Identifier: Apache-2.0
// RoCEv2 (reliable connections), live.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/roce/roce_engine.h"
#include "live/udp/live_engine.h"
#include "wire/drop_reason.h"
#include "wire/udp.h"

namespace wharf::live {

template <>
struct LiveProtocol<roce::RoceEngine> {
  static constexpr std::array<std::string_view, 1> kCongestion{"none"};
  static constexpr ProtocolDescription kDescription{
      .protocol = wire::Protocol::kRoce,
      .name = "roce",
      .port = wire::kRocePort,
      .socket = {},
      .mtu_per_peer = true,
      .congestion = kCongestion,
      .delivery = {},
      .serve_example = "--protocol roce --listen 127.0.0.1:4791 --size 64MiB",
      .perf_example =
          "127.0.0.1:4791 --protocol roce --verb read \\\n"
          "      --size 4KiB --concurrency 16"};

  static Result<std::unique_ptr<roce::RoceEngine>> make(const EngineSettings& settings, EngineMemory& memory);
  static Result<wire::HostAddress> exporter(std::span<const std::byte> blob);
  /// Queue and key belong to a protection domain of the session's own; no secret travels.
  static Result<engine::QueueId> create_queue(roce::RoceEngine& engine, TimePs now,
                                              engine::QueueConfig config, const SessionSecrets& secrets);
  static Result<verbs::SegmentToken> expose(roce::RoceEngine& engine, TimePs now, verbs::SegmentConfig config,
                                            const SessionSecrets& secrets);
  static std::size_t encode(const wire::Packet& packet, const UdpEndpoint& from, const UdpEndpoint& to,
                            std::span<std::byte> room);
  static wire::DropReason decode(std::span<const std::byte> bytes, const Arrival& arrival,
                                 wire::Packet& packet);
  static void confine(wire::Packet& packet, const SessionNames& names);
  static bool refuses_access(const wire::Packet& packet);
  static std::vector<engine::NamedCounter> counters(const roce::RoceEngine& engine);
  static Repetitions repetitions(const roce::RoceEngine& engine) {
    return {engine.counters().requests_resent, engine.counters().duplicate_requests};
  }
  static std::uint8_t service(const wire::Packet&) { return 0; }
};

}  // namespace wharf::live
