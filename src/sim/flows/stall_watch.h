// SPDX-License-Identifier: Apache-2.0
// Whether a run still gets anywhere. Apart from the run so that what counts as progress stands in one place.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace wharf::sim {

/// Told about a run now and then, at instants that depend on nothing but the run. Progress is a byte of
/// payload that arrives for the first time, or a flow that ends.
class StallWatch {
 public:
  /// `patience`: how long nothing may happen; kNever: for ever. With `learns`, a silence that ends makes it
  /// at least four times as long as that silence: time-outs double, so the next one is twice as long.
  explicit StallWatch(TimePs patience, bool learns = false) : patience_(patience), learns_(learns) {}

  /// Whether nothing has happened for longer than is patient. `now` never decreases.
  bool looks(TimePs now, std::uint64_t delivered_bytes, std::uint64_t finished) {
    moved_ = delivered_bytes != delivered_bytes_ || finished != finished_;
    delivered_bytes_ = delivered_bytes;
    finished_ = finished;
    if (moved_) {
      if (learns_) patience_ = max(patience_, (now - since_) * 4);
      since_ = now;
    }
    return patience_ != kNever && now - since_ >= patience_;
  }
  /// Silence up to `now` has its reason.
  void excuse(TimePs now) { since_ = now; }

  /// Whether something happened between the last two looks.
  bool moved() const { return moved_; }
  /// The last time at which something had happened.
  TimePs since() const { return since_; }

 private:
  TimePs patience_;
  bool learns_;
  TimePs since_{};
  std::uint64_t delivered_bytes_ = 0;
  std::uint64_t finished_ = 0;
  bool moved_ = true;
};

}  // namespace wharf::sim
