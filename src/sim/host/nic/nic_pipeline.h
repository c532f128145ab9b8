// SPDX-License-Identifier: Apache-2.0
// Timing of one NIC pipeline (transmit or receive): depth, initiation interval, order and room before it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/ring.h"
#include "base/time.h"
#include "sim/host/config/host_config.h"

namespace wharf::sim {

/// When a packet is where in a pipeline.
struct PipelineVisit {
  TimePs enter;  ///< Its first flit enters.
  TimePs head;   ///< Its first flit leaves.
  TimePs tail;   ///< Its last flit leaves.
};

/// Flits of a packet by the bytes that it is charged: at least one. Counted several times per packet, so
/// without a division where the width of the pipeline is a power of two, as it mostly is.
class FlitCount {
 public:
  explicit constexpr FlitCount(std::uint32_t bytes_per_cycle)
      : width_(bytes_per_cycle),
        shift_(std::countr_zero(bytes_per_cycle)),
        shifts_(std::has_single_bit(width_)) {}

  constexpr std::uint32_t operator()(std::uint32_t bytes) const {
    const std::uint32_t filled = bytes + width_ - 1;
    return std::max(1U, shifts_ ? filled >> shift_ : filled / width_);
  }

 private:
  std::uint32_t width_;
  int shift_;
  bool shifts_;
};

/// Time from a packet's first flit in to its last flit out.
constexpr TimePs pipeline_latency(const NicConfig& nic, std::uint32_t depth, std::uint32_t flits,
                                  StageRounding rounding) {
  return stage_time(nic.cycle * static_cast<std::int64_t>(depth + flits - 1), rounding);
}

/// An in-order pipeline that takes one flit per cycle. Choice: packets of different depth share it and never
/// overtake one another, so a load behind a packet of a work request leaves after it.
class NicPipeline {
 public:
  NicPipeline(const NicConfig& nic, StageRounding rounding) : nic_(nic), rounding_(rounding) {}

  /// Sends a packet of `flits` through, `depth` cycles deep, that waits for entry since `ready`.
  PipelineVisit visit(TimePs ready, std::uint32_t depth, std::uint32_t flits) {
    PipelineVisit visit;
    visit.enter = max(ready, free_);
    free_ = visit.enter + nic_.cycle * static_cast<std::int64_t>(flits);
    visit.head =
        max(visit.enter + stage_time(nic_.cycle * static_cast<std::int64_t>(depth), rounding_), last_tail_);
    visit.tail = max(visit.enter + pipeline_latency(nic_, depth, flits, rounding_), visit.head);
    last_tail_ = visit.tail;
    return visit;
  }

  /// When the head of a packet can come out, `depth` after it enters, that waits for entry since `ready`.
  TimePs next_head(TimePs ready, TimePs depth) const { return max(max(ready, free_) + depth, last_tail_); }
  /// When the next packet can enter.
  TimePs free_at() const { return free_; }

 private:
  NicConfig nic_;
  StageRounding rounding_;
  TimePs free_;
  TimePs last_tail_;
};

/// The room before a pipeline: how many packets wait for entry. While it is full, nothing is taken from the
/// engine.
class PipelineQueue {
 public:
  explicit PipelineQueue(std::uint32_t room) : room_(room), entries_(room) {}

  /// Whether one more packet may wait, at `now`.
  bool has_room(TimePs now) {
    while (!entries_.empty() && entries_.front() <= now) entries_.pop_front();
    return entries_.size() < room_;
  }
  /// A packet has been taken that will enter the pipeline at `enter`.
  void add(TimePs now, TimePs enter) {
    if (enter > now) entries_.push_back(enter);
  }
  /// When the full queue next has room.
  TimePs room_at() const { return entries_.front(); }
  std::size_t waiting() const { return entries_.size(); }

 private:
  std::size_t room_;
  Ring<TimePs> entries_;  ///< Entry times of those that wait, ascending.
};

}  // namespace wharf::sim
