// SPDX-License-Identifier: Apache-2.0
// The target side of the transaction layer: checks requests, makes the memory accesses, takes receive
// entries, and builds TAACK, Read_response and Atomic_response. [UB-Base 2.0.1 7; URMA API]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "base/index_list.h"
#include "base/memory_use.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "engine/contract.h"
#include "engine/ub/access_port.h"
#include "engine/ub/context_store.h"
#include "engine/ub/jetty.h"
#include "engine/ub/order_tracker.h"
#include "engine/ub/record_pool.h"
#include "engine/ub/segment_table.h"
#include "engine/ub/shared_room.h"
#include "engine/ub/words.h"
#include "verbs/work_request.h"
#include "wire/packet.h"

namespace wharf::ub {

struct EngineParts;
struct TpChannel;
struct TxPacket;

enum class InboundState : std::uint8_t {
  kReceiving,   ///< Packets are still expected, or their data is being placed.
  kExecuting,   ///< The last packet has come: atomic, notify, receive entry.
  kResponding,  ///< The response waits to be numbered or confirmed.
};

/// Whether a message takes a receive entry for its data.
constexpr bool is_two_sided(wire::TaOpcode opcode) { return opcode <= wire::TaOpcode::kSendInvalidate; }

/// What of a request's base header is needed until it is answered.
struct RequestHeader {
  void take(const wire::Btah& from) {
    requester_id = from.requester_id;
    tassn = from.tassn;
    opcode = from.opcode;
    version = from.version;
    requester_type = from.requester_type;
    token_value_present = from.token_value_present;
    solicited = from.solicited;
  }

  std::uint32_t requester_id = 0;
  std::uint16_t tassn = 0;
  wire::TaOpcode opcode = wire::TaOpcode::kSend;
  std::uint8_t version = 0;  ///< Not looked at: with it, what lies before goes over in one piece.
  wire::RequesterContextType requester_type = wire::RequesterContextType::kRequester;
  bool token_value_present = false;
  bool solicited = false;
};

/// One request of another host, from its first packet until its response is confirmed.
struct InboundMessage {
  std::uint32_t channel = 0;
  std::uint32_t generation = 0;  ///< Odd while the place is in use; counts both ways.
  std::uint32_t next = kNoSlot;  ///< In TpChannel::responses.
  wire::Psn tpmsn = 0;
  RequestHeader request;
  wire::UbPacket::RequestExtension
      extension;  ///< Of the packet that opened it: the first, or the first that arrived.
  InboundState state = InboundState::kReceiving;
  bool early = false;   ///< Begun ahead of its turn: counted apart (SharedRoom).
  bool listed = false;  ///< Found by TPMSN.
  bool last_delivered = false;
  bool abandoned = false;  ///< Its channel failed: freed when nothing refers to it.
  bool tail_started = false;
  bool answered_elsewhere = false;  ///< Its answer is a message of another channel than it came by.
  bool response_numbered = false;
  bool has_entry = false;  ///< Two-sided: the receive entry.
  bool entry_fetched = false;
  bool fused_open = false;  ///< The acknowledgements of its fused channel wait for it.
  bool dispatched = false;  ///< To a group: `entry_jetty` is the member that was chosen.
  // One byte: messages are what a peer takes most of.
  bool waits_turn : 1 = false;  ///< Strong, and earlier requests of its context have not been executed.
  bool silent : 1 = false;      ///< By CTP: its initiator wants no TAACK.
  std::uint8_t info = 0;
  wire::UbResponseStatus status = wire::UbResponseStatus::kSuccess;
  verbs::AccessOrder read_order = verbs::AccessOrder::kRelaxed;
  std::uint32_t sequence = kNoSlot;  ///< Its initiator context, if this target keeps the order of that one.
  std::uint32_t fused_number = 0;    ///< Fused channels: the low bits of the number of its last packet.
  std::uint32_t pending = 0;         ///< Unanswered accesses and deferred steps.
  std::uint32_t received = 0;        ///< Data bytes delivered.
  std::uint32_t response_length = 0;
  std::uint32_t packets_unconfirmed = 0;  ///< Of the response.
  IndexList waiting_packets;              ///< Parked packets that wait for the entry.
  std::uint32_t entry_jetty = 0;
  std::uint32_t entry_generation = 0;  ///< Of that jetty.
  /// Reads have its address space alone: that of what they read. Atomics have their result in its addresses.
  ReceiveEntry entry;
  wire::OperationTag operation;

  std::array<std::uint64_t, 2> atomic_result() const {
    return {entry.local.address[0], entry.local.address[1]};
  }
  void set_atomic_result(const std::array<std::uint64_t, 2>& value) {
    entry.local.address[0] = value[0];
    entry.local.address[1] = value[1];
  }

  bool in_use() const { return generation % 2 == 1; }
  /// Whether its answer is numbered, nobody has given it up, and nothing of it waits or is to be found: then
  /// clear_plain() does what clear() does.
  bool is_plain() const;
  void clear_plain() {
    state = InboundState::kReceiving;
    early = listed = last_delivered = abandoned = false;
    tail_started = answered_elsewhere = response_numbered = false;
    has_entry = entry_fetched = false;
    info = 0;
    status = wire::UbResponseStatus::kSuccess;
    read_order = verbs::AccessOrder::kRelaxed;
    received = response_length = 0;
  }
  /// As it was made, but for its generation, its entry, and what open() sets: so is a message in a free
  /// place.
  void clear() {
    clear_plain();
    pending = packets_unconfirmed = 0;
    waiting_packets = {};
  }
};

// In one word: state, early, listed, last_delivered, abandoned, tail_started, answered_elsewhere,
// response_numbered.
static_assert(offsetof(InboundMessage, early) == offsetof(InboundMessage, state) + 1 &&
              offsetof(InboundMessage, listed) == offsetof(InboundMessage, state) + 2 &&
              offsetof(InboundMessage, last_delivered) == offsetof(InboundMessage, state) + 3 &&
              offsetof(InboundMessage, abandoned) == offsetof(InboundMessage, state) + 4 &&
              offsetof(InboundMessage, answered_elsewhere) == offsetof(InboundMessage, state) + 6 &&
              offsetof(InboundMessage, response_numbered) == offsetof(InboundMessage, state) + 7);
inline bool InboundMessage::is_plain() const {
  return has_state(*this, offsetof(InboundMessage, state), {255, 255, 255, 255, 255, 0, 255, 255},
                   {static_cast<std::uint8_t>(InboundState::kResponding), 0, 0, 1, 0, 0, 0, 1});
}

/// What begins to number its requests from 0 anew: another life of the channels to its host, or another
/// numbering of the jetty (QueueBlob::numbering).
struct SequenceLife {
  std::uint32_t incarnation = 0;
  std::uint32_t numbering = 0;
  bool operator==(const SequenceLife&) const = default;
};

/// An initiator context whose order this target keeps (service modes ROT and ROL), from connect() on.
struct SequenceContext {
  SequenceLife life;
  std::uint32_t requester = 0;
  std::uint32_t next = kNoSlot;  ///< Of the same host; of those that are free.
  bool listed = false;           ///< A turn may have come.
  bool broken = false;           ///< Fused: one that others wait for has to come again, and so have they.
  OrderTracker order;
  IndexList waiting;  ///< Of messages, by InboundMessage::next, in order of arrival.
};

/// A received packet that has to wait; it holds a reference to its payload buffer.
struct ParkedPacket {
  wire::Packet packet;
  TimePs since;
  std::uint32_t channel = kNoSlot;  ///< Whose place it has; kNoSlot for a common one.
  std::uint32_t message = kNoSlot;  ///< Request that waits for earlier packets: its message.
  std::uint32_t offset = 0;         ///< Of its data within its message, where that is known.
  std::uint32_t next = kNoSlot;
};

class Responder {
  friend class Express;

 public:
  explicit Responder(EngineParts& parts);

  /// There are `channels` channels: takes memory for what their hosts may make this one hold.
  void make_room(std::uint32_t channels);
  /// Whether there is a place for the message of this packet; if not, it must not be acknowledged. Each host
  /// has places of its own, and further packets of a message need none.
  bool has_room(std::uint32_t channel, const wire::Packet& packet, bool ahead) const;
  /// Whether a place is missing because other hosts have taken those that are common: of a message, or
  /// (`ahead`) of a packet that waits for earlier ones.
  bool is_short(std::uint32_t channel, bool ahead) const;
  /// A parked packet waits for earlier ones: its message gets its place now.
  void claim(std::uint32_t channel, std::uint32_t parked);
  /// It will never be delivered, because the channel ended.
  void unclaim(TimePs now, std::uint32_t parked);
  /// Takes a request packet in PSN order. `parked` is where it waited for its turn, claimed, or kNoSlot; it
  /// is unparked here.
  void receive(TimePs now, std::uint32_t channel, const wire::Packet& packet, std::uint32_t parked,
               std::uint64_t number);
  /// Takes a request of one packet and answers that this host is not ready for it.
  void put_off(TimePs now, std::uint32_t channel, const wire::Packet& packet);
  /// Places a Write packet that arrived ahead of its turn; returns its message.
  std::uint32_t receive_ahead(TimePs now, std::uint32_t channel, const wire::Packet& packet);
  /// The turn of such a packet has come.
  void deliver_ahead(TimePs now, std::uint32_t message, bool last, std::uint64_t number);
  /// It will never come, because the channel failed.
  void cancel_ahead(TimePs now, std::uint32_t message);

  void resume_packet(TimePs now, std::uint32_t message, std::uint32_t generation, std::uint32_t parked);
  void resume_tail(TimePs now, std::uint32_t message, std::uint32_t generation);

  // Order kept here (responder_order.cc).
  /// Requests of that jetty, whose service mode is ROT or ROL, are put in order here, beginning with TASSN 0;
  /// or go on as they were, if it is bound in that life already.
  Result<void> bind_sequence(wire::HostAddress host, std::uint32_t jetty, SequenceLife life);
  void forget_sequences(wire::HostAddress host);
  /// That jetty's alone; refused while requests of its wait here.
  Result<void> forget_sequence(wire::HostAddress host, std::uint32_t jetty);
  /// Whether such a request may have to wait for earlier ones here.
  static bool waits_for_turn(const TpChannel& channel, const wire::Btah& request);
  /// Lets requests go on whose turn has come; called when the engine settles.
  void settle(TimePs now) {
    if (!turns_.empty()) settle_turns(now);
  }

  // From memory.
  void write_done(TimePs now, const PendingAccess& owner, engine::AccessStatus status);
  void atomic_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result);
  void entry_done(TimePs now, const PendingAccess& owner, engine::AccessStatus status);

  // From the TP layer.
  InboundMessage& message(std::uint32_t index) { return messages_[index]; }
  RecordPool<InboundMessage>& messages() { return messages_; }
  /// Its answer refuses a request of the fused channel beside the one that it goes over.
  bool refuses_elsewhere(std::uint32_t index) const {
    return messages_[index].answered_elsewhere && messages_[index].status != wire::UbResponseStatus::kSuccess;
  }
  void fetch_data(std::uint32_t channel, TxPacket& packet, std::uint64_t reference);
  void fill_packet(const TxPacket& packet, wire::Packet& out) const;
  /// A packet of the response is confirmed.
  void confirmed(std::uint32_t index, TpChannel& channel);
  /// Reading response data failed: the packet turns into the error that ends the response.
  void fetch_failed(TxPacket& packet, engine::AccessStatus status);
  void channel_failed(std::uint32_t channel);

  /// Jetty `jetty_id` is being destroyed: the entries that messages have taken from it complete with
  /// kFlushed.
  void flush_entries(std::uint32_t jetty_id);
  /// A segment is gone: Reads that were granted under its token and have not been answered fail, and so do
  /// messages whose receive entry lies there; not `by`, which asked for it when all its data was there.
  void revoke(const SegmentRange& gone, std::uint32_t by = kNoSlot);

  // Parked packets, shared with the TP layer and the initiator.
  /// Keeps a copy and a reference to the payload; kNoSlot when there is no room. These places are common to
  /// all hosts: what waits here waits for this host's own memory alone.
  std::uint32_t park(TimePs now, const wire::Packet& packet);
  bool can_park() const { return parked_common_ < parked_packets_; }
  /// The same for a packet that waits for earlier ones of its peer, who may never send them: each host has
  /// places of its own.
  std::uint32_t park_ahead(TimePs now, std::uint32_t channel, const wire::Packet& packet);
  ParkedPacket& parked(std::uint32_t index) { return parked_[index]; }
  void unpark(std::uint32_t index);
  /// Empties the place and hands its reference to the payload buffer over.
  wire::Packet take_parked(std::uint32_t index);

  void describe_waiting(std::vector<std::string>& out) const;
  /// Adds what it holds (memory_use.cc).
  void add_memory_use(std::vector<MemoryUse>& out) const;
  /// The engine ends: every payload buffer that is held here goes back.
  void release_buffers();

 private:
  enum class Step : std::uint8_t { kDone, kWaits };

  void leave_place(std::uint32_t index);
  std::uint32_t keep_packet(TimePs now, std::uint32_t channel, const wire::Packet& packet);
  std::uint32_t open_message(std::uint32_t channel, const wire::Packet& packet, bool listed, bool early);
  void unlist(std::uint32_t index);
  /// Its last packet is delivered, under that number.
  void end_message(std::uint32_t index, std::uint64_t number);
  void step(TimePs now, std::uint32_t index, const wire::Packet& packet, std::uint32_t offset,
            std::uint32_t parked);
  Step step_one_sided(TimePs now, std::uint32_t index, const wire::Packet& packet, std::uint32_t parked);
  Step step_two_sided(TimePs now, std::uint32_t index, const wire::Packet& packet, std::uint32_t offset,
                      std::uint32_t parked);
  Step wait_for(TimePs now, ContextKey key, std::uint32_t index, const wire::Packet& packet,
                std::uint32_t offset, std::uint32_t parked);
  void act_one_sided(std::uint32_t index, const wire::Packet& packet, const MrRecord& record);
  Jetty* target_jetty(std::uint32_t index, ContextKey& key);
  void end_dispatch(std::uint32_t index);
  bool accept_jetty(std::uint32_t index, const Jetty* jetty);
  bool comes_from(const InboundMessage& message, const Senders& senders) const;
  bool take_entry(std::uint32_t index, Jetty& jetty, std::uint32_t jetty_id);
  const Jetty* entry_owner(const InboundMessage& message) const;
  static bool goes_into(const InboundMessage& message, const SegmentRange& segment);
  void scatter(std::uint32_t index, const wire::Payload& data, std::uint32_t offset);
  void write(std::uint32_t index, std::uint64_t address, const wire::Payload& data, verbs::AccessOrder order,
             verbs::AddressSpaceId space);
  engine::Access& request(std::uint32_t index, engine::AccessKind kind, AccessOwner owner,
                          wire::BufferId buffer);
  void settle_pending(TimePs now, std::uint32_t index);
  void tail(TimePs now, std::uint32_t index);
  bool defer_tail(ContextKey key, std::uint32_t index);
  bool tail_immediate(std::uint32_t index);
  bool tail_notify(std::uint32_t index);
  bool tail_invalidate(TimePs now, std::uint32_t index);
  void finish_tail(TimePs now, std::uint32_t index);
  void refuse(std::uint32_t index, wire::UbResponseStatus status, std::uint8_t info);
  void refuse(std::uint32_t index, wire::UbResponseInfo info);
  void refuse_access(std::uint32_t index, engine::AccessStatus status);
  void refuse_entry(std::uint32_t index);
  static verbs::Verb verb_of(wire::TaOpcode opcode);
  void respond(TimePs now, std::uint32_t index);
  void release(std::uint32_t index);
  std::uint32_t find_sequence(wire::HostAddress host, std::uint32_t jetty) const;
  void enter_sequence(std::uint32_t index, const TpChannel& channel, const wire::Btah& request);
  void enter_compact(std::uint32_t index, const wire::Btah& request);
  void wait_for_turn(TimePs now, std::uint32_t index, const wire::Packet& packet, std::uint32_t offset,
                     std::uint32_t parked);
  void drop_waiting(std::uint32_t index);
  void leave_sequence(std::uint32_t index, bool executed);
  void want_turn(std::uint32_t sequence);
  void settle_turns(TimePs now);
  void fuse(std::uint32_t index, std::uint64_t number);
  void release_confirmed(std::uint32_t index);
  void report_receive(std::uint32_t index);
  /// Requests of one remote jetty on one channel are one stream; numbers below 2^20 are those of local
  /// jetties.
  static std::uint64_t stream_of(std::uint32_t channel, std::uint32_t requester) {
    return (channel + 1ULL) << 20U | requester;
  }
  static std::uint64_t stream_of(const InboundMessage& message) {
    return stream_of(message.channel, message.request.requester_id);
  }

  static constexpr std::uint64_t kNoSequence = ~std::uint64_t{0};

  EngineParts& parts_;
  RecordPool<InboundMessage> messages_;
  SlotPool<ParkedPacket> parked_;
  SharedRoom message_room_;  ///< Of messages_, by channel.
  SharedRoom ahead_room_;    ///< Of parked_, by channel, beside those for what waits for own memory.
  const std::uint32_t parked_packets_;
  std::uint32_t parked_common_ = 0;  ///< Packets that wait for own memory.
  std::vector<std::unique_ptr<SequenceContext>> sequences_;
  FlatMap sequence_of_;                    ///< host << 20 | jetty to its place in sequences_.
  FlatMap sequence_of_host_;               ///< host to one of its own; the others follow by next.
  std::uint32_t free_sequence_ = kNoSlot;  ///< The others follow by next.
  mutable std::uint64_t found_sequence_key_ = kNoSequence;  ///< What find_sequence() was last asked for with
  mutable std::uint32_t found_sequence_ = kNoSlot;          ///< success, and gave.
  Ring<std::uint32_t> turns_;                               ///< Of sequences_: something there may go on.
  FlatMap by_tpmsn_;  ///< channel << 24 | TPMSN to message, for messages of several packets.
};

}  // namespace wharf::ub
