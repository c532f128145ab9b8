// SPDX-License-Identifier: Apache-2.0
// State machines as tables of what moves them: the connections of every engine.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace wharf::reliability {

/// `event` in state `from` leads to state `to`.
template <typename State, typename Event>
struct Transition {
  State from;
  Event event;
  State to;
};

/// The state after `event`, or nothing when no row of `table` says what the event means in this state.
template <typename State, typename Event, std::size_t kRows>
constexpr std::optional<State> next_state(const std::array<Transition<State, Event>, kRows>& table,
                                          State state, Event event) {
  for (const Transition<State, Event>& row : table) {
    if (row.from == state && row.event == event) return row.to;
  }
  return std::nullopt;
}

}  // namespace wharf::reliability
