// SPDX-License-Identifier: Apache-2.0
// RCCC: Ultra Ethernet's receiver-credit congestion control. A source spends credit on every packet and tells
// its demand in each; the receiver hands out credit at the rate of its link, in turn to all that want some.
// Both ends, because their counters are one: cumulative, in units of 256 bytes, modulo 2^24. [UE 1.0 3.6.14]
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/index_list.h"
#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "engine/congestion/controller.h"

namespace wharf::congestion {

/// The quantum of credit, bytes.
inline constexpr std::uint32_t kCreditQuantum = 256;
/// Counters of credit have 24 bits.
inline constexpr std::uint32_t kCreditMask = 0xff'ffff;

/// How far the counter `a` is ahead of `b`; negative when it is behind.
constexpr std::int32_t credit_difference(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>((a - b) << 8U) >> 8;
}

struct RcccConfig {
  BitsPerSecond link = gigabits_per_second(100);  ///< The receiver's; all of its ports together.
  std::uint32_t mtu_bytes = 4204;                 ///< A full packet as it counts.
  std::uint64_t max_window = 225'000;  ///< MaxWnd, bytes: credit of a new source, and the most it may hold.
  std::uint32_t grant_packets = 4;     ///< Full packets per grant.
  std::uint32_t pace_percent = 99;     ///< Of the link's rate.
  bool slow_grants = true;             ///< Credit for idle sources while no other wants any,
  std::uint32_t idle_packets = 4;      ///< full packets of it at a time,
  std::uint32_t idle_percent = 100;    ///< of the pace for it.
  TimePs base_rtt = microseconds(12);  ///< A source out of credit asks once per round trip at most,
  TimePs request_patience{};           ///< and not before it has been so for this long.
  /// A packet that must go again and finds no credit asks at once, likewise once per round trip.
  bool request_for_resends = false;
  /// Every packet gives its source a turn, one that wants nothing gets the counter told; else demand alone
  /// does.
  bool turn_per_packet = false;

  /// The values for a network: `base_rtt` unloaded, `mtu_bytes` a full packet as it counts.
  static RcccConfig for_network(BitsPerSecond link, TimePs base_rtt, std::uint32_t mtu_bytes);

  constexpr auto operator<=>(const RcccConfig&) const = default;
};

/// Refuses values outside the ranges given.
Result<void> check(const RcccConfig& config);

/// The source's half of one congestion control context. Refers to its configuration, which outlives it.
///
/// Choice: while nothing has been heard of the receiver, a packet taken for lost by time-out gives its credit
/// back: nobody else could.
class RcccSender {
 public:
  /// `config` has passed check().
  explicit RcccSender(const RcccConfig& config)
      : config_(&config), credit_(static_cast<std::int64_t>(config.max_window)) {}

  PacketRequest on_send(TimePs, const Departure& departure) {
    credit_ -= static_cast<std::int64_t>(departure.window_bytes);
    return {.grant_bytes =
                demand(departure.backlog_bytes, departure.demand_limit, departure.active_contexts)};
  }
  void on_acknowledgement(TimePs now, const Acknowledgement& acknowledgement);
  void on_loss(TimePs now, const Loss& loss);
  void expire(TimePs) {}

  /// Any credit lets a packet leave; it may be overdrawn by one.
  bool permits(std::uint64_t) const { return credit_ > 0; }
  TimePs next_send() const { return kTimeZero; }
  TimePs deadline() const { return kNever; }

  /// Demand in bytes, cumulative, modulo 2^32, of a source with `backlog` bytes to send: credit_target. It
  /// never goes back.
  std::uint64_t demand(std::uint64_t backlog, std::uint64_t limit, std::uint32_t active_contexts);

  /// One packet may leave without credit: there is nobody yet who could be asked for any.
  void overdraw() { credit_ = credit_ > 0 ? credit_ : 1; }

  // Observation.
  std::int64_t credit() const { return credit_; }                 ///< Bytes.
  bool speculating() const { return speculating_; }               ///< The receiver has not been heard.
  std::uint32_t granted_units() const { return granted_units_; }  ///< As last heard.

 private:
  void end_speculation();

  const RcccConfig* config_;
  std::int64_t credit_;
  std::uint32_t granted_units_ = 0;
  std::uint32_t target_units_ = 0;
  bool speculating_ = true;
};
static_assert(Controller<RcccSender>);
static_assert(std::is_trivially_copyable_v<RcccSender>);
static_assert(sizeof(RcccSender) <= 32);

/// The receiver's half: one issuer for all sources of an interface.
///
/// Choices: a grant is no larger than what is left of the demand, so that short messages do not hold up the
/// others; a trimmed packet, whose retransmission needs credit that nobody has asked for, counts as a demand
/// of one full packet.
class CreditIssuer {
 public:
  struct Grant {
    std::uint32_t source = 0;
    std::uint32_t total_units = 0;  ///< The counter of credit after it.
  };

  /// `config` has passed check() and outlives the issuer.
  explicit CreditIssuer(const RcccConfig& config);

  /// Room for the sources 0 to `count` - 1.
  void reserve(std::uint32_t count);
  /// A packet or a request of `source` names its demand. Older ones change nothing.
  void on_demand(std::uint32_t source, std::uint32_t target_units);
  /// A packet of `source` arrived without its payload.
  void on_trimmed(std::uint32_t source);
  /// `source` has gone: what it wants and holds is forgotten, its counters stay.
  void forget(std::uint32_t source);
  /// `source` is another one from now on: its counters begin anew.
  void restart(std::uint32_t source) {
    forget(source);
    sources_[source] = {};
  }

  /// The next grant that is due at `now`, in turn; repeat until none is left.
  std::optional<Grant> next(TimePs now);
  /// When next() has something.
  TimePs deadline() const { return active_.empty() && idle_.empty() ? kNever : next_at_; }

  /// Grants at this part of the pace from now on, 1/65536; at least 1.
  void set_rate(std::uint32_t rate_q16) { rate_q16_ = rate_q16; }

  // Observation.
  std::uint32_t granted_units(std::uint32_t source) const { return sources_[source].granted; }
  std::uint32_t target_units(std::uint32_t source) const { return sources_[source].target; }
  /// Time that a full grant takes of the pace.
  TimePs grant_time() const { return time_for(grant_units_); }

 private:
  struct Source {
    std::uint32_t target = 0;
    std::uint32_t granted = 0;
    std::uint32_t next_active = kNoSlot;
    std::uint32_t next_idle = kNoSlot;
    bool active = false;
    bool idle = false;
  };

  void enlist(std::uint32_t source);
  void push_active(std::uint32_t source);
  void push_idle(std::uint32_t source);
  TimePs time_for(std::uint32_t units) const;
  Grant grant(std::uint32_t source, std::uint32_t units);

  const RcccConfig* config_;
  std::vector<Source> sources_;
  IndexList active_;
  IndexList idle_;  ///< Satisfied; some of it may have become active since.
  TimePs next_at_{};
  std::uint32_t grant_units_;
  std::uint32_t idle_units_;
  std::uint32_t most_units_;
  std::uint32_t rate_q16_ = 65536;
};

}  // namespace wharf::congestion
