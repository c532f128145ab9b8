// SPDX-License-Identifier: Apache-2.0
#include "engine/queues.h"

#include "base/check.h"

namespace wharf::engine {
namespace {

struct Transition {
  QueueState from;
  QueueEvent event;
  QueueState to;
};

/// A queue that serves any peer begins in kReady wherever this table says kIdle, and is never connected.
constexpr std::array kTransitions{
    Transition{QueueState::kGone, QueueEvent::kCreate, QueueState::kIdle},
    Transition{QueueState::kIdle, QueueEvent::kConnect, QueueState::kReady},
    Transition{QueueState::kIdle, QueueEvent::kDisconnect, QueueState::kIdle},
    Transition{QueueState::kIdle, QueueEvent::kFault, QueueState::kError},
    Transition{QueueState::kIdle, QueueEvent::kFail, QueueState::kError},
    Transition{QueueState::kIdle, QueueEvent::kDestroy, QueueState::kGone},
    Transition{QueueState::kReady, QueueEvent::kDisconnect, QueueState::kIdle},
    Transition{QueueState::kReady, QueueEvent::kFault, QueueState::kError},
    Transition{QueueState::kReady, QueueEvent::kFail, QueueState::kError},
    Transition{QueueState::kReady, QueueEvent::kSuspend, QueueState::kSuspended},
    Transition{QueueState::kSuspended, QueueEvent::kResume, QueueState::kReady},
    Transition{QueueState::kSuspended, QueueEvent::kFault, QueueState::kError},
    Transition{QueueState::kSuspended, QueueEvent::kFail, QueueState::kError},
    Transition{QueueState::kSuspended, QueueEvent::kDisconnect, QueueState::kIdle},
    Transition{QueueState::kSuspended, QueueEvent::kDestroy, QueueState::kGone},
    Transition{QueueState::kReady, QueueEvent::kDestroy, QueueState::kGone},
    Transition{QueueState::kError, QueueEvent::kDisconnect, QueueState::kIdle},
    Transition{QueueState::kError, QueueEvent::kReset, QueueState::kIdle},
    Transition{QueueState::kError, QueueEvent::kFail, QueueState::kError},
    Transition{QueueState::kError, QueueEvent::kDestroy, QueueState::kGone},
};

}  // namespace

std::optional<QueueState> next_state(QueueState state, QueueEvent event, bool one_peer) {
  if (!one_peer) {
    if (state == QueueState::kIdle || event == QueueEvent::kConnect || event == QueueEvent::kDisconnect) {
      return std::nullopt;
    }
  }
  for (const Transition& row : kTransitions) {
    if (row.from != state || row.event != event) continue;
    return !one_peer && row.to == QueueState::kIdle ? QueueState::kReady : row.to;
  }
  return std::nullopt;
}

std::string_view beyond_common(const QueueConfig& config) {
  if (config.service != ServiceMode::kDefault) return "service";
  if (config.transport != TransportMode::kDefault) return "transport";
  if (config.public_id != 0) return "public_id";
  if (config.on_fault != FaultMode::kRequestAlone) return "on_fault";
  if (config.drain_marks) return "drain_marks";
  return {};
}

std::string_view name(TransportMode mode) {
  switch (mode) {
    case TransportMode::kDefault:
      return "default";
    case TransportMode::kReliable:
      return "rtp";
    case TransportMode::kCompact:
      return "ctp";
  }
  WHARF_UNREACHABLE();
}

std::string_view name(ServiceMode mode) {
  switch (mode) {
    case ServiceMode::kDefault:
      return "default";
    case ServiceMode::kOrderedByInitiator:
      return "roi";
    case ServiceMode::kOrderedByTarget:
      return "rot";
    case ServiceMode::kOrderedByTransport:
      return "rol";
    case ServiceMode::kUnordered:
      return "uno";
    case ServiceMode::kUnreliable:
      return "uc";
  }
  WHARF_UNREACHABLE();
}

std::string_view name(QueueState state) {
  switch (state) {
    case QueueState::kIdle:
      return "idle";
    case QueueState::kReady:
      return "ready";
    case QueueState::kSuspended:
      return "suspended";
    case QueueState::kError:
      return "error";
    case QueueState::kGone:
      return "gone";
  }
  WHARF_UNREACHABLE();
}

std::string_view name(QueueEvent event) {
  switch (event) {
    case QueueEvent::kCreate:
      return "create";
    case QueueEvent::kConnect:
      return "connect";
    case QueueEvent::kDisconnect:
      return "disconnect";
    case QueueEvent::kFault:
      return "fault";
    case QueueEvent::kFail:
      return "fail";
    case QueueEvent::kSuspend:
      return "suspend";
    case QueueEvent::kResume:
      return "resume";
    case QueueEvent::kReset:
      return "reset";
    case QueueEvent::kDestroy:
      return "destroy";
  }
  WHARF_UNREACHABLE();
}

std::string_view name(AsyncEventKind kind) {
  switch (kind) {
    case AsyncEventKind::kQueueError:
      return "queue_error";
    case AsyncEventKind::kPeerUnreachable:
      return "peer_unreachable";
    case AsyncEventKind::kCompletionError:
      return "completion_error";
    case AsyncEventKind::kCompletionQueueFull:
      return "completion_queue_full";
    case AsyncEventKind::kCompletionReady:
      return "completion_ready";
    case AsyncEventKind::kQueueSuspended:
      return "queue_suspended";
    case AsyncEventKind::kQueueDrained:
      return "queue_drained";
    case AsyncEventKind::kReceiveLimit:
      return "receive_limit";
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf::engine
