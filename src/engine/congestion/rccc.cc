// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/rccc.h"

#include <algorithm>
#include <string>

#include "engine/congestion/fixed_point.h"

namespace wharf::congestion {
namespace {

/// What a turn of a source that wants nothing takes of the pace: the time of this many quanta.
constexpr std::uint32_t kEmptyTurnUnits = 4;

}  // namespace

RcccConfig RcccConfig::for_network(BitsPerSecond link, TimePs base_rtt, std::uint32_t mtu_bytes) {
  RcccConfig config;
  config.link = link;
  config.base_rtt = base_rtt;
  config.mtu_bytes = mtu_bytes;
  // [UE 1.0 3.6.13] MaxWnd: one and a half times what the link moves in a round trip.
  config.max_window = bytes_in(link, base_rtt * 3 / 2);
  return config;
}

Result<void> check(const RcccConfig& config) {
  const auto refuse = [](const char* key, std::uint64_t found, const char* expected) {
    return input_error(std::string(key) + " is " + std::to_string(found) + ", expected " + expected);
  };
  if (config.link.value == 0 || config.link.value > 1ULL << 43U) {
    return refuse("link", config.link.value, "1 bit/s to 8.7 Tb/s");
  }
  if (config.mtu_bytes < kCreditQuantum || config.mtu_bytes > 65536) {
    return refuse("mtu_bytes", config.mtu_bytes, "256 to 65536");
  }
  // Half of what the counters can tell apart, less the largest grant.
  if (config.max_window < config.mtu_bytes || config.max_window > 1ULL << 30U) {
    return refuse("max_window", config.max_window, "mtu_bytes to 2^30");
  }
  if (config.grant_packets == 0 || config.grant_packets > 256) {
    return refuse("grant_packets", config.grant_packets, "1 to 256");
  }
  if (config.idle_packets == 0 || config.idle_packets > config.grant_packets) {
    return refuse("idle_packets", config.idle_packets, "1 to grant_packets");
  }
  if (config.idle_percent == 0 || config.idle_percent > 100) {
    return refuse("idle_percent", config.idle_percent, "1 to 100");
  }
  if (config.base_rtt <= kTimeZero) return input_error("base_rtt is not positive, expected a duration");
  if (config.request_patience < kTimeZero) {
    return input_error("request_patience is negative, expected a duration");
  }
  if (config.pace_percent == 0 || config.pace_percent > 100) {
    return refuse("pace_percent", config.pace_percent, "1 to 100");
  }
  return {};
}

std::uint64_t RcccSender::demand(std::uint64_t backlog, std::uint64_t limit, std::uint32_t active_contexts) {
  const auto most = static_cast<std::int64_t>(std::min({backlog, limit, config_->max_window}));
  std::int64_t wanted = most - credit_;
  if (speculating_ && backlog > 0) wanted = std::max(wanted, std::int64_t{config_->mtu_bytes});
  wanted = std::max<std::int64_t>(wanted, 0);
  // A share of little is still more than nothing: a target that never moves would never be granted.
  if (active_contexts > 1 && wanted > 0) wanted = std::max<std::int64_t>(wanted / active_contexts, 1);
  const auto units = static_cast<std::uint32_t>((wanted + kCreditQuantum - 1) / kCreditQuantum);
  const std::uint32_t target = (granted_units_ + units) & kCreditMask;
  if (credit_difference(target, target_units_) > 0) target_units_ = target;
  return std::uint64_t{target_units_} * kCreditQuantum;
}

void RcccSender::end_speculation() {
  if (!speculating_) return;
  speculating_ = false;
  credit_ = std::min<std::int64_t>(credit_, 0);
}

void RcccSender::on_acknowledgement(TimePs, const Acknowledgement& acknowledgement) {
  end_speculation();
  if (!acknowledgement.credit) return;
  const std::uint32_t units =
      static_cast<std::uint32_t>(acknowledgement.granted_bytes / kCreditQuantum) & kCreditMask;
  const std::int32_t step = credit_difference(units, granted_units_);
  // Cumulative: an older count brings nothing.
  if (step <= 0) return;
  granted_units_ = units;
  if (credit_difference(granted_units_, target_units_) > 0) target_units_ = granted_units_;
  credit_ =
      std::min(credit_ + std::int64_t{step} * kCreditQuantum, static_cast<std::int64_t>(config_->max_window));
}

void RcccSender::on_loss(TimePs, const Loss& loss) {
  if (loss.cause != LossCause::kTimeout) {
    // A NACK is a sign of life.
    end_speculation();
  } else if (speculating_) {
    credit_ = std::min(credit_ + static_cast<std::int64_t>(loss.lost.bytes),
                       static_cast<std::int64_t>(config_->max_window));
  }
}

CreditIssuer::CreditIssuer(const RcccConfig& config)
    : config_(&config),
      grant_units_(config.grant_packets * config.mtu_bytes / kCreditQuantum),
      // What lets one packet leave, at least.
      idle_units_(config.idle_packets == config.grant_packets
                      ? grant_units_
                      : (config.idle_packets * config.mtu_bytes + kCreditQuantum - 1) / kCreditQuantum),
      most_units_(static_cast<std::uint32_t>(config.max_window / kCreditQuantum)) {}

void CreditIssuer::reserve(std::uint32_t count) {
  if (count > sources_.size()) sources_.resize(count);
}

void CreditIssuer::enlist(std::uint32_t index) {
  Source& source = sources_[index];
  if (credit_difference(source.target, source.granted) > 0) {
    push_active(index);
  } else {
    push_idle(index);
  }
}

void CreditIssuer::push_active(std::uint32_t index) {
  Source& source = sources_[index];
  if (source.active) return;
  source.active = true;
  active_.push(sources_, index, &Source::next_active);
}

void CreditIssuer::push_idle(std::uint32_t index) {
  Source& source = sources_[index];
  if (source.idle || !config_->slow_grants) return;
  source.idle = true;
  idle_.push(sources_, index, &Source::next_idle);
}

void CreditIssuer::on_demand(std::uint32_t index, std::uint32_t target_units) {
  Source& source = sources_[index];
  if (config_->turn_per_packet) push_active(index);
  if (credit_difference(target_units, source.target) <= 0) return;
  source.target = target_units & kCreditMask;
  enlist(index);
}

void CreditIssuer::on_trimmed(std::uint32_t index) {
  Source& source = sources_[index];
  const std::uint32_t packet = (config_->mtu_bytes + kCreditQuantum - 1) / kCreditQuantum;
  const std::uint32_t least = (source.granted + packet) & kCreditMask;
  if (credit_difference(least, source.target) > 0) source.target = least;
  enlist(index);
}

void CreditIssuer::forget(std::uint32_t index) {
  Source& source = sources_[index];
  if (source.active) active_.remove(sources_, index, &Source::next_active);
  if (source.idle) idle_.remove(sources_, index, &Source::next_idle);
  source.active = source.idle = false;
  source.target = source.granted;
}

TimePs CreditIssuer::time_for(std::uint32_t units) const {
  const std::uint64_t full = scaled(std::uint64_t{units} * kCreditQuantum, kByteTimePerSecond * 100,
                                    config_->link.value * config_->pace_percent);
  return TimePs{static_cast<std::int64_t>(scaled(full, 65536, rate_q16_))};
}

CreditIssuer::Grant CreditIssuer::grant(std::uint32_t index, std::uint32_t units) {
  Source& source = sources_[index];
  source.granted = (source.granted + units) & kCreditMask;
  return {index, source.granted};
}

std::optional<CreditIssuer::Grant> CreditIssuer::next(TimePs now) {
  if (now < next_at_) return std::nullopt;
  if (!active_.empty()) {
    const std::uint32_t index = active_.pop(sources_, &Source::next_active);
    Source& source = sources_[index];
    source.active = false;
    // Idle grants may have gone beyond what it wanted.
    const auto left =
        static_cast<std::uint32_t>(std::max(credit_difference(source.target, source.granted), 0));
    const std::uint32_t units = std::min(left, grant_units_);
    next_at_ = now + time_for(units > 0 ? units : kEmptyTurnUnits);
    const Grant made = grant(index, units);
    enlist(index);
    return made;
  }
  while (!idle_.empty()) {
    const std::uint32_t index = idle_.pop(sources_, &Source::next_idle);
    Source& source = sources_[index];
    source.idle = false;
    const auto beyond = static_cast<std::uint32_t>(credit_difference(source.granted, source.target));
    if (beyond + idle_units_ > most_units_) continue;
    next_at_ = now + time_for(idle_units_) * 100 / config_->idle_percent;
    const Grant made = grant(index, idle_units_);
    push_idle(index);
    return made;
  }
  return std::nullopt;
}

}  // namespace wharf::congestion
