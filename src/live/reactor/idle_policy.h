// SPDX-License-Identifier: Apache-2.0
// What a reactor does when there is nothing to do: spin, then yield, then sleep.
#pragma once

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace wharf::live {

/// How long to stay in each step. Spinning while there is somebody (`busy_poll`) gives the lowest latency and
/// occupies a core.
struct IdleConfig {
  bool busy_poll = false;
  std::uint32_t spins = 2'000;  ///< Empty rounds before the first yield.
  std::uint32_t yields = 200;   ///< Empty rounds with a yield before the first sleep.
  TimePs longest_sleep = milliseconds(1);
};

/// Counts empty rounds of one reactor.
class IdlePolicy {
 public:
  explicit IdlePolicy(const IdleConfig& config) : config_(config), spins_on_(config.busy_poll) {}

  /// A round did something.
  void worked() { empty_rounds_ = 0; }

  /// Whether there is anybody to be quick for. Without, busy polling ends, too. True at first.
  void set_awaited(bool awaited) { spins_on_ = config_.busy_poll && awaited; }

  /// A round did nothing. May yield or sleep, but never past `deadline`; input on `socket` ends a sleep.
  void idle(TimePs now, TimePs deadline, int socket) {
    if (!rest()) sleep(now, deadline, socket);
  }
  /// The same with a DatagramPort: what arrives there ends a sleep.
  template <typename Port>
  void idle(TimePs now, TimePs deadline, Port& port) {
    if (rest()) return;
    if (port.prepare_wait()) sleep(now, deadline, port.descriptor());
    port.waited();
  }

 private:
  /// Spins or yields; false when it is time to sleep.
  bool rest() {
    if (spins_on_) return true;
    if (empty_rounds_ < config_.spins) {
      ++empty_rounds_;
      return true;
    }
    if (empty_rounds_ >= config_.spins + config_.yields) return false;
    ++empty_rounds_;
    ::sched_yield();
    return true;
  }
  void sleep(TimePs now, TimePs deadline, int socket) const {
    const TimePs span = std::clamp(deadline - now, kTimeZero, config_.longest_sleep);
    pollfd wait{socket, POLLIN, 0};
    const timespec limit{0, static_cast<long>(span.ps / 1'000)};
    ::ppoll(&wait, 1, &limit, nullptr);
  }

  IdleConfig config_;
  bool spins_on_;
  std::uint32_t empty_rounds_ = 0;
};

}  // namespace wharf::live
