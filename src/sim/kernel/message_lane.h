// SPDX-License-Identifier: Apache-2.0
// One direction of a bus or link that carries packets one after another: a header, data of a certain width
// per cycle, and a way that each takes.
#pragma once

#include <bit>
#include <cstdint>

#include "base/time.h"

namespace wharf::sim {

/// Packets in the order of the calls, which come with non-decreasing times.
class MessageLane {
 public:
  /// `width` bytes, a power of two, cross in one `cycle`.
  MessageLane(TimePs cycle, std::uint32_t width, std::uint32_t header_cycles, TimePs way)
      : cycle_(cycle),
        shift_(static_cast<std::uint32_t>(std::countr_zero(width))),
        header_cycles_(header_cycles),
        way_(way) {}

  struct Crossing {
    TimePs header;  ///< The header is at the far end: who needs no data may act.
    TimePs data;    ///< The last byte is.
  };
  /// A packet with `bytes` of data, ready at `now`.
  Crossing send(TimePs now, std::uint32_t bytes) {
    const TimePs begin = max(now, free_);
    const std::uint32_t beats = (bytes + (1U << shift_) - 1) >> shift_;
    free_ = begin + cycle_ * (header_cycles_ + beats);
    return {begin + way_, begin + way_ + cycle_ * beats};
  }

  /// A packet of `total` bytes, at least one, header and framing included. The beat of its first bytes is
  /// part of the way.
  Crossing send_packet(TimePs now, std::uint32_t total) {
    const TimePs begin = max(now, free_);
    const std::uint32_t beats = (total + (1U << shift_) - 1) >> shift_;
    free_ = begin + cycle_ * beats;
    return {begin + way_, begin + way_ + cycle_ * (beats - 1)};
  }

  /// When the next packet may begin.
  TimePs free() const { return free_; }
  /// What an empty packet takes.
  TimePs way() const { return way_; }

 private:
  TimePs cycle_;
  std::uint32_t shift_;
  std::uint32_t header_cycles_;
  TimePs way_;
  TimePs free_;
};

}  // namespace wharf::sim
