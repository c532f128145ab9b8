// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/queue_state.h"

#include <array>

#include "base/check.h"
#include "engine/reliability/transition_table.h"

namespace wharf::roce {
namespace {

using Transition = reliability::Transition<QueueState, QueueEvent>;

// [IBTA vol 1 10.3.1: to RESET and to ERR from every state]
constexpr std::array kTransitions{
    Transition{QueueState::kReset, QueueEvent::kInitialize, QueueState::kInit},
    Transition{QueueState::kInit, QueueEvent::kPeerKnown, QueueState::kReadyToReceive},
    Transition{QueueState::kInit, QueueEvent::kFail, QueueState::kError},
    Transition{QueueState::kInit, QueueEvent::kReset, QueueState::kReset},
    Transition{QueueState::kReadyToReceive, QueueEvent::kPeerPrepared, QueueState::kReadyToSend},
    Transition{QueueState::kReadyToReceive, QueueEvent::kFail, QueueState::kError},
    Transition{QueueState::kReadyToReceive, QueueEvent::kReset, QueueState::kReset},
    Transition{QueueState::kReadyToSend, QueueEvent::kSuspend, QueueState::kDraining},
    Transition{QueueState::kReadyToSend, QueueEvent::kSendFault, QueueState::kSendError},
    Transition{QueueState::kReadyToSend, QueueEvent::kFail, QueueState::kError},
    Transition{QueueState::kReadyToSend, QueueEvent::kReset, QueueState::kReset},
    Transition{QueueState::kError, QueueEvent::kReset, QueueState::kReset},
    Transition{QueueState::kDraining, QueueEvent::kResume, QueueState::kReadyToSend},
    Transition{QueueState::kDraining, QueueEvent::kSendFault, QueueState::kSendError},
    Transition{QueueState::kDraining, QueueEvent::kFail, QueueState::kError},
    Transition{QueueState::kDraining, QueueEvent::kReset, QueueState::kReset},
    Transition{QueueState::kSendError, QueueEvent::kResume, QueueState::kReadyToSend},
    Transition{QueueState::kSendError, QueueEvent::kFail, QueueState::kError},
    Transition{QueueState::kSendError, QueueEvent::kReset, QueueState::kReset},
};

}  // namespace

std::optional<QueueState> next_state(QueueState state, QueueEvent event) {
  return reliability::next_state(kTransitions, state, event);
}

const char* name(QueueState state) {
  switch (state) {
    case QueueState::kReset:
      return "reset";
    case QueueState::kInit:
      return "init";
    case QueueState::kReadyToReceive:
      return "rtr";
    case QueueState::kReadyToSend:
      return "rts";
    case QueueState::kError:
      return "error";
    case QueueState::kDraining:
      return "sqd";
    case QueueState::kSendError:
      return "sqe";
  }
  WHARF_UNREACHABLE();
}

const char* name(QueueEvent event) {
  switch (event) {
    case QueueEvent::kInitialize:
      return "initialize";
    case QueueEvent::kPeerKnown:
      return "peer_known";
    case QueueEvent::kPeerPrepared:
      return "peer_prepared";
    case QueueEvent::kSuspend:
      return "suspend";
    case QueueEvent::kResume:
      return "resume";
    case QueueEvent::kSendFault:
      return "send_fault";
    case QueueEvent::kFail:
      return "fail";
    case QueueEvent::kReset:
      return "reset";
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf::roce
