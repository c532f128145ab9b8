// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/dcqcn.h"

#include <algorithm>
#include <string>

namespace wharf::congestion {
namespace {

constexpr std::uint32_t kAlphaOne = 1U << 20U;

}  // namespace

DcqcnConfig DcqcnConfig::connectx(BitsPerSecond link) {
  DcqcnConfig config;
  config.link = link;
  config.dce_tcp_g = 1019;
  config.dce_tcp_rtt = microseconds(1);
  config.alpha_by_period = true;
  config.initial_alpha_value = 1023;
  config.rpg_min_dec_fac = 50;
  config.rate_reduce_monitor_period = microseconds(4);
  config.rpg_time_reset = microseconds(300);
  config.rpg_byte_reset = 32'767;  // Choice: the firmware's number as bytes.
  config.rpg_threshold = 1;
  config.rpg_ai_rate = {5'000'000};
  config.rpg_hai_rate = {50'000'000};
  config.target_clamp = TargetClamp::kAfterIncrease;
  config.min_time_between_cnps = microseconds(4);
  return config;
}

Result<void> check(const DcqcnConfig& config) {
  const auto refuse = [](const char* key, std::uint64_t found, const char* expected) {
    return input_error(std::string(key) + " is " + std::to_string(found) + ", expected " + expected);
  };
  if (config.link.value == 0 || config.link.value > 1ULL << 43U) {
    return refuse("link", config.link.value, "1 bit/s to 8.7 Tb/s");
  }
  if (config.dce_tcp_g == 0 || config.dce_tcp_g > 1023)
    return refuse("dce_tcp_g", config.dce_tcp_g, "1 to 1023");
  if (config.initial_alpha_value > 1024) {
    return refuse("initial_alpha_value", config.initial_alpha_value, "0 to 1024");
  }
  if (config.rpg_gd < 10 || config.rpg_gd > 20) return refuse("rpg_gd", config.rpg_gd, "10 to 20");
  if (config.rpg_min_dec_fac > 100) return refuse("rpg_min_dec_fac", config.rpg_min_dec_fac, "0 to 100");
  if (config.dce_tcp_rtt <= kTimeZero) return input_error("dce_tcp_rtt is not positive, expected a duration");
  if (config.rpg_time_reset <= kTimeZero) {
    return input_error("rpg_time_reset is not positive, expected a duration");
  }
  if (config.rpg_byte_reset == 0) return refuse("rpg_byte_reset", 0, "at least 1");
  if (config.rpg_min_rate.value == 0 || config.rpg_min_rate > config.link) {
    return refuse("rpg_min_rate", config.rpg_min_rate.value, "1 bit/s to the link's rate");
  }
  return {};
}

DcqcnSender::DcqcnSender(const DcqcnConfig& config)
    : config_(&config),
      rate_(config.link.value),
      target_(config.link.value),
      alpha_(config.initial_alpha_value << 10U) {}

PacketRequest DcqcnSender::on_send(TimePs now, const Departure& departure) {
  next_send_ = now + transfer_time(Bytes{departure.wire_bytes}, {rate_});
  if (rate_timer_ == kNever) return {};
  bytes_ += departure.wire_bytes;
  while (bytes_ >= config_->rpg_byte_reset && rate_timer_ != kNever) {
    bytes_ -= config_->rpg_byte_reset;
    ++byte_stage_;
    increase();
  }
  return {};
}

void DcqcnSender::on_acknowledgement(TimePs now, const Acknowledgement& acknowledgement) {
  if (acknowledgement.marked > 0) notify(now);
}

void DcqcnSender::age_alpha(TimePs now) {
  std::int64_t periods = (now - alpha_since_) / config_->dce_tcp_rtt;
  alpha_since_ += config_->dce_tcp_rtt * periods;
  for (; periods > 0 && (alpha_ > 0 || period_notified_); --periods) {
    alpha_ = static_cast<std::uint32_t>(std::uint64_t{alpha_} * config_->dce_tcp_g >> 10U);
    if (period_notified_) alpha_ += (1024 - config_->dce_tcp_g) << 10U;
    period_notified_ = false;
  }
}

void DcqcnSender::notify(TimePs now) {
  const DcqcnConfig& c = *config_;
  const bool first = !notified_;
  if (first) {
    notified_ = true;
    alpha_since_ = now;
  }
  expire(now);
  age_alpha(now);
  if (first || now - last_cut_ >= c.rate_reduce_monitor_period) {
    if (c.target_clamp == TargetClamp::kEveryCut || raised_) target_ = rate_;
    raised_ = false;
    last_cut_ = now;
    if (first && c.rate_to_set_on_first_cnp.value != 0) {
      rate_ = std::min(rate_, c.rate_to_set_on_first_cnp.value);
    } else {
      // [SIGCOMM 2015, eq. 1] RC (1 - alpha / 2) with alpha before its own update.
      const auto cut =
          static_cast<std::uint64_t>(static_cast<unsigned __int128>(rate_) * alpha_ >> (c.rpg_gd + 10U));
      rate_ = std::max(rate_ - std::min(cut, rate_), rate_ * c.rpg_min_dec_fac / 100);
    }
    rate_ = std::max(rate_, c.rpg_min_rate.value);
    timer_stage_ = byte_stage_ = 0;
    bytes_ = 0;
    rate_timer_ = now + c.rpg_time_reset;
  }
  if (c.alpha_by_period) {
    period_notified_ = true;
  } else {
    alpha_ = static_cast<std::uint32_t>(std::uint64_t{alpha_} * c.dce_tcp_g >> 10U);
    alpha_ = std::min(alpha_ + ((1024 - c.dce_tcp_g) << 10U), kAlphaOne);
    alpha_since_ = now;
  }
}

void DcqcnSender::expire(TimePs now) {
  while (rate_timer_ <= now) {
    rate_timer_ += config_->rpg_time_reset;
    ++timer_stage_;
    increase();
  }
}

void DcqcnSender::increase() {
  const DcqcnConfig& c = *config_;
  raised_ = true;
  const std::uint32_t least = std::min(timer_stage_, byte_stage_);
  if (std::max(timer_stage_, byte_stage_) >= c.rpg_threshold) {
    if (least > c.rpg_threshold) {
      target_ += c.rpg_hai_rate.value * (c.hyper_by_stage ? least - c.rpg_threshold : 1U);
    } else {
      target_ += c.rpg_ai_rate.value;
    }
    target_ = std::min(target_, c.link.value);
  }
  rate_ = (rate_ + target_) / 2;
  if (c.link.value - rate_ <= c.link.value >> 20U) {
    rate_ = target_ = c.link.value;
    rate_timer_ = kNever;
    timer_stage_ = byte_stage_ = 0;
    bytes_ = 0;
  }
}

}  // namespace wharf::congestion
