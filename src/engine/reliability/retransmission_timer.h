// SPDX-License-Identifier: Apache-2.0
// When a sender that hears nothing sends again, and when it gives up. One rule per configuration, one small
// timer per channel; apart from the windows because every reliable transport needs it and none needs the
// other's windows.
#pragma once

#include <cstdint>
#include <limits>

#include "base/check.h"
#include "base/time.h"

namespace wharf::reliability {

/// "Never give up", for RetransmissionRule::attempts_max.
inline constexpr std::uint32_t kUnlimitedAttempts = std::numeric_limits<std::uint32_t>::max();

/// RTO = base * 2^(backoff_exponent * attempts), never above `cap`. [UB-Base 2.0.1 6.4.3; IBTA vol
/// 1 9.7.6.1.3]
struct RetransmissionRule {
  TimePs base = nanoseconds(25'600);
  std::uint32_t backoff_exponent = 1;  ///< Doublings per attempt; 0 keeps the RTO at `base`.
  TimePs cap = kNever;                 ///< Upper bound of one RTO.
  /// Zero: the first RTO is `base`. Else it follows the round trips (round_trip_estimate.h), never below
  /// this, and `base` is for before the first sample.
  TimePs floor{};
  std::uint32_t attempts_max = 7;  ///< Time-outs answered by sending again, or kUnlimitedAttempts.

  /// The RTO after `attempts` time-outs without progress. Saturates at `cap` instead of overflowing. `first`,
  /// unless zero, is the one before any; those behind it are never shorter than by `base`, so that a peer is
  /// given up no sooner.
  constexpr TimePs timeout(std::uint32_t attempts, TimePs first = kTimeZero) const {
    if (attempts == 0 && first != kTimeZero) return first;
    const TimePs start = max(base, first);
    const std::uint64_t shift = std::uint64_t{backoff_exponent} * attempts;
    if (shift >= 62 || start.ps > (std::numeric_limits<std::int64_t>::max() >> shift)) return cap;
    return min(TimePs{start.ps << shift}, cap);
  }
};

/// One channel's timer. Plain data of 16 bytes; the rule is handed in so that many timers share it. `first`:
/// see RetransmissionRule::timeout().
class RetransmissionTimer {
 public:
  enum class Expiry : std::uint8_t {
    kNotDue,      ///< Stopped, or its deadline lies ahead.
    kRetransmit,  ///< Send again; the timer runs on with the longer RTO.
    kExhausted,   ///< attempts_max time-outs were answered in vain; the timer is stopped.
  };

  /// Something was sent: runs the timer if it stands still.
  void start(const RetransmissionRule& rule, TimePs now, TimePs first = kTimeZero) {
    if (deadline_ == kNever) deadline_ = after(now, rule.timeout(attempts_, first));
  }

  /// The peer confirmed something new: attempts start over, and the timer restarts or, with nothing
  /// outstanding, stops.
  void progress(const RetransmissionRule& rule, TimePs now, bool outstanding, TimePs first = kTimeZero) {
    attempts_ = 0;
    deadline_ = outstanding ? after(now, rule.timeout(0, first)) : kNever;
  }

  void stop() {
    attempts_ = 0;
    deadline_ = kNever;
  }

  /// Counts an attempt when the deadline has come. Early and repeated calls do nothing.
  Expiry expire(const RetransmissionRule& rule, TimePs now, TimePs first = kTimeZero) {
    if (deadline_ == kNever || now < deadline_) return Expiry::kNotDue;
    if (rule.attempts_max != kUnlimitedAttempts && attempts_ >= rule.attempts_max) {
      stop();
      return Expiry::kExhausted;
    }
    if (attempts_ != kUnlimitedAttempts) ++attempts_;
    deadline_ = after(now, rule.timeout(attempts_, first));
    return Expiry::kRetransmit;
  }

  /// kNever when it stands still.
  TimePs deadline() const { return deadline_; }
  bool running() const { return deadline_ != kNever; }
  /// Time-outs since the last progress.
  std::uint32_t attempts() const { return attempts_; }

 private:
  static TimePs after(TimePs now, TimePs duration) {
    return duration.ps > kNever.ps - now.ps ? kNever : now + duration;
  }

  TimePs deadline_ = kNever;
  std::uint32_t attempts_ = 0;
};
static_assert(sizeof(RetransmissionTimer) == 16);

}  // namespace wharf::reliability
