// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/pdc_state.h"

#include <array>

#include "base/check.h"
#include "engine/reliability/transition_table.h"

namespace wharf::uet {
namespace {

using Transition = reliability::Transition<PdcState, PdcEvent>;

// [UE 1.0 3.5.8] PENDING, the state of secured PDCs, is absent: TSS is refused.
constexpr std::array kTransitions{
    Transition{PdcState::kClosed, PdcEvent::kOpen, PdcState::kCreating},
    Transition{PdcState::kClosed, PdcEvent::kSynAccepted, PdcState::kEstablished},
    Transition{PdcState::kCreating, PdcEvent::kPeerKnown, PdcState::kEstablished},
    Transition{PdcState::kCreating, PdcEvent::kFailed, PdcState::kError},
    Transition{PdcState::kEstablished, PdcEvent::kCloseWanted, PdcState::kQuiesce},
    Transition{PdcState::kEstablished, PdcEvent::kCloseRequested, PdcState::kClosing},
    Transition{PdcState::kEstablished, PdcEvent::kCloseCommand, PdcState::kClosed},
    Transition{PdcState::kEstablished, PdcEvent::kFailed, PdcState::kError},
    Transition{PdcState::kQuiesce, PdcEvent::kDrained, PdcState::kCloseAckWait},
    Transition{PdcState::kQuiesce, PdcEvent::kFailed, PdcState::kError},
    Transition{PdcState::kCloseAckWait, PdcEvent::kCloseAnswered, PdcState::kClosed},
    Transition{PdcState::kCloseAckWait, PdcEvent::kFailed, PdcState::kError},
    Transition{PdcState::kClosing, PdcEvent::kCloseCommand, PdcState::kClosed},
    Transition{PdcState::kClosing, PdcEvent::kFailed, PdcState::kError},
};

}  // namespace

std::optional<PdcState> next_state(PdcState state, PdcEvent event) {
  return reliability::next_state(kTransitions, state, event);
}

std::string_view name(PdcState state) {
  switch (state) {
    case PdcState::kClosed:
      return "CLOSED";
    case PdcState::kCreating:
      return "CREATING";
    case PdcState::kEstablished:
      return "ESTABLISHED";
    case PdcState::kQuiesce:
      return "QUIESCE";
    case PdcState::kCloseAckWait:
      return "CLOSE_ACK_WAIT";
    case PdcState::kClosing:
      return "CLOSING";
    case PdcState::kError:
      return "ERROR";
  }
  WHARF_UNREACHABLE();
}

std::string_view name(PdcEvent event) {
  switch (event) {
    case PdcEvent::kOpen:
      return "open";
    case PdcEvent::kSynAccepted:
      return "syn_accepted";
    case PdcEvent::kPeerKnown:
      return "peer_known";
    case PdcEvent::kCloseWanted:
      return "close_wanted";
    case PdcEvent::kDrained:
      return "drained";
    case PdcEvent::kCloseAnswered:
      return "close_answered";
    case PdcEvent::kCloseRequested:
      return "close_requested";
    case PdcEvent::kCloseCommand:
      return "close_command";
    case PdcEvent::kFailed:
      return "failed";
  }
  WHARF_UNREACHABLE();
}

std::string_view name(CccState state) {
  switch (state) {
    case CccState::kIdle:
      return "IDLE";
    case CccState::kPending:
      return "PENDING";
    case CccState::kActive:
      return "ACTIVE";
    case CccState::kReady:
      return "READY";
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf::uet
