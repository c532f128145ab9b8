// SPDX-License-Identifier: Apache-2.0
// What a replay is compared with: the same core with all memory local, followed along while the replay runs.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "sim/host/miss_slots.h"

namespace wharf::sim {

/// The twin meets the same hits and misses as the replaying core (what is cached does not depend on time), so
/// its clock is that core's busy time, which each call takes, plus waits of its own. Which accesses need a
/// line under way it learns from the core; one that the core does not wait for, because it has waited longer
/// before, the twin does not wait for either.
class AllLocalTwin {
 public:
  /// `slots`: lines under way at a time. `local_memory`: time from a known miss to its data.
  AllLocalTwin(std::uint32_t slots, TimePs local_memory) : misses_(slots), local_memory_(local_memory) {}

  TimePs clock(TimePs busy) const { return busy + waited_; }

  /// A miss of `line` that leaves the caches `leave_delay` from now and blocks the core or does not.
  void miss(TimePs busy, LineNumber line, TimePs leave_delay, bool blocks) {
    if (blocks) {
      wait_until(busy, clock(busy) + leave_delay + local_memory_);
      return;
    }
    for (MissSlots::Slot& slot : misses_.all()) {
      if (slot.used && slot.done <= clock(busy)) misses_.release(slot);
    }
    if (misses_.full()) finish(busy, *misses_.earliest());
    MissSlots::Slot& slot = misses_.take();
    slot.line = line;
    slot.done = clock(busy) + leave_delay + local_memory_;
    misses_.refresh();
  }
  /// The core needs the data of a line that may still be under way.
  void need(TimePs busy, LineNumber line) {
    MissSlots::Slot* slot = misses_.may_hold(line) ? misses_.find(line) : nullptr;
    if (slot != nullptr) finish(busy, *slot);
  }
  /// The end of the trace: waits for all that is under way.
  void drain(TimePs busy) {
    while (!misses_.empty()) finish(busy, *misses_.earliest());
  }

 private:
  void wait_until(TimePs busy, TimePs time) { waited_ += max(kTimeZero, time - clock(busy)); }
  void finish(TimePs busy, MissSlots::Slot& slot) {
    wait_until(busy, slot.done);
    misses_.release(slot);
  }

  MissSlots misses_;
  TimePs local_memory_;
  TimePs waited_;
};

}  // namespace wharf::sim
