// SPDX-License-Identifier: Apache-2.0
// State machines as tables of a document, made from the functions that run them.
#pragma once

#include <optional>
#include <string>

namespace wharf::test {

/// A markdown table with a row for each state and a column for each event: the next state, or nothing where
/// the event means nothing. `next(state, event)` gives std::optional<State>; name() is found by its argument.
template <typename State, typename Event, typename Next>
std::string state_matrix(int states, int events, Next next) {
  std::string head = "| state |";
  std::string rule = "|---|";
  for (int event = 0; event < events; ++event) {
    head += " " + std::string(name(static_cast<Event>(event))) + " |";
    rule += "---|";
  }
  std::string rows;
  for (int state = 0; state < states; ++state) {
    rows += "| " + std::string(name(static_cast<State>(state))) + " |";
    for (int event = 0; event < events; ++event) {
      const std::optional<State> to = next(static_cast<State>(state), static_cast<Event>(event));
      rows += to ? " " + std::string(name(*to)) + " |" : " |";
    }
    rows += "\n";
  }
  return head + "\n" + rule + "\n" + rows;
}

}  // namespace wharf::test
