// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace wharf::cli {

bool is_terminal(std::FILE* stream) {
  const char* const term = std::getenv("TERM");
  return ::isatty(::fileno(stream)) != 0 && (term == nullptr || std::strcmp(term, "dumb") != 0);
}

TerminalSize terminal_size(std::FILE* stream) {
  TerminalSize out;
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) != 0) return out;
  if (size.ws_col > 0) out.columns = size.ws_col;
  if (size.ws_row > 0) out.lines = size.ws_row;
  return out;
}

}  // namespace wharf::cli
