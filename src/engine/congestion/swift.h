// SPDX-License-Identifier: Apache-2.0
// Swift: a window in packets driven by the delay of the fabric against a target that grows with hops and with
// the number of flows; below one packet it paces. A yardstick for the others. [Kumar et al., "Swift: Delay is
// Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020, Algorithm 1 and section 3.5]
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/result.h"
#include "base/time.h"
#include "engine/congestion/controller.h"

namespace wharf::congestion {

/// Windows in 1/65536 packet.
inline constexpr std::uint32_t kSwiftPacket = 65536;

/// ai, beta and max_mdf, the bounds of flow scaling and the smallest window have the values of the paper's
/// examples; targets, the scale of a hop and the range of flow scaling are tuned per cluster there.
/// Choice: 25 us, 1 us and 50 us.
struct SwiftConfig {
  std::uint32_t packet_bytes = 4096;           ///< For window() only.
  TimePs base_target = microseconds(25);       ///< Target of one flow over no hops.
  TimePs hop_scale = nanoseconds(1000);        ///< Added per hop.
  std::uint32_t hops = 4;                      ///< Of the paths; one number for all.
  TimePs flow_scale_range = microseconds(50);  ///< fs_range: the most that flow scaling adds; 0: none.
  std::uint32_t flow_scale_min = 6554;         ///< fs_min_cwnd, 1/65536 packet: 0.1.
  std::uint32_t flow_scale_max = 100U << 16U;  ///< fs_max_cwnd: nothing is added from here on.
  std::uint32_t increase_ppm = 1'000'000;      ///< ai, packets per round trip.
  std::uint32_t beta_ppm = 800'000;            ///< At most 1.
  std::uint32_t decrease_most_ppm = 500'000;   ///< max_mdf, at most 1.
  std::uint32_t retransmit_threshold = 5;      ///< Time-outs in a row until the smallest window.
  std::uint32_t window_min = 66;               ///< 1/65536 packet: 0.001.
  std::uint32_t window_max = 1000U << 16U;
  std::uint32_t initial_window = 16U << 16U;
  TimePs initial_rtt = microseconds(25);

  constexpr auto operator<=>(const SwiftConfig&) const = default;
};

/// Refuses values outside the ranges given and bounds in the wrong order.
Result<void> check(const SwiftConfig& config);

/// The sender's state of one flow. Refers to its configuration, which outlives it.
///
/// Choice: the fabric's window only; what the receiver holds back is subtracted from the round trip and
/// drives nothing, where Swift keeps a second window for it.
class SwiftSender {
 public:
  /// `config` has passed check().
  explicit SwiftSender(const SwiftConfig& config);

  PacketRequest on_send(TimePs now, const Departure& departure);
  void on_acknowledgement(TimePs now, const Acknowledgement& acknowledgement);
  void on_loss(TimePs now, const Loss& loss);
  void expire(TimePs) {}

  /// As many whole packets as the window holds; one at least, which next_send() then spaces.
  bool permits(std::uint64_t) const { return packets_ == 0 || packets_ < window_ / kSwiftPacket; }
  std::int64_t room() const { return permits(0) ? kAnyRoom : kNoRoom; }
  TimePs next_send() const { return next_send_; }
  TimePs deadline() const { return kNever; }

  // Observation.
  std::uint64_t window() const;  ///< Bytes.
  std::uint32_t window_q16() const { return window_; }
  std::uint32_t packets_in_flight() const { return packets_; }
  /// The target at the present window; 1 us of flow scaling is exact to about 0.1 ns.
  TimePs target() const;

 private:
  void decrease(TimePs now, std::uint64_t factor_q16);
  void clamp();
  void pace();

  const SwiftConfig* config_;
  TimePs round_trip_;
  TimePs last_decrease_{};
  TimePs last_send_{};
  TimePs next_send_{};
  std::uint32_t window_;
  std::uint32_t packets_ = 0;
  std::uint32_t timeouts_ = 0;  ///< In a row.
  bool decreased_ = false;      ///< last_decrease_ has a meaning.
};
static_assert(Controller<SwiftSender>);
static_assert(std::is_trivially_copyable_v<SwiftSender>);
static_assert(sizeof(SwiftSender) <= 64);

}  // namespace wharf::congestion
