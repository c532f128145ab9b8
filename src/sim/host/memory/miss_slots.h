// SPDX-License-Identifier: Apache-2.0
// The misses that one replaying core has under way: which line, until when, and whether the core can go on
// without it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "sim/host/memory/cache.h"

namespace wharf::sim {

/// The times at which misses under way end, for one core. Shared by the replay and its all-local twin.
class MissSlots {
 public:
  static constexpr std::uint64_t kNoStall = std::numeric_limits<std::uint64_t>::max();
  struct Slot {
    LineNumber line = 0;
    TimePs started;
    TimePs done = kNever;               ///< kNever: not known yet.
    std::uint64_t stall_at = kNoStall;  ///< Instruction count at which the core cannot go on without it.
    bool remote = false;
    bool used = false;
  };

  explicit MissSlots(std::uint32_t count) : slots_(count) {}

  /// Whether some slot may hold `line`: one bit test, never false when one does.
  bool may_hold(LineNumber line) const { return (mask_ >> (line & 63U) & 1U) != 0; }
  bool full() const { return used_ == slots_.size(); }
  bool empty() const { return used_ == 0; }
  /// The instruction count at which the core stalls; kNoStall when it does not.
  std::uint64_t stall_at() const { return stall_at_; }

  /// The slot that holds `line`, or null.
  Slot* find(LineNumber line) {
    for (Slot& slot : slots_) {
      if (slot.used && slot.line == line) return &slot;
    }
    return nullptr;
  }
  /// The used slot that stalls the core first.
  Slot* stalling() {
    for (Slot& slot : slots_) {
      if (slot.used && slot.stall_at == stall_at_) return &slot;
    }
    WHARF_UNREACHABLE();
  }
  /// The used slot with the earliest known end, or null.
  Slot* earliest() {
    Slot* best = nullptr;
    for (Slot& slot : slots_) {
      if (slot.used && slot.done != kNever && (best == nullptr || slot.done < best->done)) best = &slot;
    }
    return best;
  }
  /// Whether the end of some used slot is not known yet.
  bool any_open() const {
    return std::any_of(slots_.begin(), slots_.end(),
                       [](const Slot& slot) { return slot.used && slot.done == kNever; });
  }
  Slot& take() {
    for (Slot& slot : slots_) {
      if (slot.used) continue;
      slot = Slot{};
      slot.used = true;
      ++used_;
      return slot;
    }
    WHARF_UNREACHABLE();
  }
  void release(Slot& slot) {
    slot.used = false;
    --used_;
    refresh();
  }
  /// After a slot's line or stall was set.
  void refresh() {
    mask_ = 0;
    stall_at_ = kNoStall;
    for (const Slot& slot : slots_) {
      if (!slot.used) continue;
      mask_ |= std::uint64_t{1} << (slot.line & 63U);
      stall_at_ = std::min(stall_at_, slot.stall_at);
    }
  }
  std::uint32_t index_of(const Slot& slot) const { return static_cast<std::uint32_t>(&slot - slots_.data()); }
  Slot& operator[](std::uint32_t index) { return slots_[index]; }
  std::vector<Slot>& all() { return slots_; }
  const std::vector<Slot>& all() const { return slots_; }

 private:
  std::vector<Slot> slots_;
  std::uint32_t used_ = 0;
  std::uint64_t mask_ = 0;
  std::uint64_t stall_at_ = kNoStall;
};

}  // namespace wharf::sim
