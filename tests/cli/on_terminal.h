// SPDX-License-Identifier: Apache-2.0
// Runs the wharf program on a terminal of a given width, as a pseudo-terminal is one.
#pragma once

#include <pty.h>
#include <termios.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "run_program.h"

namespace wharf::cli_test {

/// wharf with `arguments`, standard output and error on one terminal of `columns`; what it showed is in
/// `out`. `settings`: "NAME=VALUE" of the environment, beside TERM=xterm and no NO_COLOR.
inline Outcome on_terminal(std::vector<std::string> arguments, unsigned short columns = 80,
                           std::vector<std::string> settings = {}) {
  int screen = -1;
  int program = -1;
  const winsize size{24, columns, 0, 0};
  if (::openpty(&screen, &program, nullptr, nullptr, &size) != 0) std::abort();
  ::fcntl(screen, F_SETFD, FD_CLOEXEC);
  std::vector<std::string> command{"/usr/bin/env", "-u", "NO_COLOR", "TERM=xterm"};
  for (std::string& setting : settings) command.push_back(std::move(setting));
  command.emplace_back(WHARF_PROGRAM);
  for (std::string& argument : arguments) command.push_back(std::move(argument));
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, program, 1);
  posix_spawn_file_actions_adddup2(&actions, program, 2);
  posix_spawn_file_actions_addclose(&actions, program);
  pid_t process = -1;
  if (::posix_spawn(&process, words[0], &actions, nullptr, words.data(), environ) != 0) std::abort();
  posix_spawn_file_actions_destroy(&actions);
  ::close(program);
  Outcome outcome;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = ::read(screen, buffer.data(), buffer.size());
    if (count <= 0) break;  // EIO: nobody has the terminal any more.
    outcome.out.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(screen);
  int status = 0;
  ::waitpid(process, &status, 0);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

/// What stands on the screen: without escape sequences, and without what a line showed before it was drawn
/// again.
inline std::string shown(const std::string& text) {
  std::string plain;
  std::size_t line = 0;  // Where the last one begins in `plain`.
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool ends_line = text.compare(at, 2, "\r\n") == 0;
    if (text.compare(at, 2, "\x1b[") == 0) {
      at += 2;
      while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) == 0) ++at;
    } else if (ends_line || text[at] == '\n') {
      at += ends_line ? 1U : 0U;
      plain += '\n';
      line = plain.size();
    } else if (text[at] == '\r') {
      plain.resize(line);
    } else {
      plain += text[at];
    }
  }
  return plain;
}

/// The first line of `text` that is wider than `columns`, or nothing.
inline std::string too_wide(const std::string& text, std::ptrdiff_t most = 80) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto columns =
        std::count_if(line.begin(), line.end(), [](char c) { return (c & '\xC0') != '\x80'; });
    if (columns > most) return line;
  }
  return "";
}

}  // namespace wharf::cli_test
