// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/jetty_state.h"

#include <array>

#include "base/check.h"
#include "engine/reliability/transition_table.h"

namespace wharf::ub {
namespace {

using Transition = reliability::Transition<JettyState, JettyEvent>;

constexpr std::array kJettyTransitions{
    Transition{JettyState::kReset, JettyEvent::kCreate, JettyState::kReady},
    Transition{JettyState::kReady, JettyEvent::kSuspend, JettyState::kSuspended},
    Transition{JettyState::kReady, JettyEvent::kFail, JettyState::kError},
    Transition{JettyState::kReady, JettyEvent::kDestroy, JettyState::kReset},
    Transition{JettyState::kSuspended, JettyEvent::kResume, JettyState::kReady},
    Transition{JettyState::kSuspended, JettyEvent::kFail, JettyState::kError},
    Transition{JettyState::kSuspended, JettyEvent::kDestroy, JettyState::kReset},
    Transition{JettyState::kError, JettyEvent::kReset, JettyState::kReady},
    Transition{JettyState::kError, JettyEvent::kDestroy, JettyState::kReset},
};

}  // namespace

std::optional<JettyState> next_state(JettyState state, JettyEvent event) {
  return reliability::next_state(kJettyTransitions, state, event);
}

std::string_view name(JettyState state) {
  switch (state) {
    case JettyState::kReset:
      return "reset";
    case JettyState::kReady:
      return "ready";
    case JettyState::kSuspended:
      return "suspended";
    case JettyState::kError:
      return "error";
  }
  WHARF_UNREACHABLE();
}

std::string_view name(JettyEvent event) {
  switch (event) {
    case JettyEvent::kCreate:
      return "create";
    case JettyEvent::kSuspend:
      return "suspend";
    case JettyEvent::kResume:
      return "resume";
    case JettyEvent::kFail:
      return "fail";
    case JettyEvent::kReset:
      return "reset";
    case JettyEvent::kDestroy:
      return "destroy";
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf::ub
