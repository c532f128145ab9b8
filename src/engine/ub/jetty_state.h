// SPDX-License-Identifier: Apache-2.0
// The states of a jetty and what moves it from one to another, as one table. [URMA API, jetty states]
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wharf::ub {

/// JettyRecord::state.
enum class JettyState : std::uint8_t {
  kReset = 0,      ///< There is none.
  kReady = 1,      ///< Takes, sends and receives.
  kSuspended = 2,  ///< Ends what it has begun, keeps the rest; what peers send it is refused.
  kError = 3,      ///< Everything was flushed; what peers send it is refused.
};
inline constexpr int kJettyStateCount = static_cast<int>(JettyState::kError) + 1;

enum class JettyEvent : std::uint8_t {
  kCreate,
  kSuspend,  ///< suspend_queue(), or a fault of the transport with FaultMode::kSuspend.
  kResume,   ///< resume_queue().
  kFail,     ///< fail_queue(), a full completion queue, a lost record, or a fault with FaultMode::kError.
  kReset,    ///< reset_queue(): to RESET and on to READY, as there is nothing to set between them.
  kDestroy,  ///< destroy_queue().
};
inline constexpr int kJettyEventCount = static_cast<int>(JettyEvent::kDestroy) + 1;

/// The state after `event`, or nothing when the event is refused or cannot happen in this state.
std::optional<JettyState> next_state(JettyState state, JettyEvent event);

std::string_view name(JettyState state);
std::string_view name(JettyEvent event);

}  // namespace wharf::ub
