// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/channel_state.h"

#include <array>

#include "base/check.h"
#include "engine/reliability/transition_table.h"

namespace wharf::ub {
namespace {

using Transition = reliability::Transition<ChannelState, ChannelEvent>;

constexpr std::array kTransitions{
    Transition{ChannelState::kClosed, ChannelEvent::kOpen, ChannelState::kReady},
    Transition{ChannelState::kReady, ChannelEvent::kFail, ChannelState::kError},
    Transition{ChannelState::kReady, ChannelEvent::kSupersede, ChannelState::kError},
    Transition{ChannelState::kReady, ChannelEvent::kForget, ChannelState::kClosed},
    Transition{ChannelState::kError, ChannelEvent::kOpen, ChannelState::kReady},
    Transition{ChannelState::kError, ChannelEvent::kForget, ChannelState::kClosed},
};

}  // namespace

std::optional<ChannelState> next_state(ChannelState state, ChannelEvent event) {
  return reliability::next_state(kTransitions, state, event);
}

std::string_view name(ChannelState state) {
  switch (state) {
    case ChannelState::kClosed:
      return "closed";
    case ChannelState::kReady:
      return "ready";
    case ChannelState::kError:
      return "error";
  }
  WHARF_UNREACHABLE();
}

std::string_view name(ChannelEvent event) {
  switch (event) {
    case ChannelEvent::kOpen:
      return "open";
    case ChannelEvent::kFail:
      return "fail";
    case ChannelEvent::kSupersede:
      return "supersede";
    case ChannelEvent::kForget:
      return "forget";
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf::ub
