// SPDX-License-Identifier: Apache-2.0
// Whether somebody looks at a stream, and how much fits.
#pragma once

#include <cstddef>
#include <cstdio>

namespace wharf::cli {

/// It is a terminal, and not one that only takes lines (TERM=dumb).
bool is_terminal(std::FILE* stream);

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t lines = 24;
};
/// What the terminal says; 80 by 24 where it says nothing.
TerminalSize terminal_size(std::FILE* stream);

}  // namespace wharf::cli
