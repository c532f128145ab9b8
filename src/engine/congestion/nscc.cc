// SPDX-License-Identifier: Apache-2.0
#include "engine/congestion/nscc.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "engine/congestion/fixed_point.h"

namespace wharf::congestion {
namespace {

// [UE 1.0 3.6.13] The network that the constants were chosen for.
constexpr std::uint64_t kReferenceBdp = 150'000;
constexpr TimePs kReferenceRtt = microseconds(12);
constexpr std::uint64_t kOneQ16 = 65536;

/// [UE 1.0 3.6.13] MaxWnd: one and a half times what the link moves in a round trip.
std::uint64_t max_window(BitsPerSecond link, TimePs rtt) {
  return scaled(link.value * 3, static_cast<std::uint64_t>(rtt.ps), 2 * kByteTimePerSecond);
}

}  // namespace

NsccConfig NsccConfig::for_network(BitsPerSecond link, TimePs base_rtt, std::uint32_t mtu_bytes,
                                   bool trimming, std::uint32_t gain_bytes) {
  NsccConfig config;
  config.link = link;
  config.base_rtt = base_rtt;
  config.mtu_bytes = mtu_bytes;
  const std::uint64_t mtu = gain_bytes != 0 ? gain_bytes : mtu_bytes;
  const std::uint64_t bdp = bytes_in(link, base_rtt);
  config.target_delay = trimming ? base_rtt * 3 / 4 : base_rtt;
  // alpha = 4 a b MTU / target, a = BDP / 150000, b = target / 12 us: the target cancels.
  config.alpha_q32 =
      scaled(4 * bdp * mtu, 1ULL << 32U, kReferenceBdp * static_cast<std::uint64_t>(kReferenceRtt.ps));
  config.fair_increase = static_cast<std::uint32_t>(scaled(5 * mtu, bdp, kReferenceBdp));
  config.eta = static_cast<std::uint32_t>(scaled(15 * mtu, bdp, 100 * kReferenceBdp));
  config.fast_scale_q16 = static_cast<std::uint32_t>(scaled(bdp, kOneQ16 / 4, kReferenceBdp));
  config.qa_threshold = config.target_delay * 4;
  config.adjust_bytes = 8 * mtu_bytes;
  config.adjust_period = base_rtt;
  return config;
}

Result<void> check(const NsccConfig& config) {
  const auto refuse = [](const char* key, std::uint64_t found, const char* expected) {
    return input_error(std::string(key) + " is " + std::to_string(found) + ", expected " + expected);
  };
  if (config.link.value == 0 || config.link.value > 1ULL << 43U) {
    return refuse("link", config.link.value, "1 bit/s to 8.7 Tb/s");
  }
  if (config.base_rtt <= kTimeZero || config.base_rtt > milliseconds(100) ||
      config.target_delay <= kTimeZero || config.target_delay > milliseconds(100) ||
      config.adjust_period <= kTimeZero || config.qa_threshold <= kTimeZero ||
      config.fast_delay < kTimeZero) {
    return input_error(
        "a time is out of range, expected base_rtt and target_delay up to 100 ms, and all but fast_delay "
        "above 0");
  }
  if (config.mtu_bytes == 0 || config.mtu_bytes > 65536) {
    return refuse("mtu_bytes", config.mtu_bytes, "1 to 65536");
  }
  const std::uint64_t most = max_window(config.link, config.base_rtt);
  if (most < config.mtu_bytes) {
    return refuse("base_rtt times link", most * 2 / 3, "at least two thirds of a packet");
  }
  if (config.initial_window != 0 &&
      (config.initial_window < config.mtu_bytes || config.initial_window > most)) {
    return refuse("initial_window", config.initial_window, "0, or mtu_bytes to MaxWnd");
  }
  if (config.alpha_q32 == 0 || config.alpha_q32 > 1ULL << 40U) {
    return refuse("alpha_q32", config.alpha_q32, "1 to 2^40");
  }
  if (config.adjust_bytes == 0) return refuse("adjust_bytes", 0, "at least 1");
  if (config.gamma_q16 > kOneQ16) return refuse("gamma_q16", config.gamma_q16, "at most 65536");
  if (config.max_md_jump_q16 > kOneQ16) {
    return refuse("max_md_jump_q16", config.max_md_jump_q16, "at most 65536");
  }
  if (config.qa_gate > 32) return refuse("qa_gate", config.qa_gate, "at most 32");
  if (config.delay_gain_q20 == 0 || config.delay_gain_q20 > 1U << 20U) {
    return refuse("delay_gain_q20", config.delay_gain_q20, "1 to 1048576");
  }
  return {};
}

NsccSender::NsccSender(const NsccConfig& config)
    : config_(&config),
      window_(config.initial_window),
      most_(congestion::max_window(config.link, config.base_rtt)),
      base_rtt_(config.base_rtt) {
  if (window_ == 0) window_ = most_;
}

PacketRequest NsccSender::on_send(TimePs now, const Departure& departure) {
  // Choice: the first period begins with the first packet.
  if (last_adjust_ == kNever) last_adjust_ = now;
  in_flight_ += static_cast<std::int64_t>(departure.window_bytes);
  ++packets_;
  const auto window = static_cast<std::int64_t>(window_);
  return {.acknowledge =
              window - in_flight_ < std::int64_t{config_->mtu_bytes} || window_ < config_->ack_trigger_bytes};
}

void NsccSender::leave(std::uint64_t bytes, std::uint32_t packets) {
  WHARF_CHECK(packets <= packets_);
  packets_ -= packets;
  in_flight_ = packets_ == 0 ? 0 : in_flight_ - static_cast<std::int64_t>(bytes);
}

void NsccSender::on_acknowledgement(TimePs now, const Acknowledgement& acknowledgement) {
  const NsccConfig& c = *config_;
  const std::uint64_t newly = acknowledgement.confirmed.bytes;
  WHARF_CHECK(acknowledgement.restored.packets <= acknowledgement.confirmed.packets);
  // What was taken out of flight as lost but has arrived is among the bytes received.
  in_flight_ += static_cast<std::int64_t>(acknowledgement.restored.bytes);
  leave(newly, acknowledgement.confirmed.packets - acknowledgement.restored.packets);
  achieved_ += newly;
  received_ += newly;
  ignored_ += newly;
  apply_penalty(acknowledgement);
  const bool simulator = c.rules == NsccRules::kSimulator;
  const bool marked = acknowledgement.marked > 0;
  TimePs delay = average_;
  if (acknowledgement.round_trip != kNever) {
    const TimePs rtt = acknowledgement.round_trip - acknowledgement.receiver_hold;
    sample_base_rtt(rtt);
    delay = rtt > base_rtt_ ? rtt - base_rtt_ : kTimeZero;
    average(simulator && !marked && delay > c.target_delay ? base_rtt_ / 4 : delay);
  } else if (!simulator) {
    return;
  }
  if (quick_adapt(now, false, marked, delay)) return;
  const bool penalised = acknowledgement.receiver_penalty > 0;
  if (marked) {
    // Marked but short: another path may do; the window stays.
    if (delay >= c.target_delay) decrease(now);
  } else if (delay >= c.target_delay) {
    if (!penalised) increase_ += std::uint64_t{c.fair_increase} * newly;
  } else if (!penalised && !fast_increase(newly, delay)) {
    // Each product has up to 80 bits where the round trip is long.
    using Wide = unsigned __int128;
    const Wide gain_q16 = Wide{c.alpha_q32} * static_cast<std::uint64_t>((c.target_delay - delay).ps) >> 16U;
    increase_ += static_cast<std::uint64_t>(gain_q16 * newly >> 16U);
  }
  if (simulator) clamp();
  if (period_is_over(now) || received_ > c.adjust_bytes) fulfil(now);
  clamp();
}

void NsccSender::on_loss(TimePs now, const Loss& loss) {
  const NsccConfig& c = *config_;
  leave(loss.lost.bytes, loss.lost.packets);
  switch (loss.cause) {
    case LossCause::kRefused:
      return;
    case LossCause::kTrimmed:
    case LossCause::kTrimmedLastHop:
      if (loss.round_trip != kNever && c.nack_lowers_base_rtt) sample_base_rtt(loss.round_trip);
      // The queue stood at the trimming threshold: one base RTT deep.
      average(c.base_rtt);
      ignored_ += loss.lost.bytes;
      if (loss.cause == LossCause::kTrimmedLastHop && !c.last_hop_trims_count) {
        if (c.rules == NsccRules::kSimulator) trigger_qa_ = true;
        break;
      }
      trigger_qa_ = true;
      if (!quick_adapt(now, true, true, kTimeZero)) window_ -= std::min(window_, loss.lost.bytes);
      break;
    case LossCause::kGap:
    case LossCause::kTimeout:
      ignored_ += loss.lost.bytes;
      window_ -= std::min(window_, loss.lost.bytes);
      break;
  }
  clamp();
}

void NsccSender::apply_penalty(const Acknowledgement& acknowledgement) {
  if (acknowledgement.receiver_penalty > 0) {
    if (saved_window_ == 0) saved_window_ = window_;
    // 64 of 128 of a window of bytes is half of it in a round trip.
    const std::uint64_t step = acknowledgement.receiver_penalty * acknowledgement.confirmed.bytes >> 7U;
    window_ = std::min(window_, static_cast<std::uint64_t>(std::max<std::int64_t>(in_flight_, 0)));
    window_ -= std::min(window_, step);
    clamp();
  } else if (acknowledgement.penalty_over && saved_window_ != 0) {
    window_ = saved_window_;
    saved_window_ = 0;
    clamp();
  }
}

void NsccSender::sample_base_rtt(TimePs rtt) {
  if (rtt >= base_rtt_ || rtt <= kTimeZero) return;
  base_rtt_ = rtt;
  // [UE 1.0 3.6.13] MaxWnd is for full-size data. A probe's round trip lacks the time of a full packet, which
  // is most of it on a short path. Choice: MaxWnd always holds a packet and a round trip, in whole packets:
  // with less the link would stand idle for lack of window.
  const std::uint64_t mtu = config_->mtu_bytes;
  const std::uint64_t busy = (bytes_in(config_->link, rtt) / mtu + 2) * mtu;
  const std::uint64_t first = congestion::max_window(config_->link, config_->base_rtt);
  most_ = std::max(congestion::max_window(config_->link, rtt), std::min(busy, first));
  clamp();
}

void NsccSender::average(TimePs delay) {
  average_.ps += (delay.ps - average_.ps) * std::int64_t{config_->delay_gain_q20} >> 20;
}

bool NsccSender::quick_adapt(TimePs now, bool loss, bool marked, TimePs delay) {
  const NsccConfig& c = *config_;
  bool done = false;
  if (ignored_ < to_ignore_ && marked) {
    // These packets left before the window was set; they tell nothing about it.
    done = true;
  } else if (c.rules == NsccRules::kSimulator ? now > qa_end_ : now >= qa_end_) {
    if (qa_end_ != kTimeZero && (trigger_qa_ || loss || delay > c.qa_threshold) &&
        achieved_ < most_ >> c.qa_gate) {
      window_ = std::max<std::uint64_t>(achieved_, c.mtu_bytes);
      to_ignore_ = static_cast<std::uint64_t>(std::max<std::int64_t>(in_flight_, 0));
      ignored_ = 0;
      trigger_qa_ = false;
      done = true;
    }
    achieved_ = 0;
    qa_end_ = now + base_rtt_ + c.target_delay;
  }
  if (done) {
    increase_ = 0;
    received_ = 0;
  }
  return done;
}

bool NsccSender::fast_increase(std::uint64_t newly, TimePs delay) {
  if (delay >= config_->fast_delay) {
    fast_count_ = 0;
    fast_ = false;
    return false;
  }
  fast_count_ += newly;
  // A whole window without delay: the network is empty.
  fast_ = fast_ || fast_count_ > window_;
  if (fast_) window_ += newly * config_->fast_scale_q16 >> 16U;
  return fast_;
}

void NsccSender::decrease(TimePs now) {
  const NsccConfig& c = *config_;
  fast_ = false;
  fast_count_ = 0;
  if (average_ <= c.target_delay || now - last_decrease_ <= base_rtt_) return;
  const std::uint64_t excess = scaled(static_cast<std::uint64_t>((average_ - c.target_delay).ps), kOneQ16,
                                      static_cast<std::uint64_t>(average_.ps));
  const std::uint64_t left = kOneQ16 - (excess * c.gamma_q16 >> 16U);
  window_ = window_ * std::max<std::uint64_t>(left, c.max_md_jump_q16) >> 16U;
  last_decrease_ = now;
}

bool NsccSender::period_is_over(TimePs now) const {
  const TimePs passed = now - last_adjust_;
  return passed > config_->adjust_period ||
         (passed == config_->adjust_period && config_->rules == NsccRules::kSpecification);
}

void NsccSender::fulfil(TimePs now) {
  window_ += increase_ / window_;
  if (period_is_over(now)) {
    window_ += config_->eta;
    last_adjust_ = now;
  }
  increase_ = 0;
  received_ = 0;
}

void NsccSender::clamp() { window_ = std::clamp<std::uint64_t>(window_, config_->mtu_bytes, most_); }

}  // namespace wharf::congestion
