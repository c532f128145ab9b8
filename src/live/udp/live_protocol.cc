// SPDX-License-Identifier: Apache-2.0
#include "live/udp/live_protocol.h"

#include <algorithm>
#include <array>

namespace wharf::live {
namespace {

/// IPv4, UDP and the longest transport headers of any protocol, with room to spare.
constexpr std::uint32_t kHeaderBytes = 160;

template <typename... E>
constexpr std::array<ProtocolDescription, sizeof...(E)> descriptions_of(EngineList<E...>) {
  return {LiveProtocol<E>::kDescription...};
}
constexpr auto kDescriptions = descriptions_of(LiveEngines());

constexpr auto kNames = [] {
  std::array<std::string_view, kDescriptions.size()> names;
  std::transform(kDescriptions.begin(), kDescriptions.end(), names.begin(),
                 [](const ProtocolDescription& each) { return each.name; });
  return names;
}();

template <typename Match>
const ProtocolDescription* find(Match match) {
  const auto* const found = std::find_if(kDescriptions.begin(), kDescriptions.end(), match);
  return found == kDescriptions.end() ? nullptr : found;
}

}  // namespace

std::span<const ProtocolDescription> live_protocols() { return kDescriptions; }

const ProtocolDescription& describe(wire::Protocol protocol) {
  const ProtocolDescription* const found =
      find([protocol](const ProtocolDescription& each) { return each.protocol == protocol; });
  WHARF_CHECK(found != nullptr);
  return *found;
}

std::string_view name(wire::Protocol protocol) { return describe(protocol).name; }

std::optional<wire::Protocol> parse_protocol(std::string_view text) {
  const ProtocolDescription* const found =
      find([text](const ProtocolDescription& each) { return each.name == text; });
  return found == nullptr ? std::nullopt : std::optional(found->protocol);
}

std::span<const std::string_view> protocol_names() { return kNames; }

std::optional<wire::Protocol> protocol_of_number(std::uint8_t number) {
  const ProtocolDescription* const found = find([number](const ProtocolDescription& each) {
    return static_cast<std::uint8_t>(each.protocol) == number;
  });
  return found == nullptr ? std::nullopt : std::optional(found->protocol);
}

std::uint32_t mtu_for_path(std::uint32_t path_bytes, std::uint32_t around) {
  std::uint32_t mtu = 4096;
  while (mtu > 256 && mtu + kHeaderBytes + around > path_bytes) mtu /= 2;
  return mtu;
}

engine::Capabilities capabilities_of(wire::Protocol protocol) {
  return with_engine_type(protocol, []<typename E>(std::type_identity<E>) {
    EngineMemory memory;
    return LiveProtocol<E>::make({}, memory).value()->capabilities();
  });
}

}  // namespace wharf::live
