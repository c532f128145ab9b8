// SPDX-License-Identifier: Apache-2.0
// The protocols of the simulator. To add one, describe it in a struct of its own (protocol.h says how) and
// put it into the lists here, with its stacks; all else follows from there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/check.h"
#include "sim/protocols/protocol.h"
#include "sim/protocols/roce_protocol.h"
#include "sim/protocols/ub_protocol.h"
#include "sim/protocols/uet_protocol.h"
#include "workload/choice.h"

namespace wharf::sim {

template <typename... P>
struct ProtocolList {
  static constexpr std::size_t kCount = sizeof...(P);
  using Configs = std::tuple<typename P::Config...>;
  using Settings = std::tuple<typename P::Settings...>;
  /// One per protocol, whether it has keys of its own or not.
  template <typename Q>
  struct EndsOf {
    typename Q::Ends ends;
  };
  using Ends = std::tuple<EndsOf<P>...>;
};
/// In the order of wire::Protocol.
using Protocols = ProtocolList<UbProtocol, RoceProtocol, UetProtocol>;
/// As runs of flows name them, the default first.
using FabricProtocols = ProtocolList<UetProtocol, UbProtocol, RoceProtocol>;
inline constexpr wire::Protocol kFabricProtocol = UetProtocol::kProtocol;

/// The stacks of all protocols, in the order of Protocols and of their own lists.
enum class Stack : std::uint8_t { kUbLoadStore, kUbUrma, kRoceBlueFlame, kRoceDma, kUet };
inline constexpr Stack kDefaultStack = Stack::kUbUrma;

/// What a host or a run holds of each protocol, of which it uses one: std::get<uet::UetConfig>(configs).
using EngineConfigs = Protocols::Configs;
using ProtocolSettings = Protocols::Settings;
using ProtocolEnds = Protocols::Ends;
template <typename P>
typename P::Ends& ends_of(ProtocolEnds& ends) {
  return std::get<Protocols::EndsOf<P>>(ends).ends;
}
template <typename P>
const typename P::Ends& ends_of(const ProtocolEnds& ends) {
  return std::get<Protocols::EndsOf<P>>(ends).ends;
}

/// Calls `action` with std::type_identity of each protocol, in order.
template <typename Action, typename... P>
void each_protocol(ProtocolList<P...>, Action&& action) {
  (action(std::type_identity<P>()), ...);
}
template <typename Action>
void each_protocol(Action&& action) {
  each_protocol(Protocols(), action);
}

template <typename Action, typename First, typename... Rest>
decltype(auto) visit_protocol(ProtocolList<First, Rest...>, wire::Protocol protocol, Action&& action) {
  if constexpr (sizeof...(Rest) > 0) {
    if (protocol != First::kProtocol) return visit_protocol(ProtocolList<Rest...>(), protocol, action);
  }
  WHARF_CHECK(protocol == First::kProtocol);
  return action(std::type_identity<First>());
}
/// Calls `action` with std::type_identity of `protocol`: the one place where a run turns a value into a type.
template <typename Action>
decltype(auto) visit_protocol(wire::Protocol protocol, Action&& action) {
  return visit_protocol(Protocols(), protocol, action);
}

template <typename... P>
constexpr std::array<ProtocolRules, sizeof...(P)> rules_of_all(ProtocolList<P...>) {
  return {P::kRules...};
}
inline constexpr auto kProtocolRules = rules_of_all(Protocols());
constexpr const ProtocolRules& rules_of(wire::Protocol protocol) {
  return kProtocolRules[wire::index_of(protocol)];
}

inline constexpr std::size_t kStackCount = [] {
  std::size_t count = 0;
  for (const ProtocolRules& each : kProtocolRules) count += each.stacks.size();
  return count;
}();
/// In the order of the stacks.
inline constexpr auto kStackTraits = [] {
  std::array<StackTraits, kStackCount> all;
  std::size_t at = 0;
  for (const ProtocolRules& each : kProtocolRules) {
    for (const StackTraits& stack : each.stacks) all[at++] = stack;
  }
  return all;
}();
inline constexpr auto kStacks = [] {
  std::array<workload::Choice<Stack>, kStackCount> all;
  for (std::size_t i = 0; i < kStackCount; ++i) all[i] = {kStackTraits[i].name, static_cast<Stack>(i)};
  return all;
}();

constexpr const StackTraits& traits(Stack stack) { return kStackTraits[static_cast<std::size_t>(stack)]; }
constexpr std::string_view name(Stack stack) { return traits(stack).name; }
constexpr wire::Protocol protocol_of(Stack stack) { return traits(stack).protocol; }

static_assert(kProtocolRules[wire::index_of(wire::Protocol::kUet)].protocol == wire::Protocol::kUet);
static_assert(name(Stack::kUbLoadStore) == "ub_ldst" && name(Stack::kRoceDma) == "roce_dma" &&
              name(Stack::kUet) == "uet");

/// The titles of the protocols whose rules satisfy `has`, as a sentence lists them.
std::string titles_of(bool (*has)(const ProtocolRules&));

}  // namespace wharf::sim
