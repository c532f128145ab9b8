// SPDX-License-Identifier: Apache-2.0
// How long an answer takes, and the time-out that follows from it [RFC 6298]. Apart from the timer because
// not every sender adapts: those that do hold one for each path.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "engine/reliability/retransmission_timer.h"

namespace wharf::reliability {

/// Times one packet of a path at a time. Numbers are the caller's; it alone compares them.
class RoundTripEstimate {
 public:
  /// The packet `number` leaves now, or is the next to leave.
  void begin(std::uint64_t number, TimePs now) {
    number_ = number;
    since_ = now;
  }
  bool timing() const { return since_ != kNever; }
  /// Of the packet being timed.
  std::uint64_t number() const { return number_; }
  /// It, or one before it, goes again: an answer would not say to which of them. [RFC 6298 3, Karn]
  void ambiguous() { since_ = kNever; }
  /// It was answered.
  void answered(const RetransmissionRule& rule, TimePs now) {
    sample(rule, now - since_);
    since_ = kNever;
  }

  /// [RFC 6298 2.2, 2.3, 2.4] Gains of 1/8 and 1/4, four deviations; between the floor and the cap of `rule`.
  void sample(const RetransmissionRule& rule, TimePs round_trip) {
    if (mean_ == kTimeZero) {
      mean_ = max(round_trip, TimePs{1});
      deviation_ = TimePs{round_trip.ps / 2};
    } else {
      const TimePs error = round_trip > mean_ ? round_trip - mean_ : mean_ - round_trip;
      deviation_ = TimePs{deviation_.ps - deviation_.ps / 4 + error.ps / 4};
      mean_ = max(TimePs{mean_.ps - mean_.ps / 8 + round_trip.ps / 8}, TimePs{1});
    }
    first_ = min(max(mean_ + deviation_ * 4, rule.floor), rule.cap);
  }
  /// Something was answered after `attempts` time-outs, and gives no sample: what they were lengthened to
  /// stays until there is one. [RFC 6298 5.7, Karn]
  void keep(const RetransmissionRule& rule, std::uint32_t attempts) {
    first_ = rule.timeout(attempts, first_);
  }

  /// The time-out of what was sent once; zero before the first sample: that of the rule.
  TimePs first() const { return first_; }

 private:
  TimePs mean_;
  TimePs deviation_;
  TimePs first_;
  TimePs since_ = kNever;
  std::uint64_t number_ = 0;
};
static_assert(sizeof(RoundTripEstimate) == 40);

}  // namespace wharf::reliability
