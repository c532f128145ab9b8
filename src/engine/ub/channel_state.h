// SPDX-License-Identifier: Apache-2.0
// The states of a TP channel's two ends and what moves an end from one to another, as one table. Choice:
// UB-Base 2.0.1 6.4 says when a channel may be used and when it has failed, and names no states.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wharf::ub {

enum class ChannelState : std::uint8_t {
  kClosed,  ///< Toward no host.
  kReady,
  kError,  ///< Given up; its requests have ended. A new life begins with connect() at both ends.
};
inline constexpr int kChannelStateCount = static_cast<int>(ChannelState::kError) + 1;

enum class ChannelEvent : std::uint8_t {
  kOpen,       ///< connect() to a host without a channel, or whose channel has ended.
  kFail,       ///< Retries exhausted, or its context record is lost.
  kSupersede,  ///< connect() with a blob that tells of a newer life.
  kForget,     ///< The host is gone for good.
};
inline constexpr int kChannelEventCount = static_cast<int>(ChannelEvent::kForget) + 1;

/// The state after `event`, or nothing when the event means nothing in this state.
std::optional<ChannelState> next_state(ChannelState state, ChannelEvent event);

std::string_view name(ChannelState state);
std::string_view name(ChannelEvent event);

}  // namespace wharf::ub
