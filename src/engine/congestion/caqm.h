// SPDX-License-Identifier: Apache-2.0
// C-AQM of the Unified Bus at the sender: every packet asks for growth of the window, switches grant or
// refuse, the receiver returns the sum. [UB-Base 2.0.1 5.3.5; parameters and state machine: the ns-3-UB
// simulator]
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/result.h"
#include "base/time.h"
#include "engine/congestion/controller.h"

namespace wharf::congestion {

/// Hint on the wire counts 32-byte units when it is a multiple of one MTU's, else MTUs and single bytes.
inline constexpr std::uint32_t kCaqmUnit = 32;

struct CaqmConfig {
  std::uint32_t mtu_bytes = 4096;        ///< A multiple of 32, at most 65504.
  std::uint32_t initial_packets = 10;    ///< Initial window, MTUs.
  std::uint64_t window_limit = 1 << 30;  ///< Bytes; grants beyond are not taken.
  std::uint32_t alpha_ppm = 500'000;  ///< Growth asked for per round trip in avoidance, in MTUs; at most 1.
  std::uint32_t beta_ppm = 500'000;   ///< A marked packet takes beta MTU; at most 1.
  std::uint32_t theta = 10;           ///< Round trips without bad news until slow start again.
  TimePs initial_rtt = microseconds(12);

  constexpr auto operator<=>(const CaqmConfig&) const = default;
};

/// Refuses values outside the ranges given and of zero.
Result<void> check(const CaqmConfig& config);

/// Bytes that the Hint field means. [ns-3-UB]
constexpr std::uint64_t caqm_hint_bytes(std::uint32_t hint, std::uint32_t mtu_bytes) {
  const std::uint32_t units = mtu_bytes / kCaqmUnit;
  return hint % units == 0 ? std::uint64_t{hint} * kCaqmUnit
                           : std::uint64_t{hint / units} * mtu_bytes + hint % units;
}

/// The Hint of an encodable number of bytes: below one MTU's units, or a multiple of the MTU.
constexpr std::uint32_t caqm_hint(std::uint64_t bytes, std::uint32_t mtu_bytes) {
  const std::uint32_t units = mtu_bytes / kCaqmUnit;
  return bytes < units ? static_cast<std::uint32_t>(bytes)
                       : static_cast<std::uint32_t>(bytes / mtu_bytes * units);
}

/// Sender of one TP channel. Refers to its configuration, which outlives it. Losses leave flight and do not
/// touch the window: they are told by marks.
///
/// Choice: the growth asked for in avoidance is alpha MTU^2 / window bytes per packet, collected until it can
/// be encoded, so that the window grows by alpha MTU per round trip. ns-3-UB asks for alpha MTU / window and
/// counts the result as single bytes, which grows by half a byte.
class CaqmSender {
 public:
  /// `config` has passed check().
  explicit CaqmSender(const CaqmConfig& config);

  PacketRequest on_send(TimePs now, const Departure& departure);
  void on_acknowledgement(TimePs now, const Acknowledgement& acknowledgement);
  void on_loss(TimePs now, const Loss& loss);
  void expire(TimePs now);

  bool permits(std::uint64_t window_bytes) const {
    return packets_ == 0 || in_flight_ + static_cast<std::int64_t>(window_bytes) <= std::int64_t{window_};
  }
  std::int64_t room() const { return packets_ == 0 ? kAnyRoom : std::int64_t{window_} - in_flight_; }
  TimePs next_send() const { return kTimeZero; }
  /// When slow start begins again.
  TimePs deadline() const { return avoidance_until_; }

  // Observation.
  std::uint32_t window() const { return window_; }
  std::int64_t in_flight() const { return in_flight_; }
  bool slow_start() const { return avoidance_until_ == kNever; }
  TimePs round_trip() const { return round_trip_; }

 private:
  const CaqmConfig* config_;
  std::int64_t in_flight_ = 0;
  std::uint64_t wanted_q16_ = 0;  ///< Growth not asked for yet, bytes.
  TimePs round_trip_;             ///< Average, gain 1/8.
  TimePs avoidance_until_ = kNever;
  std::uint32_t window_;
  std::uint32_t packets_ = 0;
};
static_assert(Controller<CaqmSender>);
static_assert(std::is_trivially_copyable_v<CaqmSender>);

struct LdcpConfig {
  std::uint32_t mtu_bytes = 4096;
  std::uint64_t initial_window = 150'000;  ///< Bytes: new flows start at full speed, one BDP.
  std::uint64_t window_limit = 1U << 20U;  ///< Bytes.
  std::uint32_t alpha_ppm = 500'000;       ///< Unmarked packets add alpha MTU per round trip; at most 1.
  std::uint32_t beta_ppm = 500'000;        ///< A marked packet takes beta MTU; at most 1.

  constexpr auto operator<=>(const LdcpConfig&) const = default;
};

/// Refuses values outside the ranges given and windows below one MTU.
Result<void> check(const LdcpConfig& config);

/// LDCP without hints: a window driven by marks alone. [UB-Base 2.0.1 6.6 names it; its constants are not
/// published. Choice: the steps of C-AQM.] Refers to its configuration, which outlives it.
class LdcpSender {
 public:
  /// `config` has passed check().
  explicit LdcpSender(const LdcpConfig& config);

  PacketRequest on_send(TimePs now, const Departure& departure);
  void on_acknowledgement(TimePs now, const Acknowledgement& acknowledgement);
  void on_loss(TimePs now, const Loss& loss);
  void expire(TimePs) {}

  bool permits(std::uint64_t window_bytes) const {
    return packets_ == 0 || in_flight_ + static_cast<std::int64_t>(window_bytes) <= std::int64_t{window_};
  }
  std::int64_t room() const { return packets_ == 0 ? kAnyRoom : std::int64_t{window_} - in_flight_; }
  TimePs next_send() const { return kTimeZero; }
  TimePs deadline() const { return kNever; }

  std::uint32_t window() const { return window_; }
  std::int64_t in_flight() const { return in_flight_; }

 private:
  const LdcpConfig* config_;
  std::int64_t in_flight_ = 0;
  std::uint64_t grown_q16_ = 0;  ///< Growth below a byte.
  std::uint32_t window_;
  std::uint32_t packets_ = 0;
};
static_assert(Controller<LdcpSender>);
static_assert(std::is_trivially_copyable_v<LdcpSender>);

}  // namespace wharf::congestion
