// SPDX-License-Identifier: Apache-2.0
// A window that never moves: the yardstick for every other controller, and the right choice on a link that
// nobody shares.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/congestion/controller.h"

namespace wharf::congestion {

struct ConstantWindowConfig {
  std::uint32_t packets = 128;  ///< Packets in flight at most; at least 1.
};

/// Refuses a window that never lets anything leave.
inline Result<void> check(const ConstantWindowConfig& config) {
  if (config.packets == 0) return input_error("packets is 0, expected at least 1");
  return {};
}

/// Counts packets, ignores marks, and takes a loss for nothing but room in the window.
class ConstantWindow {
 public:
  /// `config` has passed check().
  explicit ConstantWindow(const ConstantWindowConfig& config) : packets_(config.packets) {}

  PacketRequest on_send(TimePs, const Departure&) {
    ++in_flight_;
    return {};
  }
  void on_acknowledgement(TimePs, const Acknowledgement& acknowledgement) {
    WHARF_CHECK(acknowledgement.restored.packets <= acknowledgement.confirmed.packets);
    leave(acknowledgement.confirmed.packets - acknowledgement.restored.packets);
  }
  void on_loss(TimePs, const Loss& loss) { leave(loss.lost.packets); }
  void expire(TimePs) {}

  bool permits(std::uint64_t) const { return in_flight_ < packets_; }
  std::int64_t room() const { return in_flight_ < packets_ ? kAnyRoom : kNoRoom; }
  TimePs next_send() const { return kTimeZero; }
  TimePs deadline() const { return kNever; }

  std::uint32_t in_flight() const { return in_flight_; }

 private:
  void leave(std::uint32_t packets) {
    WHARF_CHECK(packets <= in_flight_);
    in_flight_ -= packets;
  }

  std::uint32_t packets_;
  std::uint32_t in_flight_ = 0;
};
static_assert(Controller<ConstantWindow>);

}  // namespace wharf::congestion
