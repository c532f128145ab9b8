// SPDX-License-Identifier: Apache-2.0
// For how long one kind of operation is measured before the next kind has its turn.
#pragma once

#include <atomic>

#include "base/time.h"
#include "live/reactor/live_clock.h"

namespace wharf::live {

struct MeasuredTurn {
  const LiveClock& clock;
  TimePs end;
  const std::atomic<bool>& stop;  ///< Set from outside: the turn ends early.

  bool goes_on() const { return !stop.load(std::memory_order_relaxed) && clock.now() < end; }
};

}  // namespace wharf::live
