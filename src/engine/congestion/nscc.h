// SPDX-License-Identifier: Apache-2.0
// NSCC: Ultra Ethernet's network-signalled congestion control. A window in bytes that four combinations of
// mark and delay move, that fast increase opens after an idle network, and that quick adapt sets to what
// really arrived when packets were trimmed. [UE 1.0 3.6.13]
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "engine/congestion/controller.h"

namespace wharf::congestion {

/// Where the UEC's public simulator (htsim) does not do what the specification says.
enum class NsccRules : std::uint8_t {
  kSpecification,
  /// A sample that is not valid counts as the average delay instead of ending the treatment of its ACK; an
  /// unmarked delay above the target enters the average as a quarter of the base RTT; periods end after their
  /// time, not at it; the window is bounded before and after what is due is added; every trim sets off quick
  /// adapt, that of the last hop beside receiver credits, too; a loss that is inferred before its time-out
  /// leaves the window as it is.
  kSimulator,
};

/// What a sender is configured with. for_network() derives all of it; single values may be changed after.
struct NsccConfig {
  BitsPerSecond link = gigabits_per_second(100);  ///< Slower of the source's and the destination's.
  TimePs base_rtt = microseconds(12);             ///< config_base_rtt: full-size data, an ACK back, unloaded.
  std::uint32_t mtu_bytes = 4204;         ///< A full packet as it counts toward the window; the least window.
  std::uint64_t initial_window = 0;       ///< Bytes; 0: MaxWnd.
  TimePs target_delay = microseconds(9);  ///< target_qdelay.
  std::uint64_t alpha_q32 = 0;            ///< alpha in 1/2^32 byte per ps: proportional increase.
  std::uint32_t fair_increase = 0;        ///< fi, bytes.
  std::uint32_t eta = 0;                  ///< Bytes added every adjust_period.
  std::uint32_t fast_scale_q16 = 0;       ///< fi_scale, 1/65536.
  std::uint32_t gamma_q16 = 52429;        ///< 0.8 of the excess delay is taken away.
  std::uint32_t max_md_jump_q16 = 32768;  ///< One decrease leaves at least this part: 0.5.
  std::uint32_t qa_gate = 3;              ///< Quick adapt if less than MaxWnd / 2^qa_gate arrived.
  TimePs qa_threshold = microseconds(36);
  std::uint32_t adjust_bytes = 0;  ///< What is due is added after so many bytes,
  TimePs adjust_period{};          ///< or after this time.
  /// Choice: the average of the delay is implementation-defined in the specification; 1/80 of each sample.
  std::uint32_t delay_gain_q20 = 13107;
  TimePs fast_delay = microseconds(1);      ///< Choice: a delay below it is none (fast increase).
  std::uint32_t ack_trigger_bytes = 16384;  ///< ACK_Gen_Trigger: below such a window every packet asks.
  bool nack_lowers_base_rtt = true;         ///< A trimmed packet's NACK is a sample of the base RTT.
  bool last_hop_trims_count = true;         ///< False beside receiver credits, which deal with incast.
  NsccRules rules = NsccRules::kSpecification;

  /// The specification's values for a network: `base_rtt` unloaded, `mtu_bytes` a full packet as it counts
  /// toward windows, `trimming` whether its switches trim. `gain_bytes`: the packet size in alpha, fi and
  /// eta; 0: mtu_bytes. [UE 1.0 3.6.13: scaling to 100 Gb/s and 12 us]
  static NsccConfig for_network(BitsPerSecond link, TimePs base_rtt, std::uint32_t mtu_bytes, bool trimming,
                                std::uint32_t gain_bytes = 0);

  constexpr auto operator<=>(const NsccConfig&) const = default;
};

/// Refuses values outside the ranges given.
Result<void> check(const NsccConfig& config);

/// The sender's half of one congestion control context. Refers to its configuration, which outlives it.
///
/// `Acknowledgement::confirmed.bytes` is the growth of rcvd_bytes, in units of 256 bytes, which overtakes or
/// trails the packets a little: what is in flight is signed.
/// Choice: it is 0 whenever no packet is in flight, so that the rounding of closed PDCs does not add up.
class NsccSender {
 public:
  /// `config` has passed check().
  explicit NsccSender(const NsccConfig& config);

  PacketRequest on_send(TimePs now, const Departure& departure);
  void on_acknowledgement(TimePs now, const Acknowledgement& acknowledgement);
  void on_loss(TimePs now, const Loss& loss);
  void expire(TimePs) {}

  /// can_send. Choice: with the size of the packet, so that a short one is not held back; and always while
  /// nothing is in flight.
  bool permits(std::uint64_t window_bytes) const {
    return in_flight_ <= 0 || static_cast<std::uint64_t>(in_flight_) + window_bytes <= window_;
  }
  std::int64_t room() const {
    return in_flight_ <= 0 ? kAnyRoom : static_cast<std::int64_t>(window_) - in_flight_;
  }
  TimePs next_send() const { return kTimeZero; }
  TimePs deadline() const { return kNever; }

  // Observation.
  std::uint64_t window() const { return window_; }       ///< cwnd, bytes.
  std::uint64_t max_window() const { return most_; }     ///< MaxWnd, bytes.
  std::int64_t in_flight() const { return in_flight_; }  ///< Bytes.
  std::uint32_t packets_in_flight() const { return packets_; }
  TimePs base_rtt() const { return base_rtt_; }
  TimePs average_delay() const { return average_; }

 private:
  void leave(std::uint64_t bytes, std::uint32_t packets);
  void apply_penalty(const Acknowledgement& acknowledgement);
  void sample_base_rtt(TimePs rtt);
  void average(TimePs delay);
  bool quick_adapt(TimePs now, bool loss, bool marked, TimePs delay);
  bool fast_increase(std::uint64_t newly, TimePs delay);
  void decrease(TimePs now);
  bool period_is_over(TimePs now) const;
  void fulfil(TimePs now);
  void clamp();

  const NsccConfig* config_;
  std::uint64_t window_;
  std::uint64_t most_;
  std::uint64_t increase_ = 0;  ///< inc_bytes, bytes squared: divided by the window when it is added.
  std::uint64_t achieved_ = 0;  ///< Since quick adapt last looked.
  std::uint64_t received_ = 0;  ///< Since fulfil.
  std::uint64_t ignored_ = 0;
  std::uint64_t to_ignore_ = 0;
  std::uint64_t fast_count_ = 0;
  std::uint64_t saved_window_ = 0;  ///< Before the receiver's penalty; 0: none.
  std::int64_t in_flight_ = 0;
  TimePs base_rtt_;
  TimePs average_{};
  TimePs last_adjust_ = kNever;  ///< kNever: nothing has been sent.
  TimePs last_decrease_ = TimePs{std::numeric_limits<std::int64_t>::min() / 2};
  TimePs qa_end_{};
  std::uint32_t packets_ = 0;
  bool fast_ = false;
  bool trigger_qa_ = false;
};
static_assert(Controller<NsccSender>);
static_assert(std::is_trivially_copyable_v<NsccSender>);
static_assert(sizeof(NsccSender) <= 136);

}  // namespace wharf::congestion
