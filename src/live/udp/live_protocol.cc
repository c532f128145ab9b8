// SPDX-License-Identifier: Apache-2.0
#include "live/udp/live_protocol.h"

#include <algorithm>
#include <array>

#include "engine/roce/exchange.h"
#include "engine/ub/exchange.h"

namespace wharf::live {
namespace {

constexpr std::array<std::string_view, 2> kNames{"ub", "roce"};

/// IPv4, UDP and the longest transport headers of either protocol, with room to spare.
constexpr std::uint32_t kHeaderBytes = 160;

}  // namespace

std::string_view name(wire::Protocol protocol) { return kNames[static_cast<std::size_t>(protocol)]; }

std::optional<wire::Protocol> parse_protocol(std::string_view text) {
  for (std::size_t index = 0; index < kNames.size(); ++index) {
    if (kNames[index] == text) return static_cast<wire::Protocol>(index);
  }
  return std::nullopt;
}

std::span<const std::string_view> protocol_names() { return kNames; }

std::uint16_t default_port(wire::Protocol protocol) {
  return protocol == wire::Protocol::kUb ? std::uint16_t{4792} : std::uint16_t{4791};
}

std::uint32_t mtu_for_path(std::uint32_t path_bytes) {
  std::uint32_t mtu = 4096;
  while (mtu > 256 && mtu + kHeaderBytes > path_bytes) mtu /= 2;
  return mtu;
}

template <>
Result<std::unique_ptr<ub::UbEngine>> make_engine(const EngineSettings& settings, EngineMemory& memory) {
  ub::UbConfig config;
  config.host = settings.host;
  config.mtu = settings.mtu;
  // A TPACK costs a datagram: one for several packets will do, long before the peer's timer.
  config.acknowledge_every = 16;
  config.acknowledge_delay = microseconds(500);
  // 4 + 8 + ... + 256 + 512 ms.
  config.retransmission = {.base = milliseconds(4), .cap = milliseconds(512), .attempts_max = 7};
  if (settings.unlimited_retries) {
    config.retransmission.attempts_max = reliability::kUnlimitedAttempts;
    config.retransmission.cap = milliseconds(16);
  }
  auto engine = ub::UbEngine::create(config, memory.payloads, memory.arena);
  if (!engine) return engine.error();
  return std::make_unique<ub::UbEngine>(*std::move(engine));
}

template <>
Result<std::unique_ptr<roce::RoceEngine>> make_engine(const EngineSettings& settings, EngineMemory& memory) {
  roce::RoceConfig config;
  config.host = settings.host;
  config.seed = settings.seed;
  config.path_mtu = settings.mtu;
  config.ack_timeout = 10;  // 4.2 ms, doubled 7 times.
  config.backoff_limit = 7;
  config.retry_count = 7;
  if (settings.unlimited_retries) {
    config.unlimited_retries = true;
    config.backoff_limit = 2;
  }
  auto engine = roce::RoceEngine::create(config, memory.payloads, memory.arena);
  if (!engine) return engine.error();
  return std::make_unique<roce::RoceEngine>(*std::move(engine));
}

template <>
Result<wire::HostAddress> exporter_of<ub::UbEngine>(std::span<const std::byte> blob) {
  const auto decoded = ub::decode_queue_blob(blob);
  if (!decoded) return decoded.error();
  return decoded->host;
}

template <>
Result<wire::HostAddress> exporter_of<roce::RoceEngine>(std::span<const std::byte> blob) {
  const auto decoded = roce::decode_exchange(blob);
  if (!decoded) return decoded.error();
  return decoded->host;
}

}  // namespace wharf::live
