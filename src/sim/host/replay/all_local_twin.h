// SPDX-License-Identifier: Apache-2.0
// What a replay is compared with: the same core with all memory local, followed along while the replay runs.
#pragma once

#include <cstdint>

#include "base/line.h"
#include "base/time.h"
#include "sim/host/memory/dram.h"
#include "sim/host/memory/miss_slots.h"

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

  /// A miss that leaves the caches some time from now.
  struct Miss {
    LineNumber line = 0;
    std::uint32_t bytes = 0;      ///< Of the line, or of an access that is not cached.
    std::uint32_t displaced = 0;  ///< Dirty lines that leave with it.
    bool blocks = false;          ///< The core waits for it.
  };
  /// `miss` leaves `leave_delay` from now.
  void miss(TimePs busy, TimePs leave_delay, const Miss& miss) {
    if (!miss.blocks) make_room(busy);
    const TimePs leaves = clock(busy) + leave_delay;
    const TimePs done = memory_.closed_row(leaves, miss.bytes);
    write_lines(leaves, miss.displaced);
    if (miss.blocks) {
      wait_until(busy, done);
      return;
    }
    MissSlots::Slot& slot = misses_.take();
    slot.line = miss.line;
    slot.done = done;
    misses_.refresh();
  }
  /// `lines` dirty lines and a store of `bytes` (0: none) leave the caches `leave_delay` from now, and nobody
  /// waits for them.
  void write(TimePs busy, TimePs leave_delay, std::uint32_t lines, std::uint32_t bytes) {
    const TimePs leaves = clock(busy) + leave_delay;
    write_lines(leaves, lines);
    if (bytes > 0) memory_.write(leaves, bytes);
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
  void make_room(TimePs busy) {
    for (MissSlots::Slot& slot : misses_.all()) {
      if (slot.used && slot.done <= clock(busy)) misses_.release(slot);
    }
    if (misses_.full()) finish(busy, *misses_.earliest());
  }
  void write_lines(TimePs at, std::uint32_t lines) {
    for (; lines > 0; --lines) memory_.write(at, kLineBytes);
  }
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
