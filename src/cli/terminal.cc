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

bool is_colored(std::FILE* stream, std::string_view when) {
  if (when != "auto") return when == "always";
  const char* const refused = std::getenv("NO_COLOR");
  return is_terminal(stream) && (refused == nullptr || *refused == '\0');
}

std::string colored(report::Tone tone, std::string_view text) {
  constexpr std::string_view kPlain = "\033[0m";
  std::string_view begin = "\033[1m";  // Bold.
  if (tone == report::Tone::kGood) begin = "\033[32m";
  if (tone == report::Tone::kBad) begin = "\033[1;31m";
  std::string out(begin);
  out += text;
  out += kPlain;
  return out;
}

namespace control {
const std::string_view kHome = "\033[H";
const std::string_view kClearAll = "\033[2J";
const std::string_view kClearToEndOfLine = "\033[K";
const std::string_view kClearBelow = "\033[J";
const std::string_view kLineAgain = "\r\033[K";
}  // namespace control

}  // namespace wharf::cli
