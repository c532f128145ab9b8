// SPDX-License-Identifier: Apache-2.0
// Congestion control of queue pairs. Reaction point: one controller for each, which says when its next packet
// may leave. Notification point: congestion notification packets (CNPs) for marked packets that arrive. The
// engine asks here in few places and knows no controller. [Zhu et al., "Congestion Control for Large-Scale
// RDMA Deployments", SIGCOMM 2015; IBTA vol 1 A17.9]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ring.h"
#include "base/time.h"
#include "engine/congestion/any_controller.h"
#include "engine/congestion/dcqcn.h"
#include "engine/congestion/sender_trace.h"
#include "engine/reliability/deadline_heap.h"
#include "engine/roce/engine_core.h"
#include "engine/roce/position_ring.h"
#include "wire/packet.h"

namespace wharf::roce {

/// Without `RoceConfig::congestion` nothing is held back, and without `min_time_between_cnps` no CNP leaves;
/// each call costs a branch then.
///
/// Requests, new or sent again, wait for window and rate. READ responses wait for the rate alone, because
/// nobody acknowledges them. Acknowledgements, NAKs, atomic results and CNPs wait for neither.
class CongestionControl {
 public:
  explicit CongestionControl(EngineCore& core);

  // --- Control side. ---

  /// Makes room for queue `id`, the newest one. Takes memory.
  void add_queue(QueueId id);
  /// `pair` has a peer: packets toward it are observed by trace().
  void connect(const QueuePair& pair, wire::HostAddress peer);
  /// Everything about the connection is forgotten: nothing is in flight, the rate is the first one, no CNP is
  /// owed. For reset, destruction and the error state.
  void restart(const QueuePair& pair);

  // --- Reaction point. ---

  /// Whether queue pairs have a controller.
  bool controls() const { return fresh_.has_value(); }
  /// Whether the front packet of `flow`, which is listed under `send_class`, has to wait. It is listed again
  /// when it may go.
  bool holds(TimePs now, const QueuePair& pair, Flow flow, std::size_t send_class) {
    return fresh_ && hold(now, pair, flow, send_class);
  }
  /// `packet` of `flow` leaves; a request may be told to ask for an acknowledgement.
  void on_sent(TimePs now, const QueuePair& pair, Flow flow, wire::Packet& packet) {
    if (fresh_ && packet.traffic_class != wire::TrafficClass::kAcknowledgement) {
      tell_sent(now, pair, flow, packet);
    }
  }
  /// Everything before the oldest unanswered PSN has arrived; `answered` names the packet whose ACK says so.
  void on_confirmed(TimePs now, const QueuePair& pair, std::optional<Psn> answered) {
    if (fresh_) tell_confirmed(now, pair, answered);
  }
  /// Everything in flight is going to be sent again.
  void on_lost(TimePs now, const QueuePair& pair, congestion::LossCause cause);
  /// Selective repeat: the packet that `psn` belongs to is going to be sent again.
  void on_missing(TimePs now, const QueuePair& pair, Psn psn, congestion::LossCause cause);
  /// A CNP arrived.
  void on_notified(TimePs now, const QueuePair& pair);

  // --- Notification point. ---

  /// A packet arrived that a switch has marked.
  void on_marked(TimePs now, const QueuePair& pair);
  bool owes_notification() const { return !owing_.empty(); }
  /// The CNP that waits longest; false when none does.
  bool take_notification(wire::Packet& out);

  // --- Time. ---

  void expire(TimePs now);
  TimePs deadline() const { return wakes_.earliest(); }

  // --- Observation. ---

  bool is_holding(const QueuePair& pair, Flow flow) const {
    return !senders_.empty() && senders_[pair.id].waits(flow);
  }
  congestion::SenderTrace trace(wire::HostAddress peer) const;
  congestion::SenderTrace trace_queue(QueueId queue) const;
  /// Records of queue pairs, of either kind.
  std::size_t records() const { return senders_.size() + receivers_.size(); }
  /// Heap and arena memory held, in bytes.
  std::size_t bytes_held() const;
  /// What one queue pair takes with `config`, for state reports.
  static std::size_t bytes_per_queue(const RoceConfig& config);

 private:
  /// A request packet between departure and confirmation or loss.
  struct Flight {
    TimePs left;  ///< kNever when its answer gives no sample of the round trip.
    Psn psn = 0;
    std::uint16_t bytes = 0;  ///< At most kAccountingMtu.
    bool asks = false;        ///< For an answer of its own.
    bool lost = false;        ///< Selective repeat: it is out of the window until it is sent again.
  };
  static_assert(sizeof(Flight) == 16);

  static constexpr std::uint8_t kNotParked = 0xff;

  /// Reaction point of a queue pair.
  struct Sender {
    explicit Sender(const congestion::AnyController& chosen) : controller(chosen) {}
    bool waits(Flow flow) const { return parked[static_cast<std::size_t>(flow)] != kNotParked; }

    congestion::AnyController controller;
    PositionRing<Flight> flights;  ///< By PSN.
    std::uint32_t asking = 0;      ///< Flights that ask for an answer.
    std::uint32_t unasked = 0;     ///< Packets since the last one that asked.
    bool windowed = false;         ///< The window has been closed since the connection began.
    /// By flow: the list that it was taken from, or kNotParked.
    std::array<std::uint8_t, 2> parked{kNotParked, kNotParked};
    std::array<TimePs, 2> parked_since{kNever, kNever};  ///< Since when its front packet waits.
    std::optional<wire::HostAddress> peer;
    TimePs round_trip = kNever;
    TimePs sampled_at;
  };

  /// Notification point of a queue pair.
  struct Receiver {
    congestion::NotificationPacer pacer;
    bool lined_up = false;  ///< In owing_.
    bool owes = false;
    std::uint16_t partition_key = 0;
    std::uint16_t entropy = 0;
    wire::HostAddress peer;
    std::uint32_t queue_number = 0;
  };

  bool hold(TimePs now, const QueuePair& pair, Flow flow, std::size_t send_class);
  void tell_sent(TimePs now, const QueuePair& pair, Flow flow, wire::Packet& packet);
  /// tell_sent() of a packet that selective repeat sends again.
  void tell_resent(TimePs now, Sender& sender, const wire::Packet& packet, std::uint32_t bytes);
  static Flight* find_flight(Sender& sender, Psn psn);
  void tell_confirmed(TimePs now, const QueuePair& pair, std::optional<Psn> answered);
  bool permits(const Sender& sender, const QueuePair& pair) const;
  bool may_go(TimePs now, const Sender& sender, const QueuePair& pair, Flow flow) const;
  /// Lists again what may go by now, and sets the time to look again.
  void settle(TimePs now, const QueuePair& pair, Sender& sender);
  void resume(QueueId id, Sender& sender, Flow flow);

  EngineCore& core_;
  std::optional<congestion::AnyController> fresh_;
  TimePs patience_ = kNever;  ///< A packet that the next one follows later than this asks for an answer.
  static void add_to(congestion::SenderTrace& sum, const Sender& sender, TimePs& newest);

  std::vector<Sender> senders_;      ///< By queue; empty without a controller.
  std::vector<Receiver> receivers_;  ///< By queue; empty when no CNPs are sent.
  Ring<QueueId> owing_;              ///< Those with Receiver::lined_up.
  reliability::DeadlineHeap wakes_;  ///< By queue.
};

}  // namespace wharf::roce
