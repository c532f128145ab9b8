// SPDX-License-Identifier: Apache-2.0
// The child reports through a pipe: 'R' and what it says, or 'E', the kind of its error, and the sentence.
#include "live/rdmo/background_process.h"

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>

namespace wharf::live {
namespace {

Error process_error(const char* what) {
  return {ErrorKind::kEnvironment, std::string(what) + ": " + std::strerror(errno)};
}

void report(int pipe, const std::string& text) {
  // A report is short, and the pipe is empty: it goes as a whole or not at all.
  (void)!::write(pipe, text.data(), text.size());
  ::close(pipe);
}

/// Its terminal is nobody's business any more.
void leave_terminal() {
  ::setsid();
  (void)!::chdir("/");
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  for (const int each : {0, 1, 2}) ::dup2(nothing, each);
  if (nothing > 2) ::close(nothing);
}

[[noreturn]] void run(const std::function<Result<void>(const SayReady&)>& serve, int pipe) {
  leave_terminal();
  bool ready = false;
  Result<void> done;
  try {
    done = serve([&](std::string_view told) {
      ready = true;
      report(pipe, "R" + std::string(told));
    });
  } catch (const std::exception& error) {
    done = Error{ErrorKind::kEnvironment, error.what()};
  }
  if (!ready && !done) {
    const char kind = static_cast<char>('0' + static_cast<int>(done.error().kind));
    report(pipe, std::string("E") + kind + done.error().message);
  }
  ::_exit(done ? 0 : 1);
}

}  // namespace

Result<Started> start_in_background(const std::function<Result<void>(const SayReady&)>& serve) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return process_error("a pipe");
  const pid_t process = ::fork();
  if (process < 0) {
    const Error error = process_error("a process");
    for (const int each : ends) ::close(each);
    return error;
  }
  if (process == 0) {
    ::close(ends[0]);
    run(serve, ends[1]);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 512> some{};
  for (;;) {
    const ssize_t length = ::read(ends[0], some.data(), some.size());
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) break;
    said.append(some.data(), static_cast<std::size_t>(length));
  }
  ::close(ends[0]);
  if (said.starts_with('R')) return Started{static_cast<std::uint64_t>(process), said.substr(1)};
  ::waitpid(process, nullptr, 0);
  if (said.size() >= 2 && said[0] == 'E' && said[1] >= '0' && said[1] <= '3')
    return Error{static_cast<ErrorKind>(said[1] - '0'), said.substr(2)};
  return Error{ErrorKind::kEnvironment, "it ended before it was ready"};
}

}  // namespace wharf::live
