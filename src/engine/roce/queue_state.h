// SPDX-License-Identifier: Apache-2.0
// The states of a queue pair and what moves it from one to another, as one table. [IBTA vol 1 10.3.1]
#pragma once

#include <cstdint>
#include <optional>

namespace wharf::roce {

/// SQD and SQE are not offered: nothing in the contract drains a queue, and SQE exists for unreliable service
/// only.
enum class QueueState : std::uint8_t { kReset, kInit, kReadyToReceive, kReadyToSend, kError };
inline constexpr int kQueueStateCount = static_cast<int>(QueueState::kError) + 1;

enum class QueueEvent : std::uint8_t {
  kInitialize,    ///< The queue was created, or goes on after a reset.
  kPeerKnown,     ///< connect(): packets of the peer are accepted.
  kPeerPrepared,  ///< connect(): requests may be sent.
  kFail,   ///< Retries exhausted, a fatal NAK in either direction, or the interface's own memory failed it.
  kReset,  ///< reset(), disconnect() or destroy_queue().
};
inline constexpr int kQueueEventCount = static_cast<int>(QueueEvent::kReset) + 1;

/// The state after `event`, or nothing when the event means nothing in this state.
std::optional<QueueState> next_state(QueueState state, QueueEvent event);

/// "reset", "init", "rtr", "rts", "error".
const char* name(QueueState state);
const char* name(QueueEvent event);

}  // namespace wharf::roce
