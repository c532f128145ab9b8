// SPDX-License-Identifier: Apache-2.0
// The initiator side of the transaction layer: cuts work requests into TA segments, holds them back where
// order asks for it, matches responses, reports completions. [UB-Base 2.0.1 7; URMA API]
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/memory_use.h"
#include "base/ring.h"
#include "engine/contract.h"
#include "engine/reliability/deadline_heap.h"
#include "engine/ub/access_port.h"
#include "engine/ub/config.h"
#include "engine/ub/jetty.h"
#include "engine/ub/record_pool.h"
#include "engine/ub/segment_table.h"
#include "engine/ub/shared_room.h"
#include "wire/packet.h"

namespace wharf::ub {

struct EngineParts;
struct TxPacket;

/// Whether a fence behind it waits for its answer.
constexpr bool reads_or_atomic(verbs::Verb verb) {
  return verb == verbs::Verb::kRead || verbs::is_atomic(verb);
}

/// A remote jetty that was imported.
struct Peer {
  bool used = false;
  engine::QueueId queue = 0;        ///< The local queue that imported it.
  std::uint32_t channel = kNoSlot;  ///< Of requests; of the first, where they take turns.
  std::uint32_t channels = 1;       ///< Reliable ones that its requests take turns on.
  std::uint32_t home = kNoSlot;     ///< The first lane to its host: of loads and stores.
  wire::HostAddress host;
  std::uint32_t jetty = 0;  ///< Or jetty group.
  std::uint32_t token = 0;
  wire::TargetContextType target = wire::TargetContextType::kJetty;
};

enum class TransactionState : std::uint8_t {
  kQueued,    ///< Waits for packet numbers.
  kSending,   ///< Has some; its packets go out.
  kAwaiting,  ///< All numbered, no answer yet.
  kBackoff,   ///< The target was not ready: waits before it is sent again.
};

/// The opcode of the answer to a request that is not refused: by opcode.
inline constexpr auto kResponseOf = [] {
  std::array<wire::TaOpcode, 256> made{};
  for (unsigned i = 0; i < made.size(); ++i) {
    const auto opcode = static_cast<wire::TaOpcode>(i);
    made[i] = opcode == wire::TaOpcode::kRead ? wire::TaOpcode::kReadResponse
              : wire::is_atomic(opcode)       ? wire::TaOpcode::kAtomicResponse
                                              : wire::TaOpcode::kTaack;
  }
  return made;
}();
constexpr wire::TaOpcode response_of(wire::TaOpcode opcode) {
  return kResponseOf[static_cast<std::uint8_t>(opcode)];
}

/// What answers the only segment of a plain request (PostedRequest::plain).
enum class PlainAnswer : std::uint8_t {
  kNone,  ///< It is no such segment, or not any more.
  kTaack,
  kData,
};

/// One TA segment: one TASSN, one TP message, one response. In an order that lets the short ways write
/// neighbours with one store. A fresh one, which every free place holds, is what the only segment of a
/// request begins with when its packet has got a number.
struct Transaction {
  std::uint32_t generation = 0;  ///< Odd while the place is in use; counts both ways.
  std::uint32_t next = kNoSlot;  ///< In TpChannel::requests.
  std::uint32_t jetty = 0;
  std::uint32_t channel = 0;
  std::uint64_t request = 0;  ///< Posting number.
  std::uint64_t tassn = 0;    ///< Logical; 16 bits travel.
  std::uint64_t first_number =
      0;  ///< Logical packet numbers [first_number, first_number + packets_numbered).
  std::uint32_t first_packet = kNoSlot;  ///< That one's place, until it is confirmed.
  std::uint32_t length = 0;              ///< Data bytes asked for or carried.
  std::uint32_t packets_numbered = 1;
  std::uint32_t packets_unconfirmed = 1;
  std::uint32_t message_offset = 0;  ///< Where its data begins in the message.
  std::uint32_t writes_open = 0;     ///< Accesses that place its data.
  std::uint32_t received = 0;        ///< Read: data bytes that have arrived.
  std::uint32_t steps_deferred = 0;  ///< Response packets that wait for a context record.
  TimePs waiting_since = kNever;
  TimePs confirmed_at = kNever;  ///< The peer has all its packets and has not answered: since when.
  std::uint32_t page_fault_retries = 0;
  std::uint8_t not_ready_retries = 0;
  std::uint8_t answer_info = 0;
  bool last_segment = true;
  bool counted = true;  ///< In TpChannel::requests_open.
  wire::TaOpcode opcode = wire::TaOpcode::kRead;
  TransactionState state = TransactionState::kAwaiting;
  verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
  bool answered = false;  ///< The response has ended.
  wire::UbResponseStatus answer_status = wire::UbResponseStatus::kSuccess;
  PlainAnswer plain_answer = PlainAnswer::kNone;

  bool in_use() const { return generation % 2 == 1; }
};

/// Copied, because building one in its place takes twice the instructions.
inline constexpr Transaction kFreshTransaction{};

class Initiator {
  friend class Express;

 public:
  explicit Initiator(EngineParts& parts);

  // Control.
  Result<std::uint32_t> create(const engine::QueueConfig& config);
  /// Flushes first. What has left is confirmed behind the program's back; the jetty's place is free then.
  Result<void> destroy(TimePs now, std::uint32_t jetty);
  /// Everything outstanding completes with kFlushed; nothing is posted, sent or received any more.
  void flush(TimePs now, std::uint32_t jetty);
  /// From error to ready; refused in other states.
  Result<void> reset(std::uint32_t jetty);
  /// Nothing more is begun; what has been ends as it does.
  Result<void> suspend(std::uint32_t jetty);
  /// Goes on with the requests that were kept.
  Result<void> resume(TimePs now, std::uint32_t jetty);
  Result<void> set_patience(std::uint32_t jetty, const JettyPatience& patience);
  /// Gives requests of a suspended jetty back that were never begun, the oldest first, once what it had begun
  /// has ended; how many.
  Result<std::size_t> take_back(TimePs now, std::uint32_t jetty, std::span<verbs::Completion> out);
  Result<void> cancel_receive(std::uint32_t jetty, std::uint64_t id);
  /// A segment is gone: requests whose local memory it is, and which have not ended, end with kLocalAccess.
  void revoke(TimePs now, const SegmentRange& gone);
  /// Asks for the entries of receive queue `id` that were announced.
  void fetch_shared_receives(engine::QueueId id);
  /// The receive entry for a message to `owner`; false when there is none.
  /// Entries whose segment has gone are reported by `jetty_id`, which would have taken them.
  bool take_receive(Jetty& owner, std::uint32_t jetty_id, ReceiveEntry& out);
  void shared_completion_done(const PendingAccess& owner, engine::AccessStatus status);
  /// Gives the number that it has already when a jetty with one peer at a time imports that one again.
  verbs::PeerId import(const Peer& peer);
  /// Whether the jetty may import jetty `remote` of `host`, and then, if its target keeps order, numbers from
  /// 0.
  Result<void> may_import(const Jetty& owner, std::uint32_t jetty, wire::HostAddress host,
                          std::uint32_t remote);
  /// `jetty` is the one that imported it.
  Result<void> forget(std::uint32_t jetty, verbs::PeerId peer);
  /// Nothing behind the channel is a peer any more, whatever is outstanding.
  void forget_channel(std::uint32_t channel);

  /// The jetty of that id, or null.
  Jetty* find(std::uint32_t jetty) {
    const std::uint32_t at = jetty - kFirstJettyId;
    return at < jetty_places_ && jetties_[at]->used ? jetties_[at].get() : nullptr;
  }
  /// The same of one that may have been destroyed: what it has under way is answered all the same, so that it
  /// ends, and the places that it takes at both ends with it.
  Jetty* find_answered(std::uint32_t jetty) {
    const std::uint32_t at = jetty - kFirstJettyId;
    return at < jetty_places_ && (jetties_[at]->used || jetties_[at]->dying) ? jetties_[at].get() : nullptr;
  }
  /// The jetty with that well-known number, or kNoSlot.
  std::uint32_t public_jetty(std::uint32_t number) const { return public_[number]; }
  const Jetty* find(std::uint32_t jetty) const { return const_cast<Initiator*>(this)->find(jetty); }
  Jetty& jetty(std::uint32_t id) { return *jetties_[id - kFirstJettyId]; }
  const Peer* peer(verbs::PeerId id) const {
    // A comparison of bytes: size() would have to divide.
    const auto bytes = reinterpret_cast<std::uintptr_t>(peers_.data() + peers_.size()) -
                       reinterpret_cast<std::uintptr_t>(peers_.data());
    return id * sizeof(Peer) < bytes && peers_[id].used ? &peers_[id] : nullptr;
  }
  std::size_t jetty_count() const { return jetties_.size(); }
  std::size_t peer_count() const { return peers_.size(); }
  Transaction& transaction(std::uint32_t index) { return transactions_[index]; }
  RecordPool<Transaction>& transactions() { return transactions_; }

  // Application.
  engine::PostStatus post(TimePs now, std::uint32_t jetty, const verbs::WorkRequest& request,
                          engine::Submission submission);
  engine::PostStatus post_receive(std::uint32_t jetty, const verbs::ReceiveRequest& receive);
  /// Entries were written to the send or receive ring of bytes, behind those before.
  engine::PostStatus announce_work(std::uint32_t jetty, std::uint32_t count);
  engine::PostStatus announce_receives(engine::QueueId queue, std::uint32_t count);
  bool poll(std::uint32_t jetty, verbs::Completion& out);
  bool next_completed(std::uint32_t& jetty);

  /// Reports a completion (an entry was reserved for it): the record is written to host memory, then shown.
  /// Its write is one of `stream`, behind the data that it announces.
  void complete(std::uint32_t jetty, const PendingCompletion& completion, std::uint64_t stream);

  // From the TP layer.
  /// The opcode of a request of one segment.
  static wire::TaOpcode opcode_of(verbs::Verb verb);
  /// Data bytes that its packets carry.
  static std::uint32_t payload_length(const Transaction& transaction) {
    return (wire::ta_layout(transaction.opcode) & wire::kTaPayload) != 0 ? transaction.length : 0;
  }
  wire::OperationTag operation_of(std::uint32_t index) const;
  /// Its turn for packet numbers has come.
  void numbering_begins(TimePs now, std::uint32_t index);
  /// A packet of the transaction, at `place` in the pool of those, gets its number.
  static void numbered(Transaction& transaction, std::uint64_t number, std::uint32_t place) {
    if (transaction.packets_numbered++ == 0) {
      transaction.first_number = number;
      transaction.first_packet = place;
    }
    ++transaction.packets_unconfirmed;
  }
  /// All packets of it have one.
  void numbered_all(TimePs now, std::uint32_t index);
  /// One of its packets is confirmed.
  void confirmed(TimePs now, std::uint32_t index) {
    Transaction& transaction = transactions_[index];
    --transaction.packets_unconfirmed;
    if (transaction.answered) {
      try_finish(now, index);
    } else if (transaction.packets_unconfirmed == 0 && transaction.state == TransactionState::kAwaiting) {
      if (confirms_execution_ && response_of(transaction.opcode) == wire::TaOpcode::kTaack) [[unlikely]]
        return executed(now, index);
      await_answer(now, transaction);
    }
  }
  /// That is its answer.
  void executed(TimePs now, std::uint32_t index);
  /// From now on, confirmed() of a request's last packet is its answer, or is not.
  void confirms_execution(bool yes) { confirms_execution_ = yes; }
  /// A response arrived, in PSN order. `parked` is where it waited for its turn, or kNoSlot; true when it
  /// stays there.
  bool receive(TimePs now, std::uint32_t channel, const wire::Packet& packet, std::uint32_t parked);
  void resume_response(TimePs now, std::uint32_t index, std::uint32_t generation, std::uint32_t parked,
                       std::uint32_t offset);
  /// Reads the data of a packet; the TP layer gets the answers.
  void fetch_data(std::uint32_t channel, TxPacket& packet, std::uint64_t reference);
  /// Headers and data of a packet.
  void fill_packet(const TxPacket& packet, bool again, wire::Packet& out) const;
  /// Reading the data failed: the request ends with `status`, though its packet goes out (poisoned).
  void fetch_failed(std::uint32_t index, engine::AccessStatus status);
  /// Every open transaction of the channel ends in kRetryExhausted.
  void channel_failed(TimePs now, std::uint32_t channel);

  // From memory.
  void work_request_done(const PendingAccess& owner, const engine::AccessResult& result);
  void completion_done(const PendingAccess& owner, engine::AccessStatus status);
  /// Memory failed to keep the jetty's record: it takes no part in anything any more, and what is outstanding
  /// ends.
  void lose(std::uint32_t jetty);
  void response_write_done(TimePs now, const PendingAccess& owner, engine::AccessStatus status);

  // From time.
  TimePs deadline() const { return min(backoff_.earliest(), answer_deadline_); }
  void expire(TimePs now);
  void resume_advance(TimePs now, std::uint32_t jetty);
  /// Lets jetties that were stopped by a full TASSN space go on; called when the engine settles.
  void settle(TimePs now) {
    if (!advance_.empty()) settle_listed(now);
    if (!sharing_.empty()) [[unlikely]]
      move_shared(now);
  }

  /// Records are on their way to completion queues, or wait for room there.
  bool has_shared_records() const { return !sharing_.empty(); }

  void describe_waiting(std::vector<std::string>& out) const;
  /// Adds what it holds (memory_use.cc).
  void add_memory_use(std::vector<MemoryUse>& out) const;
  /// The engine ends: every payload buffer that is held here goes back.
  void release_buffers();

 private:
  engine::PostStatus check(const Jetty& owner, const verbs::WorkRequest& request) const;
  engine::PostStatus check_datagram(const verbs::WorkRequest& request) const;
  /// The request will not come again: its number in the target's order is filled.
  void disconnect_sequence(TimePs now, std::uint32_t index);
  Result<void> check_shared(const engine::QueueConfig& config) const;
  /// Room for what a jetty reports into shared queues, beside `jetties` in all; and then its place there.
  void reserve_shared(Jetty& made, std::size_t jetties);
  void attach_shared(Jetty& made, std::uint32_t jetty_id);
  void detach_shared(Jetty& owner);
  void make_receive_ring(Jetty& made);
  void fetch_work(Jetty& owner, std::uint32_t jetty_id);
  void read_entry(const Jetty& owner, const wire::Payload& bytes, PostedRequest& posted);
  engine::PostStatus post_shared_receive(engine::QueueId queue, const verbs::ReceiveRequest& receive);
  PendingCompletion& add_shared_completion(Jetty& owner, std::uint32_t jetty_id, bool at_target,
                                           std::uint64_t stream);
  /// Hands what was completed during this input to the completion queues.
  void move_shared(TimePs now);
  void list_shared(Jetty& owner, std::uint32_t jetty_id);
  void move_shared_of(TimePs now, std::uint32_t jetty_id);
  void flush_requests(TimePs now, std::uint32_t jetty_id);
  bool lies_in(const PostedRequest& posted, const SegmentRange& segment) const;
  /// The local memory of a segment's request is its owner's again: what of it has not left goes as poison,
  /// and one that would be sent again ends, with `status`.
  void withdraw(TimePs now, std::uint32_t index, verbs::CompletionStatus status);
  void flush_receives(std::uint32_t jetty_id);
  /// A destroyed jetty with nothing outstanding: its place is free.
  void retire(TimePs now, std::uint32_t jetty_id);
  /// The blocks that only some opcodes have, by their layout.
  void fill_extension(const PostedRequest& request, std::uint16_t layout,
                      wire::UbPacket::RequestExtension& extension) const;
  void number_anew(Jetty& owner);
  /// The jetty with a request to `peer` that has not ended, or kNoSlot.
  std::uint32_t jetty_waiting_for(verbs::PeerId peer) const;
  void settle_listed(TimePs now);
  void advance(TimePs now, std::uint32_t jetty);
  bool admit(TimePs now, Jetty& jetty, std::uint64_t number);
  bool issue_segment(TimePs now, std::uint32_t jetty, std::uint64_t number);
  std::uint32_t channel_of(const Peer& target, std::uint32_t jetty, std::uint64_t number) const;
  /// The longest segment of a request that goes over the channel.
  std::uint32_t segment_bytes_on(std::uint32_t channel) const;
  void release_strong(TimePs now, Jetty& owner, std::uint32_t jetty_id);
  void step_response(TimePs now, std::uint32_t index, const wire::Packet& packet, std::uint32_t offset);
  void place_data(std::uint32_t index, std::uint32_t offset, const wire::Payload& data);
  void place_atomic(std::uint32_t index, const wire::Payload& data);
  void write_local(std::uint32_t index, std::uint64_t address, const wire::Payload& data);
  void answer(Transaction& transaction, const wire::Atah& response);
  // [URMA API, err_timeout; UB-Base 2.0.1 6.4.2] A peer that confirms a request and then fails, or gives this
  // host up, never answers, and nothing is left to send that could find that out. One timer
  // serves all waits: the shortest moves it nearer, and when it comes it moves on to the first that will be
  // over.
  void await_answer(TimePs now, Transaction& transaction) {
    transaction.confirmed_at = now;
    ++answers_awaited_;
    answer_deadline_ =
        min(answer_deadline_, now + error_timeout(jetty(transaction.jetty).patience.err_timeout));
  }
  void stop_awaiting(Transaction& transaction) {
    if (transaction.confirmed_at == kNever) return;
    transaction.confirmed_at = kNever;
    if (--answers_awaited_ == 0) answer_deadline_ = kNever;
  }
  void time_out_answers(TimePs now);
  void back_off(TimePs now, std::uint32_t index);
  void try_finish(TimePs now, std::uint32_t index);
  void finish(TimePs now, std::uint32_t index);
  bool finish_oldest(std::uint32_t index);
  void release(Jetty& owner, std::uint32_t index);
  void uncount(Transaction& transaction);
  void finish_request(TimePs now, Jetty& owner, std::uint32_t jetty_id, std::uint64_t number);
  static void describe(Jetty& owner, std::uint32_t jetty_id, JettyState state);
  void step(Jetty& owner, std::uint32_t jetty_id, JettyEvent event);
  void begin_to_drain(Jetty& owner, std::uint32_t jetty_id);
  void stand_still(Jetty& owner, std::uint32_t jetty_id);
  static bool stands_still(Jetty& owner);
  void mark_drained(Jetty& owner, std::uint32_t jetty_id, PendingCompletion* last);
  void note_fault(Jetty& owner, std::uint32_t jetty_id, verbs::CompletionStatus status);
  void apply_fault(TimePs now, Jetty& owner, std::uint32_t jetty_id);
  static void unlink_ordered(Jetty& jetty, std::uint64_t number);
  void report(Jetty& owner, std::uint32_t jetty_id);
  void push_completion(Jetty& owner, std::uint32_t jetty_id, PostedRequest& request);
  PendingCompletion& add_completion(Jetty& owner, std::uint32_t jetty_id, bool at_target,
                                    wire::OperationTag operation, std::uint64_t stream);
  /// Whether advance() could do anything for a jetty all of whose requests have had their turn.
  bool may_advance(const Jetty& owner) const;
  void want_advance(Jetty& owner, std::uint32_t jetty_id);

  EngineParts& parts_;
  std::vector<std::unique_ptr<Jetty>> jetties_;
  std::uint32_t jetty_places_ = 0;  ///< Their number, which the vector would have to work out.
  Ring<std::uint32_t> resting_;     ///< Places of destroyed jetties, the oldest first.
  std::array<std::uint32_t, kFirstJettyId> public_;  ///< By well-known number: the jetty, or kNoSlot.
  std::vector<Peer> peers_;
  RecordPool<Transaction> transactions_;
  SharedRoom segment_room_;            ///< Of transactions, by jetty.
  reliability::DeadlineHeap backoff_;  ///< By transaction.
  bool confirms_execution_ = false;
  std::uint32_t numberings_ = 0;       ///< Given so far (Jetty::numbering).
  std::uint32_t answers_awaited_ = 0;  ///< Transactions with a `confirmed_at`.
  TimePs answer_deadline_ = kNever;    ///< Not after the earliest of their time-outs; kNever without any.
  Ring<std::uint32_t> completed_;      ///< Jetties with records to poll.
  Ring<std::uint32_t> advance_;        ///< Jetties whose next request may go on.
  Ring<std::uint32_t> sharing_;        ///< Jetties with records for shared completion queues.
};

}  // namespace wharf::ub
