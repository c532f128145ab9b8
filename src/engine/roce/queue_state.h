// SPDX-License-Identifier: Apache-2.0
// The states of a queue pair and what moves it from one to another, as one table, and what each of them does.
// [IBTA vol 1 10.3.1]
#pragma once

#include <cstdint>
#include <optional>

namespace wharf::roce {

enum class QueueState : std::uint8_t {
  kReset,
  kInit,
  kReadyToReceive,
  kReadyToSend,
  kError,
  kDraining,   ///< SQD: ends the requests that it has begun, begins no other.
  kSendError,  ///< SQE, of unreliable service: requests were flushed, receives go on.
};
inline constexpr int kQueueStateCount = static_cast<int>(QueueState::kSendError) + 1;

enum class QueueEvent : std::uint8_t {
  kInitialize,    ///< The queue was created, or goes on after a reset.
  kPeerKnown,     ///< connect(): packets of the peer are accepted. Datagrams: at once.
  kPeerPrepared,  ///< connect(): requests may be sent. Datagrams: at once.
  kSuspend,       ///< suspend_queue().
  kResume,        ///< resume_queue().
  kSendFault,     ///< A request of unreliable service failed at this end.
  kFail,   ///< Retries exhausted, a fatal NAK in either direction, or the interface's own memory failed it.
  kReset,  ///< reset(), disconnect() or destroy_queue().
};
inline constexpr int kQueueEventCount = static_cast<int>(QueueEvent::kReset) + 1;

/// The state after `event`, or nothing when the event means nothing in this state.
std::optional<QueueState> next_state(QueueState state, QueueEvent event);

/// What a queue pair does in a state. The table in docs/protocol/roce.md is made from it.
struct StateRules {
  bool takes_requests = false;   ///< post() takes them.
  bool takes_receives = false;   ///< post_receive() takes them.
  bool begins_requests = false;  ///< Requests that were posted are begun.
  bool ends_requests = false;    ///< Those that were begun go on: packets, repetitions, answers.
  bool serves_peers = false;     ///< Requests of peers are executed and answered.
};
constexpr StateRules rules_of(QueueState state) {
  switch (state) {
    case QueueState::kReset:
    case QueueState::kError:
      return {};
    case QueueState::kInit:
      return {.takes_receives = true};
    case QueueState::kReadyToReceive:
      return {.takes_receives = true, .serves_peers = true};
    case QueueState::kReadyToSend:
      return {.takes_requests = true,
              .takes_receives = true,
              .begins_requests = true,
              .ends_requests = true,
              .serves_peers = true};
    case QueueState::kDraining:
      return {.takes_requests = true, .takes_receives = true, .ends_requests = true, .serves_peers = true};
    case QueueState::kSendError:
      return {.takes_receives = true, .serves_peers = true};
  }
  return {};
}

/// "reset", "init", "rtr", "rts", "error", "sqd", "sqe".
const char* name(QueueState state);
const char* name(QueueEvent event);

}  // namespace wharf::roce
