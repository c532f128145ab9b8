// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/swift.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "engine/congestion/fixed_point.h"

namespace wharf::congestion {
namespace {

constexpr std::uint64_t kOne = 65536;

/// Largest whole number whose square is at most `value`.
std::uint64_t square_root(std::uint64_t value) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = 1ULL << 31U; bit > 0; bit >>= 1U) {
    const std::uint64_t candidate = root | bit;
    if (candidate * candidate <= value) root = candidate;
  }
  return root;
}

/// 1 / sqrt(window) in 1/2^24, window in 1/65536.
std::uint64_t inverse_root_q24(std::uint32_t window) {
  return (1ULL << 40U) / std::max<std::uint64_t>(square_root(std::uint64_t{window} << 16U), 1);
}

}  // namespace

Result<void> check(const SwiftConfig& config) {
  if (config.beta_ppm > kMillion || config.decrease_most_ppm > kMillion) {
    return input_error("a factor of decrease is above 1000000 parts per million, expected at most that");
  }
  if (config.increase_ppm == 0 || config.increase_ppm > 100 * kMillion) {
    return input_error("increase_ppm is " + std::to_string(config.increase_ppm) +
                       ", expected 1 to 100000000");
  }
  if (config.window_min == 0 || config.window_min > config.initial_window ||
      config.initial_window > config.window_max || config.window_max < kSwiftPacket) {
    return input_error("initial_window is " + std::to_string(config.initial_window) +
                       ", expected window_min to window_max, and window_max at least one packet");
  }
  if (config.flow_scale_min == 0 || config.flow_scale_min >= config.flow_scale_max) {
    return input_error("flow_scale_min is " + std::to_string(config.flow_scale_min) +
                       ", expected 1 to less than flow_scale_max");
  }
  if (config.base_target <= kTimeZero || config.initial_rtt <= kTimeZero || config.hop_scale < kTimeZero ||
      config.flow_scale_range < kTimeZero || config.flow_scale_range > seconds(1)) {
    return input_error("a delay is out of range, expected targets and round trips above 0, scales up to 1 s");
  }
  return {};
}

SwiftSender::SwiftSender(const SwiftConfig& config)
    : config_(&config), round_trip_(config.initial_rtt), window_(config.initial_window) {}

PacketRequest SwiftSender::on_send(TimePs now, const Departure&) {
  ++packets_;
  last_send_ = now;
  pace();
  return {};
}

TimePs SwiftSender::target() const {
  const SwiftConfig& c = *config_;
  const TimePs fixed = c.base_target + c.hop_scale * std::int64_t{c.hops};
  if (window_ >= c.flow_scale_max || c.flow_scale_range == kTimeZero) return fixed;
  const std::uint64_t least = inverse_root_q24(c.flow_scale_max);
  const std::uint64_t most = inverse_root_q24(c.flow_scale_min);
  const std::uint64_t here = std::min(inverse_root_q24(window_), most);
  return fixed + TimePs{static_cast<std::int64_t>(
                     scaled(static_cast<std::uint64_t>(c.flow_scale_range.ps), here - least, most - least))};
}

void SwiftSender::on_acknowledgement(TimePs now, const Acknowledgement& acknowledgement) {
  const SwiftConfig& c = *config_;
  const std::uint32_t confirmed = acknowledgement.confirmed.packets;
  WHARF_CHECK(acknowledgement.restored.packets <= confirmed &&
              confirmed - acknowledgement.restored.packets <= packets_);
  packets_ -= confirmed - acknowledgement.restored.packets;
  if (confirmed > 0) timeouts_ = 0;
  if (acknowledgement.round_trip == kNever) return;
  round_trip_ = max(acknowledgement.round_trip, picoseconds(1));
  const TimePs delay = acknowledgement.round_trip - acknowledgement.receiver_hold;
  const TimePs aim = target();
  if (delay < aim) {
    const std::uint64_t step = scaled(std::uint64_t{confirmed} << 16U, c.increase_ppm, kMillion);
    add_saturating(window_, window_ >= kSwiftPacket ? scaled_down(step, kOne, window_) : step);
  } else {
    const std::uint64_t excess =
        scaled(static_cast<std::uint64_t>((delay - aim).ps), kOne, static_cast<std::uint64_t>(delay.ps));
    decrease(now, scaled(excess, c.beta_ppm, kMillion));
  }
  clamp();
}

void SwiftSender::on_loss(TimePs now, const Loss& loss) {
  WHARF_CHECK(loss.lost.packets <= packets_);
  packets_ -= loss.lost.packets;
  if (loss.cause == LossCause::kRefused) return;
  if (loss.cause == LossCause::kTimeout) {
    if (++timeouts_ >= config_->retransmit_threshold) {
      // [Algorithm 1] A decrease like every other: the next one is a round trip away.
      window_ = config_->window_min;
      decreased_ = true;
      last_decrease_ = now;
    } else {
      decrease(now, kOne);
    }
  } else {
    timeouts_ = 0;
    decrease(now, kOne);
  }
  clamp();
}

void SwiftSender::decrease(TimePs now, std::uint64_t factor_q16) {
  // Once per round trip.
  if (decreased_ && now - last_decrease_ < round_trip_) return;
  decreased_ = true;
  last_decrease_ = now;
  const std::uint64_t most = scaled(config_->decrease_most_ppm, kOne, kMillion);
  window_ -= static_cast<std::uint32_t>(scaled_down(window_, std::min(factor_q16, most), kOne));
}

void SwiftSender::clamp() {
  window_ = std::clamp(window_, config_->window_min, config_->window_max);
  pace();
}

void SwiftSender::pace() {
  next_send_ = kTimeZero;
  if (window_ >= kSwiftPacket || last_send_ == kTimeZero) return;
  next_send_ =
      last_send_ +
      TimePs{static_cast<std::int64_t>(scaled(static_cast<std::uint64_t>(round_trip_.ps), kOne, window_))};
}

std::uint64_t SwiftSender::window() const { return std::uint64_t{window_} * config_->packet_bytes >> 16U; }

}  // namespace wharf::congestion
