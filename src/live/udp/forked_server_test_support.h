// SPDX-License-Identifier: Apache-2.0
// A live server in another process, for tests in which it is killed or stands still.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "base/check.h"
#include "live/udp/place.h"
#include "live/udp/server.h"

namespace wharf::live {

/// On a port that the system chooses, or in shared memory where the configuration names a place there.
class ForkedServer {
 public:
  explicit ForkedServer(ServerConfig config) {
    int ends[2];
    WHARF_CHECK(::pipe(ends) == 0);
    if (!config.listen.shared()) config.listen = {0x7f000001, 0};
    place_ = config.listen;
    process_ = ::fork();
    WHARF_CHECK(process_ >= 0);
    if (process_ == 0) run(config, ends[1]);
    ::close(ends[1]);
    UdpEndpoint endpoint;
    WHARF_CHECK(::read(ends[0], &endpoint, sizeof endpoint) == sizeof endpoint);
    ::close(ends[0]);
    if (!place_.shared()) place_ = endpoint;
  }
  ForkedServer(const ForkedServer&) = delete;
  ForkedServer& operator=(const ForkedServer&) = delete;
  ~ForkedServer() {
    signal(SIGKILL);
    int status = 0;
    ::waitpid(process_, &status, 0);
  }
  void signal(int number) const { ::kill(process_, number); }
  /// Returns when it has ended, or stands still.
  void await_silence() const {
    siginfo_t info{};
    WHARF_CHECK(::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WSTOPPED | WNOWAIT) == 0);
  }
  const Place& place() const { return place_; }

 private:
  [[noreturn]] static void run(const ServerConfig& config, int out) {
    ServerObserver observer;
    observer.ready = [out](const ServerObserver::Ready& ready) {
      WHARF_CHECK(::write(out, &ready.control, sizeof ready.control) == sizeof ready.control);
    };
    const std::atomic<bool> stop{false};
    static_cast<void>(serve(config, observer, stop));
    ::_exit(0);
  }

  pid_t process_ = -1;
  Place place_;
};

}  // namespace wharf::live
