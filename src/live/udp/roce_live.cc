// SPDX-License-Identifier: Apache-2.0
#include "live/udp/roce_live.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "engine/roce/counter_names.h"
#include "engine/roce/exchange.h"
#include "live/udp/network_headers.h"
#include "wire/icrc.h"
#include "wire/roce_codec.h"

namespace wharf::live {

using Roce = LiveProtocol<roce::RoceEngine>;

namespace {

constexpr std::size_t kIcrcBytes = 4;

/// What the ICRC masks may hold anything in the headers. [IBTA vol 1 A17.3.3]
std::uint32_t datagram_icrc(std::span<const std::byte> transport, const UdpEndpoint& from,
                            const UdpEndpoint& to, const IpIdentity& ip = {}) {
  const NetworkHeaders headers = network_headers(from, to, 0, transport.size() + kIcrcBytes, ip);
  return wire::icrc(wire::IpVersion::kV4, headers.data(), transport);
}

}  // namespace

Result<std::unique_ptr<roce::RoceEngine>> Roce::make(const EngineSettings& settings, EngineMemory& memory) {
  roce::RoceConfig config;
  config.host = settings.host;
  config.seed = settings.seed;
  config.path_mtu = settings.mtu;
  // Codes stand for powers of two: the next one from the first wait on, and as many doublings as the longest
  // allows.
  config.ack_timeout = 1;
  while (roce::ack_timeout_duration(config.ack_timeout) < settings.repetition.first()) ++config.ack_timeout;
  while (roce::ack_timeout_duration(static_cast<std::uint8_t>(config.ack_timeout + config.backoff_limit)) <
         settings.repetition.cap)
    ++config.backoff_limit;
  config.timeout_floor = settings.repetition.floor;
  config.retry_count = 7;
  if (settings.unlimited_retries) {
    config.unlimited_retries = true;
    config.backoff_limit = std::min<std::uint8_t>(config.backoff_limit, 2);
  }
  auto engine = roce::RoceEngine::create(config, memory.payloads, memory.arena);
  if (!engine) return engine.error();
  return std::make_unique<roce::RoceEngine>(*std::move(engine));
}

Result<wire::HostAddress> Roce::exporter(std::span<const std::byte> blob) {
  const auto decoded = roce::decode_exchange(blob);
  if (!decoded) return decoded.error();
  return decoded->host;
}

Result<engine::QueueId> Roce::create_queue(roce::RoceEngine& engine, TimePs now, engine::QueueConfig config,
                                           const SessionSecrets& secrets) {
  config.domain = secrets.domain;
  return engine.create_queue(now, config);
}

Result<verbs::SegmentToken> Roce::expose(roce::RoceEngine& engine, TimePs now, verbs::SegmentConfig config,
                                         const SessionSecrets& secrets) {
  config.domain = secrets.domain;
  return engine.register_segment(now, config);
}

std::size_t Roce::encode(const wire::Packet& packet, const UdpEndpoint& from, const UdpEndpoint& to,
                         std::span<std::byte> room) {
  std::byte* at = wire::encode_roce_headers(packet.roce, packet.payload.length, room.data());
  const std::uint32_t pad = wire::pad_bytes(packet);
  const std::size_t length = static_cast<std::size_t>(at - room.data()) + packet.payload.length + pad;
  WHARF_CHECK(room.size() >= length + kIcrcBytes);
  wire::fill(packet.payload, std::span(at, packet.payload.length));
  at += packet.payload.length;
  at = std::fill_n(at, pad, std::byte{0});
  store_le32(at, datagram_icrc(room.first(length), from, to));
  return length + kIcrcBytes;
}

wire::DropReason Roce::decode(std::span<const std::byte> bytes, const Arrival& arrival,
                              wire::Packet& packet) {
  packet = wire::roce_packet();
  if (bytes.size() < wire::kBthBytes + kIcrcBytes) return wire::DropReason::kTruncated;
  const std::span<const std::byte> transport = bytes.first(bytes.size() - kIcrcBytes);
  const std::uint32_t computed = datagram_icrc(transport, arrival.from, arrival.to, arrival.ip);
  if (load_le32(bytes.data() + transport.size()) != computed) {
    return wire::DropReason::kBadIcrc;
  }
  return wire::decode_roce(transport, packet.roce, packet.payload);
}

// A queue pair has one peer, and its domain's keys are the session's: the engine itself refuses others.
void Roce::confine(wire::Packet&, const SessionNames&) {}

bool Roce::refuses_access(const wire::Packet& packet) {
  return packet.roce.bth.opcode == wire::RoceOpcode::kRcAcknowledge &&
         packet.roce.ack.aeth.syndrome == wire::nak_syndrome(wire::NakCode::kRemoteAccess);
}

std::vector<engine::NamedCounter> Roce::counters(const roce::RoceEngine& engine) {
  return roce::named(engine.counters());
}

}  // namespace wharf::live
