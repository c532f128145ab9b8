// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/oversubscription_rate.h"

#include <algorithm>
#include <string>

#include "engine/congestion/fixed_point.h"

namespace wharf::congestion {
namespace {

constexpr std::uint64_t kOne = 65536;

}  // namespace

Result<void> check(const OversubscriptionConfig& config) {
  if (config.base_rtt <= kTimeZero) return input_error("base_rtt is not positive, expected a duration");
  if (config.oversubscription_ppm < kMillion) {
    return input_error("oversubscription_ppm is " + std::to_string(config.oversubscription_ppm) +
                       ", expected at least 1000000");
  }
  if (config.increase_q16 > kOne || config.decrease_q16 > kOne || config.gain_q16 > kOne ||
      config.tolerated_q16 > kOne) {
    return input_error("a factor is above 65536, expected at most that");
  }
  return {};
}

OversubscriptionRate::OversubscriptionRate(const OversubscriptionConfig& config)
    : config_(&config),
      // max(0.9 / oversubscription, 0.01)
      least_(static_cast<std::uint32_t>(
          std::max<std::uint64_t>(scaled(9 * kOne / 10, kMillion, config.oversubscription_ppm), 655))) {}

void OversubscriptionRate::expire(TimePs now, std::uint32_t draw) {
  if (now < next_) return;
  // Choice: an interval without packets teaches nothing and is no reason to go faster.
  if (packets_ > 0) look_back();
  const auto base = static_cast<std::uint64_t>(config_->base_rtt.ps);
  // 1.5 * (3/4 + draw/2)
  const std::uint64_t interval = base * 9 / 8 + scaled_down(base * 3 / 4, draw, 1ULL << 32U);
  next_ = now + TimePs{static_cast<std::int64_t>(interval)};
}

void OversubscriptionRate::look_back() {
  const OversubscriptionConfig& c = *config_;
  const std::uint32_t whole = packets_ - trimmed_;
  const std::uint64_t fraction = whole == 0 ? 0 : marked_ * kOne / whole;
  smoothed_ = static_cast<std::uint32_t>((smoothed_ * (kOne - c.gain_q16) + fraction * c.gain_q16) >> 16U);
  const bool inside = trimmed_inside_ > 0;
  const bool marked = smoothed_ > c.tolerated_q16;
  std::uint64_t rate = rate_;
  if (inside) rate -= std::min(rate, trimmed_ * kOne / packets_);
  if (marked)
    rate = rate * (kOne - ((smoothed_ - c.tolerated_q16) * std::uint64_t{c.decrease_q16} >> 16U)) >> 16U;
  if (inside || marked) {
    increases_ = 0;
  } else {
    // Without any mark the steps double.
    rate += std::uint64_t{c.increase_q16} << (marked_ == 0 ? std::min(increases_, 16U) : 0U);
    ++increases_;
  }
  rate_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(rate, least_, kOne));
  packets_ = trimmed_ = trimmed_inside_ = marked_ = 0;
}

}  // namespace wharf::congestion
