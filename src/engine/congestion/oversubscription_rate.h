// SPDX-License-Identifier: Apache-2.0
// How fast a receiver that hands out credit may go when the fabric behind it, not its own link, is the
// bottleneck: additive increase, multiplicative decrease of the pace by the marks and trims that arrive. An
// option of the UEC's simulator beside [UE 1.0 3.6.14].
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/time.h"

namespace wharf::congestion {

/// Rates and factors in 1/65536.
struct OversubscriptionConfig {
  TimePs base_rtt = microseconds(12);
  std::uint32_t oversubscription_ppm = 1'000'000;  ///< Of the fabric: product over its tiers, at least 1.
  std::uint32_t increase_q16 = 655;                ///< Ai, 0.01.
  std::uint32_t decrease_q16 = 32768;              ///< Md, 0.5.
  std::uint32_t gain_q16 = 32768;                  ///< alpha, 0.5: of the newest fraction of marks.
  std::uint32_t tolerated_q16 = 19661;             ///< Choice of the simulator: 0.3 of the packets marked.

  constexpr auto operator<=>(const OversubscriptionConfig&) const = default;
};

Result<void> check(const OversubscriptionConfig& config);

/// One per receiver. Refers to its configuration, which outlives it.
class OversubscriptionRate {
 public:
  /// `config` has passed check().
  explicit OversubscriptionRate(const OversubscriptionConfig& config);

  /// A data packet has arrived.
  void on_packet(bool marked, bool trimmed, bool last_hop) {
    ++packets_;
    if (trimmed) {
      ++trimmed_;
      if (!last_hop) ++trimmed_inside_;
    } else if (marked) {
      ++marked_;
    }
  }
  /// Looks back at an interval, when one has ended, and draws the next: 1.5 base RTT times 0.75 to 1.25 by
  /// `draw`.
  void expire(TimePs now, std::uint32_t draw);
  TimePs deadline() const { return next_; }

  std::uint32_t rate_q16() const { return rate_; }

 private:
  void look_back();

  const OversubscriptionConfig* config_;
  TimePs next_{};
  std::uint32_t rate_ = 65536;
  std::uint32_t least_;
  std::uint32_t smoothed_ = 0;  ///< Of the fraction of marks.
  std::uint32_t packets_ = 0, trimmed_ = 0, trimmed_inside_ = 0, marked_ = 0;
  std::uint32_t increases_ = 0;  ///< In a row.
};

}  // namespace wharf::congestion
