// SPDX-License-Identifier: Apache-2.0
// Time as somebody sees it who is asked now and then: what passes unseen does not count.
#pragma once

#include "base/time.h"
#include "live/reactor/live_clock.h"

namespace wharf::live {

/// A program may do other things between two calls, while what it waits for lies in its socket. So between
/// two looks at most kLook counts: patience ends only while somebody looks.
class AttentiveClock {
 public:
  static constexpr TimePs kLook = milliseconds(100);

  TimePs now() { return at(clock_.now()); }
  /// With `real`, which never decreases, in place of the system's time.
  TimePs at(TimePs real) {
    const TimePs passed = real - last_;
    last_ = real;
    counted_ = counted_ + min(passed, kLook);
    return counted_;
  }

 private:
  LiveClock clock_;
  TimePs last_ = kTimeZero;
  TimePs counted_ = kTimeZero;
};

}  // namespace wharf::live
