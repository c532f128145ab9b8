// SPDX-License-Identifier: Apache-2.0
// The TP layer: one or a few reliable channels per remote host, shared by all jetties. Numbers packets,
// delivers what arrives to the transaction layer, acknowledges. [UB-Base 2.0.1 6.3, 6.4] Repair of loss is in
// tp_retransmission.cc.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "base/index_list.h"
#include "base/memory_use.h"
#include "base/ring.h"
#include "engine/contract.h"
#include "engine/reliability/deadline_heap.h"
#include "engine/reliability/receive_window.h"
#include "engine/reliability/retransmission_timer.h"
#include "engine/reliability/round_trip_estimate.h"
#include "engine/ub/access_port.h"
#include "engine/ub/channel_state.h"
#include "engine/ub/compact_pair.h"
#include "engine/ub/context_records.h"
#include "engine/ub/exchange.h"
#include "engine/ub/fused_window.h"
#include "engine/ub/shared_room.h"
#include "engine/ub/tp_congestion.h"
#include "engine/ub/tx_window.h"
#include "wire/packet.h"

namespace wharf::ub {

struct EngineParts;
struct InboundMessage;
struct Transaction;

/// ODR of a request without order tag whose completion comes in order.
inline constexpr std::uint8_t kPlainOrder = 4;
/// EE of its header.
constexpr std::uint8_t environment_of(wire::UbEncapsulation encapsulation) {
  return wire::profile(encapsulation) == wire::UbProfile::kP2OpenUrma ? 1 : 0;
}

/// OpenURMA numbers the modes ROI 0, ROT 1, ROL 2, UNO 3; the field is in profile P2 alone.
constexpr std::uint8_t wire_mode_of(engine::ServiceMode service) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(service) - 1U);
}

/// What the next acknowledgement of a channel says.
enum class AckKind : std::uint8_t { kNone, kAck, kSack, kNak };

/// One TP channel. The packet counters (send, receive, tpmsn_next) are the context record; the rest is what a
/// real window needs beyond it.
struct TpChannel {
  wire::HostAddress remote;
  std::uint32_t local_tpn = 0;
  std::uint32_t remote_tpn = 0;  ///< Toward no host: the next such channel.
  std::uint32_t generation = 0;
  std::uint32_t incarnation = 0;  ///< Of the pair: tells the lives of the channel apart on the wire.
  std::uint32_t failures = 0;     ///< Lives that ended here, or that the peer said had ended there.
  std::uint32_t peer_first_incarnation = 0;  ///< Of the peer's engine.
  std::uint32_t mtu = 0;
  std::uint16_t entropy = 0;
  ChannelState state = ChannelState::kClosed;
  Lane lane = kFirstLane;
  ChannelKind kind = ChannelKind::kReliable;
  bool selective = false;
  /// It is not a plain reliable channel, or a target keeps order on it: its packets go the general way, but
  /// for plain Writes on a fused channel.
  bool general = false;
  /// Packets that the short ways may number before they look again; 0 unless `plain`. Known because only they
  /// number packets meanwhile, and all else makes room.
  std::uint32_t credit = 0;

  // Sender.
  TxWindow send;
  std::uint32_t tx_held = 0;          ///< Places in the pool of packets.
  std::uint32_t tpmsn_next = 0;       ///< 24 bits travel.
  std::uint64_t send_cursor = 0;      ///< First number that was never sent.
  std::uint32_t unsent = 0;           ///< Numbered, never sent.
  std::uint32_t resend_prepared = 0;  ///< Queued retransmissions whose data is fetched or being fetched.
  reliability::RetransmissionTimer timer;
  TimePs timer_set = kNever;  ///< As the heap has it.
  bool timer_held = false;    ///< It came while the controller held everything back; it counts from the next
                              ///< packet on.
  // The message being numbered, and those behind it.
  bool numbering = false;
  bool plain =
      false;  ///< Nothing of it waits to be numbered or to be sent again, and it is ready. False: look.
  PacketOrigin numbering_origin = PacketOrigin::kRequest;
  std::uint32_t numbering_object = kNoSlot;
  std::uint32_t numbering_offset = 0;
  wire::Psn numbering_tpmsn = 0;
  bool response_turn = true;        ///< Requests and responses take turns, message by message.
  IndexList requests;               ///< Of transactions, by Transaction::next.
  std::uint32_t requests_open = 0;  ///< Requests that the peer holds a place for: begun and not answered.
  std::uint32_t requests_max = 0;   ///< Places that it has for this host.
  IndexList responses;              ///< Of inbound messages, by InboundMessage::next.

  // Receiver.
  reliability::ReceiveWindow receive;
  std::uint32_t messages_delivered = 0;
  std::uint64_t receive_first = 0;     ///< The first number of the channel.
  std::uint32_t ahead_held = 0;        ///< Places in TpLayer::ahead_.
  std::uint64_t naked = 0;             ///< The gap that the last TPNAK was for; 0 for none.
  std::uint32_t messages_open = 0;     ///< Messages that need their TPMSN to be found.
  std::uint32_t messages_held = 0;     ///< All messages of the peer, open or being answered.
  std::uint32_t messages_early = 0;    ///< Messages that began ahead of their turn, beside messages_held.
  std::unique_ptr<FusedWindow> fused;  ///< Of kFused.
  std::uint32_t parked_ahead = 0;  ///< Packets that wait, or waited, for earlier ones and still have a place.
  AckKind ack = AckKind::kNone;
  std::uint64_t ack_number = 0;      ///< next() when the acknowledgement was asked for.
  std::uint64_t ack_max = 0;         ///< end() then.
  std::uint64_t ack_first_bits = 0;  ///< first_bits() then.
  wire::Psn ack_tpmsn = 0;
  std::uint32_t unacknowledged = 0;  ///< In-order packets since the last TPACK.

  // Where the channel stands in the engine's lists.
  bool dirty_listed = false;
  bool ack_delayed = false;  ///< The timer of a delayed TPACK runs.
  bool ack_listed = false;
  bool data_listed = false;
  bool resend_listed = false;
  bool pump_deferred = false;
  bool timeout_deferred = false;

  /// Something waits, or the channel ends.
  void hold_up() {
    plain = false;
    credit = 0;
  }
};
static_assert(sizeof(TpChannel) <= 328);

class TpLayer {
  friend class Express;

 public:
  explicit TpLayer(EngineParts& parts);

  // Control.
  /// The channel to the exporter of `blob`, made if there is none or if the present one has failed.
  Result<std::uint32_t> open(TimePs now, const QueueBlob& blob, Lane lane);
  /// From now on none of its packets take the short ways.
  void make_general(std::uint32_t index);
  /// Ends the channel; its place and memory go to the next host that open() has no channel for.
  void close(TimePs now, std::uint32_t index);
  /// The first lane to a host, or kNoSlot.
  std::uint32_t find(wire::HostAddress remote) const;
  std::uint32_t find(wire::HostAddress remote, Lane lane) const {
    const std::uint32_t* index = channel_of_host_.find(host_key(remote, lane));
    return index == nullptr ? kNoSlot : *index;
  }
  /// The channels that have failed, for an exchange blob.
  std::vector<ChannelFailures> failures() const;
  /// A channel's count of failures is above 0 from now on.
  void note_failed() { any_failed_ = true; }
  TpChannel& channel(std::uint32_t index) { return *channels_[index]; }
  const TpChannel& channel(std::uint32_t index) const { return *channels_[index]; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(channels_.size()); }

  // From the transaction layer.
  /// A segment or response wants to be numbered.
  void enqueue_request(std::uint32_t channel, std::uint32_t transaction);
  void enqueue_response(std::uint32_t channel, std::uint32_t message);
  /// The packets of the transaction are known to have been delivered, because it was answered. Not all of
  /// them have been confirmed.
  void confirm_delivered(TimePs now, std::uint32_t channel, const Transaction& transaction);
  /// The data of packets of transaction `object` that have not left goes back to its owner: they leave as
  /// poison. Whether there were any.
  bool let_data_go(std::uint32_t channel, std::uint32_t object);
  /// The channel's windows or lists changed: number packets when the engine settles.
  void touch(std::uint32_t channel);

  /// A request of a fused channel has been executed.
  void executed(TimePs now, const InboundMessage& message);
  /// The answer to one that was refused has been confirmed.
  void refusal_confirmed(const InboundMessage& message);

  /// The engine that exported `blob` may be a new one, with fewer channels than the one before: those from
  /// `from` on have ended with that.
  void end_old_lanes(TimePs now, const QueueBlob& blob, Lane from);

  // From the network.
  void receive(TimePs now, const wire::Packet& packet);
  /// A packet of the unreliable lane.
  void receive_datagram(TimePs now, const wire::Packet& packet);
  /// A packet of the compact lane.
  void receive_compact(TimePs now, const wire::Packet& packet);
  void resume_packet(TimePs now, std::uint32_t channel, std::uint32_t generation, std::uint32_t parked);
  /// False: nothing but new packets may leave. Asked far more often than there is.
  bool has_urgent() const {
    return !ack_list_.empty() || !resend_list_.empty() || congestion_.has_notification();
  }
  /// The next CNP, likewise.
  bool transmit_notification(wire::TrafficClassMask allowed, wire::Packet& out);
  /// The next acknowledgement, if there is one and its class is allowed.
  bool transmit_acknowledgement(wire::TrafficClassMask allowed, wire::Packet& out);
  /// The next packet with a PSN that is sent again, and the next new one.
  bool transmit_again(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);
  bool transmit_new(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);

  // From memory.
  void data_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result);

  // From time.
  TimePs deadline() const { return min(timers_.earliest(), congestion_.deadline()); }
  void expire(TimePs now);
  void resume_timeout(TimePs now, std::uint32_t channel);
  void resume_pump(TimePs now, std::uint32_t channel);

  /// Numbers packets on every touched channel until nothing more can be done now.
  void settle(TimePs now) {
    if (!dirty_.empty()) settle_dirty(now);
  }

  // Context records.
  void encode(std::uint32_t channel, TpChannelRecord& record) const;
  void decode(std::uint32_t channel, const TpChannelRecord& record);
  void wipe(std::uint32_t channel);
  /// Memory failed to keep the record; its fetch has ended and the context cache does not hold it.
  void lose(TimePs now, std::uint32_t channel) { fail(now, channel); }

  const TpCongestion& congestion() const { return congestion_; }
  void describe_waiting(std::vector<std::string>& out) const;
  /// Adds what it holds (memory_use.cc).
  void add_memory_use(std::vector<MemoryUse>& out) const;
  /// The engine ends: every payload buffer that is held here goes back.
  void release_buffers();

 private:
  // tp_channel.cc: receiving.
  void process(TimePs now, std::uint32_t index, const wire::Packet& packet);
  void process_data(TimePs now, std::uint32_t index, const wire::Packet& packet);
  void process_unexpected(TimePs now, std::uint32_t index, reliability::Arrival arrival,
                          std::uint64_t logical, const wire::Packet& packet);
  bool keep_ahead(TimePs now, std::uint32_t index, std::uint64_t logical, const wire::Packet& packet);
  void deliver_waiting(TimePs now, std::uint32_t index, std::uint64_t from, std::uint64_t end);
  void ask_acknowledgement(TimePs now, std::uint32_t index, AckKind kind, wire::Psn tpmsn, bool at_once);
  void set_fused(TpChannel& channel, std::uint64_t first);
  std::uint32_t addressed(const wire::Packet& packet) const;
  void follow(std::uint32_t index) const;
  /// A packet of found_host_ is not one of `train_`: whether it is of another channel that the short ways
  /// take, to which `train_` has been set.
  bool change_train(const wire::Packet& packet) const;
  static std::uint64_t host_key(wire::HostAddress remote, Lane lane) {
    return std::uint64_t{lane} << 32U | remote.number;
  }
  /// What an acknowledgement may confirm: everything before it.
  static std::uint64_t confirmable(const TpChannel& channel) {
    return channel.fused == nullptr ? channel.receive.next() : channel.fused->through();
  }
  void list_acknowledgement(std::uint32_t index);
  /// The TPACK may wait for more packets, but not for ever.
  void delay_acknowledgement(TimePs now, std::uint32_t index, TpChannel& channel) {
    if (channel.ack_delayed) return;
    start_acknowledgement_delay(now, index, channel);
  }
  void start_acknowledgement_delay(TimePs now, std::uint32_t index, TpChannel& channel);
  void end_acknowledgement_delay(std::uint32_t index, TpChannel& channel) {
    if (!channel.ack_delayed) return;
    channel.ack_delayed = false;
    timers_.set(2 * index + 1, kNever);
  }
  std::uint64_t ahead_key(std::uint32_t index, std::uint64_t logical) const;
  void forget_ahead(TimePs now, std::uint32_t index);
  void count_no_room(std::uint32_t index, bool ahead);
  void forget_found() {
    found_ = kNoSlot;
    train_ = kNoSlot;
    found_channel_ = nullptr;
    plain_tpns_ = kNoTpns;
    fused_train_ = nullptr;
  }

  // tp_compact.cc: CTP.
  void open_compact(std::uint32_t index);
  bool has_compact_number(std::uint32_t index) const;
  std::uint32_t give_compact_number(std::uint32_t index, std::uint32_t transaction);
  void make_compact(const TpChannel& channel, const TxPacket& packet, wire::Packet& out) const;
  void make_compact_notification(const TpChannel& channel, wire::Packet& out);
  void address_compact(const TpChannel& channel, wire::Packet& out) const;
  void receive_compact_request(TimePs now, std::uint32_t index, const wire::Packet& packet);
  void receive_compact_response(TimePs now, std::uint32_t index, wire::Packet& packet);

  // tp_transmission.cc: numbering and sending.
  void settle_dirty(TimePs now);
  void pump(TimePs now, std::uint32_t index);
  bool choose_message(TimePs now, std::uint32_t index);
  bool number_packets(TimePs now, std::uint32_t index);
  void number_packet(TimePs now, std::uint32_t index);
  void start_fetch(std::uint32_t index, std::uint32_t place);
  void prepare_retransmissions(std::uint32_t index);
  void update_ready(TimePs now, std::uint32_t index);
  bool find_credit(TpChannel& channel) const;
  void relist(TimePs now, std::uint32_t index);
  void list_sender(std::uint32_t index);
  void unlist_sender();
  TxPacket* sendable(TimePs now, std::uint32_t index, TpChannel& channel, bool again);
  void spray(wire::Packet& out);
  void departed(TimePs now, std::uint32_t index, TpChannel& channel, TxPacket& packet);
  void write_answer(const TpChannel& channel, wire::Packet& out) const;
  static void make_datagram(wire::Packet& out);
  void build_sack(const TpChannel& channel, wire::Packet& out);
  void address_packet(const TpChannel& channel, wire::Packet& out) const;
  void build(const TpChannel& channel, const TxPacket& packet, bool again, wire::Packet& out);
  void number_header(const TpChannel& channel, const TxPacket& packet, wire::Packet& out);
  void make_form(const TpChannel& channel, std::uint32_t index);
  void set_header_bytes(wire::Packet& out);
  /// The place of a packet's length in header_bytes_, where nothing else decides on it.
  static std::size_t place_of(const wire::Btah& request) {
    return 4 * static_cast<std::size_t>(request.opcode) + (request.token_value_present ? 3 : 2);
  }
  static std::size_t place_of(const wire::Atah& response) {
    return 4 * static_cast<std::size_t>(response.opcode);
  }
  std::uint32_t header_bytes(std::size_t place, const wire::Packet& packet) {
    const std::uint16_t known = header_bytes_[place];
    return known != 0 ? known : learn_header_bytes(packet, place);
  }
  std::uint32_t learn_header_bytes(const wire::Packet& packet, std::size_t place);

  // tp_retransmission.cc: what acknowledgements and time-outs mean to the sender.
  void process_ack(TimePs now, std::uint32_t index, const wire::Packet& packet);
  void process_sack(TimePs now, std::uint32_t index, const wire::Packet& packet);
  void process_nak(TimePs now, std::uint32_t index, const wire::Packet& packet);
  void acknowledge_before(TimePs now, std::uint32_t index, std::uint64_t end);
  void progressed(TimePs now, std::uint32_t index);
  void follow_round_trip(TimePs now, std::uint32_t index);
  /// Where the RTO adapts; else null.
  reliability::RoundTripEstimate* round_trip(std::uint32_t index) {
    return round_trips_.empty() ? nullptr : &round_trips_[index];
  }
  /// The RTO of what was sent once; zero: by the rule.
  TimePs first_timeout(std::uint32_t index) const {
    return round_trips_.empty() ? kTimeZero : round_trips_[index].first();
  }
  void released(TimePs now, std::uint32_t index, TxPacket& packet);
  bool queue_loss(std::uint32_t index, std::uint32_t place);
  std::uint32_t rewind(std::uint32_t index);
  void freed(std::uint32_t index, std::uint32_t place);
  void settle_congestion(TimePs now, std::uint32_t index, bool answered);
  void timed_out(TimePs now, std::uint32_t index);
  void fail(TimePs now, std::uint32_t index);
  void end_lanes(TimePs now, std::uint32_t index, ChannelEvent event);
  void step(TimePs now, std::uint32_t index, ChannelEvent event);
  void end_channel(TimePs now, std::uint32_t index, ChannelEvent event);
  void trace_repair(TimePs now, std::uint32_t index, std::uint64_t first, std::uint32_t queued) const;
  void restore_counters(TpChannel& channel) const;
  void start_timer(TimePs now, std::uint32_t index);
  void set_timer(std::uint32_t index);

  EngineParts& parts_;
  const TimePs acknowledge_delay_;
  TpCongestion congestion_;
  wire::Packet
      blank_;          ///< What all packets have in common; copied, because building one takes twice as long.
  wire::Packet form_;  ///< The same of the packets with a number of channel form_channel_.
  std::uint32_t form_channel_ = kNoSlot;
  std::vector<std::unique_ptr<TpChannel>> channels_;
  bool any_failed_ = false;                                ///< Some channel has or had failures.
  std::vector<std::unique_ptr<FusedWindow>> spare_fused_;  ///< Of channels that are not fused any more.
  std::vector<std::unique_ptr<CompactPair>> compact_;      ///< By channel; of those that ever were kCompact.
  std::size_t fused_windows_ = 0;                          ///< All that were made; each has a place there.
  std::vector<reliability::RoundTripEstimate> round_trips_;  ///< Of each, where the RTO adapts.
  FlatMap channel_of_host_;
  // What find() was last asked for with success, and gave; packets come in trains. Of the train, which is on
  // that lane or on another of the same host: the channel, if it is ready, and what source and destination,
  // and the TP channel numbers, are in its packets, as words.
  mutable wire::HostAddress found_host_;
  mutable std::uint32_t found_ = kNoSlot;
  mutable std::uint32_t train_ = kNoSlot;
  mutable TpChannel* found_channel_ = nullptr;
  mutable TpChannel* fused_train_ = nullptr;  ///< Instead of it: the channel of the train, if it is fused.
  mutable std::uint64_t found_addresses_ = 0;
  static constexpr std::uint64_t kNoTpns = ~std::uint64_t{0};  ///< Of no packet: they have 24 bits.
  mutable std::uint64_t found_tpns_ = 0;
  mutable std::uint64_t plain_tpns_ = kNoTpns;  ///< The same while found_channel_ is there.
  TxPool packets_;
  SharedRoom packet_room_;  ///< Of packets_, by channel.
  /// By channel and place in its receive window: what waits for earlier packets, see tp_channel.cc.
  FlatMap ahead_;
  SharedRoom ahead_room_;  ///< Of ahead_, by channel.
  /// Header bytes of plain packets by TP opcode and transaction opcode, on which they depend; 0: not known
  /// yet.
  std::array<std::uint16_t, 1025> header_bytes_{};
  /// Of the channels without a host, the last to lose its own; each names the next by its remote_tpn.
  std::uint32_t first_closed_ = kNoSlot;
  reliability::DeadlineHeap timers_;  ///< Owner 2 * channel: retransmission; 2 * channel + 1: delayed TPACK.
  Ring<std::uint32_t> dirty_;
  Ring<std::uint32_t> ack_list_;
  /// Channels whose next new packet may leave. The only one may stay when it has none any more.
  Ring<std::uint32_t> data_list_;
  TpChannel* only_sender_ = nullptr;  ///< The channel in data_list_, if it is one.
  Ring<std::uint32_t> resend_list_;   ///< Channels whose next repeated packet may leave.
  std::uint32_t spray_ = 0;           ///< Packets that have left with entropy of their own.
};

[[gnu::always_inline]] inline void TpLayer::address_packet(const TpChannel& channel,
                                                           wire::Packet& out) const {
  copy_whole(out, blank_);
  out.entropy = channel.entropy;
  out.destination = channel.remote;
  out.ub.rtph.source_tpn = channel.local_tpn;
  out.ub.rtph.destination_tpn = channel.remote_tpn;
}

/// The headers that a packet with a number has in common with others of its channel, and its data.
[[gnu::always_inline]] inline void TpLayer::number_header(const TpChannel& channel, const TxPacket& packet,
                                                          wire::Packet& out) {
  if (form_channel_ != packet.channel) [[unlikely]]
    make_form(channel, packet.channel);
  copy_whole(out, form_);
  wire::Rtph& rtph = out.ub.rtph;
  rtph.psn = wire::psn_wrap(packet.logical);
  rtph.tpmsn = packet.tpmsn;
  rtph.last = packet.last;
  if (packet.length > 0 && !packet.fetch_failed) copy_whole(out.payload, packet.data);
}

// The length of most headers follows from opcodes, the presence of a token's value, and what never changes
// here. Operands are as long as they are; what is kept is for those of eight bytes.
[[gnu::always_inline]] inline void TpLayer::set_header_bytes(wire::Packet& out) {
  const wire::UbPacket& ub = out.ub;
  std::size_t place = header_bytes_.size() - 1;  // A TPACK.
  if (ub.rtph.opcode == wire::TpOpcode::kReliable) {
    place = ub.transaction == wire::UbTransaction::kRequest ? place_of(ub.request) : place_of(ub.response);
  }
  const bool usual = place % 4 < 2 || !wire::is_atomic(ub.request.opcode) || ub.extension.maetah.length == 8;
  out.header_bytes = usual ? header_bytes(place, out) : learn_header_bytes(out, place);
}

}  // namespace wharf::ub
