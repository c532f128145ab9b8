// SPDX-License-Identifier: Apache-2.0
// The smallest network in which a congestion controller shows what it does: senders that always have data
// share one queue, which serves one packet per tick, marks above one length and drops above another; answers
// come back after a fixed delay. Apart from the test so that the guide can point at it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/time.h"
#include "engine/congestion/controller.h"

namespace wharf::examples {

struct BottleneckConfig {
  TimePs tick = nanoseconds(82);   ///< Service time of one packet: 4 KiB at 400 Gbit/s.
  std::uint32_t delay_ticks = 20;  ///< From service to the answer: the unloaded round trip.
  std::size_t mark_above = 20;     ///< Packets that find more than this many waiting are marked.
  std::size_t drop_above = 1000;   ///< Packets that find this many waiting are lost.
  std::uint32_t packet_bytes = 4096;
};

/// Counts of some ticks.
struct BottleneckResult {
  std::uint64_t ticks = 0;
  std::vector<std::uint64_t> served;  ///< Packets per sender.
  std::size_t queue_longest = 0;
  std::uint64_t dropped = 0;

  std::uint64_t served_in_all() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t packets : served) sum += packets;
    return sum;
  }
};

template <congestion::Controller C>
class Bottleneck {
 public:
  Bottleneck(const BottleneckConfig& config, std::vector<C> senders)
      : config_(config), senders_(std::move(senders)) {}

  const C& sender(std::size_t index) const { return senders_[index]; }

  /// Lets `ticks` pass and counts what happened in them.
  BottleneckResult run(std::uint64_t ticks) {
    BottleneckResult result;
    result.ticks = ticks;
    result.served.resize(senders_.size());
    for (std::uint64_t end = tick_ + ticks; tick_ < end; ++tick_) {
      answer();
      send(result);
      result.queue_longest = std::max(result.queue_longest, queue_.size());
      if (queue_.empty()) continue;
      const Waiting first = queue_.front();
      queue_.pop_front();
      ++result.served[first.sender];
      answers_.push_back({first, tick_ + config_.delay_ticks, false});
    }
    return result;
  }

 private:
  struct Waiting {
    std::size_t sender = 0;
    bool marked = false;
  };
  struct Answer {
    Waiting packet;
    std::uint64_t at_tick = 0;
    bool lost = false;
  };

  TimePs now() const { return config_.tick * static_cast<std::int64_t>(tick_); }

  void answer() {
    for (; !answers_.empty() && answers_.front().at_tick <= tick_; answers_.pop_front()) {
      const Answer& first = answers_.front();
      C& sender = senders_[first.packet.sender];
      const congestion::Volume volume{1, config_.packet_bytes};
      if (first.lost) {
        sender.on_loss(now(), {.lost = volume});
      } else {
        sender.on_acknowledgement(now(), {.confirmed = volume, .marked = first.packet.marked ? 1U : 0U});
      }
    }
  }

  /// Senders take turns, so that none is always first into the queue.
  void send(BottleneckResult& result) {
    for (bool sent = true; sent;) {
      sent = false;
      for (std::size_t turn = 0; turn < senders_.size(); ++turn) {
        const std::size_t index = (turn + tick_) % senders_.size();
        C& sender = senders_[index];
        if (!sender.permits(config_.packet_bytes) || sender.next_send() > now()) continue;
        sender.on_send(now(), {.window_bytes = config_.packet_bytes, .wire_bytes = config_.packet_bytes});
        sent = true;
        if (queue_.size() >= config_.drop_above) {
          ++result.dropped;
          answers_.push_back({{index, false}, tick_ + config_.delay_ticks, true});
        } else {
          queue_.push_back({index, queue_.size() > config_.mark_above});
        }
      }
    }
  }

  BottleneckConfig config_;
  std::vector<C> senders_;
  std::deque<Waiting> queue_;
  std::deque<Answer> answers_;  ///< In the order of their ticks: the delay is fixed.
  std::uint64_t tick_ = 0;
};

}  // namespace wharf::examples
