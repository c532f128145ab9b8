// SPDX-License-Identifier: Apache-2.0
// Whether somebody looks at a stream, how much fits, and everything that drives a terminal: no other file
// writes an escape sequence.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "report/paint.h"

namespace wharf::cli {

/// It is a terminal, and not one that only takes lines (TERM=dumb).
bool is_terminal(std::FILE* stream);

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t lines = 24;
};
/// What the terminal says; 80 by 24 where it says nothing.
TerminalSize terminal_size(std::FILE* stream);

/// Whether a stream is coloured: `when` is what --color says. "always" and "never" are what they say; "auto"
/// is a terminal, unless NO_COLOR holds anything (https://no-color.org).
bool is_colored(std::FILE* stream, std::string_view when);

/// `text` in the colour or weight of its tone; ends as the terminal was before.
std::string colored(report::Tone tone, std::string_view text);

/// What moves the cursor and clears.
namespace control {
extern const std::string_view kHome;
extern const std::string_view kClearAll;
extern const std::string_view kClearToEndOfLine;
extern const std::string_view kClearBelow;
/// Back to the beginning of the line, which is empty then.
extern const std::string_view kLineAgain;
}  // namespace control

}  // namespace wharf::cli
