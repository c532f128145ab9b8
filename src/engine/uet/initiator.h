// SPDX-License-Identifier: Apache-2.0
// The initiator of the semantic sublayer: work requests become messages, messages become packets, and
// responses end them. Read responses of the target side leave through it too. [UE 1.0 3.4]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_use.h"
#include "base/result.h"
#include "base/ring.h"
#include "engine/contract.h"
#include "engine/reliability/deadline_heap.h"
#include "engine/uet/access_port.h"
#include "engine/uet/endpoint.h"
#include "engine/uet/message.h"
#include "wire/packet.h"

namespace wharf::uet {

struct EngineParts;
struct CongestionContext;

class Initiator {
 public:
  explicit Initiator(EngineParts& parts) : parts_(parts) {}

  // --- Application.
  engine::PostStatus post(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request,
                          engine::Submission submission);
  /// The usual request in one pass; false, and nothing has happened, when it is not like that.
  bool post_plain(EngineParts& parts, TimePs now, engine::QueueId queue, const verbs::WorkRequest& request);
  void work_request_done(TimePs now, const PendingAccess& owner, engine::AccessStatus status);
  engine::PeerId import(const Peer& peer);
  Result<void> forget(engine::PeerId peer);
  /// Tells every queue that has imported an endpoint of `host` that it does not answer.
  void report_unreachable(wire::HostAddress host);
  const Peer* peer(engine::PeerId id) const {
    return id < peers_.size() && peers_[id].used ? &peers_[id] : nullptr;
  }

  // --- Messages of the engine's own.
  /// A free outbound message, or kNoSlot.
  std::uint32_t acquire();
  /// Sends message `slot`, whose addressing is complete, over the PDC of its mode. False: no PDC is to be
  /// had.
  bool launch(TimePs now, std::uint32_t slot);
  /// Sends it over a PDC that exists: read responses.
  void launch_on(TimePs now, std::uint32_t pdc, std::uint32_t slot);

  // --- What PDS asks.
  static bool reads_memory(const OutboundMessage& message) {
    return message.send_length > 0 && message.inline_data.kind == wire::PayloadKind::kNone &&
           !message.atomic_from_operand;
  }
  /// The payload of one packet of a message that needs no fetch, with a reference.
  wire::Payload payload_at_hand(std::uint32_t slot, std::uint32_t offset, std::uint32_t length) const;
  /// Asks memory for the payload of one packet, or gives it at once; false when it may not be read any more.
  bool fetch(std::uint32_t slot, std::uint32_t staged, std::uint32_t offset, std::uint32_t length,
             wire::Payload& payload, std::uint32_t& pieces, bool& whole_result);  // initiator_fetch.h
  /// The same for a message that is one piece, whose payload may_fetch() allows.
  static void fetch_piece(AccessPort& accesses, const OutboundMessage& message, std::uint32_t staged,
                          std::uint64_t address, std::uint32_t at, std::uint32_t length,
                          verbs::AddressSpaceId space);
  /// The data of a Read of one packet, which is to be enqueued.
  std::uint32_t make_plain_response(const wire::Packet& packet, const MemoryRegion& memory,
                                    std::uint64_t address);  // initiator_plain.h
  /// Whether the memory of a message may still be read.
  bool may_fetch(const OutboundMessage& message) const;
  /// Writes the SES header of one packet.
  void build(OutboundMessage& message, std::uint32_t slot, std::uint32_t offset, std::uint32_t length,
             bool failed, wire::Packet& out);  // initiator_build.h
  /// The same for a message that is simple.
  static void build_simple(OutboundMessage& message, wire::Packet& out);
  /// To whom a message goes, and from whom it comes.
  static void address_to(OutboundMessage& message, const Destination& to, std::uint32_t initiator_id);
  static void build_read_response(const OutboundMessage& message, std::uint32_t slot, std::uint32_t offset,
                                  std::uint32_t length, bool failed, wire::Packet& out);
  void build_any(OutboundMessage& message, std::uint32_t slot, std::uint32_t offset, std::uint32_t length,
                 bool failed, wire::Packet& out);
  void add_to_backlog(CongestionContext& context, const OutboundMessage& message) const;
  /// What of the message has no PSN leaves the backlog.
  void take_from_backlog(CongestionContext& context, std::uint32_t slot) const;
  /// One packet has its answer: `packet` with a response, or null for the default.
  void answered(TimePs now, std::uint32_t slot, const wire::Packet* packet);
  /// The same for a packet of a message that needs no response of its own.
  void answered_by_default(EngineParts& parts, TimePs now, std::uint32_t slot,
                           OutboundMessage& message);  // initiator_end.h
  /// A packet of a read response; a code refuses it.
  std::optional<wire::UetNackCode> take_data(TimePs now, std::uint32_t inbound, const wire::Packet& packet);
  /// Whether read data is outstanding over a PDC.
  bool expects_data(std::uint32_t pdc) const;
  void pdc_failed(TimePs now, std::uint32_t pdc, verbs::CompletionStatus status, bool peer_has_nothing);
  /// `bytes` of a rendezvous remainder have been read and acknowledged.
  void remainder_delivered(TimePs now, std::uint32_t region, std::uint32_t bytes);

  // --- Memory and time.
  void data_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result);
  void returned_data_done(TimePs now, std::uint32_t inbound, engine::AccessStatus status);
  void expire(TimePs now);
  /// Queues whose posted requests found no message or no PDC try again; for after every input that may have
  /// freed some.
  bool is_settled() const { return starved_.empty(); }
  void settle(TimePs now) {
    if (!starved_.empty()) [[unlikely]]
      admit_starved(now);
  }
  /// Ends every request of `queue` with kFlushed, in posting order. What has left is repeated until the peer
  /// has it, without data: the memory of the queue is not touched any more.
  void flush(TimePs now, engine::QueueId queue);
  /// The next settle() looks at `queue`.
  void look_at(engine::QueueId queue);
  /// `queue` is destroyed.
  void forget_queue(engine::QueueId queue);
  TimePs deadline() const { return retries_.earliest(); }
  /// The receive that the rendezvous read of inbound message `inbound` fills is gone: its data is dropped.
  void drop_remainder(std::uint32_t inbound, std::uint32_t generation);
  /// A deferred send has come for which this asks again and again.
  void end_restart_request(std::uint32_t slot, std::uint32_t token);
  /// DEFERRABLE_RTR: the target asks for a deferred send from `offset` on.
  wire::UetReturnCode restart(TimePs now, wire::HostAddress source, std::uint32_t initiator_token,
                              std::uint32_t target_token, std::uint64_t offset);

  // --- RUDI and UUD end their packets themselves.
  void end(TimePs now, std::uint32_t slot);
  void fail(TimePs now, std::uint32_t slot, verbs::CompletionStatus status);
  void fail_by_code(TimePs now, std::uint32_t slot, wire::UetReturnCode code);
  void place_answer(TimePs now, std::uint32_t slot, std::uint32_t offset, const wire::Payload& data);
  void try_end(TimePs now, std::uint32_t slot);
  /// What ends_plainly() says of a message of which nothing is outstanding.
  void end_plainly(TimePs now, std::uint32_t slot, const OutboundMessage& message);  // initiator_end.h
  /// The same for a request that was made plain.
  void end_plain(EngineParts& parts, TimePs now, std::uint32_t slot,
                 const OutboundMessage& message);  // initiator_end.h
  /// try_end() of a message that waits for data, and of which nothing else is outstanding.
  void end_read(TimePs now, std::uint32_t slot, const OutboundMessage& message);
  /// Whether memory is at work on something to or from `host`.
  bool is_at_work_for(wire::HostAddress host) const;
  /// Ends everything to `host`, which has no PDC any more, and forgets its endpoints.
  void forget_host(TimePs now, wire::HostAddress host);
  /// Posted requests to `host` will end without being sent.
  void flush_posted(wire::HostAddress host);

  void add_memory_use(std::vector<MemoryUse>& out) const;
  void release_buffers();
  void describe_waiting(std::vector<std::string>& out) const;

 private:
  // initiator_post.cc
  engine::PostStatus check(const verbs::WorkRequest& request) const;
  bool keys_hold(const verbs::WorkRequest& request) const;
  /// True for what most programs post most often, which check() would not refuse.
  bool is_plain_write(const verbs::WorkRequest& request) const;
  void fetch_work_request(engine::QueueId queue, const Endpoint& endpoint, std::uint64_t number,
                          wire::OperationTag operation);
  /// The work-queue entry of the request is lost, or its peer is.
  void end_unsent(engine::QueueId queue, const PostedRequest& posted);
  /// Makes messages of posted requests as far as they may leave.
  void admit(TimePs now, engine::QueueId queue);
  void admit_starved(TimePs now);
  bool make_message(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request);
  bool make_message(TimePs now, engine::QueueId queue, Endpoint& endpoint, const verbs::WorkRequest& request);
  std::uint32_t take_slot();
  bool set_off(TimePs now, std::uint32_t slot);
  void address(OutboundMessage& message, engine::QueueId queue, const Endpoint& endpoint, const Peer& target,
               const verbs::WorkRequest& request) const;
  void make_read(OutboundMessage& message, const verbs::WorkRequest& request) const;
  void make_send(std::uint32_t slot, const verbs::WorkRequest& request);
  static void make_atomic(OutboundMessage& message, const verbs::WorkRequest& request);
  void choose_form(OutboundMessage& message) const;
  void prepare_send(std::uint32_t slot, const verbs::WorkRequest& request);
  std::uint64_t unsent_window_bytes(const OutboundMessage& message) const;
  // initiator_plain.h
  bool is_plain(const EngineParts& parts, const verbs::WorkRequest& request) const;
  static void begin_plain(EngineParts& parts, std::uint32_t slot, engine::QueueId queue,
                          const Endpoint& endpoint, const Peer& target, const verbs::WorkRequest& request);
  std::uint32_t make_plain(EngineParts& parts, engine::QueueId queue, const Endpoint& endpoint,
                           const Peer& target, const verbs::WorkRequest& request);
  /// Queues or peers have changed: what slots keep of the last request is another's.
  void forget_plain();
  // initiator_packets.cc
  bool fetch_pieces(const OutboundMessage& message, std::uint32_t staged, std::uint32_t offset,
                    std::uint32_t length, wire::Payload& payload, std::uint32_t& pieces, bool& whole_result);
  void build_rendezvous(const OutboundMessage& message, wire::Packet& out) const;
  static void build_atomic(const OutboundMessage& message, wire::Packet& out);
  // initiator_answers.cc
  void take_response(TimePs now, std::uint32_t slot, const wire::Packet& packet);
  void take_answer_data(TimePs now, std::uint32_t slot, const wire::Packet& packet);
  /// The target was not ready: whether the message may start again once every packet has its answer.
  bool waits_for_target(TimePs now, std::uint32_t slot, const wire::UetSesResponse& response);
  // initiator_data.cc
  /// Writes `data` at `offset` of the message's local memory; returns how many accesses.
  std::uint32_t place(const OutboundMessage& message, std::uint32_t offset, const wire::Payload& data,
                      const PendingAccess& owner) const;
  /// The read that returned data is for; kNoSlot: none.
  std::uint32_t read_of(std::uint32_t pdc, const wire::Packet& packet) const;
  std::uint32_t find_by_psn(std::uint32_t pdc, wire::UetPsn psn) const;
  // initiator_end.cc
  /// Whether a message that nothing is outstanding of does not end yet; does what it needs to go on.
  bool goes_on(TimePs now, std::uint32_t slot);
  bool is_send_in_pieces(const OutboundMessage& message) const;
  void end_request(TimePs now, std::uint32_t slot);
  void report_success(const OutboundMessage& message);
  void report_end(TimePs now, std::uint32_t slot, const OutboundMessage& message);
  void release(std::uint32_t slot);
  void give_back(std::uint32_t slot);  ///< The same, inlined.
  // initiator_again.cc
  void schedule_retry(TimePs now, std::uint32_t slot, TimePs at);
  void start_again(std::uint32_t slot);
  /// All ordered messages to `peer` that wait, unless an earlier one has no answer yet.
  void restart_in_order(TimePs now, verbs::PeerId peer);
  bool may_repeat(const OutboundMessage& message, verbs::CompletionStatus status, bool clean,
                  bool peer_has_nothing) const;
  void repeat(TimePs now, std::vector<std::uint32_t>& slots);

  friend struct Prefetch;

  EngineParts& parts_;
  std::vector<Peer> peers_;
  engine::PeerId peer_count_ = 0;       ///< Of them.
  engine::PeerId first_free_peer_ = 0;  ///< Those before it are all in use.
  reliability::DeadlineHeap retries_;   ///< By message slot: restarts that wait.
  std::uint32_t retry_places_ = 0;
  IndexList starved_;  ///< Queues, in turns.
  std::uint32_t starved_count_ = 0;
  std::uint64_t order_ = 0;
};

}  // namespace wharf::uet
