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
  std::uint32_t attempts_max = 7;      ///< Time-outs answered by sending again, or kUnlimitedAttempts.

  /// The RTO after `attempts` time-outs without progress. Saturates at `cap` instead of overflowing.
  constexpr TimePs timeout(std::uint32_t attempts) const {
    const std::uint64_t shift = std::uint64_t{backoff_exponent} * attempts;
    if (shift >= 62 || base.ps > (std::numeric_limits<std::int64_t>::max() >> shift)) return cap;
    return min(TimePs{base.ps << shift}, cap);
  }
};

/// One channel's timer. Plain data of 16 bytes; the rule is handed in so that many timers share it.
class RetransmissionTimer {
 public:
  enum class Expiry : std::uint8_t {
    kNotDue,      ///< Stopped, or its deadline lies ahead.
    kRetransmit,  ///< Send again; the timer runs on with the longer RTO.
    kExhausted,   ///< attempts_max time-outs were answered in vain; the timer is stopped.
  };

  /// Something was sent: runs the timer if it stands still.
  void start(const RetransmissionRule& rule, TimePs now) {
    if (deadline_ == kNever) deadline_ = after(now, rule.timeout(attempts_));
  }

  /// The peer confirmed something new: attempts start over, and the timer restarts or, with nothing
  /// outstanding, stops.
  void progress(const RetransmissionRule& rule, TimePs now, bool outstanding) {
    attempts_ = 0;
    deadline_ = outstanding ? after(now, rule.timeout(0)) : kNever;
  }

  void stop() {
    attempts_ = 0;
    deadline_ = kNever;
  }

  /// Counts an attempt when the deadline has come. Early and repeated calls do nothing.
  Expiry expire(const RetransmissionRule& rule, TimePs now) {
    if (deadline_ == kNever || now < deadline_) return Expiry::kNotDue;
    if (rule.attempts_max != kUnlimitedAttempts && attempts_ >= rule.attempts_max) {
      stop();
      return Expiry::kExhausted;
    }
    if (attempts_ != kUnlimitedAttempts) ++attempts_;
    deadline_ = after(now, rule.timeout(attempts_));
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
