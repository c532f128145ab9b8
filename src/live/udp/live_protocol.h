// SPDX-License-Identifier: Apache-2.0
// The protocols that run live: their names and ports, and how each engine is made with time-outs that suit
// processes which the system may keep waiting.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/arena.h"
#include "base/check.h"
#include "base/result.h"
#include "engine/roce/roce_engine.h"
#include "engine/ub/ub_engine.h"
#include "wire/host_address.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::live {

/// "ub", "roce".
std::string_view name(wire::Protocol protocol);
std::optional<wire::Protocol> parse_protocol(std::string_view text);
/// Every name, in enumerator order.
std::span<const std::string_view> protocol_names();
/// The port that `wharf serve` uses when it is told none: the protocol's own UDP port, also for control.
std::uint16_t default_port(wire::Protocol protocol);

/// The largest payload of one packet, a power of two from 256 to 4096, whose frame fits in an IP packet of
/// `path_bytes`.
std::uint32_t mtu_for_path(std::uint32_t path_bytes);

/// What an engine allocates from. Outlives it.
struct EngineMemory {
  wire::PayloadPool payloads;
  Arena arena;
};

struct EngineSettings {
  wire::HostAddress host;
  std::uint32_t mtu = 4096;
  std::uint64_t seed = 1;
  /// Send again for ever instead of giving a peer up after about a second of silence.
  bool unlimited_retries = false;
};

/// Makes an engine for real time: about 4 ms until the first retransmission, about a second until it gives
/// up.
template <typename E>
Result<std::unique_ptr<E>> make_engine(const EngineSettings& settings, EngineMemory& memory);
template <>
Result<std::unique_ptr<ub::UbEngine>> make_engine(const EngineSettings& settings, EngineMemory& memory);
template <>
Result<std::unique_ptr<roce::RoceEngine>> make_engine(const EngineSettings& settings, EngineMemory& memory);

/// The host that the exchange blob of a queue of E names, which a stranger may have written.
template <typename E>
Result<wire::HostAddress> exporter_of(std::span<const std::byte> blob);
template <>
Result<wire::HostAddress> exporter_of<ub::UbEngine>(std::span<const std::byte> blob);
template <>
Result<wire::HostAddress> exporter_of<roce::RoceEngine>(std::span<const std::byte> blob);

template <typename E>
inline constexpr wire::Protocol kProtocolOf =
    std::is_same_v<E, ub::UbEngine> ? wire::Protocol::kUb : wire::Protocol::kRoce;

/// Calls `action` with std::type_identity of the engine type of `protocol`.
template <typename Action>
auto with_engine_type(wire::Protocol protocol, Action&& action) {
  switch (protocol) {
    case wire::Protocol::kUb:
      return action(std::type_identity<ub::UbEngine>());
    case wire::Protocol::kRoce:
      return action(std::type_identity<roce::RoceEngine>());
    case wire::Protocol::kUet:
      break;  // Sessions refuse it.
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf::live
