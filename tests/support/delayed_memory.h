// SPDX-License-Identifier: Apache-2.0
// A memory port for tests that takes its time: every access is performed after a drawn delay, and accesses
// are reordered as far as their order labels allow.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/random.h"
#include "base/time.h"
#include "engine/contract.h"
#include "verbs/access_order.h"

namespace wharf::test {

class DelayedMemory {
 public:
  /// Delays are uniform in [shortest, longest].
  DelayedMemory(TimePs shortest, TimePs longest, RandomStream random)
      : shortest_(shortest), longest_(longest), random_(random) {}

  void add(TimePs now, const engine::Access& access) {
    const auto range = static_cast<std::uint64_t>((longest_ - shortest_).ps) + 1;
    const TimePs delay = shortest_ + picoseconds(static_cast<std::int64_t>(random_.below(range)));
    waiting_.push_back({access, now + delay});
  }

  /// When the next access may be performed; kNever when none waits.
  TimePs next_time() const {
    const std::optional<std::size_t> index = next_index();
    return index ? waiting_[*index].ready : kNever;
  }

  /// Takes out the access that next_time() speaks of; one waits.
  engine::Access take() {
    const std::size_t index = *next_index();
    const engine::Access access = waiting_[index].access;
    const TimePs performed = waiting_[index].ready;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
    // What waited for it becomes ready no earlier.
    for (Waiting& other : waiting_) other.ready = max(other.ready, performed);
    return access;
  }

  bool empty() const { return waiting_.empty(); }

 private:
  struct Waiting {
    engine::Access access;
    TimePs ready;
  };

  static bool reads(engine::AccessKind kind) {
    return kind == engine::AccessKind::kRead || kind == engine::AccessKind::kAtomic;
  }

  /// Whether `earlier`, of the same stream and not yet performed, holds back `later`.
  static bool holds_back(const engine::Access& earlier, const engine::Access& later) {
    if (earlier.stream != later.stream) return false;
    if (earlier.order == verbs::AccessOrder::kAcquire) return true;
    if (later.order == verbs::AccessOrder::kRelease) return true;
    return later.order == verbs::AccessOrder::kReadRelease && reads(earlier.kind);
  }

  std::optional<std::size_t> next_index() const {
    std::optional<std::size_t> best;
    for (std::size_t at = 0; at < waiting_.size(); ++at) {
      if (best && waiting_[*best].ready <= waiting_[at].ready) continue;
      bool free = true;
      for (std::size_t before = 0; free && before < at; ++before) {
        free = !holds_back(waiting_[before].access, waiting_[at].access);
      }
      if (free) best = at;
    }
    return best;
  }

  TimePs shortest_;
  TimePs longest_;
  RandomStream random_;
  std::deque<Waiting> waiting_;  ///< In the order of issue.
};

}  // namespace wharf::test
