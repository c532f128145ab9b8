// SPDX-License-Identifier: Apache-2.0
// Who of several that ask is served at this look, and who at the next.
#pragma once

#include <algorithm>
#include <cstddef>

namespace wharf::live {

/// Whose turn it is: those of `line` that ask, from its front, `most` at most. They are behind all others
/// afterwards, each group in the order it had; returns where they begin.
template <typename Line, typename Asks>
std::size_t take_turns(Line& line, std::size_t most, Asks asks) {
  std::size_t index = 0;
  std::size_t taken = 0;
  for (std::size_t unseen = line.size(); unseen > 0 && taken < most; --unseen) {
    if (!asks(line[index])) {
      ++index;
      continue;
    }
    ++taken;
    const auto next = line.begin() + static_cast<std::ptrdiff_t>(index);
    std::rotate(next, next + 1, line.end());
  }
  return line.size() - taken;
}

}  // namespace wharf::live
