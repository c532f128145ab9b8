// SPDX-License-Identifier: Apache-2.0
// A process of this program's own, for the worker and others that are measured beside it.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

#include "base/result.h"

namespace wharf::live {

/// A child process that ends with this one, and that this one ends.
class Child {
 public:
  /// `run` gets the end of a pipe to report on. The child never returns from here.
  template <typename Run>
  static Result<Child> start(Run run) {
    int ends[2];
    if (::pipe(ends) != 0) return Error{ErrorKind::kEnvironment, "no pipe"};
    const pid_t process = ::fork();
    if (process < 0) return Error{ErrorKind::kEnvironment, "no process"};
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      // A terminal sends these to the whole group: this program ends its children when it has finished.
      ::signal(SIGINT, SIG_IGN);
      ::signal(SIGTERM, SIG_IGN);
      ::close(ends[0]);
      run(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    return Child(process, ends[0]);
  }
  Child(Child&& other) noexcept
      : process_(std::exchange(other.process_, -1)), report_(std::exchange(other.report_, -1)) {}
  ~Child() {
    if (report_ >= 0) ::close(report_);
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  /// So many bytes of its report; false: it ended before.
  bool read(void* into, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t done = ::read(report_, static_cast<char*>(into) + at, bytes - at);
      if (done <= 0) return false;
      at += static_cast<std::size_t>(done);
    }
    return true;
  }
  void signal(int number) const { ::kill(process_, number); }
  pid_t process() const { return process_; }
  /// What the child does to report.
  static void report(int descriptor, const void* from, std::size_t bytes) {
    if (::write(descriptor, from, bytes) != static_cast<ssize_t>(bytes)) ::_exit(4);
  }

 private:
  Child(pid_t process, int report) : process_(process), report_(report) {}
  pid_t process_ = -1;
  int report_ = -1;
};

}  // namespace wharf::live
