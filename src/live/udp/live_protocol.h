// SPDX-License-Identifier: Apache-2.0
// The protocols that run live. To add one, describe it in a header of its own (live_engine.h says how) and
// put its engine into LiveEngines; all else follows from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "base/result.h"
#include "engine/capabilities.h"
#include "live/udp/live_engine.h"
#include "live/udp/roce_live.h"
#include "live/udp/ub_live.h"
#include "live/udp/uet_live.h"
#include "wire/packet.h"

namespace wharf::live {

template <typename... E>
struct EngineList {
  static constexpr std::size_t kCount = sizeof...(E);
};
/// Those that run live, the default first.
using LiveEngines = EngineList<ub::UbEngine, roce::RoceEngine, uet::UetEngine>;

template <typename E>
inline constexpr wire::Protocol kProtocolOf = LiveProtocol<E>::kDescription.protocol;

/// In the order of LiveEngines.
std::span<const ProtocolDescription> live_protocols();
/// Of a protocol that runs live.
const ProtocolDescription& describe(wire::Protocol protocol);
/// As users name it.
std::string_view name(wire::Protocol protocol);
std::optional<wire::Protocol> parse_protocol(std::string_view text);
/// Every name, in the order of LiveEngines.
std::span<const std::string_view> protocol_names();
/// The protocol with this enumerator, if it runs live.
std::optional<wire::Protocol> protocol_of_number(std::uint8_t number);

/// The largest payload of one packet, a power of two from 256 to 4096, whose frame fits in an IP packet of
/// `path_bytes` when `around` bytes are added to it.
std::uint32_t mtu_for_path(std::uint32_t path_bytes, std::uint32_t around = 0);

/// What live engines of a protocol can do.
engine::Capabilities capabilities_of(wire::Protocol protocol);

/// Calls `action` with std::type_identity of the engine type of `protocol`, which runs live.
template <typename Action, typename First, typename... Rest>
auto with_engine_of(wire::Protocol protocol, Action& action, EngineList<First, Rest...>) {
  if constexpr (sizeof...(Rest) > 0) {
    if (protocol != kProtocolOf<First>) return with_engine_of(protocol, action, EngineList<Rest...>());
  }
  WHARF_CHECK(protocol == kProtocolOf<First>);
  return action(std::type_identity<First>());
}
template <typename Action>
auto with_engine_type(wire::Protocol protocol, Action&& action) {
  return with_engine_of(protocol, action, LiveEngines());
}

}  // namespace wharf::live
