// SPDX-License-Identifier: Apache-2.0
#include "live/udp/uet_live.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "engine/congestion/nscc.h"
#include "engine/uet/counter_names.h"
#include "engine/uet/exchange.h"
#include "engine/uet/memory_region.h"
#include "live/udp/network_headers.h"
#include "wire/uet_codec.h"
#include "wire/uet_frame.h"

namespace wharf::live {

using Uet = LiveProtocol<uet::UetEngine>;

namespace {

constexpr std::string_view kNone = "none";

/// What a packet counts toward windows beside its payload: UDP, PDS and SES headers, CRC, and 40.
/// [UE 1.0 3.6.13]
constexpr std::uint32_t kWindowOverheadBytes = 8 + 12 + 44 + 4 + 40;
/// Choice: what a kernel's sockets are good for, and what a packet takes through them and back. They bound
/// the window to about 190 kB, which the kernel's socket buffers hold.
constexpr BitsPerSecond kLink = gigabits_per_second(10);
constexpr TimePs kBaseRtt = microseconds(100);

/// The CRC of a datagram covers IP addresses, UDP header and transport. [UE 1.0 3.5.10]
std::uint32_t datagram_crc(std::span<const std::byte> transport, const UdpEndpoint& from,
                           const UdpEndpoint& to) {
  const NetworkHeaders headers = network_headers(from, to, 0, transport.size() + wire::kUetCrcBytes);
  return wire::uet_crc(transport,
                       wire::uet_crc(std::span(headers).subspan(wire::uet_crc_start(wire::IpVersion::kV4))));
}

/// The JobID of a session: 24 bits, never 0.
std::uint32_t job_of(const SessionSecrets& secrets) {
  return static_cast<std::uint32_t>((secrets.queue & 0xffff'ffffU) % 0xff'ffffU + 1);
}

void choose_congestion(std::string_view choice, uet::UetConfig& config) {
  config.paths = 1;  // The source port is the socket's: all packets take one path.
  if (choice == kNone) {
    config.congestion = uet::CongestionControl::kNone;
    return;
  }
  config.congestion = uet::CongestionControl::kSender;
  config.controller =
      congestion::NsccConfig::for_network(kLink, kBaseRtt, config.payload_mtu + kWindowOverheadBytes, false);
  config.infer_loss = true;  // Sockets drop, they do not trim.
}

}  // namespace

Result<std::unique_ptr<uet::UetEngine>> Uet::make(const EngineSettings& settings, EngineMemory& memory) {
  uet::UetConfig config;
  config.host = settings.host;
  config.seed = settings.seed;
  config.initiator_id = settings.host.number;
  config.payload_mtu = settings.mtu;
  choose_congestion(kCongestion[settings.congestion], config);
  if (settings.delivery.delivery != verbs::Delivery::kDefault)
    config.one_sided_delivery = config.two_sided_delivery = settings.delivery.delivery;
  config.rto_init = settings.repetition.first();
  config.rto_cap = settings.repetition.cap;
  config.rto_floor = settings.repetition.floor;
  config.max_rto_retries = 7;
  config.nack_retransmit_time = milliseconds(4);
  config.max_nack_retries = 30;
  // A message waits for its receive as long as it takes, as with the other protocols.
  config.message_retries = uet::kMessageRetriesForever;
  config.message_retry_time = milliseconds(1);
  if (settings.unlimited_retries) {
    config.rto_cap = max(milliseconds(16), settings.repetition.floor);
    config.max_rto_retries = uet::kRtoRetriesForever;
    config.max_nack_retries = uet::kNackRetriesForever;
  }
  auto engine = uet::UetEngine::create(config, memory.payloads, memory.arena);
  if (!engine) return engine.error();
  return std::make_unique<uet::UetEngine>(*std::move(engine));
}

Result<wire::HostAddress> Uet::exporter(std::span<const std::byte> blob) {
  const auto decoded = uet::decode_endpoint_blob(blob);
  if (!decoded) return decoded.error();
  return decoded->host;
}

Result<engine::QueueId> Uet::create_queue(uet::UetEngine& engine, TimePs now, engine::QueueConfig config,
                                          const SessionSecrets& secrets) {
  uet::EndpointAddress address;
  address.job_id = job_of(secrets);
  address.pid_on_fep = static_cast<std::uint16_t>(secrets.queue >> 52U);
  address.resource_index = static_cast<std::uint16_t>((secrets.queue >> 32U & 0xf'ffffU) % 0xfffU + 1);
  return engine.create_endpoint(now, config, address, engine.config().initiator_id);
}

Result<verbs::SegmentToken> Uet::expose(uet::UetEngine& engine, TimePs now, verbs::SegmentConfig config,
                                        const SessionSecrets& secrets) {
  return engine.register_region(now, config, job_of(secrets), secrets.memory & uet::kKeyUserMask, false);
}

std::size_t Uet::encode(const wire::Packet& packet, const UdpEndpoint& from, const UdpEndpoint& to,
                        std::span<std::byte> room) {
  std::byte* const data = wire::encode_uet_headers(packet.uet, packet.payload.length, room.data());
  const std::size_t length = static_cast<std::size_t>(data - room.data()) + packet.payload.length;
  WHARF_CHECK(room.size() >= length + wire::kUetCrcBytes);
  wire::fill(packet.payload, std::span(data, packet.payload.length));
  wire::store_uet_crc(datagram_crc(room.first(length), from, to), wire::UetOptions{}.crc_order,
                      room.data() + length);
  return length + wire::kUetCrcBytes;
}

wire::DropReason Uet::decode(std::span<const std::byte> bytes, const Arrival& arrival, wire::Packet& packet) {
  constexpr wire::UetOptions kOptions;
  packet = wire::uet_packet();
  const auto dscp = static_cast<std::uint8_t>(arrival.service >> 2U);
  packet.traffic_class = wire::uet_traffic_class_of(dscp, kOptions.dscp);
  if ((arrival.service & 3U) != 0)
    packet.mark =
        (arrival.service & 3U) == 3 ? wire::CongestionMark::kExperienced : wire::CongestionMark::kCapable;
  packet.trim = wire::uet_trim_state_of(dscp, kOptions.dscp);
  if (packet.trim != wire::TrimState::kWhole) {  // Nothing is left of the CRC. [UE 1.0 4.1]
    std::uint32_t header_bytes = 0;
    return wire::decode_uet_trimmed(bytes, packet.uet, header_bytes);
  }
  if (bytes.size() < wire::kUetCrcBytes) return wire::DropReason::kTruncated;
  const std::span<const std::byte> transport = bytes.first(bytes.size() - wire::kUetCrcBytes);
  if (wire::load_uet_crc(transport.data() + transport.size(), kOptions.crc_order) !=
      datagram_crc(transport, arrival.from, arrival.to))
    return wire::DropReason::kBadIcrc;
  return wire::decode_uet(transport, packet.uet, packet.payload);
}

std::uint8_t Uet::service(const wire::Packet& packet) {
  return static_cast<std::uint8_t>((unsigned{wire::uet_dscp_of(packet, {})} << 2U) |
                                   static_cast<unsigned>(packet.mark));
}

// A job has one session; JobID 0 is never given.
void Uet::confine(wire::Packet& packet, const SessionNames& names) {
  if (wire::is_uet_request_form(packet.uet.prologue.next) && packet.uet.ses.job_id != job_of(names.secrets))
    packet.uet.ses.job_id = 0;
}

bool Uet::refuses_access(const wire::Packet& packet) {
  if (!wire::is_uet_response_form(packet.uet.prologue.next)) return false;
  constexpr std::array kNoRight{wire::UetReturnCode::kPermissionViolation,
                                wire::UetReturnCode::kOperationViolation,
                                wire::UetReturnCode::kBadIndex,
                                wire::UetReturnCode::kBadPid,
                                wire::UetReturnCode::kBadJobId,
                                wire::UetReturnCode::kBadMemoryKey,
                                wire::UetReturnCode::kBadAddress};
  return std::find(kNoRight.begin(), kNoRight.end(), packet.uet.response.return_code) != kNoRight.end();
}

std::vector<engine::NamedCounter> Uet::counters(const uet::UetEngine& engine) {
  return uet::named(engine.counters());
}

}  // namespace wharf::live
