// SPDX-License-Identifier: Apache-2.0
// What a replay is compared with: the same core with all memory local, followed along while the replay runs.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "sim/host/dram.h"
#include "sim/host/miss_slots.h"

namespace wharf::sim {

/// The twin meets the same hits and misses as the replaying core (what is cached does not depend on time), so
/// its clock is that core's busy time, which each call takes, plus waits of its own. Which accesses need a
/// line under way it learns from the core; one that the core does not wait for, because it has waited longer
/// before, the twin does not wait for either.
class AllLocalTwin {
 public:
  /// `slots`: lines under way at a time. `memory`: a memory like the twin's, still unused.
  AllLocalTwin(std::uint32_t slots, const Dram& memory) : misses_(slots), memory_(memory) {}

  TimePs clock(TimePs busy) const { return busy + waited_; }

  /// A miss of `line` that leaves the caches `leave_delay` from now and blocks the core or does not.
  void miss(TimePs busy, LineNumber line, TimePs leave_delay, bool blocks) {
    if (blocks) {
      wait_until(busy, memory_.closed_row(clock(busy) + leave_delay, kCacheLineBytes));
      return;
    }
    for (MissSlots::Slot& slot : misses_.all()) {
      if (slot.used && slot.done <= clock(busy)) misses_.release(slot);
    }
    if (misses_.full()) finish(busy, *misses_.earliest());
    MissSlots::Slot& slot = misses_.take();
    slot.line = line;
    slot.done = memory_.closed_row(clock(busy) + leave_delay, kCacheLineBytes);
    misses_.refresh();
  }
  /// Bytes leave the caches `leave_delay` from now, and nobody waits for them.
  void write_line(TimePs busy, TimePs leave_delay) { memory_.write_line(clock(busy) + leave_delay); }
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
  Dram memory_;
  TimePs waited_;
};

}  // namespace wharf::sim
