// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/caqm.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "engine/congestion/fixed_point.h"

namespace wharf::congestion {
namespace {

/// ppm of MTU^2 / window, in 1/65536 byte, rounded down: what one packet contributes to growth.
std::uint64_t growth_q16(std::uint32_t ppm, std::uint32_t mtu_bytes, std::uint32_t window) {
  return scaled_down(std::uint64_t{mtu_bytes} * mtu_bytes, (std::uint64_t{ppm} << 16U) / kMillion, window);
}

Result<void> check_steps(std::uint32_t mtu_bytes, std::uint32_t alpha_ppm, std::uint32_t beta_ppm,
                         std::uint64_t window_limit) {
  if (mtu_bytes == 0 || mtu_bytes % kCaqmUnit != 0 || mtu_bytes > 65504) {
    return input_error("mtu_bytes is " + std::to_string(mtu_bytes) +
                       ", expected a multiple of 32 up to 65504");
  }
  if (alpha_ppm == 0 || alpha_ppm > kMillion) {
    return input_error("alpha_ppm is " + std::to_string(alpha_ppm) + ", expected 1 to 1000000");
  }
  if (beta_ppm == 0 || beta_ppm > kMillion) {
    return input_error("beta_ppm is " + std::to_string(beta_ppm) + ", expected 1 to 1000000");
  }
  if (window_limit < mtu_bytes || window_limit > 1U << 30U) {
    return input_error("window_limit is " + std::to_string(window_limit) + ", expected one MTU to 1 GiB");
  }
  return {};
}

/// The window after `marked` packets took beta MTU each: not below one MTU.
std::uint32_t shrunk(std::uint32_t window, std::uint32_t marked, std::uint32_t beta_ppm, std::uint32_t mtu) {
  const std::uint64_t cut = std::uint64_t{marked} * (std::uint64_t{beta_ppm} * mtu / kMillion);
  return cut + mtu < window ? static_cast<std::uint32_t>(window - cut) : mtu;
}

void leave(std::int64_t& in_flight, std::uint32_t& packets, const Volume& volume) {
  WHARF_CHECK(volume.packets <= packets);
  packets -= volume.packets;
  in_flight -= static_cast<std::int64_t>(volume.bytes);
}

void confirm(std::int64_t& in_flight, std::uint32_t& packets, const Acknowledgement& acknowledgement) {
  WHARF_CHECK(acknowledgement.restored.packets <= acknowledgement.confirmed.packets);
  in_flight += static_cast<std::int64_t>(acknowledgement.restored.bytes);
  leave(in_flight, packets,
        {acknowledgement.confirmed.packets - acknowledgement.restored.packets,
         acknowledgement.confirmed.bytes});
}

}  // namespace

Result<void> check(const CaqmConfig& config) {
  WHARF_TRY(check_steps(config.mtu_bytes, config.alpha_ppm, config.beta_ppm, config.window_limit));
  if (config.initial_packets == 0 ||
      std::uint64_t{config.initial_packets} * config.mtu_bytes > config.window_limit) {
    return input_error("initial_packets is " + std::to_string(config.initial_packets) +
                       ", expected 1 to window_limit");
  }
  if (config.theta == 0) return input_error("theta is 0, expected at least 1");
  if (config.initial_rtt <= kTimeZero) return input_error("initial_rtt is not positive, expected a duration");
  return {};
}

CaqmSender::CaqmSender(const CaqmConfig& config)
    : config_(&config), round_trip_(config.initial_rtt), window_(config.initial_packets * config.mtu_bytes) {}

PacketRequest CaqmSender::on_send(TimePs, const Departure& departure) {
  const std::uint32_t mtu = config_->mtu_bytes;
  in_flight_ += static_cast<std::int64_t>(departure.window_bytes);
  ++packets_;
  PacketRequest request{.grant = true};
  if (slow_start()) {
    request.grant_bytes = mtu;
    return request;
  }
  wanted_q16_ += growth_q16(config_->alpha_ppm, mtu, window_);
  std::uint64_t ask = wanted_q16_ >> 16U;
  const std::uint64_t units = mtu / kCaqmUnit;
  if (ask >= mtu) {
    ask = ask / mtu * mtu;
  } else {
    ask = std::min(ask, units - 1);
  }
  wanted_q16_ -= ask << 16U;
  request.grant_bytes = ask;
  return request;
}

void CaqmSender::on_acknowledgement(TimePs now, const Acknowledgement& acknowledgement) {
  const CaqmConfig& c = *config_;
  confirm(in_flight_, packets_, acknowledgement);
  if (acknowledgement.round_trip != kNever) {
    round_trip_.ps += (acknowledgement.round_trip - round_trip_).ps / 8;
  }
  if (acknowledgement.marked > 0 || !acknowledgement.granted) {
    avoidance_until_ = now + round_trip_ * std::int64_t{c.theta};
  }
  if (acknowledgement.granted) {
    window_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        window_ + std::min(acknowledgement.granted_bytes, c.window_limit), c.window_limit));
  }
  if (acknowledgement.marked > 0) window_ = shrunk(window_, acknowledgement.marked, c.beta_ppm, c.mtu_bytes);
}

void CaqmSender::on_loss(TimePs, const Loss& loss) { leave(in_flight_, packets_, loss.lost); }

void CaqmSender::expire(TimePs now) {
  if (now < avoidance_until_) return;
  avoidance_until_ = kNever;
  wanted_q16_ = 0;
}

Result<void> check(const LdcpConfig& config) {
  WHARF_TRY(check_steps(config.mtu_bytes, config.alpha_ppm, config.beta_ppm, config.window_limit));
  if (config.initial_window < config.mtu_bytes || config.initial_window > config.window_limit) {
    return input_error("initial_window is " + std::to_string(config.initial_window) +
                       ", expected one MTU to window_limit");
  }
  return {};
}

LdcpSender::LdcpSender(const LdcpConfig& config)
    : config_(&config), window_(static_cast<std::uint32_t>(config.initial_window)) {}

PacketRequest LdcpSender::on_send(TimePs, const Departure& departure) {
  in_flight_ += static_cast<std::int64_t>(departure.window_bytes);
  ++packets_;
  return {};
}

void LdcpSender::on_acknowledgement(TimePs, const Acknowledgement& acknowledgement) {
  const LdcpConfig& c = *config_;
  confirm(in_flight_, packets_, acknowledgement);
  const std::uint32_t marked = acknowledgement.marked;
  if (acknowledgement.confirmed.packets > marked) {
    grown_q16_ +=
        (acknowledgement.confirmed.packets - marked) * growth_q16(c.alpha_ppm, c.mtu_bytes, window_);
    window_ = static_cast<std::uint32_t>(std::min(window_ + (grown_q16_ >> 16U), c.window_limit));
    grown_q16_ &= 0xffff;
  }
  if (marked > 0) window_ = shrunk(window_, marked, c.beta_ppm, c.mtu_bytes);
}

void LdcpSender::on_loss(TimePs, const Loss& loss) { leave(in_flight_, packets_, loss.lost); }

}  // namespace wharf::congestion
