// SPDX-License-Identifier: Apache-2.0
#include "live/udp/ub_live.h"

#include <algorithm>

#include "base/check.h"
#include "engine/ub/counter_names.h"
#include "engine/ub/exchange.h"
#include "wire/ub_codec.h"

namespace wharf::live {

using Ub = LiveProtocol<ub::UbEngine>;

namespace {

/// Packets of Sends that one peer can make this side keep until earlier ones come. A buffer of the pool has
/// 16 KiB when the datagram is longer than 4 KiB, so a peer holds 1 MiB at most; what has no room is sent
/// again.
constexpr std::uint32_t kParkedPackets = 64;

/// Requests of CTP that a client has under way: datagrams of 8 KiB that fit into a socket's buffer of the
/// usual size.
constexpr std::uint32_t kCompactSegments = 16;

}  // namespace

Result<std::unique_ptr<ub::UbEngine>> Ub::make(const EngineSettings& settings, EngineMemory& memory) {
  ub::UbConfig config;
  config.host = settings.host;
  config.mtu = settings.mtu;
  config.service = settings.delivery.service;
  config.transport = settings.delivery.transport;
  // Nobody sends again what a socket has no room for.
  if (config.transport == engine::TransportMode::kCompact) config.transactions_per_jetty = kCompactSegments;
  config.parked_packets = kParkedPackets;
  // A TPACK costs a datagram: one for several packets will do, long before the peer's timer.
  config.acknowledge_every = 16;
  config.acknowledge_delay = microseconds(500);
  config.retransmission = {.base = settings.repetition.first(),
                           .cap = settings.repetition.cap,
                           .floor = settings.repetition.floor,
                           .attempts_max = 7};
  if (settings.unlimited_retries) {
    config.retransmission.attempts_max = reliability::kUnlimitedAttempts;
    config.retransmission.cap = max(milliseconds(16), settings.repetition.floor);
  }
  auto engine = ub::UbEngine::create(config, memory.payloads, memory.arena);
  if (!engine) return engine.error();
  return std::make_unique<ub::UbEngine>(*std::move(engine));
}

Result<wire::HostAddress> Ub::exporter(std::span<const std::byte> blob) {
  const auto decoded = ub::decode_queue_blob(blob);
  if (!decoded) return decoded.error();
  return decoded->host;
}

Result<engine::QueueId> Ub::create_queue(ub::UbEngine& engine, TimePs now, engine::QueueConfig config,
                                         const SessionSecrets& secrets) {
  config.token = static_cast<std::uint32_t>(secrets.queue) | 1U;  // 0 is "none".
  return engine.create_queue(now, config);
}

Result<verbs::SegmentToken> Ub::expose(ub::UbEngine& engine, TimePs now, verbs::SegmentConfig config,
                                       const SessionSecrets& secrets) {
  config.token_value = static_cast<std::uint32_t>(secrets.memory);
  return engine.register_segment(now, config);
}

std::size_t Ub::encode(const wire::Packet& packet, const UdpEndpoint&, const UdpEndpoint&,
                       std::span<std::byte> room) {
  std::byte* at = room.data() + encode_head(packet, room);
  const std::uint32_t pad = wire::pad_bytes(packet);
  if (!wire::payload_is_sack_bitmap(packet.ub)) {
    WHARF_CHECK(room.size() >= static_cast<std::size_t>(at - room.data()) + packet.payload.length + pad);
    wire::fill(packet.payload, std::span(at, packet.payload.length));
    at += packet.payload.length;
  }
  std::fill_n(at, pad, std::byte{0});
  return static_cast<std::size_t>(at - room.data()) + pad;
}

std::span<const std::byte> Ub::data_apart(const wire::Packet& packet) {
  // Choice: what is shorter is copied, for a second piece costs the system something, too.
  constexpr std::uint32_t kFewest = 1024;
  const wire::Payload& data = packet.payload;
  if (data.length < kFewest || data.kind != wire::PayloadKind::kBytes || wire::pad_bytes(packet) != 0 ||
      wire::payload_is_sack_bitmap(packet.ub))
    return {};
  return {data.bytes, data.length};
}

std::size_t Ub::encode_head(const wire::Packet& packet, std::span<std::byte> room) {
  return static_cast<std::size_t>(wire::encode_ub_headers(packet.ub, packet.payload, {}, room.data()) -
                                  room.data());
}

wire::DropReason Ub::decode(std::span<const std::byte> bytes, const Arrival&, wire::Packet& packet) {
  packet = wire::ub_packet();
  packet.ub.encapsulation = wire::UbEncapsulation::kUdp;
  packet.ub.transport = wire::UbTransport::kRtp;
  wire::UbDecoded decoded;
  return wire::decode_ub(bytes, packet.ub, packet.payload, decoded);
}

// TokenID 0 and the jetty 0 of the well-known ones are never given.
void Ub::confine(wire::Packet& packet, const SessionNames& names) {
  if (packet.ub.transaction != wire::UbTransaction::kRequest) return;
  wire::UbPacket::RequestExtension& extension = packet.ub.extension;
  const auto confine_token = [&names](auto& token_id) {
    if (token_id != names.token.id) token_id = 0;
  };
  confine_token(extension.maetah.token_id);
  if (extension.mtetah.target_id != names.queue) extension.mtetah.target_id = 0;
  const wire::TaOpcode opcode = packet.ub.request.opcode;
  if (opcode == wire::TaOpcode::kSendInvalidate) confine_token(extension.invalidate.token_id);
  if (opcode == wire::TaOpcode::kWriteNotify) confine_token(extension.notify.token_id);
}

bool Ub::refuses_access(const wire::Packet& packet) {
  return packet.ub.transaction == wire::UbTransaction::kResponse &&
         packet.ub.response.status == wire::UbResponseStatus::kError &&
         (packet.ub.response.info == static_cast<std::uint8_t>(wire::UbResponseInfo::kAccess) ||
          packet.ub.response.info == static_cast<std::uint8_t>(wire::UbResponseInfo::kJettyState));
}

std::vector<engine::NamedCounter> Ub::counters(const ub::UbEngine& engine) {
  return ub::named(engine.counters());
}

}  // namespace wharf::live
