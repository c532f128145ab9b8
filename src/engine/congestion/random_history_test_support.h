// SPDX-License-Identifier: Apache-2.0
// Random but consistent histories of packets for property tests: sent, confirmed, lost, confirmed although
// taken for lost, sent again. What a protocol would tell its controller.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "engine/congestion/controller.h"

namespace wharf::congestion {

/// Drives one controller. Every packet has `packet_bytes`.
class RandomHistory {
 public:
  RandomHistory(std::uint64_t seed, std::uint32_t packet_bytes, TimePs base_rtt)
      : random_(seed, "congestion.history"), packet_bytes_(packet_bytes), base_rtt_(base_rtt) {}

  /// One event, and time passes.
  template <typename C>
  void step(C& controller) {
    now_ += picoseconds(static_cast<std::int64_t>(random_.below(2'000'000)));
    controller.expire(now_);
    switch (random_.below(8)) {
      case 0:
      case 1:
      case 2:
        send(controller);
        break;
      case 3:
      case 4:
      case 5:
        acknowledge(controller, 1 + static_cast<std::uint32_t>(random_.below(6)));
        break;
      case 6:
        lose(controller);
        break;
      default:
        controller.on_acknowledgement(
            now_, {.marked = 1, .granted_bytes = credit_ += random_.below(40'000), .credit = true});
    }
  }
  /// Confirms everything that is still under way.
  template <typename C>
  void settle(C& controller) {
    const std::uint32_t packets = in_flight_ + lost_;
    controller.on_acknowledgement(now_, {.confirmed = volume(packets), .restored = volume(lost_)});
    in_flight_ = lost_ = 0;
  }
  TimePs now() const { return now_; }
  std::uint32_t in_flight() const { return in_flight_; }

 private:
  Volume volume(std::uint32_t packets) const { return {packets, std::uint64_t{packets} * packet_bytes_}; }
  TimePs round_trip() {
    if (random_.below(4) == 0) return kNever;
    return base_rtt_ - base_rtt_ / 10 +
           picoseconds(
               static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(base_rtt_.ps) * 5)));
  }
  template <typename C>
  void send(C& controller) {
    for (std::uint64_t burst = random_.below(8); burst > 0; --burst) {
      if (!controller.permits(packet_bytes_) || controller.next_send() > now_) return;
      controller.on_send(now_, {.window_bytes = packet_bytes_,
                                .wire_bytes = packet_bytes_ + 24,
                                .backlog_bytes = random_.below(200'000),
                                .retransmission = lost_ > 0});
      if (lost_ > 0) --lost_;
      ++in_flight_;
    }
  }
  template <typename C>
  void acknowledge(C& controller, std::uint32_t packets) {
    if (packets > in_flight_ + lost_) packets = in_flight_ + lost_;
    auto restored = static_cast<std::uint32_t>(random_.below(packets + 1ULL));
    if (restored > lost_) restored = lost_;
    if (packets - restored > in_flight_) packets = in_flight_ + restored;
    controller.on_acknowledgement(
        now_, {.confirmed = volume(packets),
               .restored = volume(restored),
               .marked = static_cast<std::uint32_t>(random_.below(2)),
               .granted = random_.below(2) == 0,
               .granted_bytes = credit_ += random_.below(20'000),
               .round_trip = round_trip(),
               .receiver_penalty = static_cast<std::uint8_t>(random_.below(8) == 0 ? random_.below(128) : 0),
               .penalty_over = random_.below(3) == 0,
               .credit = true});
    in_flight_ -= packets - restored;
    lost_ -= restored;
  }
  template <typename C>
  void lose(C& controller) {
    if (in_flight_ == 0) return;
    controller.on_loss(
        now_,
        {.lost = volume(1), .cause = static_cast<LossCause>(random_.below(5)), .round_trip = round_trip()});
    --in_flight_;
    ++lost_;
  }

  RandomStream random_;
  std::uint32_t packet_bytes_;
  TimePs base_rtt_;
  TimePs now_{};
  std::uint64_t credit_ = 0;
  std::uint32_t in_flight_ = 0;
  std::uint32_t lost_ = 0;
};

}  // namespace wharf::congestion
