// SPDX-License-Identifier: Apache-2.0
// C-AQM of Unified Bus at a switch: one egress port's credit, from which growth is granted. [UB-Base 2.0.1
// 5.3.5; state machine and parameters: the ns-3-UB simulator] Header only: the fabric calls it per packet.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/time.h"
#include "base/units.h"
#include "engine/congestion/counted_draws.h"
#include "engine/congestion/fixed_point.h"

namespace wharf::congestion {

struct CaqmPortConfig {
  BitsPerSecond rate = gigabits_per_second(100);
  std::uint32_t mtu_bytes = 4096;
  std::uint32_t beta_ppm = 500'000;          ///< What a marked packet gives back, in MTUs.
  std::uint32_t lambda_ppm = 500'000;        ///< Share of the spare capacity that becomes credit.
  std::uint32_t target_queue_bytes = 40960;  ///< Qt.
  std::uint32_t mark_ppm = 100'000;          ///< p: marks when credit lacks but is not negative.
  TimePs period = nanoseconds(500);          ///< T.
};

/// What the packet carries: asked for when it arrives, decided when it leaves.
struct CaqmFields {
  bool congestion = false;       ///< C.
  bool increase = false;         ///< I.
  std::uint64_t hint_bytes = 0;  ///< Decoded.

  constexpr auto operator<=>(const CaqmFields&) const = default;
};

/// One egress port. Periods are counted when a packet leaves, so an idle port has no timer; `queue_bytes` is
/// read then too. Choice: of several whole periods without packets the last one counts.
class CaqmPort {
 public:
  /// `key`: from the switch's random stream, another one per port.
  CaqmPort(const CaqmPortConfig& config, std::uint64_t key)
      : config_(config),
        draws_{key, 0},
        beta_bytes_(static_cast<std::int64_t>(scaled(config.beta_ppm, config.mtu_bytes, kMillion))),
        period_bytes_(static_cast<std::int64_t>(bytes_in(config.rate, config.period))) {}

  /// A data packet of `packet_bytes` leaves while `queue_bytes` stay behind it.
  void on_dequeue(TimePs now, std::uint32_t packet_bytes, std::uint64_t queue_bytes, CaqmFields& fields) {
    if (now >= period_start_ + config_.period) renew(now, queue_bytes);
    sent_ += packet_bytes;
    const std::int64_t asked = fields.increase ? static_cast<std::int64_t>(fields.hint_bytes) : 0;
    if (fields.congestion) {
      credit_ += beta_bytes_;
      allocated_ -= beta_bytes_;
    } else if (credit_ >= asked) {
      credit_ -= asked;
      allocated_ += asked;
    } else if (credit_ >= 0) {
      if (draws_.below(kMillion) < config_.mark_ppm) {
        fields.congestion = true;
        fields.increase = false;
        deferred_ += beta_bytes_;
      } else if (deferred_ >= asked) {
        deferred_ -= asked;
      } else {
        fields.increase = false;
      }
    } else {
      fields.congestion = true;
      fields.increase = false;
      credit_ += beta_bytes_;
    }
  }

  /// Choice: the period under way counts at the new rate.
  void set_rate(BitsPerSecond rate) {
    period_bytes_ = static_cast<std::int64_t>(bytes_in(rate, config_.period));
  }

  // Observation, bytes.
  std::int64_t credit() const { return credit_; }
  std::int64_t deferred() const { return deferred_; }
  std::int64_t allocated() const { return allocated_; }

 private:
  void renew(TimePs now, std::uint64_t queue_bytes) {
    const std::int64_t periods = (now - period_start_) / config_.period;
    period_start_ += config_.period * periods;
    if (periods > 1) sent_ = allocated_ = 0;
    const std::int64_t spare = period_bytes_ - sent_ + std::int64_t{config_.target_queue_bytes} -
                               static_cast<std::int64_t>(queue_bytes) - allocated_;
    // Towards zero.
    credit_ = spare * std::int64_t{config_.lambda_ppm} / static_cast<std::int64_t>(kMillion);
    sent_ = deferred_ = allocated_ = 0;
  }

  CaqmPortConfig config_;
  CountedDraws draws_;
  std::int64_t beta_bytes_;
  std::int64_t period_bytes_;
  TimePs period_start_{};
  std::int64_t credit_ = 0;
  std::int64_t deferred_ = 0;
  std::int64_t allocated_ = 0;
  std::int64_t sent_ = 0;
};
static_assert(std::is_trivially_copyable_v<CaqmPort>);

}  // namespace wharf::congestion
