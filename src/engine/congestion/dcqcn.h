// SPDX-License-Identifier: Apache-2.0
// DCQCN: a rate at the sender (reaction point) that congestion notification packets cut and that time and
// bytes raise again; and the receiver (notification point) that spaces those packets. The switch only marks.
// [Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015] Parameters have the names
// of ConnectX firmware.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "engine/congestion/controller.h"

namespace wharf::congestion {

/// When a cut lowers the target rate to the rate before it.
enum class TargetClamp : std::uint8_t {
  kEveryCut,       ///< The paper; CLAMP_TGT_RATE 1.
  kAfterIncrease,  ///< CLAMP_TGT_RATE_AFTER_TIME_INC 1: only if the rate was raised since the last cut.
};

struct DcqcnConfig {
  BitsPerSecond link = gigabits_per_second(100);  ///< Line rate: the first rate of every flow.
  std::uint32_t dce_tcp_g = 1020;                 ///< 1 - g in 1/1024, 1..1023. (Paper: g = 1/256.)
  TimePs dce_tcp_rtt = microseconds(55);          ///< K: alpha decays once per period.
  /// Alpha moves at the ends of periods only, up if a notification came; else each notification moves it up
  /// at once and restarts the period. (Paper: at once.)
  bool alpha_by_period = false;
  std::uint32_t initial_alpha_value = 1024;    ///< In 1/1024, at most 1024.
  std::uint32_t rpg_gd = 11;                   ///< A cut takes alpha * 1024 / 2^gd; 10..20.
  std::uint32_t rpg_min_dec_fac = 0;           ///< Per cent that one cut leaves at least.
  TimePs rate_reduce_monitor_period{};         ///< Between cuts at least.
  BitsPerSecond rate_to_set_on_first_cnp{};    ///< 0: cut from line rate.
  TimePs rpg_time_reset = microseconds(55);    ///< Rate timer.
  std::uint64_t rpg_byte_reset = 10'000'000;   ///< B, bytes.
  std::uint32_t rpg_threshold = 5;             ///< F.
  BitsPerSecond rpg_ai_rate = {40'000'000};    ///< R_AI.
  BitsPerSecond rpg_hai_rate = {100'000'000};  ///< R_HAI. (Paper: none; common simulators.)
  bool hyper_by_stage = false;                 ///< QCN: R_HAI times (min(T, BC) - F).
  BitsPerSecond rpg_min_rate = {1'000'000};    ///< Rates stay above.
  TargetClamp target_clamp = TargetClamp::kEveryCut;
  TimePs min_time_between_cnps = microseconds(50);  ///< Notification point, N.

  /// Defaults of ConnectX-4 firmware.
  static DcqcnConfig connectx(BitsPerSecond link);
};

/// Refuses values outside the ranges given.
Result<void> check(const DcqcnConfig& config);

/// Reaction point of one flow. A mark in an acknowledgement is a notification. Nothing limits what is in
/// flight. Refers to its configuration, which outlives it.
///
/// Choice: back at line rate (to one part in 2^20, where halving the distance gets nowhere) the rate timer
/// rests and the counters are zero, so an idle flow needs no wake-ups.
class DcqcnSender {
 public:
  /// `config` has passed check().
  explicit DcqcnSender(const DcqcnConfig& config);

  PacketRequest on_send(TimePs now, const Departure& departure);
  void on_acknowledgement(TimePs now, const Acknowledgement& acknowledgement);
  void on_loss(TimePs, const Loss&) {}
  void expire(TimePs now);

  bool permits(std::uint64_t) const { return true; }
  std::int64_t room() const { return kAnyRoom; }
  TimePs next_send() const { return next_send_; }
  TimePs deadline() const { return rate_timer_; }

  // Observation.
  BitsPerSecond rate() const { return {rate_}; }      ///< RC.
  BitsPerSecond target() const { return {target_}; }  ///< RT.
  std::uint32_t alpha_q20() const { return alpha_; }  ///< As of the last notification or query.
  std::uint32_t timer_stage() const { return timer_stage_; }
  std::uint32_t byte_stage() const { return byte_stage_; }

 private:
  void notify(TimePs now);
  void age_alpha(TimePs now);
  void increase();

  const DcqcnConfig* config_;
  std::uint64_t rate_;
  std::uint64_t target_;
  std::uint64_t bytes_ = 0;
  TimePs next_send_{};
  TimePs rate_timer_ = kNever;
  TimePs alpha_since_{};
  TimePs last_cut_{};
  std::uint32_t alpha_;
  std::uint32_t timer_stage_ = 0;
  std::uint32_t byte_stage_ = 0;
  bool notified_ = false;         ///< There has been a notification at all.
  bool period_notified_ = false;  ///< In this alpha period.
  bool raised_ = true;            ///< Since the last cut.
};
static_assert(Controller<DcqcnSender>);
static_assert(std::is_trivially_copyable_v<DcqcnSender>);
static_assert(sizeof(DcqcnSender) <= 88);

/// Notification point of one flow.
class NotificationPacer {
 public:
  /// A marked packet arrived: whether a notification leaves now.
  bool on_marked(TimePs now, TimePs min_time_between_cnps) {
    if (now < next_) return false;
    next_ = now + min_time_between_cnps;
    return true;
  }

 private:
  TimePs next_{};
};

}  // namespace wharf::congestion
