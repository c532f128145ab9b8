// SPDX-License-Identifier: Apache-2.0
// Example of docs/guides/add-a-congestion-controller.md: additive increase, multiplicative decrease. The
// window grows by one packet per round trip and halves when a mark or a loss comes back. [Chiu, Jain 1989]
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/result.h"
#include "base/time.h"
#include "engine/congestion/controller.h"

namespace wharf::examples {

using congestion::Acknowledgement;
using congestion::Departure;
using congestion::Loss;
using congestion::LossCause;
using congestion::PacketRequest;

struct AimdWindowConfig {
  std::uint64_t mtu_bytes = 4096;       ///< Growth per round trip, and the smallest window.
  std::uint64_t initial_bytes = 40960;  ///< At least mtu_bytes.
};

inline Result<void> check(const AimdWindowConfig& config) {
  if (config.mtu_bytes == 0) return input_error("mtu_bytes is 0, expected at least 1B");
  if (config.initial_bytes < config.mtu_bytes) {
    return input_error("initial_bytes is below mtu_bytes: the window would let nothing leave");
  }
  return {};
}

/// Counts window bytes with whole numbers alone. Of the marks and losses of one window of data it takes the
/// first: the others speak about packets that left before the window was cut.
class AimdWindow {
 public:
  /// `config` has passed check().
  explicit AimdWindow(const AimdWindowConfig& config)
      : mtu_bytes_(config.mtu_bytes), window_bytes_(config.initial_bytes) {}

  // guide: begin
  PacketRequest on_send(TimePs, const Departure& departure) {
    sent_bytes_ += departure.window_bytes;
    return {};
  }

  void on_acknowledgement(TimePs, const Acknowledgement& acknowledgement) {
    const std::uint64_t bytes = acknowledgement.confirmed.bytes;
    settled_bytes_ += bytes - acknowledgement.restored.bytes;
    if (acknowledgement.marked != 0) {
      cut();
    } else {
      growth_ += mtu_bytes_ * bytes;
      window_bytes_ += growth_ / window_bytes_;
      growth_ %= window_bytes_;
    }
  }

  void on_loss(TimePs, const Loss& loss) {
    settled_bytes_ += loss.lost.bytes;
    if (loss.cause != LossCause::kRefused) cut();
  }
  // guide: end
  void expire(TimePs) {}

  bool permits(std::uint64_t window_bytes) const {
    const std::uint64_t in_flight = sent_bytes_ - settled_bytes_;
    return in_flight + window_bytes <= window_bytes_ || in_flight == 0;
  }
  TimePs next_send() const { return kTimeZero; }
  TimePs deadline() const { return kNever; }

  std::uint64_t window_bytes() const { return window_bytes_; }

 private:
  // guide: begin
  void cut() {
    if (settled_bytes_ <= sent_bytes_at_cut_) return;
    window_bytes_ = std::max(window_bytes_ / 2, mtu_bytes_);
    sent_bytes_at_cut_ = sent_bytes_;
    growth_ = 0;
  }
  // guide: end

  std::uint64_t mtu_bytes_;
  std::uint64_t window_bytes_;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t settled_bytes_ = 0;      ///< Left the network: confirmed, or taken for lost.
  std::uint64_t sent_bytes_at_cut_ = 0;  ///< sent_bytes_ when the window was cut last.
  std::uint64_t growth_ = 0;             ///< Growth below one byte, in units of 1 / window_bytes_.
};
// guide: begin
static_assert(congestion::Controller<AimdWindow>);
// guide: end

}  // namespace wharf::examples
