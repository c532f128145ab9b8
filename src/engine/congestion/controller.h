// SPDX-License-Identifier: Apache-2.0
// What every congestion controller satisfies on the sender's side: what it is told about packets, and what it
// answers about the next one. Apart from the protocols because one controller serves several of them; how a
// protocol carries marks, hints and credits in its headers is the protocol's business.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include "base/time.h"

namespace wharf::congestion {

/// Some packets and their bytes. Which bytes a protocol counts toward a window is fixed by its specification
/// (the Unified Bus: payload; Ultra Ethernet: the nominal packet size); it counts the same ones everywhere.
struct Volume {
  std::uint32_t packets = 0;
  std::uint64_t bytes = 0;
};

/// One packet that leaves now, new or sent again.
struct Departure {
  std::uint64_t window_bytes = 0;   ///< What it counts toward the window.
  std::uint64_t wire_bytes = 0;     ///< What the link is busy for: what a rate is spent on.
  std::uint64_t backlog_bytes = 0;  ///< Window bytes that wait behind it, retransmissions included.
  bool retransmission = false;
  /// Receiver credit: more than this is not worth asking for (window and a packet, when one limits too).
  std::uint64_t demand_limit = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t active_contexts = 1;  ///< Receiver credit: contexts of this interface with data to send.
};

/// What the departing packet asks of the network or of its receiver. A controller without the notion leaves
/// it as it is.
struct PacketRequest {
  bool acknowledge = false;  ///< The controller needs an answer to this very packet (AR of UE 1.0).
  bool grant = false;        ///< C-AQM I: switches may grant growth.
  /// C-AQM: bytes of growth that this packet asks for. Receiver credit: demand in bytes, cumulative.
  std::uint64_t grant_bytes = 0;
};

/// What room() says when window or credit permit everything, or nothing.
inline constexpr std::int64_t kAnyRoom = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kNoRoom = -1;

/// Whatever came back: an acknowledgement, a congestion notification packet (nothing confirmed, one mark), or
/// a credit (nothing confirmed, `granted_bytes`).
struct Acknowledgement {
  Volume confirmed{};        ///< Confirmed for the first time, by number or by cumulative byte count.
  Volume restored{};         ///< The part of `confirmed` that an earlier on_loss() took out of flight.
  std::uint32_t marked = 0;  ///< Congestion marks that came back: packets marked on their way.
  bool granted = false;      ///< C-AQM I: no switch refused.
  /// C-AQM: growth granted. Receiver credit: all credit so far, modulo 2^32, when `credit`.
  std::uint64_t granted_bytes = 0;
  TimePs round_trip = kNever;  ///< Send to answer, of a packet whose copy is known; kNever: no sample.
  TimePs receiver_hold{};      ///< The part of `round_trip` that the receiver sat on the answer.
  std::uint8_t receiver_penalty =
      0;                      ///< rcv_cwnd_pend of UE 1.0: 0 none, 64 halve in a round trip, 127 the most.
  bool penalty_over = false;  ///< restore_cwnd of UE 1.0.
  bool credit = false;        ///< It carries the receiver's count of credit.
};

/// Why packets are taken for lost.
enum class LossCause : std::uint8_t {
  kGap,             ///< A selective acknowledgement or an out-of-sequence answer shows a hole.
  kTimeout,         ///< The retransmission timer expired.
  kTrimmed,         ///< A switch cut the payload off.
  kTrimmedLastHop,  ///< The switch before the receiver did.
  kRefused,         ///< The receiver had no room; not a sign of congestion.
};

/// Packets that have left the network without arriving. Told once per packet and sending; a retransmission is
/// a Departure of its own.
struct Loss {
  Volume lost{};
  LossCause cause = LossCause::kGap;
  TimePs round_trip = kNever;  ///< When the answer that showed the loss gives a sample.
};

/// The sender's side of congestion control, for whatever the protocol gives one controller: a TP channel, a
/// queue pair, a group of delivery contexts. Plain data; nothing allocates; no floating point decides
/// anything. `now` never decreases. Window, credit and rate are one interface: a packet may leave when
/// permits() says so and next_send() has come.
template <typename C>
concept Controller = requires(C& controller, const C& observed, TimePs now, std::uint64_t window_bytes,
                              const Departure& departure, const Acknowledgement& acknowledgement,
                              const Loss& loss) {
  // Inputs.
  /// A packet leaves that permits() and next_send() allowed (or a probe that the protocol may always send).
  { controller.on_send(now, departure) } -> std::same_as<PacketRequest>;
  controller.on_acknowledgement(now, acknowledgement);
  controller.on_loss(now, loss);
  /// Runs the controller's own timers; early and repeated calls do nothing.
  controller.expire(now);

  // Answers.
  /// Whether window or credit let a packet that counts `window_bytes` leave. A controller that always says no
  /// while nothing is in flight stalls its channel: windows stay above one packet, or next_send() spaces
  /// packets.
  { observed.permits(window_bytes) } -> std::same_as<bool>;
  /// The earliest instant at which the next packet may leave; kTimeZero when nothing is paced.
  { observed.next_send() } -> std::same_as<TimePs>;
  /// When expire() is needed; kNever without timers.
  { observed.deadline() } -> std::same_as<TimePs>;
};

}  // namespace wharf::congestion
