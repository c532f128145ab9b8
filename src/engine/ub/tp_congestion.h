// SPDX-License-Identifier: Apache-2.0
// Congestion control of TP channels: what the controller of a channel is told and asked, and what a receiver
// returns of the marks and grants that it saw. Apart from the TP layer, which asks it in few places and knows
// no controller. [UB-Base 2.0.1 5.3.5, 6.6; state machines: the ns-3-UB simulator] Which choices were made
// stands in docs/decisions/0032.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/arena.h"
#include "base/ring.h"
#include "engine/congestion/any_controller.h"
#include "engine/congestion/sender_trace.h"
#include "engine/reliability/deadline_heap.h"
#include "engine/ub/config.h"
#include "engine/ub/counters.h"
#include "wire/packet.h"

namespace wharf::ub {

struct TxPacket;

/// What one packet adds to the echo of its channel.
struct PacketEcho {
  std::uint16_t bytes = 0;       ///< Payload.
  std::uint16_t hint_bytes = 0;  ///< Growth granted.
  bool marked = false;
  bool increase = false;  ///< C-AQM I.
};

/// The sender's half of one channel's life: its controller, and what it will be told when the input at hand
/// has been worked off.
struct CongestionSender {
  CongestionSender(const congestion::ControllerConfig& chosen, std::uint32_t channel_mtu, std::uint64_t first)
      : config(chosen),
        controller(congestion::AnyController::create(config).value()),
        echoed_end(first),
        mtu(channel_mtu) {}

  congestion::ControllerConfig config;  ///< The controller refers to it.
  congestion::AnyController controller;
  congestion::Acknowledgement heard;  ///< Gathered from the acknowledgement at hand,
  bool echoed = false;                ///< which had a CETPH with news;
  bool repeated = false;              ///< it confirms a packet of which there were several copies.
  TimePs newest_sent = kNever;        ///< When the newest of the others left.
  congestion::Loss lost;              ///< Gathered likewise.
  std::uint64_t sent_bytes = 0;       ///< Payload of first transmissions.
  std::uint64_t echoed_bytes = 0;     ///< AckSequence of the last CETPH that counted, not wrapped.
  std::uint64_t echoed_end;           ///< One past the last packet whose echo has counted.
  std::uint32_t mtu = 0;
  std::uint32_t in_flight = 0;  ///< Packets.
  TimePs round_trip = kNever;   ///< The latest sample.
  TimePs wake = kNever;         ///< When the packet that waits for time may leave.
};

static_assert(std::is_trivially_copyable_v<CongestionSender>);

/// The receiver's half of one channel.
struct CongestionEcho {
  std::uint32_t mtu = 0;
  bool wanted = false;              ///< The peer's controller lives on CETPH.
  bool increase = false;            ///< IE.
  bool notify = false;              ///< A CNP is due,
  bool notify_listed = false;       ///< and the channel in the list of those.
  std::uint32_t bytes = 0;          ///< recv_bytes: payload accepted in order, modulo 2^32.
  std::uint64_t marked = 0;         ///< CE: not told yet.
  std::uint64_t hint_bytes = 0;     ///< HintE: not told yet.
  std::uint64_t told_end = 0;       ///< One past the last packet that an acknowledgement with counts covered.
  std::span<PacketEcho> waiting{};  ///< By number: packets that wait for earlier ones.
  congestion::NotificationPacer pacer;
};
static_assert(std::is_trivially_copyable_v<CongestionEcho>);

class TpCongestion {
 public:
  TpCongestion(const UbConfig& config, Arena& arena);

  /// A controller decides; without one, and without spacing of CNPs, nothing here does anything.
  bool controls() const { return controls_; }

  // Control path.
  /// Channel `index` begins a life: both directions count from here. Takes memory.
  void open(std::uint32_t index, std::uint32_t mtu, std::uint64_t send_first, std::uint64_t receive_first);
  /// Channel `index` ended; nothing wakes it any more.
  void close(std::uint32_t index);

  // Sender.
  /// Whether a data packet may leave now. If it only has to wait for time, expire() names the channel then.
  bool may_send(TimePs now, std::uint32_t index, const TxPacket& packet) {
    return !controls_ || permitted(now, index, packet);
  }
  /// Whether nothing of the channel is under way because the next packet waits for its time: silence then
  /// says nothing about the peer.
  bool holds_back(TimePs now, std::uint32_t index) const;
  /// `out`, built from `packet`, leaves: writes CC into it.
  void departs(TimePs now, std::uint32_t index, TxPacket& packet, bool again, wire::Packet& out) {
    if (controls_) note_departure(now, index, packet, again, out);
  }
  /// `packet` was sent and is now confirmed. One who confirms calls tell() at the end.
  void confirmed(std::uint32_t index, const TxPacket& packet) {
    if (controls_) note_confirmed(index, packet);
  }
  /// `packet` is queued to be sent again. One who queues calls tell_losses() at the end.
  void lost(std::uint32_t index, TxPacket& packet) {
    if (controls_) note_lost(index, packet);
  }
  /// An acknowledgement says that everything before `end`, which has been sent, is in order at the peer.
  void take_echo(std::uint32_t index, std::uint64_t end, const wire::Packet& packet) {
    if (controls_ && wire::has_cetph(packet.ub)) note_echo(index, end, packet.ub.ack.cetph);
  }
  void tell_losses(TimePs now, std::uint32_t index, congestion::LossCause cause) {
    if (controls_) pass_losses(now, index, cause);
  }
  /// `answered`: by an acknowledgement, whose time says something about the path. True: more may leave.
  bool tell(TimePs now, std::uint32_t index, bool answered) {
    return controls_ && pass_acknowledgement(now, index, answered);
  }
  /// A CNP arrived. False: nobody asked for it.
  bool notified(TimePs now, std::uint32_t index);

  // Receiver. `logical` is the packet's number in the receive window.
  /// A data packet arrived, whatever becomes of it.
  void arrived(TimePs now, std::uint32_t index, const wire::Packet& packet) {
    if (answers_) notice(now, index, packet);
  }
  /// It is the next in order.
  void accepted(std::uint32_t index, const wire::Packet& packet) {
    if (controls_) count(index, echo_of(index, packet));
  }
  /// It waits for earlier ones,
  void kept(std::uint32_t index, std::uint64_t logical, const wire::Packet& packet) {
    if (controls_) waiting(index, logical) = echo_of(index, packet);
  }
  /// and they have come.
  void accepted_waiting(std::uint32_t index, std::uint64_t logical) {
    if (controls_) count(index, waiting(index, logical));
  }
  /// Puts CETPH into the acknowledgement `out` of everything before `end`, if the peer wants it.
  void write_echo(std::uint32_t index, std::uint64_t end, wire::Packet& out) {
    if (controls_ && echoes_[index].wanted) put_echo(echoes_[index], end, out);
  }
  bool has_notification() const { return !notify_.empty(); }
  /// The next channel on which a CNP is due.
  bool next_notification(std::uint32_t& index);

  // From time.
  TimePs deadline() const { return timers_.earliest(); }
  /// A deadline has come: runs that channel's timers and names it.
  std::uint32_t expire(TimePs now);

  // Observation.
  congestion::SenderTrace trace(std::uint32_t index) const;
  const CongestionCounters& counters() const { return counters_; }
  /// When the next packet of the channel may leave; kNever when it does not wait for time.
  TimePs waits_until(std::uint32_t index) const { return controls_ ? senders_[index]->wake : kNever; }
  /// Heap and arena memory held, in bytes.
  std::size_t bytes_held() const;

 private:
  PacketEcho& waiting(std::uint32_t index, std::uint64_t logical) {
    const std::span<PacketEcho> all = echoes_[index].waiting;
    return all[logical & (all.size() - 1)];
  }
  bool permitted(TimePs now, std::uint32_t index, const TxPacket& packet);
  void note_departure(TimePs now, std::uint32_t index, TxPacket& packet, bool again, wire::Packet& out);
  void note_confirmed(std::uint32_t index, const TxPacket& packet);
  void note_lost(std::uint32_t index, TxPacket& packet);
  void note_echo(std::uint32_t index, std::uint64_t end, const wire::Cetph& cetph);
  void pass_losses(TimePs now, std::uint32_t index, congestion::LossCause cause);
  bool pass_acknowledgement(TimePs now, std::uint32_t index, bool answered);
  static void put_echo(CongestionEcho& echo, std::uint64_t end, wire::Packet& out);
  void notice(TimePs now, std::uint32_t index, const wire::Packet& packet);
  PacketEcho echo_of(std::uint32_t index, const wire::Packet& packet);
  void count(std::uint32_t index, const PacketEcho& echo);
  void set_timer(std::uint32_t index);

  const UbConfig& config_;
  Arena& arena_;
  const bool controls_;
  const bool answers_;               ///< Marks with CNPs.
  const wire::CongestionField tag_;  ///< CC of data packets, before a controller's request.
  const bool tagged_;                ///< CC says something: it has to travel.
  std::vector<std::unique_ptr<CongestionSender>> senders_;
  std::vector<CongestionEcho> echoes_;
  reliability::DeadlineHeap timers_;
  Ring<std::uint32_t> notify_;
  CongestionCounters counters_;
};

}  // namespace wharf::ub
